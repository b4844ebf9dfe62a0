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

int
broker_check_handle(struct broker_channel *c, const struct fh *fh,
    struct broker_source *s)
{
	const struct fh_keys *keys = &c->broker->keys;
	struct served_export *e = served_find(c->exports, fh_export_id(fh));
	const char *text;

	if (e == NULL) {
		errno = ESTALE;
		return -1;
	}
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
	/* Without a mount of its own an export has no such handles any more. */
	if (s->plain.kind == FH_KERNEL && e->fs.naming != FH_BY_HANDLE) {
		errno = ESTALE;
		return -1;
	}
	if (s->plain.kind == FH_KERNEL &&
	    !fh_check_broker(fh, text, &keys->broker, &s->plain))
		return forged(c);
	s->no_file = e->file_text != NULL && text == e->path;
	return 0;
}

static int
open_kernel(const struct broker_source *s, int flags)
{
	return broker_open_kernel(&s->plain, s->export->mount, flags | ALWAYS);
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
		return s->fd == -1 ? -1 : broker_check_inside(s);
	}
	if (find_source(c, s) == -1)
		return -1;
	s->fd = s->found.fd;
	return 0;
}

/* Keeps errno. */
static void
close_source(struct broker_source *s)
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
	bool good =
	    served_allows_user(e, q->uid) && served_allows_group(e, q->gid);
	uint32_t i;

	for (i = 0; i < q->ngids; i++)
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

static int
act_as(struct broker_channel *c, const struct broker_open *q)
{
	struct cred cred = { .uid = q->uid, .gid = q->gid, .ngids = q->ngids };

	start(c);
	memcpy(cred.gids, q->gids, q->ngids * sizeof(cred.gids[0]));
	return cred_switch(&c->acting, &cred);
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

	fd = open_again(s, flags);
	if (fd == -1 && errno == EACCES)
		fd = open_anyway(s, flags);
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
    const struct stat *st, uint32_t *readable)
{
	int fd;

	*readable = 1;
	fd = open_again(s, wants[BROKER_WRITE].flags);
	if (fd != -1 || errno != EACCES)
		return fd;
	*readable = 0;
	fd = open_again(s, O_WRONLY | O_NONBLOCK);
	if (fd != -1 || errno != EACCES || !is_entitled(c, st))
		return fd;
	*readable = 1;
	return open_anyway(s, wants[BROKER_WRITE].flags);
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
    struct broker_source *s, uint32_t *readable)
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
		return open_to_write(c, s, &st, readable);
	return open_to_read(c, s, &st, wants[q->want].flags);
}

int
broker_open_file(struct broker_channel *c, const struct broker_open *q,
    uint32_t *readable)
{
	struct broker_source s = { .fd = -1,
		.found = { .fd = -1, .dirfd = -1 } };
	int fd = -1;

	if (broker_check_handle(c, &q->fh, &s) == -1)
		return -1;
	if (q->want == BROKER_WRITE && !s.export->writable) {
		errno = EROFS;
		return -1;
	}
	if (check_user(c, s.export, q) == -1 || act_as(c, q) == -1)
		return -1;
	if (open_source(c, &s) == 0)
		fd = open_source_as(c, q, &s, readable);
	close_source(&s);
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
	    act_as(c, &q->file) == -1)
		return -1;
	if (open_source(c, &file) == 0 && open_source(c, &dir) == 0)
		result = link_source(c, &file, dir.fd, name);
	close_source(&file);
	close_source(&dir);
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
	int fd;

	if (s->export->ino_ambiguous || open_source(c, s) == -1 ||
	    fstat(s->fd, &st) == -1)
		return -1;
	if (S_ISDIR(st.st_mode))
		want = BROKER_LIST;
	else if (!S_ISREG(st.st_mode))
		return -1;
	fd = open_again(s, wants[want].flags);
	return fd != -1 || errno != EACCES ? fd :
					     open_anyway(s, wants[want].flags);
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
		result = syncfs(s.export->mount);
	close_keep_errno(fd);
	close_source(&s);
	return result;
}

/*
 * Root may change any directory, and its set-group-ID bit stays although root is
 * not in the group. Root gets these rights for this one call.
 */
static int
chmod_as(const struct broker_channel *c, int fd, mode_t mode)
{
	static const int rights[] = { CAP_FOWNER, CAP_FSETID };
	size_t i;
	int result;

	for (i = 0; is_root(c) && i < nitems(rights); i++)
		(void)cred_right(rights[i], true);
	result = chmod_fd(fd, mode, true);
	for (i = 0; is_root(c) && i < nitems(rights); i++)
		give_up_right(rights[i]);
	return result;
}

/* Only of a directory: nothing else gets set-id bits here. */
int
broker_chmod_dir(struct broker_channel *c, const struct broker_chmod *q)
{
	struct broker_source dir = { .fd = -1,
		.found = { .fd = -1, .dirfd = -1 } };
	struct stat st;
	int result = -1;

	if (broker_check_handle(c, &q->dir.fh, &dir) == -1)
		return -1;
	if (!dir.export->writable) {
		errno = EROFS;
		return -1;
	}
	if (check_user(c, dir.export, &q->dir) == -1 ||
	    act_as(c, &q->dir) == -1)
		return -1;
	if (open_source(c, &dir) == 0 && fstat(dir.fd, &st) == 0) {
		errno = EPERM;
		if (S_ISDIR(st.st_mode))
			result = chmod_as(c, dir.fd, (mode_t)q->mode);
	}
	close_source(&dir);
	return result;
}
