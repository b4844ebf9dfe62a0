/* SPDX-License-Identifier: ISC */
/*
 * The table of locks against a simple one (locks_model.h): random locks,
 * unlocks, tests, cancels, answers to call-backs, restarts of clients and of
 * the server, and locks of local programs, from many owners. After each step
 * both have answered the same, granted the same to the same waiters, and the
 * kernel has what it must. Once with a kernel of the test, once with the real
 * one. SEED=n repeats a run.
 * Links: nfsd
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "locks_ask.h"
#include "locks_model.h"
#include "nfsd/locks/state.h"
#include "tap.h"

#define STEPS	   200000
#define REAL_STEPS 20000
#define FDS	   64
#define ANSWER_MS  TABLE_ANSWER_MS

/* An open file description of the test's kernel. */
struct description {
	bool open;
	unsigned int file;
	uint8_t held[MODEL_BYTES];
};

enum step {
	LOCK,
	UNLOCK,
	TEST,
	CANCEL,
	REPLY,
	WAIT,
	LOCAL,
	FREE,
	RESTART,
	STEPS_KINDS
};
static const char *const names[STEPS_KINDS] = { "lock", "unlock", "test",
	"cancel", "reply", "time", "local program", "client restart",
	"server restart" };

static struct {
	uint64_t n, total_ns, max_ns;
} spent[STEPS_KINDS];

static struct model m;
static struct locks_table *t;
static struct description descriptions[FDS];
static struct locks_grant grants[MODEL_WAITERS];
static size_t ngrants;
static bool real;
static int files[MODEL_FILES], locals[MODEL_FILES], probes[MODEL_FILES];
static char paths[MODEL_FILES][32];
static uint64_t seed;
static char wrong[256];
static struct locks_stats stats;

static unsigned int
any(unsigned int n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)((seed * 0x2545f4914f6cdd1d >> 33) % n);
}

static void
differ(const char *what, const struct model_lock *l, int got, int want)
{
	if (wrong[0] == '\0')
		(void)snprintf(wrong, sizeof(wrong),
		    "%s: file %u owner %u bytes %u-%u kind %u: got %d, "
		    "want %d",
		    what, l->file, l->owner, l->start, l->end,
		    (unsigned int)l->kind, got, want);
}

/* ---- the kernel of the test ---- */

static unsigned int
to_byte(uint64_t at)
{
	return at > MODEL_LAST ? MODEL_LAST : (unsigned int)at;
}

static int
fake_set(const struct locks_file *f, enum kernel_lock kind, unsigned int start,
    unsigned int end)
{
	struct description *d = &descriptions[f->opened.fd];
	const struct model_lock l = { .file = d->file,
		.start = start,
		.end = end,
		.kind = (enum model_kind)kind };
	size_t i;

	for (i = 0; i < FDS; i++)
		if (&descriptions[i] != d && descriptions[i].open &&
		    descriptions[i].file == d->file &&
		    memchr(descriptions[i].held, MODEL_WRITE, MODEL_BYTES) !=
			NULL)
			differ("two descriptions lock one file", &l, 1, 0);
	if (kind != KERNEL_NONE && model_is_foreign(&m, &l)) {
		errno = EAGAIN;
		return -1;
	}
	memset(d->held + start, (int)kind, end - start + 1);
	return 0;
}

static int
on_set(void *arg UNUSED, const struct locks_file *f, enum kernel_lock kind,
    uint64_t start, uint64_t end)
{
	if (real)
		return kernel_set(f->opened.fd, kind, start, end);
	return fake_set(f, kind, to_byte(start), to_byte(end));
}

static bool
on_get(void *arg UNUSED, const struct locks_file *f, bool exclusive,
    struct kernel_found *found)
{
	const struct model_lock l = { .file = (unsigned int)f->opened.ino,
		.start = to_byte(found->start),
		.end = to_byte(found->end),
		.kind = exclusive ? MODEL_WRITE : MODEL_READ };

	if (real)
		return kernel_get(f->opened.fd, exclusive, found);
	found->exclusive = true;
	return model_is_foreign(&m, &l);
}

static void
on_close(void *arg UNUSED, int fd)
{
	if (real)
		close(fd);
	else
		memset(&descriptions[fd], 0, sizeof(descriptions[fd]));
}

static void
on_grant(void *arg UNUSED, const void *message, size_t len UNUSED)
{
	memcpy(&grants[ngrants++ % MODEL_WAITERS], message, sizeof(grants[0]));
}

static const struct table_hooks hooks = {
	.set = on_set, .get = on_get, .close = on_close, .grant = on_grant
};

static struct table_opened
opened(unsigned int file)
{
	struct table_opened o = { .ino = file, .dev = 1, .writable = true };

	if (real) {
		o.fd = open(paths[file], O_RDWR | O_CLOEXEC);
		if (o.fd == -1)
			err(1, "%s", paths[file]);
		return o;
	}
	while (descriptions[o.fd].open)
		o.fd++;
	descriptions[o.fd].open = true;
	descriptions[o.fd].file = file;
	return o;
}

static void
finish(struct table_opened *o)
{
	if (o->fd != -1)
		on_close(NULL, o->fd);
}

/* ---- comparing ---- */

static enum model_kind
kernel_has(unsigned int file, unsigned int byte)
{
	struct kernel_found found = { .start = byte,
		.end = byte == MODEL_LAST ? RANGE_LAST : byte };
	size_t i;

	if (real) {
		if (!kernel_get(probes[file], true, &found))
			return MODEL_NONE;
		return found.exclusive ? MODEL_WRITE : MODEL_READ;
	}
	for (i = 0; i < FDS; i++)
		if (descriptions[i].open && descriptions[i].file == file &&
		    descriptions[i].held[byte] != MODEL_NONE)
			return (enum model_kind)descriptions[i].held[byte];
	return MODEL_NONE;
}

static void
compare_kernel(unsigned int file)
{
	struct model_lock at = { .file = file };
	enum model_kind want, got;

	for (at.start = 0; at.start < MODEL_BYTES; at.start++) {
		want = model_union(&m, file, at.start);
		/* The real one tells of local programs as well. */
		if (real && m.foreign[file][at.start] > want)
			want = (enum model_kind)m.foreign[file][at.start];
		got = kernel_has(file, at.start);
		if (got != want)
			differ("kernel", &at, (int)got, (int)want);
	}
}

/* The same grants in the same order. */
static void
compare_grants(void)
{
	struct model_lock l;
	size_t i;

	for (i = 0; i < ngrants && i < m.ngrants; i++) {
		l = model_lock_of(&grants[i]);
		if (memcmp(&l, &m.grants[i], sizeof(l)) != 0)
			differ("granted", &l, (int)i, -1);
	}
	if (ngrants != m.ngrants)
		differ("number of grants", &m.grants[0], (int)ngrants,
		    (int)m.ngrants);
	ngrants = m.ngrants = 0;
}

static struct model_waiter *
find_waiter(const struct model_lock *l)
{
	size_t i;

	for (i = 0; i < m.nwaiters; i++)
		if (memcmp(&m.waiters[i].lock, l, sizeof(*l)) == 0)
			return &m.waiters[i];
	return NULL;
}

/* What time has brought: each grant is right, and none is missing. */
static void
accept_grants(bool complete)
{
	struct model_waiter *w;
	struct model_lock l;
	size_t i;

	for (i = 0; i < ngrants; i++) {
		l = model_lock_of(&grants[i]);
		w = find_waiter(&l);
		if (w == NULL ||
		    (!w->granted &&
			(model_conflicts(&m, &l) ||
			    model_is_foreign(&m, &l)))) {
			differ("granted in time", &l, 1, 0);
			continue;
		}
		if (!w->granted)
			w->granted_at = m.now;
		w->granted = true;
	}
	ngrants = 0;
	for (i = 0; complete && i < m.nwaiters; i++) {
		w = &m.waiters[i];
		if (!w->granted && !model_conflicts(&m, &w->lock) &&
		    !model_is_foreign(&m, &w->lock))
			differ("forgotten", &w->lock, 0, 1);
	}
}

/* ---- steps ---- */

static void
tick(uint64_t now)
{
	size_t i = 0;

	m.now = now;
	while (i < m.nwaiters)
		if (m.waiters[i].granted &&
		    m.waiters[i].granted_at + ANSWER_MS <= now) {
			m.nwaiters--;
			memmove(&m.waiters[i], &m.waiters[i + 1],
			    (m.nwaiters - i) * sizeof(m.waiters[0]));
		} else
			i++;
	table_set_now(t, now);
	table_tick(t, false);
	accept_grants(false);
}

static void
pass_time(uint64_t ms)
{
	uint64_t until = m.now + ms, next;

	while ((next = table_next(t, false)) != 0 && next <= until)
		tick(next > m.now ? next : m.now);
	m.now = until;
	table_set_now(t, until);
}

static struct model_lock
some_lock(void)
{
	struct model_lock l = { .file = any(MODEL_FILES),
		.owner = any(MODEL_OWNERS),
		.start = any(MODEL_BYTES),
		.kind = any(3) == 0 ? MODEL_WRITE : MODEL_READ };

	l.end = l.start + any(8);
	if (l.end > MODEL_LAST || any(12) == 0)
		l.end = MODEL_LAST;
	return l;
}

/* Often one that waits. */
static struct model_lock
waiting_lock(void)
{
	if (m.nwaiters == 0 || any(3) == 0)
		return some_lock();
	return m.waiters[any((unsigned int)m.nwaiters)].lock;
}

static enum locks_stat
stat_of(enum model_answer a)
{
	static const enum locks_stat same[] = { [MODEL_GRANTED] = LOCKS_GRANTED,
		[MODEL_DENIED] = LOCKS_DENIED,
		[MODEL_BLOCKED] = LOCKS_BLOCKED,
		[MODEL_DEADLOCK] = LOCKS_DEADLOCK };

	return same[a];
}

static uint64_t started_ns;

static void
start(void)
{
	started_ns = clock_ns();
}

static void
stop(enum step step)
{
	uint64_t ns = clock_ns() - started_ns;

	spent[step].n++;
	spent[step].total_ns += ns;
	if (ns > spent[step].max_ns)
		spent[step].max_ns = ns;
}

static void
step_lock(void)
{
	struct model_lock l = any(8) == 0 ? waiting_lock() : some_lock();
	struct table_opened o = opened(l.file);
	struct locks_ask a = model_ask(&l);
	struct table_ask q = model_question(&l, &a);
	enum locks_stat got, want;

	a.block = any(2) == 0 && m.nwaiters < 100;
	start();
	got = table_lock(t, &q, &o);
	stop(LOCK);
	finish(&o);
	want = stat_of(model_lock(&m, &l, a.block));
	if (got != want)
		differ("lock", &l, (int)got, (int)want);
	compare_grants();
	compare_kernel(l.file);
}

static void
step_unlock(void)
{
	struct model_lock l = any(8) == 0 ? waiting_lock() : some_lock();
	struct locks_ask a;
	struct table_ask q;
	enum locks_stat got;
	unsigned int o;

	if (any(3) == 0) { /* a process ends */
		l.start = 0;
		l.end = MODEL_LAST;
	}
	if (m.nwaiters > 0 && any(2) == 0) { /* one that others wait for */
		l = m.waiters[any((unsigned int)m.nwaiters)].lock;
		o = model_blocker(&m, &l);
		l.owner = o < MODEL_OWNERS ? o : l.owner;
	}
	a = model_ask(&l);
	q = model_question(&l, &a);
	start();
	got = table_unlock(t, &q);
	stop(UNLOCK);
	model_unlock(&m, &l);
	if (got != LOCKS_GRANTED)
		differ("unlock", &l, (int)got, LOCKS_GRANTED);
	compare_grants();
	compare_kernel(l.file);
}

/* The lock that is said to be in the way is there, and is in the way. */
static void
check_holder(const struct model_lock *l, const struct locks_answer *a)
{
	struct model_lock h = { .file = l->file,
		.start = (unsigned int)a->offset,
		.end = a->length == 0 ?
		    MODEL_LAST :
		    (unsigned int)(a->offset + a->length - 1),
		.kind = a->exclusive ? MODEL_WRITE : MODEL_READ };
	unsigned int c;

	for (c = 0; c < MODEL_OWNERS / MODEL_SVIDS; c++) {
		h.owner = c * MODEL_SVIDS + (unsigned int)a->svid;
		if (h.owner != l->owner && model_is_run(&m, &h) &&
		    h.start <= l->end && h.end >= l->start &&
		    (h.kind == MODEL_WRITE || l->kind == MODEL_WRITE))
			return;
	}
	differ("holder", &h, 0, 1);
}

static void
step_test(void)
{
	struct model_lock l = some_lock();
	struct table_opened o = opened(l.file);
	struct locks_answer answer = { .owner_len = 0 };
	struct locks_ask a = model_ask(&l);
	struct table_ask q = model_question(&l, &a);
	uint8_t owner[LOCKS_TEXT_MAX];
	enum locks_stat got, want;

	start();
	got = table_test(t, &q, &o, &answer, owner);
	stop(TEST);
	finish(&o);
	want = model_conflicts(&m, &l) || model_is_foreign(&m, &l) ?
	    LOCKS_DENIED :
	    LOCKS_GRANTED;
	if (got != want)
		differ("test", &l, (int)got, (int)want);
	if (got == LOCKS_DENIED && model_conflicts(&m, &l))
		check_holder(&l, &answer);
}

static void
step_cancel(void)
{
	struct model_lock l = waiting_lock();
	struct locks_ask a = model_ask(&l);
	struct table_ask q = model_question(&l, &a);
	enum locks_stat got, want;

	start();
	got = table_cancel(t, &q);
	stop(CANCEL);
	want = stat_of(model_cancel(&m, &l));
	if (got != want)
		differ("cancel", &l, (int)got, (int)want);
	compare_grants();
	compare_kernel(l.file);
}

/* The table knows a call-back by its cookie, the model by its lock. */
static void
step_reply(void)
{
	struct locks_reply reply = { .stat = any(4) == 0 ? LOCKS_DENIED :
							   LOCKS_GRANTED };
	struct model_lock l = waiting_lock();
	struct waiter *w;
	size_t i;

	for (i = 0; i < WAITER_BUCKETS; i++)
		for (w = t->cookies[i]; w != NULL; w = w->next_cookie)
			if (w->fh.bytes[4] == l.file && w->start == l.start &&
			    to_byte(w->end) == l.end &&
			    (uint32_t)w->svid == l.owner % MODEL_SVIDS &&
			    w->exclusive == (l.kind == MODEL_WRITE) &&
			    strcmp(w->client->name,
				model_clients[l.owner / MODEL_SVIDS].name) ==
				0 &&
			    w->client->listed.client.from.bytes[3] ==
				model_clients[l.owner / MODEL_SVIDS].host &&
			    w->client->listed.client.kind ==
				model_clients[l.owner / MODEL_SVIDS].kind)
				memcpy(reply.cookie, w->cookie, LOCKS_COOKIE);
	start();
	table_reply(t, &reply);
	stop(REPLY);
	(void)model_reply(&m, &l, reply.stat == LOCKS_GRANTED);
	pass_time(1);
	accept_grants(true);
	compare_kernel(l.file);
}

static void
step_wait(void)
{
	start();
	pass_time(any(6) == 0 ? 31000 : any(1200));
	stop(WAIT);
}

/* A local program locks or unlocks. Waiters notice within some seconds. */
static void
step_local(void)
{
	struct model_lock l = some_lock();
	unsigned int b;

	l.kind = (enum model_kind)any(3);
	for (b = l.start; b <= l.end; b++)
		if (l.kind != MODEL_NONE &&
		    (model_union(&m, l.file, b) == MODEL_WRITE ||
			(l.kind == MODEL_WRITE &&
			    model_union(&m, l.file, b) != MODEL_NONE)))
			return;
	if (real &&
	    kernel_set(locals[l.file], (enum kernel_lock)l.kind, l.start,
		l.end == MODEL_LAST ? RANGE_LAST : l.end) == -1)
		differ("local program", &l, errno, 0);
	memset(&m.foreign[l.file][l.start], (int)l.kind, l.end - l.start + 1);
	start();
	pass_time(3 * TABLE_POLL_MAX_MS);
	stop(LOCAL);
	accept_grants(true);
	compare_kernel(l.file);
}

static bool
holds(const struct model *was, unsigned int owner)
{
	unsigned int f, b;

	for (f = 0; f < MODEL_FILES; f++)
		for (b = 0; b < MODEL_BYTES; b++)
			if (was->held[f][owner][b] != MODEL_NONE)
				return true;
	return false;
}

/* All clients of the same address and name lose their locks. */
static void
step_free(void)
{
	struct model_lock l = some_lock();
	struct locks_ask a = model_ask(&l);
	struct table_ask q = model_question(&l, &a);
	unsigned int o, f;

	/* A name that the table does not know may mean another one. */
	if (!holds(&m, l.owner))
		return;
	a.proven = true;
	start();
	if (table_free_client(t, &q) != LOCKS_GRANTED)
		differ("client restart", &l, 1, 0);
	stop(FREE);
	for (o = 0; o < MODEL_OWNERS; o++)
		if (model_clients[o / MODEL_SVIDS].host ==
			model_clients[l.owner / MODEL_SVIDS].host &&
		    strcmp(model_clients[o / MODEL_SVIDS].name,
			model_clients[l.owner / MODEL_SVIDS].name) == 0)
			model_forget(&m, o);
	pass_time(3 * TABLE_POLL_MAX_MS);
	accept_grants(true);
	for (f = 0; f < MODEL_FILES; f++)
		compare_kernel(f);
}

/* ---- restart of the server ---- */

static void
expect_lock(const struct model_lock *l, bool reclaim, enum locks_stat want)
{
	struct table_opened o = opened(l->file);
	struct locks_ask a = model_ask(l);
	struct table_ask q = model_question(l, &a);
	enum locks_stat got;

	a.reclaim = reclaim;
	got = table_lock(t, &q, &o);
	finish(&o);
	if (got != want)
		differ(reclaim ? "reclaim" : "lock in grace", l, (int)got,
		    (int)want);
}

/* Each run of bytes that an owner held, as its client reclaims it. */
static void
reclaim_runs(const struct model *was, unsigned int owner)
{
	struct model_lock l = { .owner = owner };
	const uint8_t *held;

	for (l.file = 0; l.file < MODEL_FILES; l.file++) {
		held = was->held[l.file][owner];
		for (l.start = 0; l.start < MODEL_BYTES; l.start = l.end + 1) {
			l.end = l.start;
			l.kind = (enum model_kind)held[l.start];
			while (l.end < MODEL_LAST && held[l.end + 1] == l.kind)
				l.end++;
			if (l.kind == MODEL_NONE || any(4) == 0)
				continue;
			expect_lock(&l, true, LOCKS_GRANTED);
			if (model_lock(&m, &l, false) != MODEL_GRANTED)
				differ("reclaim of the model", &l, 1, 0);
		}
	}
}

static void
list_clients(const struct model *was, bool listed[])
{
	struct locks_listed l = { .state = 0 };
	unsigned int o;

	for (o = 0; o < MODEL_OWNERS; o++)
		if (holds(was, o) && !listed[o / MODEL_SVIDS]) {
			listed[o / MODEL_SVIDS] = true;
			l.client = model_client(o);
			table_listed(t, &l,
			    model_clients[o / MODEL_SVIDS].name);
		}
}

/* Some clients reclaim, none gets a new lock, none reclaims without a list. */
static void
step_restart(void)
{
	bool listed[MODEL_OWNERS / MODEL_SVIDS] = { false };
	struct model was = m;
	struct model_lock l;
	unsigned int o, f;

	start();
	table_free(t);
	t = table_new(&hooks, &stats, 1000);
	table_set_now(t, m.now);
	memset(m.held, 0, sizeof(m.held));
	m.nwaiters = m.ngrants = ngrants = 0;
	list_clients(&was, listed);
	if (!listed[0] && !listed[1])
		return;
	table_grace(t, 45);
	for (o = 0; o < MODEL_OWNERS; o++) {
		l = some_lock();
		l.owner = o;
		expect_lock(&l, false, LOCKS_GRACE);
		/* Clients are known by address and name. */
		if (!listed[o / MODEL_SVIDS] &&
		    (o / MODEL_SVIDS > 1 || (!listed[0] && !listed[1])))
			expect_lock(&l, true, LOCKS_GRACE);
		else
			reclaim_runs(&was, o);
	}
	pass_time(46000);
	l = some_lock();
	expect_lock(&l, true, LOCKS_GRACE);
	stop(RESTART);
	for (f = 0; f < MODEL_FILES; f++)
		compare_kernel(f);
}

/* ---- runs ---- */

static const struct {
	unsigned int share; /* of 1000 steps */
	void (*run)(void);
} steps[STEPS_KINDS] = {
	[LOCK] = { 400, step_lock },
	[UNLOCK] = { 340, step_unlock },
	[TEST] = { 80, step_test },
	[CANCEL] = { 30, step_cancel },
	[REPLY] = { 100, step_reply },
	[WAIT] = { 30, step_wait },
	[LOCAL] = { 15, step_local },
	[FREE] = { 4, step_free },
	[RESTART] = { 1, step_restart },
};

static uint64_t
seen(enum locks_count what)
{
	return atomic_load(&stats.counts[what]);
}

static void
run(unsigned int n, const char *kernel)
{
	unsigned int i, k, pick;

	memset(&m, 0, sizeof(m));
	memset(spent, 0, sizeof(spent));
	memset(&stats, 0, sizeof(stats));
	memset(descriptions, 0, sizeof(descriptions));
	ngrants = 0;
	m.now = 1000000;
	t = table_new(&hooks, &stats, 1000);
	table_set_now(t, m.now);
	for (i = 0; i < n && wrong[0] == '\0'; i++) {
		pick = any(1000);
		for (k = 0; pick >= steps[k].share; k++)
			pick -= steps[k].share;
		steps[k].run();
	}
	ok(wrong[0] == '\0', "%u steps with %s: no difference", n, kernel);
	if (wrong[0] != '\0')
		diag("step %u: %s", i, wrong);
	ok(seen(LOCKS_COUNT_GRANTS) > n / 100 &&
		seen(LOCKS_COUNT_UNANSWERED) > n / 10000 &&
		seen(LOCKS_COUNT_DEADLOCKS) > n / 500 &&
		seen(LOCKS_COUNT_RECLAIMED) > n / 500,
	    "all that can happen did: %" PRIu64 " grants, %" PRIu64
	    " unanswered, %" PRIu64 " deadlocks, %" PRIu64 " reclaims",
	    seen(LOCKS_COUNT_GRANTS), seen(LOCKS_COUNT_UNANSWERED),
	    seen(LOCKS_COUNT_DEADLOCKS), seen(LOCKS_COUNT_RECLAIMED));
	wrong[0] = '\0';
	table_free(t);
	for (k = 0; k < STEPS_KINDS; k++)
		if (spent[k].n > 0)
			diag("%-15s %7" PRIu64 " times, mean %8.2f us, "
			     "longest %8.1f us",
			    names[k], spent[k].n,
			    (double)spent[k].total_ns / (double)spent[k].n /
				1e3,
			    (double)spent[k].max_ns / 1e3);
}

static void
make_files(void)
{
	unsigned int i;

	for (i = 0; i < MODEL_FILES; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]),
		    "/tmp/test-locks.XXXXXX");
		files[i] = mkstemp(paths[i]);
		locals[i] = open(paths[i], O_RDWR | O_CLOEXEC);
		probes[i] = open(paths[i], O_RDWR | O_CLOEXEC);
		if (files[i] == -1 || locals[i] == -1 || probes[i] == -1)
			err(1, "%s", paths[i]);
	}
}

int
main(void)
{
	const char *text = getenv("SEED");
	unsigned int i;

	plan(NO_PLAN);
	seed = text != NULL ? strtoull(text, NULL, 10) : clock_ns();
	diag("SEED=%" PRIu64, seed);
	run(STEPS, "a kernel of the test");
	make_files();
	real = true;
	run(REAL_STEPS, "the real kernel");
	for (i = 0; i < MODEL_FILES; i++)
		(void)unlink(paths[i]);
	done_testing();
}
