/* SPDX-License-Identifier: ISC */
/*
 * The list of clients with locks on disk: written, read again, appended to, and
 * compacted. Files that are torn, foreign or unsafe, a disk that is full, a
 * second nfsd, and clients without end.
 * Runs in: test program.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "nfsd/disk/lock_state.h"
#include "tap.h"

static char dir[] = "/tmp/test-lock-state.XXXXXX";
static char file[96], aside[128];

static struct locks_listed
client(const char *from, const char *name, int32_t state)
{
	struct locks_listed l;

	memset(&l, 0, sizeof(l));
	if (!addr_parse(&l.client.from, from) ||
	    !addr_parse(&l.client.to, "10.0.0.1"))
		errx(1, "%s", from);
	l.client.from.port = 700;
	l.client.to.port = 4045;
	l.client.vers = 4;
	l.client.kind = RPC_TCP;
	l.client.name_len = (uint32_t)strlen(name);
	l.state = state;
	return l;
}

static bool
add(struct lock_state *s, const char *from, const char *name, int32_t state)
{
	struct locks_listed l = client(from, name, state);

	return lock_state_add(s, &l, name);
}

static void
take(struct lock_state *s, const char *from, const char *name)
{
	struct locks_listed l = client(from, name, 0);

	lock_state_remove(s, &l, name);
}

static void
put_file(const char *text)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd == -1 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		err(1, "%s", file);
	close(fd);
}

static bool
has_line(const char *line)
{
	char text[8192];
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n == -1)
		err(1, "%s", file);
	close(fd);
	text[n] = '\0';
	return strstr(text, line) != NULL;
}

static void
test_kept(void)
{
	struct lock_state s;
	int32_t first;

	ok(lock_state_open(&s, dir), "an empty directory is opened");
	cmp_ok(s.state % 2, "==", 1, "the state number is odd");
	cmp_ok(s.n, "==", 0, "no client held a lock");
	ok(lock_state_raise(&s), "the number is written");
	first = s.state;
	ok(add(&s, "10.0.0.7", "laptop", 13) && add(&s, "fd00::7", "a b\n", -1),
	    "two clients are added");
	ok(add(&s, "10.0.0.8", "", 3), "and one without a name");
	ok(lock_state_sync(&s), "they are on disk");
	ok(has_line("+ 10.0.0.7 4 tcp 10.0.0.1 13 6c6170746f70\n"),
	    "as lines to read");
	lock_state_close(&s);
	ok(lock_state_open(&s, dir), "they are read again");
	cmp_ok(s.state, "==", first, "with the same number");
	cmp_ok(s.n, "==", 3, "all of them");
	ok(!s.clients[0].lost, "which hold their locks");
	ok(lock_state_raise(&s), "then the table is lost");
	cmp_ok(s.state, "==", first + 2, "the number is the next odd one");
	ok(s.clients[0].lost && s.clients[2].lost,
	    "all clients are to be told");
	cmp_ok(s.clients[1].listed.state, "==", -1, "the state of one");
	ok(s.clients[1].listed.client.name_len == 4 &&
		memcmp(s.clients[1].name, "a b\n", 4) == 0,
	    "and its name are as before");
	lock_state_close(&s);
}

static void
test_changed(void)
{
	struct lock_state s;
	struct stat st;
	int i;

	ok(lock_state_open(&s, dir) && lock_state_raise(&s), "opened");
	take(&s, "fd00::7", "a b\n");
	take(&s, "10.0.0.9", "nobody");
	ok(add(&s, "10.0.0.7", "laptop", 15), "a client has rebooted");
	ok(lock_state_sync(&s), "synced");
	lock_state_close(&s);
	ok(lock_state_open(&s, dir), "opened again");
	cmp_ok(s.n, "==", 2, "one client is gone");
	ok(s.clients[1].listed.state == 15 || s.clients[0].listed.state == 15,
	    "the other has its new state");
	ok(lock_state_raise(&s), "written anew");
	for (i = 0; i < 500; i++) {
		if (!add(&s, "10.0.1.1", "again", 1) || !lock_state_sync(&s))
			break;
		take(&s, "10.0.1.1", "again");
	}
	cmp_ok(i, "==", 500, "a client comes and goes 500 times");
	if (stat(file, &st) == -1)
		err(1, "%s", file);
	ok(st.st_size < 10000, "the file does not grow: %lld bytes",
	    (long long)st.st_size);
	lock_state_close(&s);
}

static void
test_bad(void)
{
	static const struct {
		const char *text, *what;
		size_t n;
		bool foreign;
	} rows[] = {
		{ "", "an empty file", 0, true },
		{ "tern-locks 1 8\n", "an even number", 0, true },
		{ "tern-locks 1 -1\n", "a negative number", 0, true },
		{ "tern-locks 1 99999999999\n", "a huge number", 0, true },
		{ "tern-locks 1 7", "a header without its end", 0, true },
		{ "tern-locks 2 7\n", "a later version", 0, true },
		{ "\177ELF", "a program", 0, true },
		{ "tern-locks 1 7\n+ 10.0.0.7 4 tcp 10.0.0.1 1 61\n+ 10.0.0.8 4 t",
		    "a torn last line", 1, false },
		{ "tern-locks 1 7\n+ nowhere 4 tcp 10.0.0.1 1 61\n"
		  "+ 10.0.0.7 9 tcp 10.0.0.1 1 61\n+ 10.0.0.7 4 ipx 10.0.0.1 1 61\n"
		  "+ 10.0.0.7 4 tcp 10.0.0.1 x 61\n+ 10.0.0.7 4 tcp 10.0.0.1 1 6\n"
		  "+ 10.0.0.7 4 tcp 10.0.0.1 1\n+\n\n- 10.0.0.7 4 tcp 61\n"
		  "- 10.0.0.7 4 tcp nowhere 61\n- 10.0.0.7 4 tcp 10.0.0.1 61\n"
		  "+ 10.0.0.7 4 tcp 10.0.0.1 1 61 7\n"
		  "+ 10.0.0.7:9 4 tcp 10.0.0.1 1 61\n"
		  "+ 10.0.0.8 4 udp 10.0.0.1 1 62\n",
		    "lines without sense", 1, false },
		{ "tern-locks 1 7\n+ 0.0.0.0 4 udp 10.0.0.1 1 61\n"
		  "+ 224.0.0.1 4 udp 10.0.0.1 1 61\n"
		  "+ 255.255.255.255 4 udp 10.0.0.1 1 61\n"
		  "+ :: 4 udp fd00::1 1 61\n+ ff02::1 4 udp fd00::1 1 61\n"
		  "+ 127.0.0.1 4 udp 127.0.0.1 1 61\n",
		    "addresses that no client has", 1, false },
		{ "tern-locks 1 7\n+ 10.0.0.7 4 tcp 10.0.0.1 1 61\n"
		  "+ 10.0.0.7 4 tcp 10.0.0.2 1 61\n"
		  "+ 10.0.0.7 4 tcp 10.0.0.3 1 61\n"
		  "- 10.0.0.7 4 tcp 10.0.0.2 61\n",
		    "one client by three addresses, one of them gone", 2,
		    false },
		{ "tern-locks 1 7\n+ 10.0.0.7 4 tcp 10.0.0.1 1 61\n"
		  "+ 10.0.0.8 4 tcp 10.0.0.1 1 61\n- 10.0.0.7 4 tcp 61\n",
		    "a line of an older Tern", 1, false },
	};
	struct lock_state s;
	size_t i;

	for (i = 0; i < nitems(rows); i++) {
		put_file(rows[i].text);
		(void)unlink(aside);
		ok(lock_state_open(&s, dir), "%s: is opened", rows[i].what);
		cmp_ok(s.n, "==", (long)rows[i].n, "%s: clients", rows[i].what);
		ok((access(aside, F_OK) == 0) == rows[i].foreign,
		    "%s: put aside or not", rows[i].what);
		ok(s.state % 2 == 1 && (s.state == 7) == !rows[i].foreign,
		    "%s: the number", rows[i].what);
		ok(lock_state_raise(&s), "%s: works on", rows[i].what);
		lock_state_close(&s);
	}
}

static void
test_foreign(void)
{
	struct lock_state s;

	put_file("tern-locks 1 7\n+ 10.0.0.7 4 tcp 10.0.0.1 1 61\n");
	(void)chmod(file, 0666);
	ok(lock_state_open(&s, dir) && s.n == 0,
	    "a file that others can write is not believed");
	lock_state_close(&s);
	(void)unlink(file);
	if (symlink("/etc/passwd", file) == -1)
		err(1, "%s", file);
	ok(lock_state_open(&s, dir) && s.n == 0, "nor a symbolic link");
	ok(lock_state_raise(&s), "which a file replaces");
	lock_state_close(&s);
}

/* Writes beyond this size of a file fail. */
static void
limit(rlim_t bytes)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_FSIZE, &r) == -1)
		err(1, "limit");
	r.rlim_cur = bytes;
	if (setrlimit(RLIMIT_FSIZE, &r) == -1)
		err(1, "limit");
}

static void
test_full(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct lock_state s, second;
	int32_t state;

	ok(lock_state_open(&s, dir) && lock_state_raise(&s), "opened");
	ok(!lock_state_open(&second, dir), "not by a second nfsd");
	(void)sigaction(SIGXFSZ, &ignore, NULL);
	ok(add(&s, "10.0.0.7", "one", 1) && lock_state_sync(&s), "one client");
	state = s.state;
	limit(8);
	ok(add(&s, "10.0.0.8", "two", 1), "another, and the disk is full");
	ok(!lock_state_sync(&s), "it is not on disk");
	ok(add(&s, "10.0.0.8", "two", 1) && !lock_state_sync(&s), "nor later");
	ok(!lock_state_raise(&s), "no new number is possible");
	cmp_ok(s.state, "==", state, "so the old one stays");
	limit(RLIM_INFINITY);
	ok(add(&s, "10.0.0.8", "two", 1) && lock_state_sync(&s),
	    "there is room again");
	lock_state_close(&s);
	ok(lock_state_open(&s, dir), "opened again");
	cmp_ok(s.n, "==", 2, "both are on disk");
	cmp_ok(s.state, "==", state, "with the number that was written");
	lock_state_close(&s);
	ok(!lock_state_open(&s, "/nonexistent/tern"), "no directory: no list");
	lock_state_close(&s);
}

static void
test_many(void)
{
	struct lock_state s;
	char name[32];
	int i;

	ok(lock_state_open(&s, dir), "opened");
	for (i = 0; i < LOCK_STATE_PER_HOST + 10; i++) {
		(void)snprintf(name, sizeof(name), "name %d", i);
		if (!add(&s, "10.9.9.9", name, 1))
			break;
	}
	cmp_ok(i, "==", LOCK_STATE_PER_HOST, "an address has so many names");
	ok(add(&s, "10.9.9.8", "other", 1), "others are added");
	lock_state_close(&s);
}

/* A list that an attacker has filled is not read to its end. */
static void
test_endless(void)
{
	static const char header[] = "tern-locks 1 7\n",
			  line[] = "- 10.0.0.7 4 tcp 10.0.0.1 61\n",
			  last[] = "+ 10.0.0.7 4 tcp 10.0.0.1 1 61\n";
	const size_t n = 4 * LOCK_STATE_CLIENTS;
	char *text = malloc(sizeof(header) + n * sizeof(line) + sizeof(last));
	struct lock_state s;
	char *at;
	size_t i;

	if (text == NULL)
		err(1, "malloc");
	at = stpcpy(text, header);
	for (i = 0; i < n - 1; i++)
		at = stpcpy(at, line);
	(void)stpcpy(at, last);
	put_file(text);
	ok(lock_state_open(&s, dir) && s.n == 1, "so many lines are read");
	lock_state_close(&s);
	at = stpcpy(at, line);
	(void)stpcpy(at, last);
	put_file(text);
	ok(lock_state_open(&s, dir) && s.n == 0, "and no more");
	lock_state_close(&s);
	free(text);
}

int
main(void)
{
	plan(NO_PLAN);
	log_init("test");
	if (mkdtemp(dir) == NULL)
		err(1, "%s", dir);
	(void)snprintf(file, sizeof(file), "%s/" LOCK_STATE_FILE, dir);
	(void)snprintf(aside, sizeof(aside), "%s.bad", file);
	test_kept();
	test_changed();
	test_bad();
	test_foreign();
	test_full();
	test_many();
	test_endless();
	(void)unlink(file);
	(void)unlink(aside);
	(void)snprintf(aside, sizeof(aside), "%s.new", file);
	(void)unlink(aside);
	ok(rmdir(dir) == 0, "nothing else is left");
	done_testing();
}
