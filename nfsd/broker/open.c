/* SPDX-License-Identifier: ISC */
/*
 * From a handle to a descriptor, as a user. Data descriptors are opened only for
 * regular files and directories, after an O_PATH descriptor has shown the type,
 * with flags from one table: no flag of the worker's reaches a system call.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/broker/channel.h"
#include "nfsd/roles/acl.h"
#include "nfsd/roles/chmod.h"

/* What each want may open and how. */
static const struct {
	mode_t type; /* 0: anything */
	int flags;
} wants[BROKER_WANTS] = {
	[BROKER_PATH] = { 0, O_PATH },
	[BROKER_READ] = { S_IFREG, O_RDONLY | O_NONBLOCK },
	[BROKER_WRITE] = { S_IFREG, O_RDWR | O_NONBLOCK },
	[BROKER_LIST] = { S_IFDIR, O_RDONLY | O_DIRECTORY },
	[BROKER_LOCK] = { S_IFREG, O_RDWR | O_NONBLOCK },
	[BROKER_LOCK_WRITE] = { S_IFREG, O_RDWR | O_NONBLOCK },
	[BROKER_LOCK_ANY] = { S_IFREG, O_RDWR | O_NONBLOCK },
};

#define ALWAYS (O_CLOEXEC | O_NOFOLLOW | O_LARGEFILE)

/* Counts a handle that no honest worker sends. */
static int
forged(struct broker_channel *c)
{
	atomic_fetch_add(&c->tally->bad, 1);
	errno = BROKER_FORGED;
	return -1;
}

/*
 * Does the export still name files in the way of this handle? Without a mount of
 * its own an export has no such handles any more.
 */
static bool
opens_directly(const struct served_export *e, const struct fh_plain *plain)
{
	struct gfid gfid;

	return e->fs.naming ==
	    (fh_fs_gfid(plain, &gfid) ? FH_BY_GFID : FH_BY_HANDLE);
}

int
broker_check_handle(struct broker_channel *c, const struct fh *fh,
    struct broker_source *s)
{
	const struct fh_keys *keys = &c->broker->keys;
	struct served_export *e = served_find(c->exports, fh_export_id(fh));
	const char *text;

	if (e == NULL)
		return -1;
	s->export = e;
	/*
	 * The worker checked this tag under its own list. At a reload that list
	 * may give the id to another path. A compromised worker learns nothing:
	 * it can make this tag, and the broker's tag was not looked at.
	 */
	if (!served_check_tag(e, fh, &keys->worker, &s->plain, &text)) {
		errno = EAGAIN;
		return -1;
	}
	if (s->plain.kind == FH_KERNEL && !opens_directly(e, &s->plain)) {
		errno = ESTALE;
		return -1;
	}
	if (s->plain.kind == FH_KERNEL &&
	    !fh_check_broker(fh, text, &keys->broker, &s->plain))
		return forged(c);
	s->no_file = e->file_text != NULL && text == e->path;
	return 0;
}

/* Of a handle that names its file directly. */
static int
open_kernel(const struct broker_source *s, int flags)
{
	if (s->export->fs.naming == FH_BY_GFID)
		return broker_open_gfid(s, flags | ALWAYS);
	return broker_open_kernel(&s->plain, s->export->root, flags | ALWAYS);
}

/* Opens the name the file was found by; it must still be that file. */
static int
open_found(const struct broker_source *s, int flags)
{
	struct open_how how = { .flags =
				    (uint64_t)(unsigned int)(flags | ALWAYS) };
	struct stat want, got;
	int fd, dirfd = s->found.dirfd;

	how.resolve =
	    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	fd = (int)syscall(SYS_openat2, dirfd == -1 ? s->fd : dirfd,
	    dirfd == -1 ? "." : s->found.name, &how, sizeof(how));
	if (fd == -1)
		return -1;
	if (fstat(s->fd, &want) == 0 && fstat(fd, &got) == 0 &&
	    want.st_ino == got.st_ino && want.st_dev == got.st_dev)
		return fd;
	close(fd);
	errno = EAGAIN;
	return -1;
}

static int
open_again(const struct broker_source *s, int flags)
{
	return s->plain.kind == FH_KERNEL ? open_kernel(s, flags) :
					    open_found(s, flags);
}

/* Gives up a capability; keeps errno. */
static void
give_up_right(int cap)
{
	int saved = errno;

	if (cred_right(cap, false) == -1)
		fatal("broker: cannot drop capability %d", cap);
	errno = saved;
}

/*
 * Searches directories that the caller may not search. A valid handle proves
 * that the file exists; finding it does not open it yet. Where the broker may
 * not open handles (in a container) it needs CAP_DAC_OVERRIDE for that.
 */
static int
find_source(const struct broker_channel *c, struct broker_source *s)
{
	struct inode_table *table = broker_table(s->export);
	bool override =
	    !c->searches && cred_right(CAP_DAC_OVERRIDE, true) != -1;
	int result = -1;

	if (table != NULL)
		result = inode_table_open(table, &s->plain, &s->found);
	if (override)
		give_up_right(CAP_DAC_OVERRIDE);
	return result;
}

/* The O_PATH descriptor. */
static int
open_source(const struct broker_channel *c, struct broker_source *s)
{
	if (s->plain.kind == FH_KERNEL) {
		s->fd = open_kernel(s, O_PATH);
		if (s->fd == -1 || s->export->fs.naming == FH_BY_GFID)
			return s->fd == -1 ? -1 : 0;
		return broker_check_inside(s);
	}
	if (find_source(c, s) == -1)
		return -1;
	s->fd = s->found.fd;
	return 0;
}

void
broker_leave(struct broker_source *s)
{
	close_keep_errno(s->fd);
	close_keep_errno(s->found.dirfd);
}

/*
 * Can the export make a caller this user? If not, the worker lies, or it still
 * has the exports from before a reload: EAGAIN makes it ask again.
 */
static int
check_user(const struct broker_channel *c, const struct served_export *e,
    const struct broker_open *q)
{
	bool good = served_allows_user(e, q->uid) &&
	    (q->ngids == BROKER_MANAGED || served_allows_group(e, q->gid));
	uint32_t i;

	for (i = 0; q->ngids != BROKER_MANAGED && i < q->ngids; i++)
		good = good && served_allows_group(e, q->gids[i]);
	/* In squash mode the broker acts as itself, whatever user is named. */
	if (good || c->broker->mode == MODE_SQUASH)
		return 0;
	errno = EAGAIN;
	return -1;
}

/* Before the first question of a channel. */
static void
start(struct broker_channel *c)
{
	if (c->started)
		return;
	/* Without the right there is nothing to give up. */
	(void)cred_right(CAP_DAC_OVERRIDE, false);
	c->searches = cred_right(CAP_DAC_READ_SEARCH, true) != -1;
	cred_init(&c->acting, c->broker->mode);
	c->started = true;
}

/*
 * The groups of a user here, from the parent's own table. The caller's group is
 * one of them, or one that the export gives.
 */
static int
find_groups(struct broker_channel *c, const struct served_export *e,
    const struct broker_open *q)
{
	struct groups g = { .gids = c->cred.gids };
	bool old, good;
	uint32_t i;

	good = c->broker->groups != NULL &&
	    groups_find(c->broker->groups, q->uid, &g, &old) == GROUPS_KNOWN;
	c->cred.ngids = good ? g.n : 0;
	for (i = 0; i < c->cred.ngids && g.gids[i] != q->gid; i++)
		;
	if (good && (i < g.n || served_allows_group(e, q->gid)))
		return 0;
	errno = EAGAIN; /* they have changed since the worker looked */
	return -1;
}

static int
act_as(struct broker_channel *c, const struct served_export *e,
    const struct broker_open *q)
{
	struct cred *cred = &c->cred;

	start(c);
	cred->uid = q->uid;
	cred->gid = q->gid;
	if (q->ngids == BROKER_MANAGED) {
		if (find_groups(c, e, q) == -1)
			return -1;
	} else {
		cred->ngids = q->ngids;
		memcpy(cred->gids, q->gids, q->ngids * sizeof(cred->gids[0]));
	}
	return cred_switch(&c->acting, cred);
}

int
broker_enter(struct broker_channel *c, const struct broker_open *q, bool change,
    struct broker_source *s)
{
	memset(s, 0, sizeof(*s));
	s->fd = s->found.fd = s->found.dirfd = -1;
	if (broker_check_handle(c, &q->fh, s) == -1)
		return -1;
	if (change && !s->export->writable) {
		errno = EROFS;
		return -1;
	}
	if (q->want == BROKER_LOCK_ANY && !s->export->unjudged_locks) {
		errno = EAGAIN; /* as for a user that it cannot give */
		return -1;
	}
	if (check_user(c, s->export, q) == -1 || act_as(c, s->export, q) == -1)
		return -1;
	return open_source(c, s);
}

/* Is the caller root after squashing? Then CAP_DAC_OVERRIDE applies. */
static bool
is_root(const struct broker_channel *c)
{
	return c->broker->mode == MODE_ROOT && c->acting.now.uid == 0;
}

/*
 * May this user open the file whatever its mode? Its owner may: the client may
 * have opened the file before its mode changed. The user is the one the broker
 * acts as; in squash mode the question may name another.
 */
static bool
is_entitled(const struct broker_channel *c, const struct stat *st)
{
	return is_root(c) ||
	    (S_ISREG(st->st_mode) && st->st_uid == c->acting.now.uid);
}

/* Opens it whatever its mode. The function that calls this checks the user. */
static int
open_anyway(const struct broker_source *s, int flags)
{
	int fd;

	if (cred_right(CAP_DAC_OVERRIDE, true) == -1) {
		errno = EACCES;
		return -1;
	}
	fd = open_again(s, flags);
	give_up_right(CAP_DAC_OVERRIDE);
	return fd;
}

int
broker_reopen(const struct broker_source *s, int flags)
{
	int fd = open_again(s, flags);

	return fd != -1 || errno != EACCES ? fd : open_anyway(s, flags);
}

/*
 * Asks the kernel, without the capability that opens handles, since that also
 * bypasses read permission. Dropping and raising it costs as much as an open(2).
 */
static bool
kernel_lets_read(const struct broker_source *s)
{
	int had = cred_right(CAP_DAC_READ_SEARCH, false);
	bool may;

	if (had == -1)
		return false;
	may = syscall(SYS_faccessat2, s->fd, "", R_OK,
		  AT_EMPTY_PATH | AT_EACCESS) == 0;
	if (had == 1 && cred_right(CAP_DAC_READ_SEARCH, true) == -1)
		fatal("broker: cannot raise CAP_DAC_READ_SEARCH again");
	return may;
}

/*
 * Opens the file, then checks whether the user may read or execute it: an ACL
 * can be read only of an open file. The kernel has the last word where mode and
 * ACL refuse, as on filesystems whose modes mean little.
 */
static int
open_to_read(const struct broker_channel *c, const struct broker_source *s,
    const struct stat *st, int flags)
{
	unsigned int any = S_ISREG(st->st_mode) ? R_OK | X_OK : R_OK;
	int fd;

	fd = broker_reopen(s, flags);
	if (fd == -1 || is_entitled(c, st) ||
	    acl_permits(&c->acting, fd, st, any) == ACL_YES ||
	    kernel_lets_read(s))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

static int
open_to_write(const struct broker_channel *c, const struct broker_source *s,
    const struct stat *st, uint32_t *both)
{
	int fd;

	*both = 1;
	fd = open_again(s, wants[BROKER_WRITE].flags);
	if (fd != -1 || errno != EACCES)
		return fd;
	*both = 0;
	fd = open_again(s, O_WRONLY | O_NONBLOCK);
	if (fd != -1 || errno != EACCES || !is_entitled(c, st))
		return fd;
	*both = 1;
	return open_anyway(s, wants[BROKER_WRITE].flags);
}

/*
 * May a descriptor that can write be made for a user that may not write? The
 * role that gets it may neither read nor write (nfsd/locks/process.c). But while
 * a program is open for writing, it cannot be executed.
 */
static bool
may_be_open(const struct broker_source *s, const struct stat *st)
{
	return s->export->writable && (st->st_mode & 0111) == 0;
}

/* Whatever the rights of the user are. */
static int
open_to_lock_any(const struct broker_source *s, const struct stat *st,
    uint32_t *both)
{
	int fd = -1;

	if (may_be_open(s, st))
		fd = open_anyway(s, wants[BROKER_LOCK].flags);
	*both = fd != -1;
	return fd != -1 ? fd : open_anyway(s, wants[BROKER_READ].flags);
}

/*
 * A user that may read or write the file, or owns it, may lock it. The
 * descriptor can write if the user may, or if it is wanted to lock exclusively.
 */
static int
open_to_lock(const struct broker_channel *c, const struct broker_source *s,
    const struct stat *st, enum broker_want want, uint32_t *both)
{
	int fd = -1, better = -1;
	bool may_read, may_write = false;

	if (s->export->writable) {
		fd = open_again(s, wants[BROKER_LOCK].flags);
		if (fd != -1) {
			*both = 1;
			return fd;
		}
		fd = open_again(s, O_WRONLY | O_NONBLOCK);
		may_write = fd != -1 || is_entitled(c, st);
		close_keep_errno(fd);
	}
	fd = open_to_read(c, s, st, wants[BROKER_READ].flags);
	may_read = fd != -1;
	if (may_write ||
	    (may_read && want == BROKER_LOCK_WRITE && may_be_open(s, st)))
		better = open_anyway(s, wants[BROKER_LOCK].flags);
	if (better == -1)
		return fd;
	close_keep_errno(fd);
	*both = 1;
	return better;
}

static int
wrong_type(mode_t have, mode_t want)
{
	if (want == S_IFDIR)
		return ENOTDIR;
	return S_ISDIR(have) ? EISDIR : EINVAL;
}

static int
open_source_as(struct broker_channel *c, const struct broker_open *q,
    struct broker_source *s, uint32_t *both)
{
	struct stat st;
	int fd;

	if (q->want == BROKER_PATH) {
		fd = s->fd;
		s->fd = -1;
		return fd;
	}
	if (fstat(s->fd, &st) == -1)
		return -1;
	if ((st.st_mode & S_IFMT) != wants[q->want].type) {
		errno = wrong_type(st.st_mode, wants[q->want].type);
		return -1;
	}
	if (q->want == BROKER_WRITE)
		return open_to_write(c, s, &st, both);
	if (q->want == BROKER_LOCK || q->want == BROKER_LOCK_WRITE)
		return open_to_lock(c, s, &st, (enum broker_want)q->want, both);
	if (q->want == BROKER_LOCK_ANY)
		return open_to_lock_any(s, &st, both);
	return open_to_read(c, s, &st, wants[q->want].flags);
}

int
broker_open_file(struct broker_channel *c, const struct broker_open *q,
    uint32_t *both)
{
	struct broker_source s;
	int fd = -1;

	if (broker_enter(c, q, q->want == BROKER_WRITE, &s) == 0)
		fd = open_source_as(c, q, &s, both);
	broker_leave(&s);
	return fd;
}

/*
 * A descriptor can be linked with a capability that a plain user lacks; what
 * was found by walking has a name.
 */
static int
link_source(const struct broker_channel *c, const struct broker_source *file,
    int dirfd, const char *name)
{
	bool override = is_root(c) && cred_right(CAP_DAC_OVERRIDE, true) != -1;
	int result;

	if (file->found.dirfd != -1)
		result =
		    linkat(file->found.dirfd, file->found.name, dirfd, name, 0);
	else
		result = linkat(file->fd, "", dirfd, name, AT_EMPTY_PATH);
	if (override)
		give_up_right(CAP_DAC_OVERRIDE);
	return result;
}

/*
 * CephFS links no file that this machine knows by its handle alone: EROFS. A client
 * that hears STALE asks for the file by its name and calls again. Then this machine
 * has found it by a name.
 */
static bool
must_be_named(const struct broker_source *dir)
{
	return errno == EROFS && dir->export->link_by_name &&
	    (syscall(SYS_faccessat2, dir->fd, "", W_OK,
		 AT_EMPTY_PATH | AT_EACCESS) == 0 ||
		errno != EROFS);
}

/* The kernel decides, under the caller's identity, about both ends. */
int
broker_link_file(struct broker_channel *c, const struct broker_link *q,
    const char *name)
{
	struct broker_source file = { .fd = -1,
		.found = { .fd = -1, .dirfd = -1 } };
	struct broker_source dir = { .fd = -1,
		.found = { .fd = -1, .dirfd = -1 } };
	int result = -1;

	if (broker_check_handle(c, &q->file.fh, &file) == -1 ||
	    broker_check_handle(c, &q->dir, &dir) == -1)
		return -1;
	if (file.export != dir.export)
		return forged(c);
	if (!dir.export->writable) {
		errno = EROFS;
		return -1;
	}
	if (check_user(c, dir.export, &q->file) == -1 ||
	    act_as(c, dir.export, &q->file) == -1)
		return -1;
	if (open_source(c, &file) == 0 && open_source(c, &dir) == 0)
		result = link_source(c, &file, dir.fd, name);
	if (result == -1 && must_be_named(&dir))
		errno = ESTALE;
	broker_leave(&file);
	broker_leave(&dir);
	return result;
}

/*
 * A descriptor by which exactly this file can be synced, or -1: fsync(2) takes
 * files and directories only, and a handle that encodes a path may lead to
 * another file by now.
 */
static int
open_to_sync(struct broker_channel *c, struct broker_source *s)
{
	enum broker_want want = BROKER_READ;
	struct stat st;

	if (s->export->ino_ambiguous || open_source(c, s) == -1 ||
	    fstat(s->fd, &st) == -1)
		return -1;
	if (S_ISDIR(st.st_mode))
		want = BROKER_LIST;
	else if (!S_ISREG(st.st_mode))
		return -1;
	return broker_reopen(s, wants[want].flags);
}

/* What cannot be synced by itself is synced with its whole filesystem. */
int
broker_sync_file(struct broker_channel *c, const struct broker_sync *q)
{
	struct broker_source s = { .fd = -1,
		.found = { .fd = -1, .dirfd = -1 } };
	int fd, result = -1;

	if (broker_check_handle(c, &q->fh, &s) == -1)
		return -1;
	if (!s.export->writable) {
		errno = EROFS;
		return -1;
	}
	start(c);
	fd = open_to_sync(c, &s);
	errno = EINVAL;
	if (fd != -1)
		result = fsync(fd);
	if (result == -1 && errno == EINVAL)
		result = syncfs(s.export->root);
	close_keep_errno(fd);
	broker_leave(&s);
	return result;
}

void
broker_lend_root(const struct broker_channel *c, bool lend)
{
	static const int rights[] = { CAP_FOWNER, CAP_FSETID };
	size_t i;

	for (i = 0; is_root(c) && i < nitems(rights); i++)
		if (lend)
			(void)cred_right(rights[i], true);
		else
			give_up_right(rights[i]);
}

/* Only of a directory: nothing else gets set-id bits here. */
int
broker_chmod_dir(struct broker_channel *c, const struct broker_chmod *q)
{
	struct broker_source dir;
	struct stat st;
	int result = -1;

	if (broker_enter(c, &q->dir, true, &dir) == 0 &&
	    fstat(dir.fd, &st) == 0) {
		errno = EPERM;
		if (S_ISDIR(st.st_mode)) {
			broker_lend_root(c, true);
			result = chmod_fd(dir.fd, (mode_t)q->mode, true);
			broker_lend_root(c, false);
		}
	}
	broker_leave(&dir);
	return result;
}
