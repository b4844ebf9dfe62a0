/* SPDX-License-Identifier: ISC */
/*
 * The broker against a compromised worker: it opens only sealed handles, only
 * as users the export permits, only with its own flags. A correct worker is
 * served over a socket.
 * Links: nfsd
 * Runs in: tests.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/securebits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/ipc.h"
#include "base/util.h"
#include "door_fixture.h"
#include "nfsd/broker/broker.h"
#include "tap.h"

static struct fh_keys keys;
static struct broker *broker;
static struct served_exports *exports;
static struct broker_client *client;
static int root;
static int link_error; /* what linkat(2) gives; 0: it links */

int
linkat(int from, const char *name, int to, const char *as, int flags)
{
	errno = link_error;
	return link_error != 0 ?
	    -1 :
	    (int)syscall(SYS_linkat, from, name, to, as, flags);
}

static void
fresh(const char *options, enum nfsd_mode mode)
{
	struct exports *ex =
	    fixture_exports("%s *(%s)\n", fixture_dir(), options);
	struct fh_root at;

	if (fh_fs_look(&at, dup(root), &(struct fh_ask){ .kernel = true }) ==
	    -1)
		BAIL_OUT("root");
	broker_client_free(client);
	broker_free(broker);
	broker = broker_new(&keys, mode);
	exports = served_new(ex, &at, NULL, 0);
	broker_set_exports(broker, exports);
	client = broker_client_new(-1, broker_channel_new(broker, NULL));
}

/*
 * Takes the test's own identity back: the broker acts as callers in this
 * thread. The broker then sets its identity again.
 */
static bool
myself(void)
{
	struct cred self = { .uid = (uint32_t)geteuid(),
		.gid = (uint32_t)getegid() };
	struct cred_acting acting;

	broker_client_free(client);
	client = broker_client_new(-1, broker_channel_new(broker, NULL));
	cred_init(&acting, geteuid() == 0 ? MODE_MULTI : MODE_SQUASH);
	return cred_switch(&acting, &self) == 0;
}

/* The sealed handle of a name in the root. */
static struct fh
sealed(const char *name, bool utf16, struct fh *top)
{
	struct broker_seal q = { .export_id = exports->list[0].id,
		.utf16 = utf16 };
	struct broker_sealed a;
	int fd = openat(root, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	memset(&a, 0, sizeof(a));
	(void)broker_client_seal(client, &q, NULL, NULL, &a);
	q.dir = a.list[0].fh;
	if (top != NULL)
		*top = q.dir;
	q.n = 1;
	if (broker_client_seal(client, &q, &name, &fd, &a) == -1 ||
	    a.list[0].error != 0)
		diag("seal %s: %s", name, strerror(a.list[0].error));
	close(fd);
	return a.list[0].fh;
}

static int
open_as(const struct fh *fh, enum broker_want want, uint32_t uid)
{
	struct broker_open q = {
		.fh = *fh, .want = want, .uid = uid, .gid = uid
	};
	bool readable;

	return broker_client_open(client, &q, &readable);
}

/* Does the open succeed, with these flags? */
static bool
opens(const struct fh *fh, enum broker_want want, uint32_t uid, int flags)
{
	int fd = open_as(fh, want, uid), got;

	if (fd == -1) {
		diag("open: %s", strerror(errno));
		return false;
	}
	got = fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH);
	close(fd);
	return got == flags;
}

static bool
refused(const struct fh *fh, enum broker_want want, uint32_t uid, int error)
{
	int fd = open_as(fh, want, uid);

	if (fd != -1)
		close(fd);
	return fd == -1 && errno == error;
}

static bool
refused_group(const struct fh *fh, uint32_t gid, uint32_t other)
{
	struct broker_open q = { .fh = *fh,
		.want = BROKER_READ,
		.uid = 1000,
		.gid = gid,
		.ngids = 2,
		.gids = { 1000, other } };
	bool readable;

	return broker_client_open(client, &q, &readable) == -1 &&
	    errno == EAGAIN;
}

static void
opening(bool utf16)
{
	struct fh top, file = sealed("file", utf16, &top);
	struct fh fifo = sealed("fifo", utf16, NULL);
	struct fh link = sealed("link", utf16, NULL);
	const char *kind = utf16 ? "player" : "plain";

	ok(opens(&file, BROKER_PATH, 65534, O_PATH), "%s: O_PATH", kind);
	ok(opens(&file, BROKER_READ, 65534, O_RDONLY), "%s: read", kind);
	ok(opens(&file, BROKER_WRITE, 65534, O_RDWR), "%s: write", kind);
	ok(opens(&top, BROKER_LIST, 65534, O_RDONLY), "%s: list", kind);
	ok(refused(&top, BROKER_READ, 65534, EISDIR) &&
		refused(&top, BROKER_WRITE, 65534, EISDIR),
	    "%s: a directory is not opened for data", kind);
	ok(refused(&file, BROKER_LIST, 65534, ENOTDIR),
	    "%s: a file is not listed", kind);
	ok(refused(&fifo, BROKER_READ, 65534, EINVAL) &&
		refused(&link, BROKER_WRITE, 65534, EINVAL),
	    "%s: FIFO and link are never opened", kind);
	ok(opens(&fifo, BROKER_PATH, 65534, O_PATH) &&
		opens(&link, BROKER_PATH, 65534, O_PATH),
	    "%s: FIFO and link are opened as O_PATH", kind);
}

static void
deleted(void)
{
	struct fh fh;

	fixture_file("doomed", "x", 0644);
	fh = sealed("doomed", false, NULL);
	ok(opens(&fh, BROKER_PATH, 65534, O_PATH), "a sealed file is opened");
	unlinkat(root, "doomed", 0);
	ok(refused(&fh, BROKER_PATH, 65534, ESTALE), "a removed file is stale");
	fixture_file("doomed", "y", 0644);
	ok(refused(&fh, BROKER_PATH, 65534, ESTALE),
	    "a new file with the old name is not opened by the old handle");
	unlinkat(root, "doomed", 0);
}

/* A worker's channels count forged handles together. */
static void
two_channels(const struct fh *fh, const struct fh *bad)
{
	struct broker_tally *tally = broker_tally_new(2);
	struct broker_client *ends[2];
	int i;

	broker_client_free(client);
	for (i = 0; i < 2; i++)
		ends[i] =
		    broker_client_new(-1, broker_channel_new(broker, tally));
	for (i = 0; i <= BROKER_BAD_MAX; i++) {
		client = ends[i % 2];
		(void)refused(bad, BROKER_PATH, 65534, BROKER_FORGED);
	}
	client = ends[1];
	ok(refused(fh, BROKER_PATH, 65534, EPIPE),
	    "forged handles on two channels are added up");
	broker_client_free(ends[0]);
	broker_client_free(ends[1]);
	client = broker_client_new(-1, broker_channel_new(broker, NULL));
}

static void
forging(void)
{
	struct fh fh = sealed("file", false, NULL), bad;
	struct fh_plain plain;
	struct fh_keys other = keys;
	int i;

	fh_check_worker(&fh, exports->list[0].path, &keys.worker, &plain);
	skip(plain.kind != FH_KERNEL, 6, "no kernel handles here");
	/* A compromised worker has only its own key. */
	memset(&other.broker, 0x55, sizeof(other.broker));
	fh_seal(&bad, &plain, exports->list[0].path, &other);
	ok(refused(&bad, BROKER_PATH, 65534, BROKER_FORGED),
	    "a handle that only the worker's key sealed is refused");
	for (i = 0; i < BROKER_BAD_MAX - 1; i++)
		(void)refused(&bad, BROKER_PATH, 65534, BROKER_FORGED);
	ok(opens(&fh, BROKER_PATH, 65534, O_PATH),
	    "valid handles are opened meanwhile");
	(void)refused(&bad, BROKER_PATH, 65534, BROKER_FORGED);
	ok(refused(&fh, BROKER_PATH, 65534, EPIPE),
	    "too many forged handles end the channel");
	two_channels(&fh, &bad);
	fh_seal(&bad, &plain, "/before/a/reload", &keys);
	for (i = 0; i < 2 * BROKER_BAD_MAX; i++)
		if (!refused(&bad, BROKER_PATH, 65534, EAGAIN))
			break;
	cmp_ok(i, "==", 2 * BROKER_BAD_MAX,
	    "a handle from before a reload may be tried again");
	ok(opens(&fh, BROKER_PATH, 65534, O_PATH),
	    "such handles do not count as forged");
	end_skip;
	fresh("rw", MODE_MULTI);
}

static void
identities(void)
{
	struct fh fh;

	fresh("rw", MODE_MULTI);
	fh = sealed("file", false, NULL);
	ok(refused(&fh, BROKER_WRITE, 0, EAGAIN) &&
		refused(&fh, BROKER_READ, 0, EAGAIN),
	    "root_squash: the broker does not act as root");
	fresh("rw,all_squash,anonuid=1234", MODE_MULTI);
	ok(refused(&fh, BROKER_WRITE, 1000, EAGAIN) &&
		refused(&fh, BROKER_PATH, 1000, EAGAIN),
	    "all_squash: the broker acts as the one user only");
	fresh("ro", MODE_MULTI);
	ok(refused(&fh, BROKER_WRITE, 1000, EROFS),
	    "nothing is opened for writing in a read-only export");
	fresh("rw", MODE_MULTI);
	ok(refused_group(&fh, 0, 5) && refused_group(&fh, 5, 0),
	    "root_squash: the broker acts neither with group 0 nor with it in a list");
	skip(geteuid() != 0, 9, "needs root");
	fixture_file("private", "x", 0600);
	fh = sealed("private", false, NULL);
	ok(refused(&fh, BROKER_WRITE, 1000, EACCES),
	    "a caller does not write another user's file");
	ok(myself() && fchownat(root, "private", 1000, 1000, 0) == 0 &&
		opens(&fh, BROKER_WRITE, 1000, O_RDWR),
	    "a caller writes its own file");
	ok(myself() && fchmodat(root, "private", 0444, 0) == 0 &&
		opens(&fh, BROKER_WRITE, 1000, O_RDWR),
	    "an owner writes even if the mode forbids it");
	ok(refused(&fh, BROKER_WRITE, 1001, EACCES), "another user does not");
	ok(myself() && fchmodat(root, "private", 0602, 0) == 0 &&
		opens(&fh, BROKER_WRITE, 1002, O_WRONLY),
	    "a caller with write permission only gets no reading");
	fresh("rw,all_squash", MODE_SQUASH);
	ok(myself() && fchmodat(root, "private", 0444, 0) == 0 &&
		refused(&fh, BROKER_WRITE, 1000, EACCES),
	    "squash: a caller that claims the owner's id gets no owner's rights");
	ok(myself() && fchownat(root, "private", 0, 0, 0) == 0 &&
		opens(&fh, BROKER_WRITE, 0, O_RDWR),
	    "squash: the one user has the owner's rights on its own files");
	fresh("rw,no_root_squash", MODE_ROOT);
	ok(myself() && fchownat(root, "private", 1000, 1000, 0) == 0 &&
		opens(&fh, BROKER_WRITE, 0, O_RDWR),
	    "root mode: root writes any file");
	ok(refused(&fh, BROKER_WRITE, 1001, EACCES),
	    "root mode: other users do not, even after root");
	end_skip;
}

/* The broker reads as the caller: the kernel's permissions decide, at once. */
static void
reading(void)
{
	struct fh fh, dir;

	fresh("rw", MODE_MULTI);
	skip(geteuid() != 0, 12, "needs root");
	if (!myself() || mkdirat(root, "drawer", 0700) == -1)
		BAIL_OUT("drawer");
	fixture_file("closed", "x", 0600);
	fh = sealed("closed", false, NULL);
	dir = sealed("drawer", false, NULL);
	ok(refused(&fh, BROKER_READ, 1000, EACCES),
	    "another user's file of mode 0600 is not read");
	ok(refused(&dir, BROKER_LIST, 1000, EACCES),
	    "another user's directory of mode 0700 is not listed");
	ok(opens(&fh, BROKER_PATH, 1000, O_PATH) &&
		opens(&dir, BROKER_PATH, 1000, O_PATH),
	    "both are opened as O_PATH");
	ok(myself() && fchmodat(root, "closed", 0604, 0) == 0 &&
		opens(&fh, BROKER_READ, 1000, O_RDONLY),
	    "a file with read permission is read");
	ok(myself() && fchmodat(root, "closed", 0601, 0) == 0 &&
		opens(&fh, BROKER_READ, 1000, O_RDONLY),
	    "a file with execute permission only is read");
	ok(myself() && fchmodat(root, "drawer", 0701, 0) == 0 &&
		refused(&dir, BROKER_LIST, 1000, EACCES),
	    "a directory with search permission only is not listed");
	ok(myself() && fchmodat(root, "closed", 0200, 0) == 0 &&
		fchownat(root, "closed", 1000, 1000, 0) == 0 &&
		opens(&fh, BROKER_READ, 1000, O_RDONLY),
	    "an owner reads a file whatever its mode");
	ok(refused(&fh, BROKER_READ, 1001, EACCES), "no other user reads it");
	ok(myself() && fchownat(root, "drawer", 1000, 1000, 0) == 0 &&
		fchmodat(root, "drawer", 0300, 0) == 0 &&
		refused(&dir, BROKER_LIST, 1000, EACCES),
	    "an owner does not list a directory against its mode");
	fresh("rw,no_root_squash", MODE_ROOT);
	ok(opens(&fh, BROKER_READ, 0, O_RDONLY) &&
		opens(&dir, BROKER_LIST, 0, O_RDONLY),
	    "root mode: root reads any file");
	ok(refused(&fh, BROKER_READ, 1001, EACCES),
	    "root mode: other users do not, even after root");
	fresh("rw,all_squash", MODE_SQUASH);
	ok(refused(&dir, BROKER_LIST, 1000, EACCES),
	    "squash: a caller that claims the owner's id gets no owner's rights");
	end_skip;
}

/* The channel of the locks role in place of a worker's. */
static bool
lock_only(void)
{
	struct broker_channel *c = broker_channel_new(broker, NULL);

	if (!myself())
		return false;
	broker_client_free(client);
	broker_channel_lock_only(c);
	client = broker_client_new(-1, c);
	return true;
}

/* Changes the mode as the test's own user, then asks as the locks role. */
static bool
lock_after(mode_t mode)
{
	return myself() && fchmodat(root, "locked", mode, 0) == 0 &&
	    lock_only();
}

static void
locking(void)
{
	struct fh fh, dir;

	fresh("rw", MODE_MULTI);
	skip(geteuid() != 0, 13, "needs root");
	if (!myself())
		BAIL_OUT("identity");
	fixture_file("locked", "x", 0600);
	fh = sealed("locked", false, &dir);
	ok(refused(&fh, BROKER_LOCK, 1000, EPIPE),
	    "a worker that asks for a file to lock is compromised");
	ok(lock_only() && refused(&fh, BROKER_PATH, 1000, EPIPE) &&
		refused(&fh, BROKER_READ, 1000, EPIPE) &&
		refused(&fh, BROKER_WRITE, 1000, EPIPE) && lock_only() &&
		refused(&fh, BROKER_LOCK_ANY, 1000, EAGAIN),
	    "so is a locks role that asks for anything else");
	ok(lock_only() && refused(&fh, BROKER_LOCK, 1000, EACCES),
	    "a user without any right on a file does not lock it");
	ok(lock_after(0604) && opens(&fh, BROKER_LOCK, 1000, O_RDONLY),
	    "a user that may read may lock");
	ok(opens(&fh, BROKER_LOCK_WRITE, 1000, O_RDWR),
	    "exclusively, too, by a descriptor that can");
	ok(lock_after(0705) && opens(&fh, BROKER_LOCK_WRITE, 1000, O_RDONLY),
	    "but not a program: it could not be executed meanwhile");
	ok(lock_after(0602) && opens(&fh, BROKER_LOCK, 1000, O_RDWR),
	    "a user that may write may lock");
	ok(myself() && fchownat(root, "locked", 1000, 1000, 0) == 0 &&
		lock_after(0) && opens(&fh, BROKER_LOCK, 1000, O_RDWR) &&
		refused(&fh, BROKER_LOCK, 1001, EACCES),
	    "an owner may lock whatever the mode, no other user may");
	ok(refused(&dir, BROKER_LOCK, 1000, EISDIR), "a directory: not");
	ok(refused(&fh, BROKER_LOCK, 0, EAGAIN),
	    "root_squash: the broker does not act as root");
	fresh("ro", MODE_MULTI);
	ok(lock_after(0604) && opens(&fh, BROKER_LOCK, 1001, O_RDONLY),
	    "in a read-only export the descriptor can only read");
	fresh("rw,no_auth_nlm", myself() ? MODE_MULTI : MODE_SQUASH);
	ok(lock_after(0600) && opens(&fh, BROKER_LOCK_ANY, 1001, O_RDWR),
	    "no_auth_nlm: no right is needed");
	ok(lock_after(0700) && opens(&fh, BROKER_LOCK_ANY, 1001, O_RDONLY),
	    "no_auth_nlm: a program can be executed meanwhile");
	fresh("rw", myself() ? MODE_MULTI : MODE_SQUASH);
	end_skip;
}

static void
linking(void)
{
	struct fh top, fh = sealed("file", false, &top);
	struct broker_link q = {
		.file = { .fh = fh, .uid = 65534, .gid = 65534 }, .dir = top
	};
	struct stat st;

	skip(geteuid() != 0, 6, "needs root");
	ok(broker_client_link(client, &q, "second") == 0 &&
		fstatat(root, "second", &st, 0) == 0 && st.st_nlink == 2,
	    "a file gets a second name");
	link_error = EROFS;
	ok(broker_client_link(client, &q, "third") == -1 && errno == EROFS,
	    "a filesystem is mounted read-only: its error");
	exports->list[0].link_by_name = true;
	ok(broker_client_link(client, &q, "third") == -1 && errno == ESTALE,
	    "CephFS knows a file by its handle alone: its name shall be asked for");
	exports->list[0].link_by_name = false;
	link_error = 0;
	ok(broker_client_link(client, &q, "second") == -1 && errno == EEXIST,
	    "an existing name is refused");
	unlinkat(root, "second", 0);
	q.file.uid = 1000;
	ok(myself() && fchmodat(root, ".", 0755, 0) == 0 &&
		broker_client_link(client, &q, "second") == -1 &&
		errno == EACCES,
	    "a directory that the caller may not write is refused");
	ok(myself() && fchmodat(root, ".", 0777, 0) == 0,
	    "the mode is restored");
	end_skip;
}

static bool
syncs(const struct fh *fh, int error)
{
	struct broker_sync q = { .fh = *fh };
	int result = broker_client_sync(client, &q);

	return error == 0 ? result == 0 : result == -1 && errno == error;
}

static void
syncing(void)
{
	enum nfsd_mode mode = geteuid() == 0 ? MODE_MULTI : MODE_SQUASH;
	struct fh top, fh = sealed("file", false, &top), bad = fh;
	struct fh link = sealed("link", false, NULL), shut;

	ok(syncs(&fh, 0) && syncs(&top, 0),
	    "a file and a directory are synced");
	ok(syncs(&link, 0), "a symbolic link is synced with its filesystem");
	if (!myself() || mkdirat(root, "shut", 0300) == -1)
		BAIL_OUT("shut");
	shut = sealed("shut", false, NULL);
	ok((geteuid() != 0 || refused(&shut, BROKER_LIST, 1000, EACCES)) &&
		syncs(&shut, 0) && myself(),
	    "a directory that the caller may not read is synced");
	bad.bytes[FH_SIZE - 1] ^= 1;
	ok(syncs(&bad, EAGAIN), "a handle with a wrong tag is refused");
	fresh("ro", mode);
	ok(syncs(&fh, EROFS), "a read-only export is not synced");
	fresh("rw", mode);
}

/* Is this message refused without an answer? */
static bool
is_refused(struct broker_channel *c, uint32_t type, const void *data,
    size_t len, size_t nfds)
{
	int fds[BROKER_SEAL_MAX + 1] = { root, root };
	struct ipc_message m = {
		.type = type, .data = data, .len = len, .fds = fds, .nfds = nfds
	};
	struct broker_reply reply;

	return broker_answer(c, &m, &reply) != NULL && reply.len == 0 &&
	    reply.fd == -1;
}

/*
 * Frames that no correct worker sends: the channel ends, and no descriptor
 * stays open.
 */
static void
hostile(void)
{
	struct {
		struct broker_seal seal;
		char names[8];
	} q = { .seal = { .export_id = exports->list[0].id } };
	struct broker_open open = { .want = BROKER_WANTS };
	struct broker_channel *c = broker_channel_new(broker, NULL);
	size_t len;

#define ASK(type, data, n, k) is_refused(c, type, data, n, k)
	ok(ASK(99, &open, sizeof(open), 0), "unknown question");
	ok(ASK(BROKER_OPENED, &open, sizeof(open), 0),
	    "an answer is no question");
	ok(ASK(BROKER_OPEN, &open, sizeof(open), 0),
	    "an unknown purpose of an open");
	open.want = BROKER_PATH;
	open.ngids = 17;
	ok(ASK(BROKER_OPEN, &open, sizeof(open), 0),
	    "more groups than a credential has");
	for (len = 0; len < sizeof(open); len += 4)
		if (!ASK(BROKER_OPEN, &open, len, 0))
			break;
	cmp_ok(len, "==", sizeof(open), "a question cut at any byte");
	ok(ASK(BROKER_OPEN, &open, sizeof(open), 1),
	    "a question with a descriptor");
	q.seal.n = 2;
	q.seal.names_len = 4;
	memcpy(q.names, "a\0b\0", 4);
	ok(ASK(BROKER_SEAL, &q, sizeof(q.seal) + 4, 1),
	    "fewer descriptors than announced");
	q.seal.names_len = 5;
	ok(ASK(BROKER_SEAL, &q, sizeof(q.seal) + 4, 2),
	    "names longer than the message");
	q.seal.names_len = 3;
	ok(ASK(BROKER_SEAL, &q, sizeof(q.seal) + 3, 2),
	    "a name without its NUL");
	memcpy(q.names, "a\0/\0", 4);
	q.seal.names_len = 4;
	ok(ASK(BROKER_SEAL, &q, sizeof(q.seal) + 4, 2), "a path as a name");
	q.seal.n = BROKER_SEAL_MAX + 1;
	ok(ASK(BROKER_SEAL, &q, sizeof(q), BROKER_SEAL_MAX + 1),
	    "more names than one question holds");
	broker_channel_free(c);
}

static void
outside(void)
{
	struct fh top;
	struct broker_seal q = { .export_id = exports->list[0].id, .n = 1 };
	struct broker_sealed a;
	const char *name = "null";
	int fd = open("/proc/self/status", O_PATH | O_CLOEXEC);

	(void)sealed("file", false, &top);
	q.dir = top;
	ok(broker_client_seal(client, &q, &name, &fd, &a) == 0 &&
		a.list[0].error != 0,
	    "a descriptor from outside the export is not sealed");
	close(fd);
}

/* As a worker asks for the handles of new files of one batch. */
static void
nameless(void)
{
	struct fh top, file = sealed("file", false, &top);
	struct broker_seal q = {
		.export_id = exports->list[0].id, .n = 2, .dir = top
	};
	struct broker_sealed a;
	int fds[2];

	fds[0] = fds[1] = openat(root, "file", O_PATH | O_CLOEXEC);
	ok(broker_client_seal(client, &q, NULL, fds, &a) == 0 &&
		a.list[1].error == (fh_is_kernel(&top) ? 0 : EAGAIN) &&
		(!fh_is_kernel(&top) ||
		    memcmp(&a.list[1].fh, &file, sizeof(file)) == 0),
	    "handles of the kernel need no names");
	q.utf16 = true;
	ok(broker_client_seal(client, &q, NULL, fds, &a) == 0 &&
		a.list[0].error == EAGAIN && a.list[1].error == EAGAIN,
	    "those of players do");
	close(fds[0]);
}

static void *
serve(void *arg)
{
	int fd = *(int *)arg;
	struct broker_channel *c = broker_channel_new(broker, NULL);
	bool good = broker_serve(c, fd) == NULL;

	broker_channel_free(c);
	close(fd);
	return good ? arg : NULL;
}

static void
over_a_socket(void)
{
	struct fh fh = sealed("file", false, NULL);
	struct broker_client *local = client;
	pthread_t thread;
	void *good;
	int pair[2], noise = 1;

	if (ipc_pair(pair) == -1)
		BAIL_OUT("socketpair");
	client = broker_client_new(pair[0], NULL);
	pthread_create(&thread, NULL, serve, &pair[1]);
	ok(opens(&fh, BROKER_PATH, 65534, O_PATH) &&
		opens(&fh, BROKER_READ, 65534, O_RDONLY),
	    "descriptors pass through a socket");
	fh = sealed("file", false, NULL);
	ok(opens(&fh, BROKER_PATH, 65534, O_PATH),
	    "a handle is sealed through a socket");
	(void)send(pair[0], &noise, sizeof(noise), 0);
	pthread_join(thread, &good);
	ok(good == NULL, "a malformed message ends the channel");
	ok(refused(&fh, BROKER_PATH, 65534, EPIPE), "the worker gets EPIPE");
	ok(!broker_client_wait(client, 10),
	    "waiting for a new channel times out");
	if (ipc_pair(pair) == -1)
		BAIL_OUT("socketpair");
	broker_client_replace(client, pair[0]);
	pthread_create(&thread, NULL, serve, &pair[1]);
	ok(broker_client_wait(client, 10) &&
		opens(&fh, BROKER_PATH, 65534, O_PATH),
	    "the worker goes on with the new channel");
	broker_client_free(client);
	pthread_join(thread, &good);
	ok(good != NULL, "a channel that the worker closes is no fault");
	client = local;
}

static void
reloading(void)
{
	struct fh fh = sealed("file", false, NULL);
	struct exports *ex = fixture_exports("/elsewhere *(rw)\n");
	struct fh_root none = { .fd = -1 };

	broker_set_exports(broker, served_new(ex, &none, NULL, 0));
	ok(refused(&fh, BROKER_PATH, 65534, ESTALE),
	    "a handle of a removed export is stale");
}

int
main(void)
{
	plan(NO_PLAN);
	/* As in the broker's sandbox: capabilities do not follow the fsuid. */
	if (geteuid() == 0 &&
	    prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) == -1)
		BAIL_OUT("securebits");
	fh_keys_derive(&keys, fixture_key);
	root = fixture_fd(O_RDONLY | O_DIRECTORY);
	fixture_file("file", "hello", 0666);
	if (mkfifoat(root, "fifo", 0666) == -1 ||
	    symlinkat("file", root, "link") == -1 ||
	    fchmodat(root, ".", 0777, 0) == -1)
		BAIL_OUT("fixture");
	if (geteuid() == 0 && fchownat(root, "file", 65534, 65534, 0) == -1)
		BAIL_OUT("chown");
	fresh("rw", geteuid() == 0 ? MODE_MULTI : MODE_SQUASH);
	opening(false);
	opening(true);
	deleted();
	forging();
	outside();
	nameless();
	hostile();
	over_a_socket();
	linking();
	syncing();
	identities();
	reading();
	locking();
	reloading();
	broker_client_free(client);
	broker_free(broker);
	done_testing();
}
