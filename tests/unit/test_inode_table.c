/* SPDX-License-Identifier: ISC */
/*
 * Files found without the kernel's handles: after a restart, a rename, a
 * removal and the reuse of an inode number, in bounded memory.
 * Links: nfsd
 * Runs in: tests.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "door_fixture.h"
#include "nfsd/broker/inode_table.h"
#include "tap.h"

static struct fh_fs by_inode = { .naming = FH_BY_INODE };
static int root;

static struct inode_table *
table(enum fh_naming naming, size_t max)
{
	struct fh_fs fs = by_inode;

	fs.naming = naming;
	return inode_table_new(&fs, root, max, false);
}

static struct fh_plain
plain_of(const char *path)
{
	struct fh_plain plain;
	struct fh_id id;

	memset(&plain, 0, sizeof(plain));
	if (fh_fs_id(&by_inode, root, path, &id) == 0)
		fh_fs_from_id(&id, 1, false, &plain);
	return plain;
}

/* Asks as a client does, which asks again while a walk is not over. */
static int
open_in_time(struct inode_table *t, const struct fh_plain *plain,
    struct inode_found *found)
{
	unsigned int tries;
	int result = -1;

	errno = EAGAIN;
	for (tries = 0; result == -1 && errno == EAGAIN && tries < 60; tries++)
		result = inode_table_open(t, plain, found);
	return result;
}

/* Opens the file and compares it with the one at path. NULL: expects ESTALE. */
static bool
finds(struct inode_table *t, const struct fh_plain *plain, const char *path)
{
	struct inode_found f;
	struct stat got, want;
	bool same;

	if (open_in_time(t, plain, &f) == -1)
		return path == NULL && errno == ESTALE;
	same = path != NULL && fstat(f.fd, &got) == 0 &&
	    fstatat(root, path, &want, AT_SYMLINK_NOFOLLOW) == 0 &&
	    got.st_ino == want.st_ino;
	close(f.fd);
	if (f.dirfd != -1)
		close(f.dirfd);
	return same;
}

static void
walking(void)
{
	struct inode_table *t = table(FH_BY_INODE, 1000);
	struct fh_plain deep = plain_of("a/b/c/deep"), top = plain_of(".");
	struct fh_plain player, dir = plain_of("a/b");
	struct fh_id id;

	ok(finds(t, &top, "."), "the root is found");
	ok(finds(t, &deep, "a/b/c/deep"),
	    "a file is found by walking the export");
	ok(finds(t, &dir, "a/b"), "a directory is found");
	fh_fs_id(&by_inode, root, "a/b/c/deep", &id);
	fh_fs_from_id(&id, 1, true, &player);
	ok(finds(t, &player, "a/b/c/deep"),
	    "a file is found by a player's short handle");
	renameat(root, "a/b", root, "moved");
	ok(finds(t, &deep, "moved/c/deep"),
	    "a file moved just after a walk is found by the next one");
	unlinkat(root, "moved/c/deep", 0);
	ok(finds(t, &deep, NULL), "a removed file is stale");
	ok(finds(t, &deep, NULL), "it stays so");
	renameat(root, "moved", root, "a/b");
	inode_table_free(t);
}

/* Another machine makes files, and the table hears nothing of it. */
static void
unheard(void)
{
	struct inode_table *t = table(FH_BY_INODE, 1000);
	struct fh_plain top = plain_of("."), dir, plain;

	inode_table_prepare(t);
	cmp_ok(inode_table_size(t), ">=", 4, "a walk before the first call");
	mkdirat(root, "late", 0755);
	fixture_file("late/file", "x", 0644);
	plain = plain_of("late/file");
	dir = plain_of("late");
	ok(finds(t, &plain, "late/file"),
	    "a file that was made after a complete walk is not stale");
	ok(finds(t, &dir, "late"), "nor is its directory");
	renameat(root, "late/file", root, "later");
	ok(finds(t, &plain, "later"), "nor is it when it was moved");
	ok(finds(t, &top, "."), "the root is found");
	unlinkat(root, "later", 0);
	unlinkat(root, "late", AT_REMOVEDIR);
	inode_table_free(t);
}

#define CALLERS 16

static atomic_uint walks;

struct caller {
	struct inode_table *t;
	struct fh_plain plain;
	int error;
};

static void *
ask(void *arg)
{
	struct caller *c = arg;
	struct inode_found found;

	c->error = open_in_time(c->t, &c->plain, &found) == 0 ? 0 : errno;
	return NULL;
}

/* Calls that wait at one time share a walk, and the next one is not at once. */
static void
sharing(void)
{
	struct inode_table *t = table(FH_BY_INODE, 1000);
	struct caller callers[CALLERS];
	pthread_t threads[CALLERS];
	size_t i, stale = 0;

	fixture_file("gone", "x", 0644);
	for (i = 0; i < CALLERS; i++)
		callers[i] =
		    (struct caller){ .t = t, .plain = plain_of("gone") };
	unlinkat(root, "gone", 0);
	inode_table_prepare(t);
	walks = 0;
	for (i = 0; i < CALLERS; i++)
		pthread_create(&threads[i], NULL, ask, &callers[i]);
	for (i = 0; i < CALLERS; i++) {
		pthread_join(threads[i], NULL);
		stale += callers[i].error == ESTALE;
	}
	cmp_ok(stale, "==", CALLERS, "%d calls for a removed file are stale",
	    CALLERS);
	/* On a busy machine not all of them wait at one time. */
	cmp_ok(walks, "<=", CALLERS / 2, "few walks serve them all");
	inode_table_free(t);
}

static void
noting(void)
{
	struct inode_table *t = table(FH_BY_INODE, 1000);
	struct fh_plain top = plain_of("."), plain;
	struct fh_id id;
	int fd;

	fixture_file("noted", "x", 0644);
	fd = openat(root, "noted", O_PATH | O_CLOEXEC);
	ok(inode_table_identify(t, &top, "noted", fd, &id) == 0,
	    "a new file is entered in the table");
	plain = plain_of("noted");
	ok(fh_fs_is(&plain, &id), "under its identity");
	close(fd);
	cmp_ok(inode_table_size(t), "==", 2, "without a walk");
	ok(finds(t, &plain, "noted"), "it is found by its identity");
	unlinkat(root, "noted", 0);
	inode_table_free(t);
}

static void
reuse(void)
{
	struct inode_table *t = table(FH_BY_INODE, 1000);
	struct fh_plain old, new;
	int i;

	fixture_file("one", "x", 0644);
	old = new = plain_of("one");
	for (i = 0; i < 50; i++) {
		unlinkat(root, "one", 0);
		fixture_file("one", "y", 0644);
		new = plain_of("one");
		if (memcmp(new.inner, old.inner, 8) == 0)
			break; /* the same number */
	}
	skip(i == 50, 1,
	    "this filesystem does not reuse inode numbers at once");
	ok(finds(t, &old, NULL), "a reused inode number is not the old file");
	end_skip;
	ok(finds(t, &new, "one"), "the new file has its own identity");
	unlinkat(root, "one", 0);
	inode_table_free(t);
}

static void
bounds(void)
{
	struct inode_table *t = table(FH_BY_INODE, 64);
	struct fh_plain plain;
	char name[64];
	size_t found = 0;
	int i;

	mkdirat(root, "many", 0755);
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		fixture_file(name, "x", 0644);
	}
	plain = plain_of("many/7");
	(void)finds(t, &plain, "many/7");
	cmp_ok(inode_table_size(t), "<=", 64, "the table is bounded");
	for (i = 0; i < 300; i += 60) {
		snprintf(name, sizeof(name), "many/%d", i);
		plain = plain_of(name);
		found += finds(t, &plain, name) || errno == EAGAIN;
	}
	cmp_ok(found, "==", 5,
	    "an evicted file is found later and is not stale");
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "many/%d", i);
		unlinkat(root, name, 0);
	}
	inode_table_free(t);
}

static void
by_name(void)
{
	struct inode_table *t = table(FH_BY_NAME, 1000);
	struct fh_id top, a, b;
	struct fh_plain plain, dir;

	fh_fs_name_id(NULL, "", &top);
	fh_fs_name_id(&top, "a", &a);
	fh_fs_name_id(&a, "b", &b);
	fh_fs_from_id(&b, 1, true, &plain);
	fh_fs_from_id(&a, 1, true, &dir);
	ok(finds(t, &plain, "a/b"), "by name: found by walking");
	ok(inode_table_identify(t, &dir, "..", -1, &b) == 0 &&
		memcmp(&b, &top, sizeof(b)) == 0,
	    "by name: the parent of a directory");
	unlinkat(root, "a/x", 0);
	ok(inode_table_identify(t, &plain, "c", -1, &a) == 0,
	    "by name: the identity of a child");
	fh_fs_from_id(&a, 1, false, &plain);
	ok(finds(t, &plain, "a/b/c"), "by name: it finds the child");
	inode_table_free(t);
}

/* A symbolic link on the way must not be followed out of the export. */
static void
confined(void)
{
	struct inode_table *t = table(FH_BY_INODE, 1000);
	struct fh_plain passwd = plain_of("/etc/passwd");

	ok(symlinkat("/etc", root, "etc") == 0 && finds(t, &passwd, NULL),
	    "nothing outside is found through a link");
	unlinkat(root, "etc", 0);
	inode_table_free(t);
}

/* Notes what path leads to as name in the directory at dir. */
static void
notes(struct inode_table *t, const char *dir, const char *name,
    const char *path)
{
	struct fh_plain plain = plain_of(dir);
	int fd = openat(root, path, O_PATH | O_CLOEXEC);
	struct fh_id id;

	if (inode_table_identify(t, &plain, name, fd, &id) == -1)
		diag("%s: %s", path, strerror(errno));
	close(fd);
}

/* q leaves p, then p moves into it: each is known to lie in the other. */
static void
change_places(struct inode_table *t)
{
	mkdirat(root, "p", 0755);
	mkdirat(root, "p/q", 0755);
	notes(t, ".", "p", "p");
	notes(t, "p", "q", "p/q");
	renameat(root, "p/q", root, "q");
	renameat(root, "p", root, "q/p");
	notes(t, "q", "p", "q/p");
}

static void
circles(void)
{
	struct inode_table *t = table(FH_BY_INODE, 1000);
	struct fh_plain p, q;

	change_places(t);
	p = plain_of("q/p");
	q = plain_of("q");
	ok(finds(t, &p, "q/p") && finds(t, &q, "q"),
	    "directories that changed places are found by a walk");
	inode_table_free(t);
	unlinkat(root, "q/p", AT_REMOVEDIR);
	unlinkat(root, "q", AT_REMOVEDIR);

	t = table(FH_BY_INODE, 4);
	change_places(t);
	unlinkat(root, "q/p", AT_REMOVEDIR);
	unlinkat(root, "q", AT_REMOVEDIR);
	notes(t, ".", "a", "a");
	notes(t, "a", "b", "a/b");
	notes(t, "a/b", "c", "a/b/c");
	p = plain_of("a/b/c");
	ok(finds(t, &p, "a/b/c"),
	    "their places are free again when they are removed");
	inode_table_free(t);
}

#define DEPTH 300

static unsigned long opens;

static const void *
pointer_of(long argument)
{
	const void *p;

	memcpy(&p, &argument, sizeof(p));
	return p;
}

/* In place of the C library's: counts how the table opens files. */
long
syscall(long number, ...)
{
	void *found = dlsym(RTLD_NEXT, "syscall");
	long (*real)(long, ...);
	struct open_how how;
	long a[4];
	va_list ap;
	size_t i;

	memcpy(&real, &found, sizeof(real));
	va_start(ap, number);
	for (i = 0; i < nitems(a); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	opens += number == SYS_openat2;
	/* Only a walk opens the root to list it. */
	if (number == SYS_openat2) {
		memcpy(&how, pointer_of(a[2]), sizeof(how));
		walks += strcmp(pointer_of(a[1]), ".") == 0 &&
		    (how.flags & O_PATH) == 0;
	}
	return real(number, a[0], a[1], a[2], a[3]);
}

/* A deep tree with a second directory on each level. */
static void
deep(void)
{
	struct inode_table *t = table(FH_BY_INODE, 10000);
	char path[2 * DEPTH + 8] = "";
	struct fh_plain bottom, side;
	int i;

	for (i = 0; i < DEPTH; i++) {
		strlcat(path, "0/", sizeof(path));
		mkdirat(root, path, 0755);
		strlcat(path, "z", sizeof(path));
		mkdirat(root, path, 0755);
		if (i == 0)
			side = plain_of(path);
		path[strlen(path) - 1] = '\0';
	}
	bottom = plain_of(path);
	opens = 0;
	ok(finds(t, &bottom, path), "a directory %d levels deep is found",
	    DEPTH);
	/* The last step opens the whole path. */
	cmp_ok(opens, "<", 2 * 2 * DEPTH + DEPTH + 20,
	    "a walk opens each directory about twice, however deep it lies");
	ok(finds(t, &side, "0/z"), "so is one beside the path");
	for (i = DEPTH; i > 0; i--) {
		strlcat(path, "z", sizeof(path));
		unlinkat(root, path, AT_REMOVEDIR);
		path[2 * i] = '\0';
		unlinkat(root, path, AT_REMOVEDIR);
		path[2 * i - 2] = '\0';
	}
	inode_table_free(t);
}

int
main(void)
{
	plan(NO_PLAN);
	root = fixture_fd(O_PATH);
	if (fh_fs_probe(&by_inode, root, &(struct fh_ask){ .kernel = false }) ==
	    -1)
		BAIL_OUT("probe");
	by_inode.naming = FH_BY_INODE;
	mkdirat(root, "a", 0755);
	mkdirat(root, "a/b", 0755);
	mkdirat(root, "a/b/c", 0755);
	fixture_file("a/b/c/deep", "deep", 0644);
	walking();
	unheard();
	sharing();
	noting();
	reuse();
	bounds();
	by_name();
	confined();
	circles();
	deep();
	done_testing();
}
