/* SPDX-License-Identifier: ISC */
/*
 * Runs a script of system calls and checks each outcome; prints TAP. One line
 * is one call: words, then "=" and its expected result: a number, a text, or
 * the name of an errno.
 *
 *	as alice
 *	mkdir d 0755 = 0
 *	mkdir d 0755 = EEXIST
 *	stat d mode = 0755
 *
 * "%255n" in a word is that many letters n. "-" is the empty word. A line
 * without "=" only needs to be a known call. "#" begins a comment.
 * Runs in: the guest of the kernel tests, and on a local filesystem to check
 * the script itself.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/xattr.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS_MAX 8
#define WORD_MAX  8192
#define FDS_MAX	  16
#define TEXT_MAX  4096

struct word {
	char s[WORD_MAX];
};

/* The result of a call: a text, or an errno if it failed. */
struct outcome {
	int error;
	char text[TEXT_MAX];
};

static int fds[FDS_MAX];
static const char *where = "?";
static int line_number;

static void
die(const char *what)
{
	printf("Bail out! %s:%d: %s\n", where, line_number, what);
	exit(1);
}

static void
say(struct outcome *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(o->text, sizeof(o->text), fmt, ap);
	va_end(ap);
}

/* The result of a call that returns 0 or -1. */
static void
status(struct outcome *o, int rc)
{
	if (rc == -1)
		o->error = errno;
	else
		say(o, "%d", rc);
}

static long long
number(const struct word *w)
{
	char *end;
	long long n = strtoll(w->s, &end, 0);

	if (end == w->s || *end != '\0')
		die("not a number");
	return n;
}

static mode_t
mode_of(const struct word *w)
{
	return (mode_t)number(w);
}

/* clang-format off */
static const struct { const char *name; int value; } flags[] = {
	{ "O_RDONLY", O_RDONLY }, { "O_WRONLY", O_WRONLY }, { "O_RDWR", O_RDWR },
	{ "O_CREAT", O_CREAT }, { "O_EXCL", O_EXCL }, { "O_TRUNC", O_TRUNC },
	{ "O_APPEND", O_APPEND }, { "O_NOFOLLOW", O_NOFOLLOW },
	{ "O_DIRECTORY", O_DIRECTORY }, { "O_SYNC", O_SYNC },
	{ "O_NONBLOCK", O_NONBLOCK }, { "O_DIRECT", O_DIRECT },
};
/* clang-format on */

static int
flags_of(const struct word *w)
{
	char copy[256], *rest = copy, *part;
	int value = 0;
	size_t i, n = sizeof(flags) / sizeof(flags[0]);

	snprintf(copy, sizeof(copy), "%.200s", w->s);
	while ((part = strsep(&rest, "|")) != NULL) {
		for (i = 0; i < n && strcmp(flags[i].name, part) != 0; i++)
			;
		if (i == n)
			die("unknown open flag");
		value |= flags[i].value;
	}
	return value;
}

static int
slot(const struct word *w)
{
	long long n = number(w);

	if (n < 0 || n >= FDS_MAX)
		die("no such descriptor slot");
	return (int)n;
}

/* ---- calls on paths ---- */

static void
c_as(struct word *w, struct outcome *o)
{
	const struct passwd *pw;

	if (seteuid(0) == -1 && getuid() == 0)
		die("cannot become root again");
	if ((pw = getpwnam(w[1].s)) == NULL)
		die("no such user");
	if (initgroups(pw->pw_name, pw->pw_gid) == -1 ||
	    setegid(pw->pw_gid) == -1 || seteuid(pw->pw_uid) == -1)
		die("cannot change user");
	say(o, "0");
}

static void
c_umask(struct word *w, struct outcome *o)
{
	umask(mode_of(&w[1]));
	say(o, "0");
}

static void
c_cd(struct word *w, struct outcome *o)
{
	status(o, chdir(w[1].s));
}

static void
c_mkdir(struct word *w, struct outcome *o)
{
	status(o, mkdir(w[1].s, mode_of(&w[2])));
}

static void
c_rmdir(struct word *w, struct outcome *o)
{
	status(o, rmdir(w[1].s));
}

static void
c_unlink(struct word *w, struct outcome *o)
{
	status(o, unlink(w[1].s));
}

static void
c_link(struct word *w, struct outcome *o)
{
	status(o, linkat(AT_FDCWD, w[1].s, AT_FDCWD, w[2].s, 0));
}

static void
c_symlink(struct word *w, struct outcome *o)
{
	status(o, symlink(w[1].s, w[2].s));
}

static void
c_rename(struct word *w, struct outcome *o)
{
	status(o, rename(w[1].s, w[2].s));
}

static void
c_mkfifo(struct word *w, struct outcome *o)
{
	status(o, mkfifo(w[1].s, mode_of(&w[2])));
}

static void
c_mksock(struct word *w, struct outcome *o)
{
	status(o, mknod(w[1].s, S_IFSOCK | mode_of(&w[2]), 0));
}

static void
c_mkdev(struct word *w, struct outcome *o)
{
	status(o, mknod(w[1].s, S_IFCHR | mode_of(&w[2]), makedev(1, 3)));
}

static void
c_create(struct word *w, struct outcome *o)
{
	int fd = open(w[1].s, O_CREAT | O_EXCL | O_WRONLY, mode_of(&w[2]));

	status(o, fd == -1 ? -1 : close(fd));
}

static void
c_open(struct word *w, struct outcome *o)
{
	int fd = open(w[1].s, flags_of(&w[2]), 0644);

	status(o, fd == -1 ? -1 : close(fd));
}

static void
c_chmod(struct word *w, struct outcome *o)
{
	status(o, chmod(w[1].s, mode_of(&w[2])));
}

static void
c_chown(struct word *w, struct outcome *o)
{
	status(o, chown(w[1].s, (uid_t)number(&w[2]), (gid_t)number(&w[3])));
}

static void
c_lchown(struct word *w, struct outcome *o)
{
	status(o, lchown(w[1].s, (uid_t)number(&w[2]), (gid_t)number(&w[3])));
}

static void
c_truncate(struct word *w, struct outcome *o)
{
	status(o, truncate(w[1].s, (off_t)number(&w[2])));
}

/* Seconds of atime and mtime; "now", "omit". */
static struct timespec
when(const struct word *w)
{
	struct timespec t = { 0, 0 };

	if (strcmp(w->s, "now") == 0)
		t.tv_nsec = UTIME_NOW;
	else if (strcmp(w->s, "omit") == 0)
		t.tv_nsec = UTIME_OMIT;
	else
		t.tv_sec = (time_t)number(w);
	return t;
}

static void
c_utimens(struct word *w, struct outcome *o)
{
	struct timespec t[2] = { when(&w[2]), when(&w[3]) };

	status(o, utimensat(AT_FDCWD, w[1].s, t, AT_SYMLINK_NOFOLLOW));
}

/* access PATH rwxf: with the effective identity, as the filesystem sees it. */
static void
c_access(struct word *w, struct outcome *o)
{
	int mode = F_OK;
	const char *p;

	for (p = w[2].s; *p != '\0'; p++)
		mode |= *p == 'r' ? R_OK :
		    *p == 'w'	  ? W_OK :
		    *p == 'x'	  ? X_OK :
				    F_OK;
	status(o,
	    (int)syscall(SYS_faccessat2, AT_FDCWD, w[1].s, mode, AT_EACCESS));
}

static const char *
type_of(mode_t mode)
{
	return S_ISREG(mode) ? "file" :
	    S_ISDIR(mode)    ? "dir" :
	    S_ISLNK(mode)    ? "symlink" :
	    S_ISFIFO(mode)   ? "fifo" :
	    S_ISSOCK(mode)   ? "socket" :
	    S_ISCHR(mode)    ? "char" :
			       "other";
}

static void
say_field(struct outcome *o, const struct stat *st, const char *field)
{
	if (strcmp(field, "mode") == 0)
		say(o, "0%o", st->st_mode & 07777u);
	else if (strcmp(field, "type") == 0)
		say(o, "%s", type_of(st->st_mode));
	else if (strcmp(field, "size") == 0)
		say(o, "%lld", (long long)st->st_size);
	else if (strcmp(field, "nlink") == 0)
		say(o, "%lu", (unsigned long)st->st_nlink);
	else if (strcmp(field, "uid") == 0)
		say(o, "%u", st->st_uid);
	else if (strcmp(field, "gid") == 0)
		say(o, "%u", st->st_gid);
	else if (strcmp(field, "mtime") == 0)
		say(o, "%lld", (long long)st->st_mtim.tv_sec);
	else if (strcmp(field, "atime") == 0)
		say(o, "%lld", (long long)st->st_atim.tv_sec);
	else
		die("unknown stat field");
}

static void
c_stat(struct word *w, struct outcome *o)
{
	struct stat st;

	if (stat(w[1].s, &st) == -1)
		o->error = errno;
	else
		say_field(o, &st, w[2].s);
}

static void
c_lstat(struct word *w, struct outcome *o)
{
	struct stat st;

	if (lstat(w[1].s, &st) == -1)
		o->error = errno;
	else
		say_field(o, &st, w[2].s);
}

/* same A B: are they one file? */
static void
c_same(struct word *w, struct outcome *o)
{
	struct stat a, b;

	if (lstat(w[1].s, &a) == -1 || lstat(w[2].s, &b) == -1)
		o->error = errno;
	else
		say(o, "%d", a.st_ino == b.st_ino && a.st_dev == b.st_dev);
}

/* newer A B: is the ctime (of A) later than, or equal to, that of B? */
static void
c_newer(struct word *w, struct outcome *o)
{
	struct stat a, b;

	if (lstat(w[1].s, &a) == -1 || lstat(w[2].s, &b) == -1)
		o->error = errno;
	else
		say(o, "%d",
		    a.st_ctim.tv_sec > b.st_ctim.tv_sec ||
			(a.st_ctim.tv_sec == b.st_ctim.tv_sec &&
			    a.st_ctim.tv_nsec >= b.st_ctim.tv_nsec));
}

static void
c_readlink(struct word *w, struct outcome *o)
{
	char buf[TEXT_MAX];
	ssize_t n = readlink(w[1].s, buf, sizeof(buf) - 1);

	if (n == -1)
		o->error = errno;
	else
		say(o, "%.*s", (int)n, buf);
}

/* count DIR: entries without "." and "..". */
static void
c_count(struct word *w, struct outcome *o)
{
	const struct dirent *e;
	DIR *d = opendir(w[1].s);
	int n = 0;

	if (d == NULL) {
		o->error = errno;
		return;
	}
	while ((e = readdir(d)) != NULL)
		n +=
		    strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	say(o, "%d", n);
}

static void
c_pathconf(struct word *w, struct outcome *o)
{
	static const struct {
		const char *name;
		int value;
	} names[] = { { "name_max", _PC_NAME_MAX },
		{ "link_max", _PC_LINK_MAX }, { "no_trunc", _PC_NO_TRUNC },
		{ "chown_restricted", _PC_CHOWN_RESTRICTED } };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, w[2].s) == 0)
			say(o, "%ld", pathconf(w[1].s, names[i].value));
}

static void
c_setxattr(struct word *w, struct outcome *o)
{
	status(o, setxattr(w[1].s, w[2].s, w[3].s, strlen(w[3].s), 0));
}

static void
c_getxattr(struct word *w, struct outcome *o)
{
	status(o, (int)getxattr(w[1].s, w[2].s, o->text, sizeof(o->text)));
}

/* ---- calls on descriptors: a slot number stands for the descriptor ---- */

static void
c_fopen(struct word *w, struct outcome *o)
{
	int fd = open(w[2].s, flags_of(&w[3]), 0644);

	if (fd != -1)
		fds[slot(&w[1])] = fd;
	status(o, fd == -1 ? -1 : 0);
}

static void
c_fclose(struct word *w, struct outcome *o)
{
	status(o, close(fds[slot(&w[1])]));
}

static void
c_fwrite(struct word *w, struct outcome *o)
{
	status(o, (int)write(fds[slot(&w[1])], w[2].s, strlen(w[2].s)));
}

static void
c_pwrite(struct word *w, struct outcome *o)
{
	status(o,
	    (int)pwrite(fds[slot(&w[1])], w[3].s, strlen(w[3].s),
		(off_t)number(&w[2])));
}

/* pread SLOT OFFSET LENGTH: the text, NUL shown as a dot. */
static void
c_pread(struct word *w, struct outcome *o)
{
	size_t len = (size_t)number(&w[3]);
	ssize_t n, i;

	if (len >= sizeof(o->text))
		die("too long");
	n = pread(fds[slot(&w[1])], o->text, len, (off_t)number(&w[2]));
	if (n == -1) {
		o->error = errno;
		return;
	}
	o->text[n] = '\0';
	for (i = 0; i < n; i++)
		if (o->text[i] == '\0')
			o->text[i] = '.';
}

static void
c_fstat(struct word *w, struct outcome *o)
{
	struct stat st;

	if (fstat(fds[slot(&w[1])], &st) == -1)
		o->error = errno;
	else
		say_field(o, &st, w[2].s);
}

static void
c_ftruncate(struct word *w, struct outcome *o)
{
	status(o, ftruncate(fds[slot(&w[1])], (off_t)number(&w[2])));
}

static void
c_fchmod(struct word *w, struct outcome *o)
{
	status(o, fchmod(fds[slot(&w[1])], mode_of(&w[2])));
}

static void
c_fchown(struct word *w, struct outcome *o)
{
	status(o,
	    fchown(fds[slot(&w[1])], (uid_t)number(&w[2]),
		(gid_t)number(&w[3])));
}

static void
c_fsync(struct word *w, struct outcome *o)
{
	status(o, fsync(fds[slot(&w[1])]));
}

static void
c_lseek(struct word *w, struct outcome *o)
{
	off_t at = lseek(fds[slot(&w[1])], (off_t)number(&w[2]),
	    strcmp(w[3].s, "end") == 0 ? SEEK_END : SEEK_SET);

	if (at == -1)
		o->error = errno;
	else
		say(o, "%lld", (long long)at);
}

/* ---- the script ---- */

struct call {
	const char *name;
	int nwords; /* with the name */
	void (*run)(struct word *, struct outcome *);
};

/* clang-format off */
static const struct call calls[] = {
	{ "access",    3, c_access },
	{ "as",        2, c_as },
	{ "cd",        2, c_cd },
	{ "chmod",     3, c_chmod },
	{ "chown",     4, c_chown },
	{ "count",     2, c_count },
	{ "create",    3, c_create },
	{ "fchmod",    3, c_fchmod },
	{ "fchown",    4, c_fchown },
	{ "fclose",    2, c_fclose },
	{ "fopen",     4, c_fopen },
	{ "fstat",     3, c_fstat },
	{ "fsync",     2, c_fsync },
	{ "ftruncate", 3, c_ftruncate },
	{ "fwrite",    3, c_fwrite },
	{ "getxattr",  3, c_getxattr },
	{ "lchown",    4, c_lchown },
	{ "link",      3, c_link },
	{ "lseek",     4, c_lseek },
	{ "lstat",     3, c_lstat },
	{ "mkdev",     3, c_mkdev },
	{ "mkdir",     3, c_mkdir },
	{ "mkfifo",    3, c_mkfifo },
	{ "mksock",    3, c_mksock },
	{ "newer",     3, c_newer },
	{ "open",      3, c_open },
	{ "pathconf",  3, c_pathconf },
	{ "pread",     4, c_pread },
	{ "pwrite",    4, c_pwrite },
	{ "readlink",  2, c_readlink },
	{ "rename",    3, c_rename },
	{ "rmdir",     2, c_rmdir },
	{ "same",      3, c_same },
	{ "setxattr",  4, c_setxattr },
	{ "stat",      3, c_stat },
	{ "symlink",   3, c_symlink },
	{ "truncate",  3, c_truncate },
	{ "umask",     2, c_umask },
	{ "unlink",    2, c_unlink },
	{ "utimens",   4, c_utimens },
};
/* clang-format on */

static const struct call *
find_call(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	die("unknown call");
	return NULL;
}

/* Copies one word: "-" is empty, "%12n" is twelve letters n. */
static void
expand(struct word *out, const char *in)
{
	size_t at = 0;

	if (strcmp(in, "-") == 0)
		in = "";
	while (*in != '\0' && at < WORD_MAX - 1) {
		char *end;
		long n = *in == '%' ? strtol(in + 1, &end, 10) : 0;

		if (n <= 0 || *end == '\0') {
			out->s[at++] = *in++;
			continue;
		}
		while (n-- > 0 && at < WORD_MAX - 1)
			out->s[at++] = *end;
		in = end + 1;
	}
	out->s[at] = '\0';
}

/* The name of the errno, such as EACCES, or NULL for success. */
static const char *
outcome_name(const struct outcome *o)
{
	return o->error != 0 ? strerrorname_np(o->error) : o->text;
}

/* Is the outcome one of "a|b|c"? */
static bool
matches(const char *got, const char *want)
{
	char copy[TEXT_MAX], *rest = copy, *part;

	snprintf(copy, sizeof(copy), "%s", want);
	while ((part = strsep(&rest, "|")) != NULL)
		if (strcmp(part, got) == 0)
			return true;
	return false;
}

static bool
run_line(char *line, int test)
{
	static struct word words[WORDS_MAX];
	struct outcome o = { 0, "" };
	const struct call *call;
	char shown[512], *want, *rest, *part;
	int n = 0;
	bool good;

	snprintf(shown, sizeof(shown), "%.200s", line);
	want = strstr(line, " = ");
	if (want != NULL) {
		*want = '\0';
		want += 3;
	}
	for (rest = line; (part = strsep(&rest, " \t")) != NULL;)
		if (*part != '\0' && n < WORDS_MAX)
			expand(&words[n++], part);
	call = find_call(words[0].s);
	if (call->nwords != n)
		die("wrong number of words");
	call->run(words, &o);
	if (want == NULL) {
		if (o.error != 0)
			die(strerror(o.error));
		return true;
	}
	good = matches(outcome_name(&o), want);
	printf("%s %d - %d: %s\n", good ? "ok" : "not ok", test, line_number,
	    shown);
	if (!good)
		printf("# got: %.200s\n", outcome_name(&o));
	return good;
}

int
main(int argc, char *argv[])
{
	static char line[WORD_MAX];
	int tests = 0, failed = 0;
	FILE *in = stdin;

	if (argc > 1 && chdir(argv[1]) == -1)
		die("no such directory");
	while (fgets(line, sizeof(line), in) != NULL) {
		line_number++;
		line[strcspn(line, "#\n")] = '\0';
		if (line[strspn(line, " \t")] == '\0')
			continue;
		tests += strstr(line, " = ") != NULL;
		failed += !run_line(line, tests);
	}
	printf("1..%d\n", tests);
	return failed != 0;
}
