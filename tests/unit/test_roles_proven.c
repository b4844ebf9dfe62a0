/* SPDX-License-Identifier: ISC */
/*
 * What addresses have proved by TLS: it ends, it is bounded, and no content of
 * the memory that workers share harms a reader.
 * Links: nfsd
 * Runs in: tests.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exports/client.h"
#include "nfsd/roles/proven.h"
#include "tap.h"

#define SECOND UINT64_C(1000)
#define HOSTS  20000

static struct proven *p;
static struct peer_identity out[PROVEN_EACH];

static struct addr
parse(const char *text)
{
	struct addr a;

	if (!addr_parse(&a, text))
		abort();
	return a;
}

static struct peer_identity
tls(void)
{
	struct peer_identity id;

	memset(&id, 0, sizeof(id));
	id.security = PEER_TLS;
	id.key = 77;
	id.users = 3;
	return id;
}

static struct peer_identity
certificate(const char *name)
{
	struct peer_identity id = tls();

	id.security = PEER_MTLS;
	memset(id.fingerprint, name[0], sizeof(id.fingerprint));
	id.nnames = 1;
	memcpy(id.names, name, strlen(name));
	return id;
}

static void
reset(void)
{
	free(p);
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		abort();
	hash_key_random(&p->key);
}

static void
prove(const char *host, const struct peer_identity *id, uint64_t now)
{
	struct addr a = parse(host);

	proven_note(p, &a, id, now);
}

static size_t
by(const char *host, uint64_t now)
{
	struct addr a = parse(host);

	return proven_by(p, &a, now, out);
}

static void
test_time(void)
{
	struct peer_identity id = certificate("laptop.example");

	reset();
	cmp_ok(by("10.0.0.1", 0), "==", 0, "nothing is proven at first");
	prove("10.0.0.1:700", &id, SECOND);
	cmp_ok(by("10.0.0.1:33", SECOND), "==", 1, "any port of the address");
	is(peer_name(&out[0], 0), "laptop.example", "with its name");
	ok(out[0].key != 0 && out[0].key != 77 && out[0].users == 0,
	    "and a key of its own");
	cmp_ok(by("10.0.0.2", SECOND), "==", 0, "no other address");
	cmp_ok(by("10.0.0.1", 600 * SECOND), "==", 1, "for ten minutes");
	cmp_ok(by("10.0.0.1", 601 * SECOND), "==", 0, "and no longer");
	prove("10.0.0.1", &id, 20 * SECOND);
	prove("10.0.0.1", &id, 500 * SECOND);
	cmp_ok(by("10.0.0.1", 1099 * SECOND), "==", 1, "use renews it");
	cmp_ok(by("10.0.0.1", 1100 * SECOND), "==", 0, "for ten minutes");
	prove("10.0.0.1", &id, 3000 * SECOND);
	cmp_ok(by("10.0.0.1", 1000 * SECOND), "==", 0,
	    "a time in the future is a lie");
}

static void
test_several(void)
{
	struct peer_identity a = certificate("a.example"), b = tls(),
			     c = certificate("c.example");

	reset();
	prove("10.0.0.1", &a, SECOND);
	prove("10.0.0.1", &b, 2 * SECOND);
	prove("10.0.0.1", &c, 3 * SECOND);
	prove("10.0.0.1", &a, 4 * SECOND);
	cmp_ok(by("10.0.0.1", 5 * SECOND), "==", 3, "three identities");
	ok(out[0].fingerprint[0] == 'c' && out[1].fingerprint[0] == 'a' &&
		out[2].security == PEER_TLS,
	    "the strongest first, then the newest");
	ok(out[0].key != out[1].key && out[1].key != out[2].key,
	    "their keys differ");
	b = certificate("d.example");
	prove("10.0.0.1", &b, 5 * SECOND);
	b = certificate("e.example");
	prove("10.0.0.1", &b, 6 * SECOND);
	cmp_ok(by("10.0.0.1", 6 * SECOND), "==", 4, "four and no more");
	ok(out[3].fingerprint[0] == 'a', "TLS alone gives way first");
	b = certificate("f.example");
	prove("10.0.0.1", &b, 7 * SECOND);
	(void)by("10.0.0.1", 7 * SECOND);
	ok(out[3].fingerprint[0] == 'c', "then the oldest");
	b = certificate("e.example");
	proven_forget(p, &(struct addr){ 0 }, &b);
	cmp_ok(by("10.0.0.1", 7 * SECOND), "==", 4,
	    "a revoked one is forgotten for its address");
	proven_forget(p, &(struct addr[]){ parse("10.0.0.1") }[0], &b);
	cmp_ok(by("10.0.0.1", 7 * SECOND), "==", 3, "alone");
	proven_clear(p);
	cmp_ok(by("10.0.0.1", 7 * SECOND), "==", 0, "or all are");
	prove("10.0.0.1", &b, 7 * SECOND);
	cmp_ok(by("10.0.0.1", 7 * SECOND), "==", 1, "until the next use");
}

/* Neighbours without a certificate displace none with one. */
static void
test_crowd(void)
{
	struct peer_identity id = certificate("a.example"), weak = tls();
	struct addr host = parse("2001:db8::");
	unsigned int i, found = 0;

	reset();
	prove("10.0.0.1", &id, SECOND);
	for (i = 0; i < HOSTS; i++) {
		memcpy(host.bytes + 8, &i, sizeof(i));
		proven_note(p, &host, &weak, 2 * SECOND);
	}
	for (i = 0; i < HOSTS; i++) {
		memcpy(host.bytes + 8, &i, sizeof(i));
		found += proven_by(p, &host, 2 * SECOND, out) == 1;
	}
	cmp_ok(found, "==", PROVEN_SLOTS - 1, "memory is bounded");
	cmp_ok(by("10.0.0.1", 2 * SECOND), "==", 1, "a certificate stays");
}

/* Any word of the memory may be anything. */
static void
test_garbage(void)
{
	struct peer_identity id = certificate("a.example");
	_Atomic uint64_t *words = (_Atomic uint64_t *)p->at;
	size_t n = (sizeof(*p) - offsetof(struct proven, at)) / 8, i;
	unsigned int unsound = 0, whole = 0;
	struct addr host = parse("10.0.0.1");

	reset();
	words = (_Atomic uint64_t *)p->at;
	proven_note(p, &host, &id, SECOND);
	for (i = 0; i < n; i++) {
		uint64_t was = atomic_load(&words[i]);

		if (was == 0)
			continue;
		atomic_store(&words[i], was ^ UINT64_C(1) << 40);
		whole += (unsigned int)proven_by(p, &host, SECOND, out);
		atomic_store(&words[i], was);
	}
	cmp_ok(whole, "==", 0, "one word changed: it counts for nothing");
	cmp_ok(by("10.0.0.1", SECOND), "==", 1, "unchanged it counts");
	/* A compromised worker knows the key, and its sums are right. */
	memset(id.names, 'x', sizeof(id.names));
	id.nnames = UINT32_MAX;
	proven_note(p, &host, &id, SECOND);
	id = certificate("a.example");
	memset(id.subject, 'x', sizeof(id.subject));
	proven_note(p, &host, &id, SECOND);
	id = certificate("a.example");
	id.security = 9;
	proven_note(p, &host, &id, SECOND);
	for (i = proven_by(p, &host, SECOND, out); i > 0; i--)
		unsound += !proven_is_sound(&out[i - 1]);
	cmp_ok(unsound, "==", 0, "texts without end are not handed out");
	memset(&p->at, 0xff, sizeof(*p) - offsetof(struct proven, at));
	cmp_ok(by("10.0.0.1", SECOND), "==", 0, "nor is garbage");
}

static void *
write_often(void *arg)
{
	struct peer_identity id = certificate(arg);
	struct addr host = parse("10.0.0.1");
	uint64_t now;

	for (now = 0; now < 2000 * 100 * SECOND; now += 100 * SECOND)
		proven_note(p, &host, &id, now);
	return NULL;
}

/* Two writers and a reader: every answer is one of the two, whole. */
static void
test_threads(void)
{
	static char names[2][10] = { "a.example", "b.example" };
	struct addr host = parse("10.0.0.1");
	unsigned int torn = 0;
	pthread_t threads[2];
	size_t i, n, k;

	reset();
	for (i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, write_often, names[i]) !=
		    0)
			abort();
	for (i = 0; i < 2000; i++) {
		n = proven_by(p, &host, i * 100 * SECOND, out);
		for (k = 0; k < n; k++)
			torn += peer_name(&out[k], 0)[0] !=
			    (char)out[k].fingerprint[0];
	}
	for (i = 0; i < 2; i++)
		if (pthread_join(threads[i], NULL) != 0)
			abort();
	cmp_ok(torn, "==", 0, "no answer is a mix of two");
}

static struct exports *
parse_exports(const char *text)
{
	static const struct exports_hooks none = { 0 };
	struct exports *x = exports_parse(text, strlen(text), &none);

	if (x == NULL)
		abort();
	return x;
}

static void
test_client(void)
{
	struct exports *x =
	    parse_exports("/a cert:a.example(rw) 10.0.0.0/8(ro,xprtsec=tls) "
			  "192.168.0.1(ro)\n");
	struct addr host = parse("10.0.0.1"), other = parse("192.168.0.1");
	struct peer_identity id = certificate("b.example"), got;
	const struct export_client *c;

	reset();
	c = proven_client(p, x->list, &host, NAMES_BYTES, SECOND, &got);
	ok(c == NULL, "an address that proved nothing");
	c = proven_client(p, x->list, &other, NAMES_BYTES, SECOND, &got);
	ok(c != NULL && got.security == PEER_PLAIN, "where nothing is asked");
	proven_note(p, &host, &id, SECOND);
	c = proven_client(p, x->list, &host, NAMES_BYTES, SECOND, &got);
	ok(c != NULL && c->cert == 0 && got.fingerprint[0] == 'b',
	    "a certificate satisfies tls");
	id = certificate("a.example");
	proven_note(p, &host, &id, SECOND);
	proven_note(p, &other, &id, SECOND);
	c = proven_client(p, x->list, &other, NAMES_BYTES, SECOND, &got);
	ok(c != NULL && c->cert != 0 && got.fingerprint[0] == 'a',
	    "a certificate counts before an address");
	c = proven_client(p, x->list, &host, NAMES_BYTES, 700 * SECOND, &got);
	ok(c == NULL, "ten minutes later it does not");
	exports_free(x);
}

int
main(void)
{
	plan(NO_PLAN);
	test_time();
	test_several();
	test_crowd();
	test_garbage();
	test_threads();
	test_client();
	free(p);
	done_testing();
}
