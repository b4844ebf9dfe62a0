/* SPDX-License-Identifier: ISC */
/*
 * A small implementation of libtap's interface for machines without it.
 * Keeps counts and the current todo reason, prints TAP; no other state.
 * Runs in: test programs only.
 */
#include <sys/types.h>
#include <sys/wait.h>

#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

#define NAME_MAX_BYTES 1024

static int planned = NO_PLAN;
static int ran;
static int failed;
static char todo_reason[256];

static int result(const char *file, int line, int test, const char *fmt,
    va_list ap) TAP_NAMED(4, 0);

/* A test name must stay one line and must not look like a directive. */
static void
print_name(const char *name)
{
	for (; *name != '\0'; name++) {
		if (*name == '#' || *name == '\\')
			putchar('\\');
		putchar(*name == '\n' ? ' ' : *name);
	}
}

static int
result(const char *file, int line, int test, const char *fmt, va_list ap)
{
	char name[NAME_MAX_BYTES];

	vsnprintf(name, sizeof(name), fmt, ap);
	printf("%sok %d", test ? "" : "not ", ++ran);
	if (name[0] != '\0') {
		printf(" - ");
		print_name(name);
	}
	if (todo_reason[0] != '\0')
		printf(" # TODO %s", todo_reason);
	putchar('\n');
	fflush(stdout);
	if (!test && todo_reason[0] == '\0') {
		failed++;
		diag("  Failed test '%s' at %s line %d", name, file, line);
	}
	return test;
}

void
tap_plan(int tests, ...)
{
	const char *reason;
	va_list ap;

	setvbuf(stdout, NULL, _IOLBF, 0);
	planned = tests;
	if (tests >= 0)
		printf("1..%d\n", tests);
	if (tests != SKIP_ALL)
		return;
	va_start(ap, tests);
	reason = va_arg(ap, const char *);
	va_end(ap);
	printf("1..0 # SKIP %s\n", reason == NULL ? "" : reason);
	exit(0);
}

int
tap_ok(const char *file, int line, int test, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	result(file, line, test, fmt, ap);
	va_end(ap);
	return test;
}

int
tap_is(const char *file, int line, int same, const char *got, const char *want,
    const char *fmt, ...)
{
	va_list ap;
	int equal;

	equal = got == want ||
	    (got != NULL && want != NULL && strcmp(got, want) == 0);
	va_start(ap, fmt);
	result(file, line, equal == same, fmt, ap);
	va_end(ap);
	if (equal != same) {
		diag("         got: %s", got == NULL ? "(null)" : got);
		diag("    expected: %s%s", same ? "" : "anything but ",
		    want == NULL ? "(null)" : want);
	}
	return equal == same;
}

static int
compare(long long a, const char *op, long long b)
{
	unsigned long long ua = (unsigned long long)a;
	unsigned long long ub = (unsigned long long)b;
	const struct {
		const char *op;
		int truth;
	} rows[] = {
		{ "==", a == b },
		{ "!=", a != b },
		{ "<", a < b },
		{ "<=", a <= b },
		{ ">", a > b },
		{ ">=", a >= b },
		{ "&", (ua & ub) != 0 },
		{ "|", (ua | ub) != 0 },
		{ "^", (ua ^ ub) != 0 },
		{ "&&", a && b },
		{ "||", a || b },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].op, op) == 0)
			return rows[i].truth;
	tap_bail_out("cmp_ok: unknown operator \"%s\"", op);
}

int
tap_cmp_ok(const char *file, int line, long long a, const char *op, long long b,
    const char *fmt, ...)
{
	va_list ap;
	int truth = compare(a, op, b);

	va_start(ap, fmt);
	result(file, line, truth, fmt, ap);
	va_end(ap);
	if (!truth)
		diag("    %lld %s %lld does not hold", a, op, b);
	return truth;
}

int
tap_cmp_mem(const char *file, int line, const void *got, const void *want,
    size_t n, const char *fmt, ...)
{
	const unsigned char *g = got, *w = want;
	va_list ap;
	size_t i = 0;

	if (g != NULL && w != NULL)
		while (i < n && g[i] == w[i])
			i++;
	else if (g == w)
		i = n;
	va_start(ap, fmt);
	result(file, line, i == n, fmt, ap);
	va_end(ap);
	if (i < n && (g == NULL || w == NULL))
		diag("    %s is NULL", g == NULL ? "got" : "expected");
	else if (i < n)
		diag("    byte %zu of %zu: got 0x%02x, expected 0x%02x", i, n,
		    g[i], w[i]);
	return i == n;
}

int
tap_like(const char *file, int line, int match, const char *got,
    const char *regex, const char *fmt, ...)
{
	regex_t re;
	va_list ap;
	int found;

	if (regcomp(&re, regex, REG_EXTENDED | REG_NOSUB) != 0)
		tap_bail_out("like: bad expression \"%s\"", regex);
	found = got != NULL && regexec(&re, got, 0, NULL, 0) == 0;
	regfree(&re);
	va_start(ap, fmt);
	result(file, line, found == match, fmt, ap);
	va_end(ap);
	if (found != match)
		diag("    \"%s\" %s match /%s/", got == NULL ? "(null)" : got,
		    match ? "does not" : "does", regex);
	return found == match;
}

void
tap_skip(int n, const char *fmt, ...)
{
	char reason[NAME_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	while (n-- > 0)
		printf("ok %d # SKIP %s\n", ++ran, reason);
}

void
tap_todo(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(todo_reason, sizeof(todo_reason), fmt, ap);
	va_end(ap);
}

void
tap_end_todo(void)
{
	todo_reason[0] = '\0';
}

void
tap_bail_out(const char *fmt, ...)
{
	va_list ap;

	printf("Bail out!  ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(255);
}

int
diag(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("# ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return 0;
}

int
note(const char *fmt, ...)
{
	va_list ap;

	fputs("# ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	return 0;
}

pid_t
tap_fork(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == -1)
		tap_bail_out("fork failed");
	return pid;
}

void
tap_child_lived(void)
{
	_exit(0);
}

int
tap_died(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		tap_bail_out("waitpid failed");
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int
exit_status(void)
{
	if (planned == NO_PLAN)
		printf("1..%d\n", ran);
	else if (planned != ran)
		diag("Looks like you planned %d tests but ran %d", planned,
		    ran);
	if (failed != 0)
		diag("Looks like you failed %d of %d tests", failed, ran);
	fflush(stdout);
	return failed != 0 || (planned >= 0 && planned != ran);
}
