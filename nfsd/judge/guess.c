/* SPDX-License-Identifier: ISC */
/*
 * Step 2 of the door: is the tag right? A wrong tag is a guess, an altered
 * handle, or one that was made under another key. Each client may send some of
 * them. Beyond that, a call is not answered: a stream is closed, a datagram is
 * dropped.
 *
 * The tag of an inode handle has 32 bits and that of a player's has 24. A
 * million guesses a second would find such a tag in hours or seconds. So few of
 * them are tried, for all clients of a worker together. When they are used up,
 * the door looks only at handles that are in the cache or that were right
 * before: a right guess is not answered either. A kernel's handle has a second
 * tag that only the broker checks, 64 bits in all.
 * Runs in: nfsd worker (event loop and file threads), nfsd locks.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "nfsd/judge/guess.h"
#include "nfsd/judge/judge.h"

#define GUESS_RIGHT 4096 /* handles remembered as right */

/* clang-format off */
const struct guess_allowance guess_allowances[GUESS_KINDS] = {
	[FH_KERNEL] = { { 100, 1024 }, { 1000000, 1000000 } },
	[FH_INODE]  = { {  10, 1024 }, { 100, 4096 } },
	[FH_PLAYER] = { {   1,   32 }, {   2,  128 } },
};
/* clang-format on */

struct guesses {
	pthread_mutex_t lock;
	/*
	 * For datagrams and for streams: the sender of a datagram can be forged,
	 * and must not use up what a stream may send.
	 */
	struct meter *clients[2][GUESS_KINDS];
	struct bucket all[2][GUESS_KINDS];
	struct hash_key secret;
	uint64_t right[GUESS_RIGHT]; /* hashes of handles */
};

struct guesses *
guesses_new(void)
{
	struct guesses *g = calloc(1, sizeof(*g));
	size_t i;

	if (g == NULL)
		fatal("guesses");
	pthread_mutex_init(&g->lock, NULL);
	for (i = FH_KERNEL; i < GUESS_KINDS; i++) {
		g->clients[0][i] = meter_new(&guess_allowances[i].client);
		g->clients[1][i] = meter_new(&guess_allowances[i].client);
	}
	hash_key_random(&g->secret);
	return g;
}

void
guesses_free(struct guesses *g)
{
	size_t i;

	for (i = 0; i < GUESS_KINDS; i++) {
		meter_free(g->clients[0][i]);
		meter_free(g->clients[1][i]);
	}
	pthread_mutex_destroy(&g->lock);
	free(g);
}

/* Takes one from what is permitted. The lock is held. */
static bool
take(struct guesses *g, const struct rpc_peer *peer, enum fh_kind kind)
{
	struct meter *client = g->clients[peer->kind == RPC_UDP][kind];
	struct bucket *all = &g->all[peer->kind == RPC_UDP][kind];
	uint64_t now = clock_coarse_ms();

	if (!meter_take(client, &peer->from, 1, now))
		return false;
	if (bucket_take(all, &guess_allowances[kind].all, 1, now))
		return true;
	meter_give(client, &peer->from, 1); /* others used it up */
	return false;
}

/* The handle was right: nothing was guessed. The lock is held. */
static void
give(struct guesses *g, const struct rpc_peer *peer, enum fh_kind kind)
{
	meter_give(g->clients[peer->kind == RPC_UDP][kind], &peer->from, 1);
	bucket_give(&g->all[peer->kind == RPC_UDP][kind], 1);
}

static void
log_wrong(const struct judge_case *c, const struct served_export *e)
{
	const struct addr *from = &c->call->peer->from;
	char text[ADDR_STRLEN];

	if (c->call->silent &&
	    log_permit("too many wrong handles", addr_hash(from) ^ e->id))
		log_warnx("%s: too many wrong handles of export %s: not "
			  "answered for a while",
		    addr_print(from, text), e->path);
	else if (!c->call->silent &&
	    log_permit("wrong handle", addr_hash(from) ^ e->id))
		log_info("%s: wrong handle of export %s: guessed, altered, or "
			 "made under another key (then mount again)",
		    addr_print(from, text), e->path);
}

static bool
is_right(const struct judge_case *c, const struct served_export *e,
    const struct fh *fh)
{
	struct fh_plain plain;
	const char *text;

	return served_check_tag(e, fh, &c->thread->judge->key, &plain, &text);
}

/* Checks a tag that is short enough to be guessed. The lock is held. */
static bool
check_short(const struct judge_case *c, const struct served_export *e,
    const struct fh *fh, enum fh_kind kind)
{
	struct guesses *g = c->thread->judge->guesses;
	uint64_t sum = hash_bytes(&g->secret, fh->bytes, sizeof(fh->bytes));
	uint64_t *known = &g->right[sum % GUESS_RIGHT];
	const struct rpc_peer *peer = c->call->peer;

	if (*known == sum)
		return is_right(c, e, fh);
	if (!take(g, peer, kind)) {
		c->call->silent = true;
		return false;
	}
	if (!is_right(c, e, fh))
		return false;
	give(g, peer, kind);
	*known = sum;
	return true;
}

bool
judge_check_tag(const struct judge_case *c, const struct served_export *e,
    const struct fh *fh)
{
	struct guesses *g = c->thread->judge->guesses;
	enum fh_kind kind = fh_kind(fh);
	bool right, has_short = kind == FH_INODE || kind == FH_PLAYER;

	right = !has_short && is_right(c, e, fh);
	if (right)
		return true;
	pthread_mutex_lock(&g->lock);
	if (has_short)
		right = check_short(c, e, fh, kind);
	else if (!take(g, c->call->peer, FH_KERNEL))
		c->call->silent = true;
	pthread_mutex_unlock(&g->lock);
	if (!right)
		log_wrong(c, e);
	return right;
}
