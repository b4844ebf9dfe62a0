/* SPDX-License-Identifier: ISC */
/*
 * What a worker believes of a verdict. A compromised tls role may send any
 * bytes.
 * Links: nfsd
 * Runs in: tests.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/worker/worker_tls.h"
#include "tap.h"

static struct nfsd_tls_limits limits;
static struct worker_tls worker = { .limits = &limits };
static struct tls_verdict verdict;
static struct peer_identity *id;

/* A verdict that is right: a certificate with two names, relayed. */
static void
reset(void)
{
	peer_release(id);
	id = NULL;
	memset(&verdict, 0, sizeof(verdict));
	verdict.identity.security = PEER_MTLS;
	verdict.identity.nnames = 2;
	memcpy(verdict.identity.names, "a.example\0b.example", 20);
}

static const char *
judge(size_t nfds)
{
	return worker_tls_judge(&worker, &verdict, nfds, &id);
}

static void
test_good(void)
{
	uint64_t key;

	reset();
	ok(judge(1) == NULL && id != NULL, "a session with a certificate");
	ok(id->users == 1 && id->key != 0, "it is held once and has a key");
	is(peer_name(id, 1), "b.example", "the second name");
	ok(peer_name(id, 2) == NULL, "there is no third");
	key = id->key;
	reset();
	verdict.identity.key = 5;
	verdict.identity.users = 9;
	(void)judge(1);
	ok(id->key == key && id->users == 1, "the role sets neither");
	reset();
	verdict.identity.fingerprint[0] = 1;
	(void)judge(1);
	ok(id->key != key, "another certificate has another key");
	reset();
	verdict.failure = TLS_BAD_PEER;
	ok(judge(0) == NULL && id == NULL, "a failure makes no identity");
	limits.kernel = true;
	reset();
	ok(judge(0) == NULL && id != NULL, "kernel TLS needs no descriptor");
	reset();
	ok(judge(1) != NULL, "and gets none");
	limits.kernel = false;
}

static void
test_lies(void)
{
	struct peer_identity *in = &verdict.identity;

	reset();
	ok(judge(0) != NULL, "a session without descriptor");
	verdict.failure = TLS_BAD_PEER;
	ok(judge(1) != NULL, "a failure with one");
	verdict.failure = TLS_BAD_TIME;
	ok(judge(0) != NULL, "a reason of the worker's own");
	verdict.failure = UINT32_MAX;
	ok(judge(0) != NULL, "a reason that does not exist");
	reset();
	in->security = PEER_PLAIN;
	ok(judge(1) != NULL, "no security");
	in->security = 7;
	ok(judge(1) != NULL, "unknown security");
	reset();
	memset(in->subject, 'x', sizeof(in->subject));
	ok(judge(1) != NULL, "a subject without end");
	reset();
	memset(in->user, 'x', sizeof(in->user));
	ok(judge(1) != NULL, "a user without end");
	reset();
	memset(verdict.why, 'x', sizeof(verdict.why));
	ok(judge(1) != NULL, "a reason without end");
	reset();
	in->nnames = UINT32_MAX;
	ok(judge(1) != NULL, "more names than there is room for");
	reset();
	memset(in->names, 'x', sizeof(in->names));
	in->nnames = 1;
	ok(judge(1) != NULL, "a name without end");
	in->names[sizeof(in->names) - 1] = '\0';
	ok(judge(1) == NULL, "the longest name");
	ok(strlen(peer_name(id, 0)) == sizeof(in->names) - 1, "is read");
	peer_release(id);
	in->nnames = 2;
	ok(judge(1) != NULL, "a name behind it");
	ok(id == NULL, "a lie makes no identity");
}

int
main(void)
{
	plan(NO_PLAN);
	hash_key_random(&worker.secret);
	test_good();
	test_lies();
	done_testing();
}
