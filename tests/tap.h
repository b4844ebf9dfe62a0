/* SPDX-License-Identifier: ISC */
/*
 * The interface of libtap: what a test program calls to print TAP for
 * prove(1). An installed libtap is used where the build finds one
 * (TAP_INSTALLED names its header); else tap.c beside this file.
 * One thing is stricter here: every test must be named, and names are
 * checked as printf formats.
 * Runs in: test programs only.
 */
#ifndef TAP_H
#define TAP_H

#ifdef TAP_INSTALLED
#include TAP_INSTALLED
#define note diag
#else

#include <sys/types.h>

#include <stddef.h>

#define NO_PLAN	 (-1)
#define SKIP_ALL (-2)

#define TAP_HERE	     __FILE__, __LINE__
#define TAP_NAMED(fmt, v)    __attribute__((format(printf, fmt, v)))

/* plan(n), plan(NO_PLAN), or plan(SKIP_ALL, "plain reason") which exits. */
#define plan(...)	     tap_plan(__VA_ARGS__, NULL)
#define done_testing()	     return exit_status()

/* ok(truth, "name"): all return the truth, so that diag() may follow. */
#define ok(test, ...)	     tap_ok(TAP_HERE, (test) ? 1 : 0, __VA_ARGS__)
#define pass(...)	     tap_ok(TAP_HERE, 1, "" __VA_ARGS__)
#define fail(...)	     tap_ok(TAP_HERE, 0, "" __VA_ARGS__)

/* Strings; either may be NULL. */
#define is(got, want, ...)   tap_is(TAP_HERE, 1, got, want, __VA_ARGS__)
#define isnt(got, want, ...) tap_is(TAP_HERE, 0, got, want, __VA_ARGS__)

/* Integers: cmp_ok(a, "<=", b, "name"). Any C comparison, and & | ^ && ||. */
#define cmp_ok(a, op, b, ...)                                                  \
	tap_cmp_ok(TAP_HERE, (long long)(a), op, (long long)(b), __VA_ARGS__)

/* Memory; a difference is printed with its offset. */
#define cmp_mem(got, want, n, ...)                                             \
	tap_cmp_mem(TAP_HERE, got, want, n, __VA_ARGS__)

/* Extended regular expressions. */
#define like(got, regex, ...)	tap_like(TAP_HERE, 1, got, regex, __VA_ARGS__)
#define unlike(got, regex, ...) tap_like(TAP_HERE, 0, got, regex, __VA_ARGS__)

/* skip(why_not, 2, "reason") ... two tests ... end_skip; */
#define skip(test, ...)                                                        \
	do {                                                                   \
		if (test) {                                                    \
			tap_skip(__VA_ARGS__);                                 \
			break;                                                 \
		}
#define end_skip                                                               \
	}                                                                      \
	while (0)

/* Tests between these may fail: todo("reason"); ... end_todo; */
#define todo(...)	    tap_todo("" __VA_ARGS__)
#define end_todo	    tap_end_todo()

/* Runs the code in a child: does a signal or a non-zero exit end it? */
#define dies_ok(code, ...)  TAP_CHILD(1, code, __VA_ARGS__)
#define lives_ok(code, ...) TAP_CHILD(0, code, __VA_ARGS__)
#define TAP_CHILD(death, code, ...)                                            \
	do {                                                                   \
		pid_t tap_pid = tap_fork();                                    \
		if (tap_pid == 0) {                                            \
			code;                                                  \
			tap_child_lived();                                     \
		}                                                              \
		tap_ok(TAP_HERE, tap_died(tap_pid) == (death), __VA_ARGS__);   \
	} while (0)

#define BAIL_OUT(...) tap_bail_out("" __VA_ARGS__)

/* diag goes to standard error, note to standard output. */
int diag(const char *fmt, ...) TAP_NAMED(1, 2);
int note(const char *fmt, ...) TAP_NAMED(1, 2);

/* What main() should return; prints the plan when there was none. */
int exit_status(void);

void tap_plan(int tests, ...);
int tap_ok(const char *file, int line, int test, const char *fmt, ...)
    TAP_NAMED(4, 5);
int tap_is(const char *file, int line, int same, const char *got,
    const char *want, const char *fmt, ...) TAP_NAMED(6, 7);
int tap_cmp_ok(const char *file, int line, long long a, const char *op,
    long long b, const char *fmt, ...) TAP_NAMED(6, 7);
int tap_cmp_mem(const char *file, int line, const void *got, const void *want,
    size_t n, const char *fmt, ...) TAP_NAMED(6, 7);
int tap_like(const char *file, int line, int match, const char *got,
    const char *regex, const char *fmt, ...) TAP_NAMED(6, 7);
void tap_skip(int n, const char *fmt, ...) TAP_NAMED(2, 3);
void tap_todo(const char *fmt, ...) TAP_NAMED(1, 2);
void tap_end_todo(void);
void tap_bail_out(const char *fmt, ...) TAP_NAMED(1, 2)
    __attribute__((noreturn));
pid_t tap_fork(void);
void tap_child_lived(void) __attribute__((noreturn));
int tap_died(pid_t pid);

#endif
#endif
