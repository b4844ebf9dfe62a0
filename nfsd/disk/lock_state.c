/* SPDX-License-Identifier: ISC */
/*
 * The file of clients that hold locks: see lock_state.h.
 * Runs in: nfsd parent.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/util.h"
#include "nfsd/disk/lock_state.h"

#define HEADER	   "tern-locks 1 "
#define TEMPORARY  LOCK_STATE_FILE ".new"
#define ASIDE	   LOCK_STATE_FILE ".bad"
#define HEX_MAX	   (2 * LOCKS_TEXT_MAX + 1)
#define LINE_BYTES (HEX_MAX + 2 * ADDR_STRLEN + 64)
#define SPARE	   64 /* lines that no longer count, before a new file */
#define WORDS	   7 /* of a line + */
#define LINES_MAX  (4 * LOCK_STATE_CLIENTS) /* each is looked for in the list */
#define FILE_MAX   (256 << 20) /* bytes; a larger file is not one of these */
#define NEW_SINCE  1600000000 /* the state number of a new file counts seconds */

static const char *const transports[] = {
	[RPC_UDP] = "udp", [RPC_TCP] = "tcp"
};

/* ---- the list in memory ---- */

static bool
same_client(const struct lock_client *c, const struct locks_listed *l,
    const void *name)
{
	const struct locks_client *a = &c->listed.client, *b = &l->client;

	return a->vers == b->vers && a->kind == b->kind &&
	    a->name_len == b->name_len && addr_same_host(&a->from, &b->from) &&
	    (b->to.family == 0 || addr_same_host(&a->to, &b->to)) &&
	    (b->name_len == 0 || memcmp(c->name, name, b->name_len) == 0);
}

static struct lock_client *
find(const struct lock_state *s, const struct locks_listed *l, const void *name)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (same_client(&s->clients[i], l, name))
			return &s->clients[i];
	return NULL;
}

/* Are there too many clients, or too many of this address? */
static bool
is_full(const struct lock_state *s, const struct addr *from)
{
	size_t i, of_host = 0;

	for (i = 0; i < s->n; i++)
		of_host +=
		    addr_same_host(&s->clients[i].listed.client.from, from);
	return s->n >= LOCK_STATE_CLIENTS || of_host >= LOCK_STATE_PER_HOST;
}

static struct lock_client *
append_client(struct lock_state *s, const struct locks_listed *l,
    const void *name)
{
	struct lock_client *c;
	uint8_t *copy = malloc(l->client.name_len + 1);

	c = copy == NULL ?
	    NULL :
	    reallocarray(s->clients, s->n + 1, sizeof(*s->clients));
	if (c == NULL) {
		free(copy);
		return NULL;
	}
	s->clients = c;
	c += s->n++;
	memset(c, 0, sizeof(*c));
	c->listed = *l;
	c->listed.client.from.port = c->listed.client.to.port = 0;
	c->name = copy;
	if (l->client.name_len > 0)
		memcpy(copy, name, l->client.name_len);
	return c;
}

static void
drop_client(struct lock_state *s, struct lock_client *c)
{
	free(c->name);
	*c = s->clients[--s->n];
}

/* ---- lines ---- */

/* Writes the line of a client and returns its length. */
static size_t
put_line(char out[LINE_BYTES], const struct lock_client *c, bool gone)
{
	const struct locks_client *client = &c->listed.client;
	char from[ADDR_STRLEN], to[ADDR_STRLEN], hex[HEX_MAX];
	int n;

	(void)sodium_bin2hex(hex, sizeof(hex), c->name, client->name_len);
	(void)addr_print(&client->from, from);
	(void)addr_print(&client->to, to);
	if (gone)
		n = snprintf(out, LINE_BYTES, "- %s %u %s %s %s\n", from,
		    client->vers, transports[client->kind], to, hex);
	else
		n = snprintf(out, LINE_BYTES, "+ %s %u %s %s %d %s\n", from,
		    client->vers, transports[client->kind], to, c->listed.state,
		    hex);
	return (size_t)n;
}

static bool
get_number(const char *text, long long low, long long high, long long *out)
{
	return text != NULL && number_read(text, low, high, out) == NULL;
}

/* Can a client have this address? Then a call to it reaches one machine. */
static bool
is_host(const struct addr *a)
{
	static const uint8_t none[16];

	if (a->family == AF_INET)
		return a->bytes[0] != 0 && a->bytes[0] < 224;
	return a->bytes[0] != 0xff && memcmp(a->bytes, none, 16) != 0;
}

/* Reads address, version and transport. */
static bool
get_client(char *const words[WORDS], struct locks_client *c)
{
	long long vers;
	size_t i;

	if (words[3] == NULL || !addr_parse(&c->from, words[1]) ||
	    c->from.port != 0 || !is_host(&c->from) ||
	    !get_number(words[2], 1, 4, &vers))
		return false;
	c->vers = (uint32_t)vers;
	for (i = 0; i < nitems(transports); i++)
		if (strcmp(words[3], transports[i]) == 0) {
			c->kind = (uint32_t)i;
			return true;
		}
	return false;
}

static bool
get_name(const char *hex, struct locks_client *c, uint8_t name[LOCKS_TEXT_MAX])
{
	const char *end;
	size_t len;

	if (hex == NULL ||
	    sodium_hex2bin(name, LOCKS_TEXT_MAX, hex, strlen(hex), NULL, &len,
		&end) != 0 ||
	    *end != '\0')
		return false;
	c->name_len = (uint32_t)len;
	return true;
}

/* The address that a client calls this server by. */
static bool
get_to(const char *text, struct locks_client *c)
{
	return text != NULL && addr_parse(&c->to, text) && c->to.port == 0;
}

/*
 * Applies one line to the list. Returns false if it makes no sense. An older Tern
 * wrote lines - without the address of the server.
 */
static bool
get_line(struct lock_state *s, char *line)
{
	struct locks_listed l;
	struct lock_client *c;
	uint8_t name[LOCKS_TEXT_MAX];
	char *words[WORDS] = { NULL };
	long long state = 0;
	size_t n = 0;
	bool gone = *line == '-';

	memset(&l, 0, sizeof(l));
	while (n < WORDS && line != NULL)
		words[n++] = strsep(&line, " ");
	if (line != NULL || strcmp(words[0], gone ? "-" : "+") != 0 ||
	    !get_client(words, &l.client) ||
	    ((!gone || words[5] != NULL) && !get_to(words[4], &l.client)) ||
	    !get_name(words[!gone	       ? 6 :
			      words[5] != NULL ? 5 :
						 4],
		&l.client, name))
		return false;
	c = find(s, &l, name);
	if (gone) {
		if (c != NULL)
			drop_client(s, c);
		return c != NULL;
	}
	if (!get_number(words[5], INT32_MIN, INT32_MAX, &state))
		return false;
	l.state = (int32_t)state;
	if (c != NULL)
		drop_client(s, c);
	return !is_full(s, &l.client.from) &&
	    append_client(s, &l, name) != NULL;
}

/* ---- the file ---- */

/* Reads the file whole; a 0 follows. Returns NULL and errno, or why. */
static char *
read_file(int fd, const char **why)
{
	struct stat st;
	char *text;
	ssize_t n;

	*why = NULL;
	if (fstat(fd, &st) == -1)
		return NULL;
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		*why = "not a list of clients with locks";
	else if ((st.st_mode & 022) != 0 ||
	    (st.st_uid != geteuid() && st.st_uid != 0))
		*why = "other users can write it";
	if (*why != NULL)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	if (text == NULL)
		return NULL;
	n = read(fd, text, (size_t)st.st_size);
	if (n == -1) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	if (strlen(text) != (size_t)n) {
		free(text);
		*why = "not a list of clients with locks";
		return NULL;
	}
	return text;
}

/* Reads the header. Returns the next line, or NULL if it is wrong. */
static char *
get_header(struct lock_state *s, char *text)
{
	char *end = strchr(text, '\n');
	long long state;

	if (strncmp(text, HEADER, strlen(HEADER)) != 0 || end == NULL)
		return NULL;
	*end = '\0';
	if (!get_number(text + strlen(HEADER), 1, INT32_MAX, &state) ||
	    state % 2 == 0)
		return NULL;
	s->state = (int32_t)state;
	return end + 1;
}

/* Reads the lines after the header. Logs how many make no sense. */
static void
get_lines(struct lock_state *s, char *at)
{
	size_t bad = 0, n = 0;
	char *end;

	while (*at != '\0') {
		if (n++ == LINES_MAX) {
			log_warnx("%s: it has more than %d lines: the others "
				  "are not read",
			    s->path, LINES_MAX);
			break;
		}
		end = strchr(at, '\n');
		if (end == NULL) {
			log_info("%s: the last line was not finished: no "
				 "client relied on it",
			    s->path);
			break;
		}
		*end = '\0';
		bad += !get_line(s, at);
		at = end + 1;
	}
	if (bad > 0)
		log_warnx("%s: %zu lines make no sense: clients that they name "
			  "lose their locks and are not told",
		    s->path, bad);
}

static void
put_aside(struct lock_state *s, const char *why)
{
	log_warnx("%s: %s: renamed to " ASIDE "; clients that held locks lose "
		  "them and are not told",
	    s->path, why);
	(void)renameat(s->dir, LOCK_STATE_FILE, s->dir, ASIDE);
}

static void
read_all(struct lock_state *s)
{
	int fd = openat(s->dir, LOCK_STATE_FILE,
	    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const char *why = NULL;
	char *text, *lines = NULL;

	s->state = (int32_t)(clock_wall().tv_sec - NEW_SINCE) | 1;
	if (fd == -1) {
		if (errno != ENOENT)
			put_aside(s, strerror(errno));
		return;
	}
	text = read_file(fd, &why);
	if (text != NULL)
		lines = get_header(s, text);
	if (lines != NULL)
		get_lines(s, lines);
	else if (text != NULL)
		put_aside(s, "not a list of clients with locks");
	else
		put_aside(s, why != NULL ? why : strerror(errno));
	free(text);
	close(fd);
}

bool
lock_state_open(struct lock_state *s, const char *dir)
{
	memset(s, 0, sizeof(*s));
	s->log = -1;
	(void)snprintf(s->path, sizeof(s->path), "%s/" LOCK_STATE_FILE, dir);
	s->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir == -1)
		return false;
	/* The kernel frees it when this process ends, however it ends. */
	if (flock(s->dir, LOCK_EX | LOCK_NB) == -1) {
		close_keep_errno(s->dir);
		s->dir = -1;
		return false;
	}
	read_all(s);
	return true;
}

void
lock_state_close(struct lock_state *s)
{
	while (s->n > 0)
		drop_client(s, &s->clients[s->n - 1]);
	free(s->clients);
	s->clients = NULL;
	if (s->log != -1)
		close(s->log);
	if (s->dir != -1)
		close(s->dir);
	s->log = s->dir = -1;
}

/* Writes all of it. Returns false with errno. */
static bool
put(int fd, const char *text, size_t len)
{
	ssize_t n = write(fd, text, len);

	if (n >= 0 && (size_t)n != len)
		errno = ENOSPC;
	return n == (ssize_t)len;
}

static bool
put_all(const struct lock_state *s, int fd)
{
	char line[LINE_BYTES];
	size_t i;
	int n = snprintf(line, sizeof(line), HEADER "%d\n", s->state);

	if (!put(fd, line, (size_t)n))
		return false;
	for (i = 0; i < s->n; i++)
		if (!put(fd, line, put_line(line, &s->clients[i], false)))
			return false;
	return fsync(fd) == 0;
}

/* Writes the file anew. Returns false with errno. */
static bool
write_anew(struct lock_state *s)
{
	int fd;

	if (s->log != -1)
		close(s->log);
	s->log = -1;
	fd = openat(s->dir, TEMPORARY,
	    O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
	    0600);
	if (fd == -1)
		return false;
	if (!put_all(s, fd) ||
	    renameat(s->dir, TEMPORARY, s->dir, LOCK_STATE_FILE) == -1 ||
	    fsync(s->dir) == -1) {
		close_keep_errno(fd);
		return false;
	}
	s->log = fd;
	s->lines = s->n;
	s->unsynced = false;
	return true;
}

bool
lock_state_raise(struct lock_state *s)
{
	int32_t before = s->state;
	size_t i;

	s->state = before > INT32_MAX - 2 ? 1 : before + 2;
	for (i = 0; i < s->n; i++)
		s->clients[i].lost = true;
	if (write_anew(s))
		return true;
	s->state = before;
	return false;
}

/* Appends a line. After a failure the file must be written anew. */
static void
append_line(struct lock_state *s, const struct lock_client *c, bool gone)
{
	char line[LINE_BYTES];

	s->unsynced = true;
	if (s->log == -1)
		return;
	if (put(s->log, line, put_line(line, c, gone))) {
		s->lines++;
		return;
	}
	close(s->log);
	s->log = -1;
}

bool
lock_state_add(struct lock_state *s, const struct locks_listed *l,
    const void *name)
{
	struct lock_client *c = find(s, l, name);
	bool lost = c != NULL && c->lost;

	if (c != NULL && c->listed.state == l->state)
		return true;
	if (c != NULL)
		drop_client(s, c);
	else if (is_full(s, &l->client.from))
		return false;
	c = append_client(s, l, name);
	if (c == NULL)
		return false;
	c->lost = lost;
	append_line(s, c, false);
	return true;
}

void
lock_state_remove(struct lock_state *s, const struct locks_listed *l,
    const void *name)
{
	struct lock_client *c = find(s, l, name);

	if (c == NULL)
		return;
	append_line(s, c, true);
	drop_client(s, c);
}

bool
lock_state_sync(struct lock_state *s)
{
	if (!s->unsynced)
		return true;
	if (s->log == -1 || s->lines > 2 * s->n + SPARE)
		return write_anew(s);
	if (fdatasync(s->log) == -1) {
		close_keep_errno(s->log);
		s->log = -1;
		return false;
	}
	s->unsynced = false;
	return true;
}
