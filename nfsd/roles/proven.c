/* SPDX-License-Identifier: ISC */
/*
 * Identities that addresses have proved: see proven.h. A slot is written word by
 * word. If two writers meet in it, or one ends in the middle, its sum is wrong
 * and it counts for nothing. The next use of the connection writes another.
 * Runs in: nfsd worker (event loop), roles that judge calls in the clear, nfsd
 * parent (proven_clear).
 */
#include <string.h>

#include "exports/client.h"
#include "nfsd/roles/proven.h"

#define REFRESH_SECONDS 30 /* a younger proof is not written again */
#define TRIES		4 /* to read a slot that is being written */

/* Words up to the security of the identity, enough to choose a slot. */
#define HEAD_WORDS                                                             \
	(offsetof(struct proven_entry, id.fingerprint) / sizeof(uint64_t))

union entry {
	struct proven_entry is;
	uint64_t words[PROVEN_WORDS];
};

_Static_assert(sizeof(union entry) == PROVEN_WORDS * sizeof(uint64_t),
    "an entry is whole words");
_Static_assert(offsetof(struct proven_entry, id.fingerprint) %
	    sizeof(uint64_t) ==
	0,
    "the head is whole words");

static bool
is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* It is logged as it is. */
static bool
is_serial(const char *text, size_t size)
{
	return is_text(text, size) &&
	    text[strspn(text, "0123456789abcdef")] == '\0';
}

/* Are there nnames names, each with its end? */
static bool
has_names(const struct peer_identity *id)
{
	const char *at = id->names, *end = id->names + sizeof(id->names);
	uint32_t n;

	for (n = 0; n < id->nnames; n++) {
		at = memchr(at, '\0', (size_t)(end - at));
		if (at == NULL || (++at == end && n + 1 < id->nnames))
			return false;
	}
	return true;
}

bool
proven_is_sound(const struct peer_identity *id)
{
	return is_serial(id->serial, sizeof(id->serial)) &&
	    is_text(id->subject, sizeof(id->subject)) &&
	    is_text(id->issuer, sizeof(id->issuer)) &&
	    is_text(id->user, sizeof(id->user)) && has_names(id) &&
	    (id->security == PEER_TLS || id->security == PEER_MTLS);
}

static uint64_t
sum_of(const struct proven *p, const union entry *e)
{
	return hash_bytes(&p->key, &e->is.host,
	    sizeof(*e) - offsetof(struct proven_entry, host));
}

/* Makes an entry whose every byte is set. */
static void
make_entry(union entry *e, const struct addr *host,
    const struct peer_identity *id)
{
	memset(e, 0, sizeof(*e));
	memcpy(e->is.host.bytes, host->bytes, sizeof(host->bytes));
	e->is.host.scope = host->scope;
	e->is.host.family = host->family;
	memcpy(&e->is.id, id,
	    offsetof(struct peer_identity, names) + sizeof(id->names));
	e->is.id.key = 0;
	e->is.id.users = 0;
}

/* Returns the first slot of the set of a host. */
static size_t
set_of(const struct proven *p, const struct addr *host)
{
	uint8_t flat[sizeof(host->bytes) + sizeof(host->scope) + 1];

	memcpy(flat, host->bytes, sizeof(host->bytes));
	memcpy(flat + sizeof(host->bytes), &host->scope, sizeof(host->scope));
	flat[sizeof(flat) - 1] = host->family;
	return hash_bytes(&p->key, flat, sizeof(flat)) % PROVEN_SETS *
	    PROVEN_WAYS;
}

static void
read_words(const struct proven *p, size_t slot, union entry *e, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		e->words[i] = atomic_load_explicit(&p->words[slot][i],
		    memory_order_relaxed);
}

static void
write_slot(struct proven *p, size_t slot, const union entry *e, uint64_t second)
{
	size_t i;

	for (i = 0; i < PROVEN_WORDS; i++)
		atomic_store_explicit(&p->words[slot][i], e->words[i],
		    memory_order_relaxed);
	atomic_store_explicit(&p->at[slot], second, memory_order_release);
}

/* Monotonic, and never 0. */
static uint64_t
second_of(uint64_t now_ms)
{
	return now_ms / 1000 + 1;
}

/* Returns the second of a slot's proof; 0: none that still counts. */
static uint64_t
proof_time(const struct proven *p, size_t slot, uint64_t now)
{
	uint64_t at = atomic_load_explicit(&p->at[slot], memory_order_acquire);

	/* A second of the future is a lie. */
	return at <= now && now - at < PROVEN_SECONDS ? at : 0;
}

/* Orders what may be given up: nothing, then TLS, then certificates; by age. */
static uint64_t
worth_of(uint64_t at, const union entry *e)
{
	if (at == 0)
		return 0;
	return (e->is.id.security == PEER_MTLS ? UINT64_C(1) << 63 : 0) | at;
}

struct choice {
	size_t slot;
	uint64_t worth;
};

static void
choose(struct choice *c, size_t slot, uint64_t worth)
{
	if (worth < c->worth)
		*c = (struct choice){ slot, worth };
}

/* Does the slot hold this entry? Its sum is not compared. */
static bool
holds(const struct proven *p, size_t slot, const union entry *e)
{
	union entry have;

	read_words(p, slot, &have, PROVEN_WORDS);
	have.is.sum = e->is.sum;
	return memcmp(&have, e, sizeof(have)) == 0;
}

void
proven_note(struct proven *p, const struct addr *host,
    const struct peer_identity *id, uint64_t now_ms)
{
	struct choice own = { 0, UINT64_MAX }, any = { 0, UINT64_MAX };
	size_t slot, set = set_of(p, host), nown = 0;
	uint64_t now = second_of(now_ms), at, worth;
	union entry e, head;

	make_entry(&e, host, id);
	for (slot = set; slot < set + PROVEN_WAYS; slot++) {
		at = proof_time(p, slot, now);
		if (at == 0) {
			choose(&any, slot, 0);
			continue;
		}
		read_words(p, slot, &head, HEAD_WORDS);
		worth = worth_of(at, &head);
		choose(&any, slot, worth);
		if (!addr_same_host(&head.is.host, &e.is.host))
			continue;
		if (holds(p, slot, &e)) {
			if (now - at < REFRESH_SECONDS)
				return;
			worth = 0; /* it is written again, sum and all */
			nown = PROVEN_EACH;
		}
		nown++;
		choose(&own, slot, worth);
	}
	e.is.sum = sum_of(p, &e);
	write_slot(p, nown >= PROVEN_EACH ? own.slot : any.slot, &e, now);
}

void
proven_forget(struct proven *p, const struct addr *host,
    const struct peer_identity *id)
{
	size_t slot, set = set_of(p, host);
	union entry e;

	make_entry(&e, host, id);
	for (slot = set; slot < set + PROVEN_WAYS; slot++)
		if (atomic_load(&p->at[slot]) != 0 && holds(p, slot, &e))
			atomic_store(&p->at[slot], 0);
}

void
proven_clear(struct proven *p)
{
	size_t slot;

	for (slot = 0; slot < PROVEN_SLOTS; slot++)
		atomic_store(&p->at[slot], 0);
}

/* Reads a whole entry of this host. Returns the time of its proof; 0: none. */
static uint64_t
read_entry(const struct proven *p, size_t slot, const struct addr *host,
    uint64_t now, union entry *e)
{
	unsigned int i;
	uint64_t at;

	for (i = 0; i < TRIES; i++) {
		at = proof_time(p, slot, now);
		if (at == 0)
			return 0;
		read_words(p, slot, e, PROVEN_WORDS);
		if (e->is.sum == sum_of(p, e))
			return addr_same_host(&e->is.host, host) &&
				proven_is_sound(&e->is.id) ?
			    at :
			    0;
	}
	return 0;
}

size_t
proven_by(const struct proven *p, const struct addr *host, uint64_t now_ms,
    struct peer_identity out[PROVEN_EACH])
{
	uint64_t now = second_of(now_ms), at, worths[PROVEN_EACH], worth;
	size_t slot, set = set_of(p, host), n = 0, k;
	union entry e;

	for (slot = set; slot < set + PROVEN_WAYS; slot++) {
		at = read_entry(p, slot, host, now, &e);
		if (at == 0)
			continue;
		worth = worth_of(at, &e);
		for (k = n; k > 0 && worth > worths[k - 1]; k--)
			if (k < PROVEN_EACH) {
				worths[k] = worths[k - 1];
				out[k] = out[k - 1];
			}
		if (k == PROVEN_EACH)
			continue;
		worths[k] = worth;
		out[k] = e.is.id;
		out[k].key = e.is.sum | 1; /* 0 is for plain connections */
		n += n < PROVEN_EACH;
	}
	return n;
}

const struct export_client *
proven_client(const struct proven *p, const struct export *e,
    const struct addr *host, enum export_names names, uint64_t now_ms,
    struct peer_identity *id)
{
	struct peer_identity ids[PROVEN_EACH];
	const struct export_client *c;
	size_t i, n = proven_by(p, host, now_ms, ids);

	for (i = 0; i < n; i++) {
		c = exports_client(e, host, &ids[i], names);
		if (c != NULL && peer_security(&ids[i]) >= c->options.xprtsec) {
			*id = ids[i];
			return c;
		}
	}
	memset(id, 0, sizeof(*id));
	c = exports_client(e, host, NULL, names);
	return c != NULL && c->options.xprtsec == PEER_PLAIN ? c : NULL;
}
