/* SPDX-License-Identifier: ISC */
/*
 * The broker's answers. Data descriptors are opened only for regular files and
 * directories, after an O_PATH descriptor has shown the type, with flags from
 * one table. Of the worker's own no flag and no path reaches a system call, and
 * a name only when it is one clean component.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ipc.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/broker/broker.h"
#include "nfsd/broker/inode_table.h"
#include "nfsd/roles/acl.h"

_Static_assert(BROKER_GROUPS_MAX == RPC_GROUPS_MAX, "a caller's groups fit");
_Static_assert(BROKER_SEAL_MAX <= IPC_FDS_MAX, "one message carries them");

struct broker {
	struct active active; /* the exports */
	struct fh_keys keys;
	enum nfsd_mode mode;
};

struct broker_channel {
	struct broker *broker;
	struct cred_acting acting;
	bool started; /* acting belongs to the thread that serves */
	bool searches; /* closed directories do not stop us */
	unsigned int bad;
};

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

/* A file by which it can be opened again with other flags. */
struct source {
	struct served_export *export;
	struct fh_plain plain;
	struct inode_found found; /* not FH_KERNEL */
	int fd; /* O_PATH */
};

struct broker *
broker_new(const struct fh_keys *keys, enum nfsd_mode mode)
{
	struct broker *b = calloc(1, sizeof(*b));

	if (b == NULL)
		fatal("broker");
	active_init(&b->active);
	b->keys = *keys;
	b->mode = mode;
	return b;
}

void
broker_free(struct broker *b)
{
	if (b == NULL)
		return;
	active_clear(&b->active);
	free(b);
}

void
broker_set_exports(struct broker *b, struct served_exports *x)
{
	active_swap(&b->active, x);
}

struct broker_channel *
broker_channel_new(struct broker *b)
{
	struct broker_channel *c = calloc(1, sizeof(*c));

	if (c != NULL)
		c->broker = b;
	return c;
}

void
broker_channel_free(struct broker_channel *c)
{
	free(c);
}

/* A handle no honest worker would send; counted. */
static int
forged(struct broker_channel *c)
{
	c->bad++;
	errno = BROKER_FORGED;
	return -1;
}

/* Tag and export; fills source but its descriptors. */
static int
check_handle(struct broker_channel *c, const struct served_exports *x,
    const struct fh *fh, struct source *s)
{
	const struct fh_keys *keys = &c->broker->keys;
	struct served_export *e = served_find(x, fh_export_id(fh));

	if (e == NULL) {
		errno = ESTALE;
		return -1;
	}
	s->export = e;
	if (!fh_check_worker(fh, e->path, &keys->worker, &s->plain))
		return forged(c);
	if (s->plain.kind == FH_KERNEL &&
	    !fh_check_broker(fh, e->path, &keys->broker, &s->plain))
		return forged(c);
	return 0;
}

/* One component; ".." only to name what a directory lies in. */
static bool
is_name(const char *name)
{
	return *name != '\0' && strlen(name) <= INODE_NAME_MAX &&
	    strchr(name, '/') == NULL && strcmp(name, ".") != 0;
}

static int
open_kernel(const struct source *s, int flags)
{
	struct {
		struct file_handle head;
		uint8_t room[FH_INNER_MAX];
	} h = { .head = { .handle_bytes = s->plain.len,
		    .handle_type = s->plain.type } };

	memcpy((uint8_t *)&h + offsetof(struct file_handle, f_handle),
	    s->plain.inner, s->plain.len);
	return open_by_handle_at(s->export->mount, &h.head, flags | ALWAYS);
}

/* Opens the name the file was found by; it must still be that file. */
static int
open_found(const struct source *s, int flags)
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
open_again(const struct source *s, int flags)
{
	return s->plain.kind == FH_KERNEL ? open_kernel(s, flags) :
					    open_found(s, flags);
}

/* Gives up CAP_DAC_OVERRIDE; keeps errno. */
static void
end_override(void)
{
	int saved = errno;

	if (cred_right(CAP_DAC_OVERRIDE, false) == -1)
		fatal("broker: cannot give up an override");
	errno = saved;
}

/*
 * Looks for a file where the caller may not: its handle says that it is there,
 * and to know where is not to have it. Where the right to open handles is
 * missing (a container) only our override gets us through closed directories.
 */
static int
find_source(const struct broker_channel *c, struct source *s)
{
	struct inode_table *table = served_table(s->export);
	bool override =
	    !c->searches && cred_right(CAP_DAC_OVERRIDE, true) != -1;
	int result = -1;

	if (table != NULL)
		result = inode_table_open(table, &s->plain, &s->found);
	if (override)
		end_override();
	return result;
}

/* The O_PATH descriptor. */
static int
open_source(const struct broker_channel *c, struct source *s)
{
	if (s->plain.kind == FH_KERNEL) {
		s->fd = open_kernel(s, O_PATH);
		return s->fd == -1 ? -1 : 0;
	}
	if (find_source(c, s) == -1)
		return -1;
	s->fd = s->found.fd;
	return 0;
}

/* Keeps errno. */
static void
close_source(struct source *s)
{
	int saved = errno;

	if (s->fd != -1)
		close(s->fd);
	if (s->found.dirfd != -1)
		close(s->found.dirfd);
	errno = saved;
}

/*
 * Can the export make a caller this user? Else the worker invents; or it knows
 * the exports of a moment ago, so that one more question may be answered.
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
	/* Whoever is named in squash mode, nobody acts but us. */
	if (good || c->broker->mode == MODE_SQUASH)
		return 0;
	errno = EAGAIN;
	return -1;
}

static int
act_as(struct broker_channel *c, const struct broker_open *q)
{
	struct cred cred = { .uid = q->uid, .gid = q->gid, .ngids = q->ngids };

	if (!c->started) {
		/* Without the right there is nothing to give up. */
		(void)cred_right(CAP_DAC_OVERRIDE, false);
		c->searches = cred_right(CAP_DAC_READ_SEARCH, true) != -1;
		cred_init(&c->acting, c->broker->mode);
		c->started = true;
	}
	memcpy(cred.gids, q->gids, q->ngids * sizeof(cred.gids[0]));
	return cred_switch(&c->acting, &cred);
}

/* Who is root after squashing does what he likes: by our override. */
static bool
is_root(const struct broker_channel *c)
{
	return c->broker->mode == MODE_ROOT && c->acting.now.uid == 0;
}

/*
 * As we act, not as the question says: it may differ in squash mode. Whose file
 * it is may use it whatever its mode, as he has opened it on his side long ago,
 * perhaps before he changed the mode.
 */
static bool
is_entitled(const struct broker_channel *c, const struct stat *st)
{
	return is_root(c) ||
	    (S_ISREG(st->st_mode) && st->st_uid == c->acting.now.uid);
}

/* Past the mode, for us to look or for who is entitled to it. */
static int
open_anyway(const struct source *s, int flags)
{
	int fd;

	if (cred_right(CAP_DAC_OVERRIDE, true) == -1) {
		errno = EACCES;
		return -1;
	}
	fd = open_again(s, flags);
	end_override();
	return fd;
}

/*
 * Asks the kernel, without the right by which we open handles: it reads all.
 * To lay it down and take it up again costs as much as to open the file.
 */
static bool
kernel_lets_read(const struct source *s)
{
	int had = cred_right(CAP_DAC_READ_SEARCH, false);
	bool may;

	if (had == -1)
		return false;
	may = syscall(SYS_faccessat2, s->fd, "", R_OK,
		  AT_EMPTY_PATH | AT_EACCESS) == 0;
	if (had == 1 && cred_right(CAP_DAC_READ_SEARCH, true) == -1)
		fatal("broker: cannot take up a right again");
	return may;
}

/*
 * Whether he may read or execute is seen when it is open: by us, not by him.
 * The kernel has the last word where mode and ACL say no, as on filesystems
 * whose modes mean little.
 */
static int
open_to_read(const struct broker_channel *c, const struct source *s,
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
open_to_write(const struct broker_channel *c, const struct source *s,
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
    struct source *s, uint32_t *readable)
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

static int
open_checked(struct broker_channel *c, const struct served_exports *x,
    const struct broker_open *q, uint32_t *readable)
{
	struct source s = { .fd = -1, .found = { .fd = -1, .dirfd = -1 } };
	int fd = -1;

	if (check_handle(c, x, &q->fh, &s) == -1)
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
link_source(const struct broker_channel *c, const struct source *file,
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
		end_override();
	return result;
}

/* The kernel decides, under the caller's identity, about both ends. */
static int
link_checked(struct broker_channel *c, const struct served_exports *x,
    const struct broker_link *q, const char *name)
{
	struct source file = { .fd = -1, .found = { .fd = -1, .dirfd = -1 } };
	struct source dir = { .fd = -1, .found = { .fd = -1, .dirfd = -1 } };
	int result = -1;

	if (check_handle(c, x, &q->file.fh, &file) == -1 ||
	    check_handle(c, x, &q->dir, &dir) == -1)
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

static size_t
answer_link(struct broker_channel *c, const struct served_exports *x,
    const struct broker_link *q, const char *name, struct broker_sealed *answer)
{
	struct broker_linked a = { 0 };

	if (q->file.ngids > BROKER_GROUPS_MAX || q->name_len == 0 ||
	    strnlen(name, q->name_len) != q->name_len - 1 || !is_name(name))
		return 0;
	if (link_checked(c, x, q, name) == -1)
		a.error = errno == 0 ? EIO : errno;
	memcpy(answer, &a, sizeof(a));
	return sizeof(a);
}

static size_t
answer_open(struct broker_channel *c, const struct served_exports *x,
    const struct broker_open *q, struct broker_sealed *answer, int *fd)
{
	struct broker_opened a = { 0, 0 };

	if (q->want >= BROKER_WANTS || q->ngids > BROKER_GROUPS_MAX)
		return 0;
	*fd = open_checked(c, x, q, &a.readable);
	if (*fd == -1)
		a.error = errno == 0 ? EIO : errno;
	memcpy(answer, &a, sizeof(a));
	return sizeof(a);
}

/* Seals one descriptor; name as it is called in dir. */
static int
seal_one(struct broker *b, const struct source *dir,
    const struct broker_seal *q, int fd, const char *name, struct fh *fh)
{
	struct served_export *e = dir->export;
	struct inode_table *table;
	struct fh_plain plain;
	struct fh_id id;

	if (e->fs.naming == FH_BY_HANDLE && q->utf16 == 0) {
		if (fh_fs_plain(&e->fs, fd, e->id, false, e->mount_id,
			&plain) == -1)
			return -1;
	} else {
		if (!e->crossmnt && fh_fs_mount(fd) != e->mount_id) {
			errno = EXDEV;
			return -1;
		}
		table = served_table(e);
		if (table == NULL ||
		    inode_table_identify(table, &dir->plain, name, fd, &id) ==
			-1)
			return -1;
		fh_fs_from_id(&id, e->id, q->utf16 != 0, &plain);
	}
	fh_seal(fh, &plain, e->path, &b->keys);
	return 0;
}

/* The next of the names behind a question, or NULL. */
static const char *
next_name(const char **at, size_t *left)
{
	const char *name = *at;
	size_t len = strnlen(name, *left);

	if (len == *left || !is_name(name))
		return NULL;
	*at += len + 1;
	*left -= len + 1;
	return name;
}

static size_t
answer_root(struct broker *b, const struct served_exports *x,
    const struct broker_seal *q, struct broker_sealed *answer)
{
	struct served_export *e = served_find(x, (uint16_t)q->export_id);
	struct broker_sealed_one *a = &answer->list[0];
	struct fh_plain plain;

	memset(a, 0, sizeof(*a));
	if (e == NULL)
		a->error = ESTALE;
	else if (fh_fs_root(&e->fs, e->root, e->id, q->utf16 != 0, &plain) ==
	    -1)
		a->error = errno;
	else
		fh_seal(&a->fh, &plain, e->path, &b->keys);
	return sizeof(*a);
}

static size_t
answer_seal(struct broker_channel *c, const struct served_exports *x,
    const struct broker_seal *q, const char *names, const int *fds,
    struct broker_sealed *answer)
{
	struct source dir = { .fd = -1 };
	size_t i, left = q->names_len;
	const char *name;
	int error = 0;

	if (check_handle(c, x, &q->dir, &dir) == -1)
		error = errno;
	else if (dir.export->id != q->export_id)
		return 0;
	memset(answer->list, 0, q->n * sizeof(answer->list[0]));
	for (i = 0; i < q->n; i++) {
		name = next_name(&names, &left);
		if (name == NULL)
			return 0;
		answer->list[i].error = error;
		if (error == 0 &&
		    seal_one(c->broker, &dir, q, fds[i], name,
			&answer->list[i].fh) == -1)
			answer->list[i].error = errno;
	}
	return left == 0 ? q->n * sizeof(answer->list[0]) : 0;
}

static size_t
dispatch_seal(struct broker_channel *c, const struct served_exports *x,
    const void *data, size_t len, const int *fds, size_t nfds,
    struct broker_sealed *answer)
{
	struct broker_seal q;

	if (len < sizeof(q))
		return 0;
	memcpy(&q, data, sizeof(q));
	if (q.n != nfds || q.n > BROKER_SEAL_MAX ||
	    q.names_len != len - sizeof(q) || q.export_id > UINT16_MAX)
		return 0;
	if (q.n == 0)
		return q.names_len == 0 ?
		    answer_root(c->broker, x, &q, answer) :
		    0;
	return answer_seal(c, x, &q, (const char *)data + sizeof(q), fds,
	    answer);
}

static size_t
dispatch(struct broker_channel *c, const struct served_exports *x,
    uint32_t type, const void *data, size_t len, const int *fds, size_t nfds,
    struct broker_sealed *answer, int *fd)
{
	struct broker_open open;
	struct broker_link link;

	if (type == BROKER_SEAL)
		return dispatch_seal(c, x, data, len, fds, nfds, answer);
	if (type == BROKER_OPEN && len == sizeof(open) && nfds == 0) {
		memcpy(&open, data, sizeof(open));
		return answer_open(c, x, &open, answer, fd);
	}
	if (type == BROKER_LINK && len > sizeof(link) && nfds == 0) {
		memcpy(&link, data, sizeof(link));
		if (link.name_len == len - sizeof(link))
			return answer_link(c, x, &link,
			    (const char *)data + sizeof(link), answer);
	}
	return 0;
}

size_t
broker_answer(struct broker_channel *c, uint32_t type, const void *data,
    size_t len, const int *fds, size_t nfds, struct broker_sealed *answer,
    uint32_t *answer_type, int *fd)
{
	struct served_exports *x = active_use(&c->broker->active);
	size_t n;

	*fd = -1;
	if (x == NULL || type >= BROKER_OPENED) {
		active_done(x);
		return 0;
	}
	*answer_type = type + BROKER_OPENED;
	n = dispatch(c, x, type, data, len, fds, nfds, answer, fd);
	active_done(x);
	if (c->bad <= BROKER_BAD_MAX)
		return n;
	if (*fd != -1)
		close(*fd);
	*fd = -1;
	return 0;
}

/*
 * True when the worker has its answer. Where only the descriptor cannot be
 * sent (too many are on their way) it is told so, and goes on.
 */
static bool
send_answer(int fd, uint32_t type, struct broker_sealed *answer, size_t n,
    int data)
{
	const struct broker_opened none = { .error = EMFILE };

	if (ipc_send(fd, type, answer, n, &data, data != -1) == 0)
		return true;
	if (data == -1 || errno == EPIPE || errno == ECONNRESET)
		return false;
	memcpy(answer, &none, sizeof(none));
	return ipc_send(fd, type, answer, sizeof(none), NULL, 0) == 0;
}

/* One question from the socket. 1: answered, 0: closed, -1: rules broken. */
static int
serve_one(struct broker_channel *c, int fd, uint8_t *buf, size_t size)
{
	struct broker_sealed answer;
	int fds[IPC_FDS_MAX], data = -1;
	size_t i, n, nfds = nitems(fds);
	uint32_t type, answer_type = 0;
	ssize_t len;
	bool sent;

	len = ipc_receive(fd, &type, buf, size, fds, &nfds);
	if (len == -1)
		return errno == EBADMSG ? -1 : 0;
	n = broker_answer(c, type, buf, (size_t)len, fds, nfds, &answer,
	    &answer_type, &data);
	for (i = 0; i < nfds; i++)
		close(fds[i]);
	if (n == 0)
		return -1;
	sent = send_answer(fd, answer_type, &answer, n, data);
	if (data != -1)
		close(data);
	return sent ? 1 : 0;
}

bool
broker_serve(struct broker_channel *c, int fd)
{
	static _Thread_local uint8_t
	    buf[sizeof(struct broker_seal) + BROKER_NAMES_MAX];
	int result;

	do
		result = serve_one(c, fd, buf, sizeof(buf));
	while (result == 1);
	return result == 0;
}
