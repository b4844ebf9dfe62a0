/* SPDX-License-Identifier: ISC */
/*
 * The log: the form of a line, and how far peers can affect and flood it.
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tap.h"

static char text[65536];
static int saved = -1, pipes[2];

/* Redirects standard error to a file that the test reads. */
static void
capture(void)
{
	if (pipe(pipes) == -1)
		BAIL_OUT("pipe");
	fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	saved = dup(STDERR_FILENO);
	dup2(pipes[1], STDERR_FILENO);
}

static const char *
captured(void)
{
	ssize_t n;

	n = read(pipes[0], text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipes[0]);
	close(pipes[1]);
	return text;
}

static void
test_lines(void)
{
	char longest[3000];

	capture();
	log_info("exports: %d entries", 3);
	is(captured(), "testd: exports: 3 entries\n",
	    "a line has name and message");
	log_role("worker");
	capture();
	errno = ENOENT;
	log_warn("exports");
	is(captured(), "testd: worker: exports: No such file or directory\n",
	    "a line has role, message and errno");
	cmp_ok(errno, "==", ENOENT, "errno survives");
	capture();
	log_warnx("plain");
	is(captured(), "testd: worker: plain\n", "a warning without errno");
	capture();
	log_debug("quiet");
	is(captured(), "", "debug lines are off by default");
	log_set_verbose(1);
	cmp_ok(log_verbose(), "==", 1, "verbosity is returned");
	capture();
	log_debug("loud");
	is(captured(), "testd: worker: loud\n", "-v turns debug lines on");
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	capture();
	errno = EIO;
	log_warn("%s", longest);
	cmp_ok(strlen(captured()), "<", 1100, "a long line is truncated");
	ok(text[strlen(text) - 1] == '\n', "it still ends with a newline");
}

static void
test_journal(void)
{
	char value[64];
	struct stat st;

	capture();
	fstat(STDERR_FILENO, &st);
	snprintf(value, sizeof(value), "%llu:%llu",
	    (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", value, 1);
	log_init("testd");
	log_warnx("worse");
	log_info("normal");
	is(captured(), "<4>testd: worker: worse\n<6>testd: worker: normal\n",
	    "the journal gets priorities");
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_init("testd");
	capture();
	log_info("normal");
	is(captured(), "testd: worker: normal\n",
	    "a JOURNAL_STREAM of another file gives none");
	unsetenv("JOURNAL_STREAM");
}

static void
test_fatal(void)
{
	capture();
	dies_ok(fatalx("the end"), "fatalx ends the process");
	dies_ok((errno = EPERM, fatal("the end")), "fatal ends the process");
	is(captured(),
	    "testd: worker: the end\n"
	    "testd: worker: the end: Operation not permitted\n",
	    "both log the reason");
}

static void
test_text(void)
{
	char out[16], tiny[3], none[1] = { '!' };

	is(log_text(out, sizeof(out), "plain", 5), "plain",
	    "plain text is unchanged");
	is(log_text(out, sizeof(out), "a\nb\x80\\", 5), "a\\012b\\200\\\\",
	    "control characters, high bytes and backslashes are escaped");
	is(log_text(out, sizeof(out), "%n%s", 4), "%n%s",
	    "a percent sign is unchanged");
	is(log_text(out, sizeof(out), "0123456789abcdef", 16),
	    "0123456789ab...", "text that is too long is truncated");
	is(log_text(out, sizeof(out), "0123456789abcde", 15), "0123456789abcde",
	    "text that just fits is not truncated");
	is(log_text(out, sizeof(out), "\1\2\3\4\5", 5), "\\001\\002\\003...",
	    "an escape is not truncated in the middle");
	is(log_text(tiny, sizeof(tiny), "abcdef", 6), "ab",
	    "a buffer too small for dots");
	is(log_text(none, sizeof(none), "abcdef", 6), "",
	    "a buffer of one byte");
}

static void
test_permit(void)
{
	unsigned int i, n;
	const char *said;

	ok(log_permit("busy", 0), "the first line of a kind is permitted");
	ok(!log_permit("busy", 0), "a second one is not");
	ok(log_permit("busy", 1), "a line of another peer is permitted");
	ok(log_permit("full", 0), "a line of another kind is permitted");
	for (i = n = 0; i < 1000; i++)
		if (log_permit("busy", 1000 + i))
			n++;
	cmp_ok(n, "<=", 2 * LOG_BURST,
	    "a flood is limited to a burst per second");
	/*
	 * The first line of the next second follows the count of suppressed
	 * ones.
	 */
	capture();
	for (i = 0; i < 3000 && !log_permit("busy", 100000 + 97 * i); i++)
		usleep(1000);
	said = captured();
	ok(i < 3000, "in the next second lines are permitted again");
	like(said, "lines about peers suppressed",
	    "the number of suppressed lines is logged");
}

static void
test_syslog(void)
{
	capture();
	log_to_syslog();
	log_to_syslog();
	log_info("test: a line for the syslog");
	ok(strstr(captured(), "for the syslog") != NULL ||
		access("/dev/log", W_OK) == 0,
	    "a line goes to syslog, or to standard error without one");
}

int
main(void)
{
	plan(NO_PLAN);
	log_init("testd");
	test_lines();
	test_journal();
	test_fatal();
	test_text();
	test_permit();
	test_syslog();
	done_testing();
}
