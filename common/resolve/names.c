/* SPDX-License-Identifier: ISC */
/*
 * Asks the resolver and keeps its answers. Every field of an answer is checked:
 * the resolver reads the network and may be compromised. It can then choose
 * the addresses of the names, as a name server can.
 * Runs in: mountd parent, nfsd parent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "resolve/names.h"
#include "resolve/resolver.h"

#define TOGETHER_MS 1000 /* answers that come within this are told at once */
#define LATE_MS	    10000 /* without an answer: that is said */
/* Of names and addresses; a netgroup may hold either. */
#define HOST_LETTERS                                                           \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"

struct entry {
	char name[RESOLVE_NAME_MAX]; /* "host", or "@netgroup" */
	char *members; /* of a netgroup: names, each with its end */
	uint32_t nmembers;
	struct addr list[RESOLVE_ITEMS_MAX]; /* sorted */
	uint32_t n;
	uint32_t id; /* of the question */
	uint64_t asked_ms; /* 0: there is no question under way */
	uint64_t next_ms; /* when to ask again */
	uint64_t found_ms; /* last confirmed */
	bool wanted; /* the exports name it */
	bool told; /* the log says that it is missing */
};

struct names {
	void (*changed)(void *arg);
	void *arg;
	struct exports_names source;
	struct entry *list;
	size_t n;
	uint64_t news_ms; /* since when changed() is due; 0: it is not */
	struct resolver *resolver; /* NULL: not yet */
};

static struct entry *
find_entry(struct names *n, const char *name)
{
	size_t i;

	for (i = 0; i < n->n; i++)
		if (strcmp(n->list[i].name, name) == 0)
			return &n->list[i];
	return NULL;
}

static void
set_news(struct names *n)
{
	if (n->news_ms == 0)
		n->news_ms = clock_ms();
}

static bool
is_group(const struct entry *e)
{
	return e->name[0] == '@';
}

/* Finds or adds the name. Returns NULL if there is no room. */
static struct entry *
want(struct names *n, const char *name)
{
	struct entry *e = find_entry(n, name), *more;

	if (e == NULL) {
		if (n->n == EXPORTS_NAMES_MAX ||
		    strlen(name) >= RESOLVE_NAME_MAX)
			return NULL;
		more = reallocarray(n->list, n->n + 1, sizeof(*more));
		if (more == NULL)
			return NULL;
		n->list = more;
		e = &more[n->n++];
		memset(e, 0, sizeof(*e));
		memcpy(e->name, name, strlen(name));
	}
	e->wanted = true;
	return e;
}

/* Adds the addresses that out has not yet. Returns how many it has then. */
static size_t
add_addresses(const struct entry *e, struct addr *out, size_t n, size_t max)
{
	uint32_t i;
	size_t j;

	for (i = 0; i < e->n; i++) {
		for (j = 0; j < n && !addr_equal(&out[j], &e->list[i]); j++)
			;
		if (j == n && n < max)
			out[n++] = e->list[i];
	}
	return n;
}

/* The hook of exports_load(): what is known now. Wants the name from now on. */
static size_t
names_find(void *arg, const char *name, struct addr *out, size_t max)
{
	struct names *n = arg;
	struct entry *e = want(n, name);
	const char *member;
	uint32_t i, nmembers;
	size_t found = 0;

	if (e == NULL)
		return 0;
	if (!is_group(e))
		return add_addresses(e, out, 0, max);
	member = e->members;
	nmembers = e->nmembers; /* want() may move e */
	for (i = 0; i < nmembers; i++, member += strlen(member) + 1) {
		e = want(n, member);
		if (e != NULL)
			found = add_addresses(e, out, found, max);
	}
	return found;
}

static void
ask_all(struct names *n)
{
	uint64_t now = clock_ms();
	struct entry *e;
	size_t i;

	for (i = 0; i < n->n && n->resolver != NULL; i++) {
		e = &n->list[i];
		if (e->asked_ms != 0 || e->next_ms > now)
			continue;
		e->id = resolver_ask(n->resolver,
		    is_group(e) ? RESOLVE_GROUP : RESOLVE_HOST,
		    e->name + is_group(e));
		if (e->id == 0)
			return;
		e->asked_ms = now;
		e->next_ms = UINT64_MAX; /* a reload meanwhile asks once more */
	}
}

static int
compare(const struct addr *a, const struct addr *b)
{
	int order;

	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	order = memcmp(a->bytes, b->bytes, sizeof(a->bytes));
	if (order != 0)
		return order;
	return (a->scope > b->scope) - (a->scope < b->scope);
}

/* Name servers change the order of addresses, which must change nothing. */
static void
sort(struct addr *list, uint32_t n)
{
	struct addr one;
	uint32_t i, at;

	for (i = 1; i < n; i++) {
		one = list[i];
		for (at = i; at > 0 && compare(&list[at - 1], &one) > 0; at--)
			list[at] = list[at - 1];
		list[at] = one;
	}
}

/* Is it what the resolver may answer? Brings the addresses into one form. */
static bool
is_sound(struct resolve_answer *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint32_t i;

	if (a->status > RESOLVE_LATER || a->n > RESOLVE_ITEMS_MAX ||
	    (a->status == RESOLVE_FOUND) != (a->n > 0))
		return false;
	for (i = 0; i < a->n; i++) {
		a->host[i].port = 0;
		if (a->host[i].family == AF_INET) {
			memset(a->host[i].bytes + 4, 0, 12);
			a->host[i].scope = 0;
		} else if (a->host[i].family != AF_INET6 ||
		    memcmp(a->host[i].bytes, mapped, sizeof(mapped)) == 0)
			return false;
	}
	sort(a->host, a->n);
	return true;
}

static bool
is_same(const struct entry *e, const struct resolve_answer *a)
{
	uint32_t i;

	if (e->n != a->n)
		return false;
	for (i = 0; i < e->n; i++)
		if (compare(&e->list[i], &a->host[i]) != 0)
			return false;
	return true;
}

static void
log_found(const struct entry *e)
{
	char text[512] = "", one[ADDR_STRLEN];
	size_t len = 0;
	uint32_t i;

	for (i = 0; i < e->n && len < sizeof(text) - 1; i++) {
		(void)snprintf(text + len, sizeof(text) - len, "%s%s",
		    i > 0 ? ", " : "", addr_print(&e->list[i], one));
		len = strlen(text);
	}
	log_info("exports: client \"%s\" is %s", e->name, text);
}

/* A directory that says that it cannot answer has none of that name. */
static const char *
why_missing(const struct entry *e, uint32_t status)
{
	if (!is_group(e))
		return status == RESOLVE_NONE ?
		    "no such host" :
		    "the name servers do not answer";
	if (status == RESOLVE_NONE)
		return "the netgroup names no host";
	return e->asked_ms == 0 ? "no such netgroup is found" :
				  "the directory of netgroups does not answer";
}

static void
log_missing(struct entry *e, uint32_t status)
{
	const char *why = why_missing(e, status);

	if (e->told)
		return;
	e->told = true;
	if (is_group(e))
		log_warnx("exports: client \"%s\": %s: refused until a lookup "
			  "finds its hosts (asked again every minute; "
			  "\"getent netgroup %s\" shows them)",
		    e->name, why, e->name + 1);
	else
		log_warnx("exports: client \"%s\": %s: refused until a lookup "
			  "finds its address (asked again every minute)",
		    e->name, why);
}

static void
take(struct names *n, struct entry *e, const struct resolve_answer *a)
{
	uint64_t now = clock_ms();
	bool keep = a->status == RESOLVE_LATER && e->n > 0 &&
	    now - e->found_ms < NAMES_KEEP_MS;

	if (a->status == RESOLVE_FOUND)
		e->found_ms = now;
	if (!keep && !is_same(e, a)) {
		memcpy(e->list, a->host, sizeof(e->list));
		e->n = a->n;
		set_news(n);
		if (e->n > 0)
			log_found(e);
	}
	if (e->next_ms != 0)
		e->next_ms = now +
		    (a->status == RESOLVE_FOUND ? NAMES_OLD_MS :
						  NAMES_MISSING_MS);
	if (e->n > 0)
		e->told = false;
	else
		log_missing(e, a->status);
}

/* Are these names of hosts, each with its end? The resolver is not trusted. */
static bool
are_members(const struct resolve_members *m)
{
	const char *at = m->text, *end = m->text + sizeof(m->text);
	size_t len;
	uint32_t i;

	if (m->status > RESOLVE_LATER || m->n > EXPORTS_NAMES_MAX ||
	    (m->status == RESOLVE_FOUND) != (m->n > 0))
		return false;
	for (i = 0; i < m->n; i++, at += len + 1) {
		len = strnlen(at, (size_t)(end - at));
		if (len == 0 || len >= RESOLVE_NAME_MAX || at + len == end ||
		    at[0] == '@' || strspn(at, HOST_LETTERS) != len)
			return false;
	}
	return true;
}

/* Returns the length of all names. */
static size_t
members_len(const char *at, uint32_t n)
{
	const char *start = at;

	for (; n > 0; n--)
		at += strlen(at) + 1;
	return (size_t)(at - start);
}

/* Replaces the hosts of a netgroup if they differ. */
static void
set_members(struct names *n, struct entry *e, const struct resolve_members *m)
{
	size_t len = members_len(m->text, m->n);
	char *copy;

	if (e->nmembers == m->n &&
	    members_len(e->members, e->nmembers) == len &&
	    (len == 0 || memcmp(e->members, m->text, len) == 0))
		return;
	copy = malloc(len + 1);
	if (copy == NULL)
		return; /* the old hosts stay */
	memcpy(copy, m->text, len);
	free(e->members);
	e->members = copy;
	e->nmembers = m->n;
	set_news(n);
	log_info("exports: client \"%s\": %u hosts found", e->name, m->n);
}

static void
take_members(struct names *n, struct entry *e, const struct resolve_members *m)
{
	uint64_t now = clock_ms();

	if (m->status == RESOLVE_FOUND)
		e->found_ms = now;
	if (m->status != RESOLVE_LATER || now - e->found_ms >= NAMES_KEEP_MS)
		set_members(n, e, m);
	if (e->next_ms != 0)
		e->next_ms = now +
		    (m->status == RESOLVE_FOUND ? NAMES_OLD_MS :
						  NAMES_MISSING_MS);
	if (e->nmembers > 0)
		e->told = false;
	else
		log_missing(e, m->status);
}

/* Forgets the names that the exports do not have any more. */
static void
forget_unwanted(struct names *n)
{
	size_t i, kept = 0;

	for (i = 0; i < n->n; i++) {
		if (n->list[i].wanted)
			n->list[kept++] = n->list[i];
		else
			free(n->list[i].members);
	}
	n->n = kept;
}

/*
 * Tells the parent when the names that were asked together are answered, or
 * after a moment: a name that hangs delays no other. The parent then asks for
 * all names that the exports have now: hosts of a netgroup come and go.
 */
static void
tell(struct names *n)
{
	bool any = false;
	size_t i;

	for (i = 0; i < n->n && n->list[i].asked_ms == 0; i++)
		;
	if (n->news_ms == 0 ||
	    (i < n->n && clock_ms() - n->news_ms < TOGETHER_MS))
		return;
	n->news_ms = 0;
	names_begin(n);
	n->changed(n->arg);
	for (i = 0; i < n->n; i++)
		any = any || n->list[i].wanted;
	if (any) /* else there was no memory for the new list */
		forget_unwanted(n);
	ask_all(n);
}

/* Returns the name that was asked for. NULL: the exports do not have it now. */
static struct entry *
answered(struct names *n, uint32_t id, bool group)
{
	size_t i;

	for (i = 0; i < n->n; i++) {
		if (n->list[i].asked_ms == 0 || n->list[i].id != id ||
		    is_group(&n->list[i]) != group)
			continue;
		n->list[i].asked_ms = 0;
		return &n->list[i];
	}
	return NULL;
}

static bool
names_hear_host(void *arg, enum resolve_message type UNUSED, const void *answer)
{
	struct names *n = arg;
	struct resolve_answer a;
	struct entry *e;

	memcpy(&a, answer, sizeof(a));
	if (!is_sound(&a))
		return false;
	e = answered(n, a.id, false);
	if (e != NULL)
		take(n, e, &a);
	return true;
}

static bool
names_hear_group(void *arg, enum resolve_message type UNUSED,
    const void *answer)
{
	static struct resolve_members a;
	struct names *n = arg;
	struct entry *e;

	memcpy(&a, answer, sizeof(a));
	if (!are_members(&a))
		return false;
	e = answered(n, a.id, true);
	if (e != NULL)
		take_members(n, e, &a);
	return true;
}

/* Names the clients that are refused because no answer comes at all. */
static void
log_late(struct names *n)
{
	uint64_t now = clock_ms();
	struct entry *e;

	for (e = n->list; e < n->list + n->n; e++)
		if (e->asked_ms != 0 && now - e->asked_ms > LATE_MS &&
		    e->n == 0 && e->nmembers == 0)
			log_missing(e, RESOLVE_LATER);
}

static void
names_turn(void *arg)
{
	log_late(arg);
	ask_all(arg);
	tell(arg);
}

/* A resolver that ended answers nothing more. */
static void
names_lost(void *arg)
{
	struct names *n = arg;
	size_t i;

	for (i = 0; i < n->n; i++)
		if (n->list[i].asked_ms != 0)
			n->list[i].asked_ms = n->list[i].next_ms = 0;
	tell(n);
}

/* The resolver is needed if there is a name. */
static void
wake(struct names *n)
{
	if (n->resolver == NULL || n->n == 0)
		return;
	resolver_wake(n->resolver);
	ask_all(n);
}

struct names *
names_new(void (*changed)(void *arg), void *arg)
{
	struct names *n = calloc(1, sizeof(*n));

	if (n == NULL)
		fatal("names");
	n->changed = changed;
	n->arg = arg;
	n->source = (struct exports_names){ .find = names_find, .arg = n };
	return n;
}

const struct exports_names *
names_source(struct names *n)
{
	return &n->source;
}

void
names_begin(struct names *n)
{
	size_t i;

	for (i = 0; i < n->n; i++)
		n->list[i].wanted = false;
}

void
names_end(struct names *n, bool loaded)
{
	size_t i;

	if (loaded)
		forget_unwanted(n);
	/* An administrator who reloads expects a lookup. */
	for (i = 0; i < n->n; i++)
		n->list[i].next_ms = 0;
	wake(n);
}

void
names_start(struct names *n, struct resolver *r)
{
	const struct resolver_asker hosts = { names_turn, names_lost,
		names_hear_host, n };
	const struct resolver_asker groups = { .hear = names_hear_group,
		.arg = n };

	n->resolver = r;
	resolver_add(r, RESOLVE_ANSWER, &hosts);
	resolver_add(r, RESOLVE_MEMBERS, &groups);
	wake(n);
}

void
names_free(struct names *n)
{
	size_t i;

	if (n == NULL)
		return;
	for (i = 0; i < n->n; i++)
		free(n->list[i].members);
	free(n->list);
	free(n);
}
