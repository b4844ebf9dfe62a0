/* SPDX-License-Identifier: ISC */
/*
 * The live view. Each frame is one write. Colours and bars are ANSI sequences
 * that every terminal knows; all text of nfsd's answer is escaped.
 * Runs in: nfsd -S, on a terminal.
 */
#include <sys/ioctl.h>
#include <sys/signalfd.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/command/ask.h"
#include "nfsd/command/live.h"
#include "nfsd/command/recent.h"
#include "nfsd/command/snapshot.h"
#include "nfsd/command/table.h"
#include "nfsd/control.h"

#define ENTER	  "\033[?1049h\033[?25l" /* another screen, no cursor */
#define LEAVE	  "\033[?25h\033[?1049l"
#define PLAIN	  "\033[0m"
#define REVERSE	  "\033[7m"
#define BOLD	  "\033[1m"
#define RED	  "\033[31m"
#define GREEN	  "\033[32m"
#define ESCAPE	  033
#define CONTROL_C 3
#define BAR	  12 /* columns */
#define NOWHERE	  SIZE_MAX /* no row is chosen */
/* From so many columns on there is room for a bar, and for all columns. */
#define COLUMNS_BAR  94
#define COLUMNS_WIDE 130

struct live {
	const char *path;
	unsigned int seconds;
	struct termios before;
	struct snapshot *now;
	enum snapshot_order order;
	bool files; /* the calls are shown, not the clients */
	size_t chosen; /* row, or NOWHERE */
	char ending[ADDR_STRLEN]; /* waits for y: end this client? */
	char said[TABLE_LINE]; /* the answer of the last request */
	unsigned int lines, columns;
	int signals; /* descriptor */
	bool stopped;
};

/* What a key does: sorts by a column. */
static const struct {
	char key;
	enum snapshot_order order;
	const char *name;
} sort_keys[] = {
	{ 'c', SNAPSHOT_BY_CALLS, "calls" },
	{ 'r', SNAPSHOT_BY_READ, "read" },
	{ 'w', SNAPSHOT_BY_WRITTEN, "written" },
	{ 'p', SNAPSHOT_BY_LATENCY, "p99" },
	{ 'e', SNAPSHOT_BY_ERRORS, "errors" },
	{ 'd', SNAPSHOT_BY_REFUSED, "refused" },
	{ 'n', SNAPSHOT_BY_NAME, "name" },
};

static void
measure(struct live *v)
{
	struct winsize size;

	v->lines = 24;
	v->columns = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 3 &&
	    size.ws_col > 10) {
		v->lines = size.ws_row;
		v->columns = size.ws_col;
	}
}

/* One line of the screen: cut to its width, with the rest of it cleared. */
static void
put_line(FILE *to, const struct live *v, const char *colour, const char *text)
{
	fprintf(to, "%s%.*s%s\033[K\r\n", colour, (int)v->columns, text, PLAIN);
}

/* Writes a line of the table, after its bar if there is room for one. */
static void
put_cells(FILE *to, const struct live *v, const char *colour, const char *bar,
    const char *cells)
{
	char all[2 * TABLE_LINE];

	(void)snprintf(all, sizeof(all), "%-*s %s", BAR, bar, cells);
	put_line(to, v, colour, v->columns >= COLUMNS_BAR ? all : cells);
}

static enum table_size
size_of(const struct live *v)
{
	return v->columns >= COLUMNS_WIDE ? TABLE_WIDE : TABLE_NARROW;
}

/* A little bar: the share of the calls of its kind. */
static void
put_row(FILE *to, const struct live *v, const struct snapshot_row *row,
    double most, bool chosen)
{
	char line[TABLE_LINE], bar[BAR + 1];
	double calls = snapshot_rate(row, USAGE_CALLS);
	size_t n = most <= 0 ? 0 : (size_t)(calls / most * BAR + 0.5);
	const char *colour = "";

	if (n == 0 && calls > 0)
		n = 1;
	n = n < BAR ? n : BAR;
	memset(bar, '#', n);
	bar[n] = '\0';
	table_line(line, row, size_of(v));
	if (chosen)
		colour = REVERSE;
	else if (row->in_counts[USAGE_ERRORS] > 0 ||
	    row->in_counts[USAGE_REFUSED] > 0)
		colour = RED;
	else if (calls > 0)
		colour = GREEN;
	put_cells(to, v, colour, bar, line);
}

static double
most_calls(const struct snapshot *s, bool clients)
{
	double most = 0, calls;
	size_t i;

	for (i = 0; i < s->n; i++) {
		calls = snapshot_rate(&s->rows[i], USAGE_CALLS);
		if ((s->rows[i].client != NULL) == clients && calls > most)
			most = calls;
	}
	return most;
}

/* Exports and clients, as many as fit; the chosen one is among them. */
static void
put_rows(FILE *to, struct live *v, unsigned int room)
{
	const struct snapshot *s = v->now;
	double most[2] = { most_calls(s, false), most_calls(s, true) };
	size_t first = 0, i;

	if (v->chosen != NOWHERE && v->chosen >= room)
		first = v->chosen - room + 1;
	for (i = first; i < s->n && i - first < room; i++)
		put_row(to, v, &s->rows[i], most[s->rows[i].client != NULL],
		    i == v->chosen);
}

static void
put_files(FILE *to, const struct live *v, unsigned int room)
{
	char line[TABLE_LINE], *text = ask(v->path, "files");
	struct recent_call *calls;
	size_t n = 0, i;

	if (text == NULL)
		return;
	calls = recent_read(text, &n);
	for (i = 0; calls != NULL && i < n && i < room; i++) {
		recent_line(line, &calls[i]);
		put_line(to, v, "", line);
	}
	free(calls);
	free(text);
}

static void
put_keys(FILE *to, const struct live *v)
{
	char line[TABLE_LINE];
	size_t len = 0, i;

	for (i = 0; i < nitems(sort_keys); i++)
		len += (size_t)snprintf(line + len, sizeof(line) - len,
		    "%c%s%s ", sort_keys[i].key,
		    v->order == sort_keys[i].order ? "*" : "=",
		    sort_keys[i].name);
	(void)snprintf(line + len, sizeof(line) - len, "f=%s x=end q=quit",
	    v->files ? "clients" : "files");
	put_line(to, v, REVERSE, line);
}

static void
draw(struct live *v)
{
	char line[TABLE_LINE], *frame = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&frame, &size);

	if (to == NULL)
		fatal("statistics");
	fprintf(to, "\033[H");
	table_summary(line, v->now);
	put_line(to, v, BOLD, line);
	if (v->files) {
		put_line(to, v, REVERSE,
		    "the last calls: when, how many, client, user, version, "
		    "call, result, export, name");
		put_files(to, v, v->lines - 4);
	} else {
		table_head(line, size_of(v));
		put_cells(to, v, REVERSE, "", line);
		put_rows(to, v, v->lines - 4);
	}
	fprintf(to, "\033[J\033[%u;1H", v->lines - 1);
	put_line(to, v, v->ending[0] != '\0' ? RED : "", v->said);
	put_keys(to, v);
	fseek(to, -2, SEEK_CUR); /* no line end on the last line */
	fclose(to);
	if (write(STDOUT_FILENO, frame, size) == -1)
		v->stopped = true;
	free(frame);
}

/* Sorts the rows of a snapshot. The same client stays chosen. */
static void
sort(struct live *v, struct snapshot *s)
{
	const struct snapshot_row *found;
	struct snapshot_row row;
	bool chosen = v->chosen != NOWHERE;

	if (chosen)
		row = v->now->rows[v->chosen];
	snapshot_sort(s, v->order);
	found = chosen ? snapshot_find(s, &row) : NULL;
	v->chosen = found == NULL ? NOWHERE : (size_t)(found - s->rows);
}

/* Takes the next snapshot. False: nfsd does not answer. */
static bool
refresh(struct live *v)
{
	struct snapshot *next = snapshot_take(v->path);

	if (next == NULL)
		return false;
	snapshot_since(next, v->now);
	sort(v, next);
	snapshot_free(v->now);
	v->now = next;
	return true;
}

/* Ends the connections of the client that the question named. */
static void
end_client(struct live *v)
{
	char request[CONTROL_REQUEST_MAX], *text;

	(void)snprintf(request, sizeof(request), "end %s", v->ending);
	text = ask(v->path, request);
	(void)snprintf(v->said, sizeof(v->said), "%s: %s", v->ending,
	    text == NULL ? "no answer" : text);
	v->said[strcspn(v->said, "\n")] = '\0';
	free(text);
}

static void
ask_to_end(struct live *v)
{
	const struct snapshot_row *row =
	    v->chosen == NOWHERE ? NULL : &v->now->rows[v->chosen];

	if (row == NULL || row->client == NULL) {
		(void)snprintf(v->said, sizeof(v->said),
		    "choose a client with up and down first");
		return;
	}
	(void)snprintf(v->ending, sizeof(v->ending), "%s", row->client);
	(void)snprintf(v->said, sizeof(v->said),
	    "end all connections of %s? y or n", v->ending);
}

static void
move(struct live *v, bool down)
{
	v->ending[0] = v->said[0] = '\0';
	if (v->chosen == NOWHERE)
		v->chosen = v->now->n == 0 ? NOWHERE : 0;
	else if (down && v->chosen + 1 < v->now->n)
		v->chosen++;
	else if (!down && v->chosen > 0)
		v->chosen--;
}

/* The answer to the question whether a client shall be ended. */
static void
on_answer(struct live *v, char key)
{
	v->said[0] = '\0';
	if (key == 'y')
		end_client(v);
	v->ending[0] = '\0';
}

static void
on_key(struct live *v, char key)
{
	size_t i;

	if (v->ending[0] != '\0') {
		on_answer(v, key);
		return;
	}
	v->said[0] = '\0';
	if (key == 'q' || key == CONTROL_C)
		v->stopped = true;
	else if (key == 'f')
		v->files = !v->files;
	else if (key == 'x')
		ask_to_end(v);
	for (i = 0; i < nitems(sort_keys); i++)
		if (sort_keys[i].key == key) {
			v->order = sort_keys[i].order;
			sort(v, v->now);
		}
}

/* Up and down are ESC [ A and ESC [ B, or ESC O A. Other keys are a byte. */
static void
read_keys(struct live *v)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys)), i;

	if (n <= 0)
		v->stopped = true;
	for (i = 0; i < n; i++)
		if (keys[i] != ESCAPE)
			on_key(v, keys[i]);
		else if (i + 2 < n) {
			i += 2;
			if (keys[i] == 'A' || keys[i] == 'B')
				move(v, keys[i] == 'B');
		}
}

/* SIGWINCH is another size, every other signal the end. */
static void
read_signal(struct live *v)
{
	struct signalfd_siginfo info;

	if (read(v->signals, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH)
		measure(v);
	else
		v->stopped = true;
}

/* Waits for keys and signals until the end of the interval. */
static void
wait_until(struct live *v, uint64_t end_ms)
{
	struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = v->signals, .events = POLLIN } };
	uint64_t now;

	while (!v->stopped && (now = clock_ms()) < end_ms) {
		if (poll(p, nitems(p), (int)(end_ms - now)) < 1)
			continue;
		if (p[0].revents != 0)
			read_keys(v);
		if (p[1].revents != 0)
			read_signal(v);
		draw(v);
	}
}

/* Keys come one by one, without an echo; the old settings are kept. */
static void
enter_terminal(struct live *v)
{
	struct termios raw;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	v->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (tcgetattr(STDIN_FILENO, &v->before) == -1 || v->signals == -1 ||
	    sigprocmask(SIG_BLOCK, &set, NULL) == -1)
		fatal("terminal");
	raw = v->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
	(void)!write(STDOUT_FILENO, ENTER, strlen(ENTER));
	measure(v);
}

int
live_run(const char *path, unsigned int seconds)
{
	struct live v = { .path = path, .seconds = seconds, .chosen = NOWHERE };
	bool answers = refresh(&v);

	if (!answers)
		return 1;
	enter_terminal(&v);
	while (!v.stopped && answers) {
		draw(&v);
		wait_until(&v, clock_ms() + (uint64_t)seconds * 1000);
		answers = v.stopped || refresh(&v);
	}
	(void)!write(STDOUT_FILENO, LEAVE, strlen(LEAVE));
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &v.before);
	snapshot_free(v.now);
	if (answers)
		return 0;
	/* What was said of it went to the other screen. Asked again, it stays. */
	snapshot_free(snapshot_take(path));
	return 1;
}
