/* SPDX-License-Identifier: ISC */
/*
 * Quotas. The kernel tells a process the quota of its effective user and of its
 * groups; those of others only if it has CAP_SYS_ADMIN. So the thread that asks
 * becomes that user for one call and needs no such right. Its real and its saved
 * user stay the daemon's, so that processes of that user cannot signal it.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include <sys/quota.h>
#include <sys/syscall.h>

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/broker/channel.h"

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif

/* May the user that the broker acts as ask for this id? */
static bool
may_ask(const struct broker_channel *c, const struct broker_quota *q)
{
	const struct cred *now = &c->acting.now;
	uint32_t i;

	if (c->broker->mode == MODE_ROOT && now->uid == 0)
		return true;
	if (!q->of_group)
		return q->id == now->uid;
	for (i = 0; i < now->ngids; i++)
		if (now->gids[i] == q->id)
			return true;
	return q->id == now->gid;
}

/* Becomes whom the kernel tells. In squash mode the broker can become no one. */
static int
become(struct broker_channel *c, const struct broker_quota *q)
{
	if (!c->acting.switches)
		return 0;
	if (!q->of_group)
		return cred_effective(q->id);
	c->cred.ngids = 1;
	c->cred.gids[0] = q->id;
	return cred_switch(&c->acting, &c->cred);
}

/* Keeps errno. */
static void
become_again(struct broker_channel *c, const struct cred *before)
{
	const uid_t self = c->broker->self;
	int saved = errno;

	if (!c->acting.switches)
		return;
	if (cred_effective(self) == -1)
		fatal("broker: cannot be user %u again", (unsigned int)self);
	c->acting.known = false;
	if (cred_switch(&c->acting, before) == -1)
		fatal("broker: cannot act as the caller again");
	errno = saved;
}

static int
ask_kernel(int fd, const struct broker_quota *q, struct broker_got_quota *a)
{
	const unsigned int type = q->of_group ? GRPQUOTA : USRQUOTA;
	/* Q_GETQUOTA is an int, which QCMD would shift beyond its sign. */
	const unsigned long command = QCMD((unsigned int)Q_GETQUOTA, type);
	struct dqblk d;

	if (syscall(SYS_quotactl_fd, fd, command, (unsigned long)q->id, &d) ==
	    -1)
		return -1;
	a->hard_blocks = d.dqb_bhardlimit;
	a->soft_blocks = d.dqb_bsoftlimit;
	a->bytes = d.dqb_curspace;
	a->hard_files = d.dqb_ihardlimit;
	a->soft_files = d.dqb_isoftlimit;
	a->files = d.dqb_curinodes;
	a->bytes_until = d.dqb_btime;
	a->files_until = d.dqb_itime;
	return 0;
}

/* The kernel or the filesystem has none, or none is switched on. */
static bool
is_none(int error)
{
	return error == ESRCH || error == ENOSYS || error == EINVAL ||
	    error == EOPNOTSUPP;
}

static int
ask_as(struct broker_channel *c, int fd, const struct broker_quota *q,
    struct broker_got_quota *a)
{
	struct cred before;
	int result;

	if (!may_ask(c, q)) {
		errno = EPERM;
		return -1;
	}
	if (q->id == 0) { /* root has no limits, and nothing becomes root */
		errno = ESRCH;
		return -1;
	}
	cred_copy(&before, &c->acting.now);
	result = become(c, q);
	if (result == 0)
		result = ask_kernel(fd, q, a);
	become_again(c, &before);
	/* The broker cannot become the one user of squash mode. */
	if (result == -1 && errno == EPERM && !c->acting.switches)
		errno = ESRCH;
	return result;
}

int
broker_get_quota(struct broker_channel *c, const struct broker_quota *q,
    struct broker_got_quota *a)
{
	struct broker_source s;
	int result = -1;

	if (broker_enter(c, &q->file, false, &s) == 0)
		result = ask_as(c, s.fd, q, a);
	broker_leave(&s);
	if (result == -1 && is_none(errno))
		errno = ENOENT;
	return result;
}
