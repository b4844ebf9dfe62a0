/* SPDX-License-Identifier: ISC */
/*
 * Random work on names by several processes, each in its own directory and with
 * a model of it in memory: create, mkdir, rename, unlink, rmdir, link, symlink,
 * write, chmod. Every result must be the one that the model predicts, and at
 * the end the directories must equal it.
 *
 *	stress DIRECTORY [PROCESSES [OPERATIONS [SEED]]]
 *
 * Runs in: the guest of the kernel tests.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMES 48
#define FILES 256 /* inodes of the model */

enum kind { NONE, FILE_, DIR_, LINK_ };

/* A name points to a file of the model. Directories are always empty. */
struct name {
	enum kind kind;
	int file;
};

struct file {
	unsigned int links;
	unsigned int mode;
	long size;
};

static struct name names[NAMES];
static struct file files[FILES];
static uint64_t state;
static unsigned long step;

static uint32_t
rnd(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static const char *
name_of(uint32_t i, char *out, size_t outsize)
{
	snprintf(out, outsize, "n%02u-%.*s", i, (int)(i * 5),
	    "long-long-long-long-long-long-long-long-long-long-long-long-"
	    "long-long-long-long-long-long-long-long-long-long-long-long-"
	    "long-long-long-long-long-long-long-long-long-long-long-long-"
	    "long-long-long-long-long-long-long-long-long-long");
	return out;
}

/* rc and errno must be those of the model. want 0 is success. */
static void
expect(int rc, int want, const char *what, uint32_t i)
{
	int got = rc == -1 ? errno : 0;

	if (got == want)
		return;
	printf("stress: step %lu: %s of name %u gave %s, not %s\n", step, what,
	    i, got ? strerrorname_np(got) : "success",
	    want ? strerrorname_np(want) : "success");
	exit(1);
}

static int
new_file(unsigned int mode)
{
	int i;

	for (i = 0; i < FILES && files[i].links > 0; i++)
		;
	if (i == FILES)
		errx(1, "model full");
	files[i] = (struct file){ 1, mode, 0 };
	return i;
}

static void
forget(struct name *n)
{
	if (n->kind == FILE_)
		files[n->file].links--;
	n->kind = NONE;
}

static void
do_create(uint32_t i, const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0640);

	expect(fd == -1 ? -1 : 0, names[i].kind == NONE ? 0 : EEXIST, "create",
	    i);
	if (fd == -1)
		return;
	close(fd);
	names[i] = (struct name){ FILE_, new_file(0640) };
}

static void
do_mkdir(uint32_t i, const char *path)
{
	expect(mkdir(path, 0755), names[i].kind == NONE ? 0 : EEXIST, "mkdir",
	    i);
	if (names[i].kind == NONE)
		names[i].kind = DIR_;
}

static void
do_unlink(uint32_t i, const char *path)
{
	expect(unlink(path),
	    names[i].kind == NONE     ? ENOENT :
		names[i].kind == DIR_ ? EISDIR :
					0,
	    "unlink", i);
	if (names[i].kind != DIR_)
		forget(&names[i]);
}

static void
do_rmdir(uint32_t i, const char *path)
{
	expect(rmdir(path),
	    names[i].kind == NONE     ? ENOENT :
		names[i].kind != DIR_ ? ENOTDIR :
					0,
	    "rmdir", i);
	if (names[i].kind == DIR_)
		forget(&names[i]);
}

static void
do_symlink(uint32_t i, const char *path)
{
	expect(symlink("target", path), names[i].kind == NONE ? 0 : EEXIST,
	    "symlink", i);
	if (names[i].kind == NONE)
		names[i].kind = LINK_;
}

static void
do_write(uint32_t i, const char *path)
{
	static const char data[5000] = "x";
	long len = 1 + (long)rnd(sizeof(data) - 1);
	int fd;

	if (names[i].kind != FILE_)
		return;
	expect(fd = open(path, O_WRONLY | O_APPEND), 0, "open", i);
	if (write(fd, data, (size_t)len) != len)
		expect(-1, 0, "write", i);
	expect(close(fd), 0, "close", i);
	files[names[i].file].size += len;
}

static void
do_chmod(uint32_t i, const char *path)
{
	unsigned int mode = 0600 | rnd(0200);

	if (names[i].kind != FILE_)
		return;
	expect(chmod(path, mode), 0, "chmod", i);
	files[names[i].file].mode = mode;
}

static void
do_link(uint32_t i, const char *path)
{
	uint32_t j = rnd(NAMES);
	char to[256];

	if (names[i].kind != FILE_)
		return;
	expect(link(path, name_of(j, to, sizeof(to))),
	    names[j].kind == NONE ? 0 : EEXIST, "link", i);
	if (names[j].kind == NONE) {
		names[j] = names[i];
		files[names[i].file].links++;
	}
}

static int
rename_wants(const struct name *a, const struct name *b)
{
	if (a->kind == NONE)
		return ENOENT;
	if (b->kind == NONE || a == b)
		return 0;
	if (a->kind == DIR_)
		return b->kind == DIR_ ? 0 : ENOTDIR;
	return b->kind == DIR_ ? EISDIR : 0;
}

static void
do_rename(uint32_t i, const char *path)
{
	uint32_t j = rnd(NAMES);
	struct name *a = &names[i], *b = &names[j];
	int want = rename_wants(a, b);
	char to[256];

	expect(rename(path, name_of(j, to, sizeof(to))), want, "rename", i);
	if (want != 0 || a == b)
		return;
	if (a->kind == FILE_ && b->kind == FILE_ && a->file == b->file)
		return; /* two names of one file: nothing happens */
	forget(b);
	*b = *a;
	a->kind = NONE;
}

static void
do_stat(uint32_t i, const char *path)
{
	const struct file *f;
	struct stat st;

	expect(lstat(path, &st), names[i].kind == NONE ? ENOENT : 0, "lstat",
	    i);
	if (names[i].kind != FILE_)
		return;
	f = &files[names[i].file];
	if ((st.st_mode & 07777) == f->mode && st.st_size == f->size &&
	    st.st_nlink == f->links)
		return;
	printf("stress: step %lu: name %u: mode %o size %lld links %lu, "
	       "not %o %ld %u\n",
	    step, i, st.st_mode & 07777u, (long long)st.st_size,
	    (unsigned long)st.st_nlink, f->mode, f->size, f->links);
	exit(1);
}

/* The directory lists exactly the names of the model. */
static void
check_list(void)
{
	const struct dirent *e;
	DIR *d = opendir(".");
	bool seen[NAMES] = { false };
	uint32_t i;

	if (d == NULL)
		err(1, "opendir");
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] != 'n')
			continue; /* ., .., and leftovers of open files */
		i = (uint32_t)strtoul(e->d_name + 1, NULL, 10);
		if (i >= NAMES || seen[i] || names[i].kind == NONE)
			errx(1, "step %lu: %s listed %s", step, e->d_name,
			    i < NAMES && seen[i] ? "twice" : "but not there");
		seen[i] = true;
	}
	for (i = 0; i < NAMES; i++)
		if (names[i].kind != NONE && !seen[i])
			errx(1, "step %lu: name %u not listed", step, i);
	closedir(d);
}

static void (*const work[])(uint32_t, const char *) = { do_create, do_create,
	do_mkdir, do_unlink, do_rmdir, do_symlink, do_write, do_chmod, do_link,
	do_rename, do_rename, do_stat, do_stat };

static void
one_process(const char *dir, unsigned long count)
{
	char path[256];
	uint32_t i;

	if (mkdir(dir, 0755) == -1 || chdir(dir) == -1)
		err(1, "%s", dir);
	for (step = 0; step < count; step++) {
		i = rnd(NAMES);
		work[rnd(sizeof(work) / sizeof(work[0]))](i,
		    name_of(i, path, sizeof(path)));
		if (step % 100 == 99)
			check_list();
	}
	for (i = 0; i < NAMES; i++)
		do_stat(i, name_of(i, path, sizeof(path)));
	check_list();
	exit(0);
}

int
main(int argc, char *argv[])
{
	unsigned long procs = argc > 2 ? strtoul(argv[2], NULL, 10) : 2, i;
	unsigned long count = argc > 3 ? strtoul(argv[3], NULL, 10) : 500;
	unsigned long seed = argc > 4 ? strtoul(argv[4], NULL, 10) : 1;
	int status, bad = 0;
	char dir[32];

	if (argc < 2)
		errx(2,
		    "usage: stress DIRECTORY [PROCESSES [OPERATIONS "
		    "[SEED]]]");
	umask(0);
	if (chdir(argv[1]) == -1)
		err(2, "%s", argv[1]);
	for (i = 0; i < procs; i++) {
		state = seed * 1000 + i;
		snprintf(dir, sizeof(dir), "p%lu", i);
		fflush(stdout);
		if (fork() == 0)
			one_process(dir, count);
	}
	while (wait(&status) != -1)
		bad += status != 0;
	printf("stress: %lu processes, %lu operations each, seed %lu, %d bad\n",
	    procs, count, seed, bad);
	return bad != 0;
}
