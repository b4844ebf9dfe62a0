/* SPDX-License-Identifier: ISC */
/*
 * Which identities an address has proved by TLS a short time ago. Locks and
 * mounts travel in the clear with every client there is. So another process
 * asks here what the TLS connections of the same address have proved.
 *
 * The workers write, without a lock, and any of them may be compromised. So a
 * reader gets only what is whole and well formed, but a worker can lie.
 * Runs in: nfsd worker (writes), roles that judge calls in the clear (read),
 * nfsd parent (clears).
 */
#ifndef ROLES_PROVEN_H
#define ROLES_PROVEN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/hash.h"
#include "exports/exports.h"
#include "rpc/identity.h"

#define PROVEN_SECONDS 600 /* a proof is good for this time */
#define PROVEN_EACH    4 /* identities of one address */
#define PROVEN_SETS    256
#define PROVEN_WAYS    16 /* identities of all addresses of a set */
#define PROVEN_SLOTS   (PROVEN_SETS * PROVEN_WAYS)

struct proven_entry {
	uint64_t sum; /* of the rest: tells half an entry from a whole one */
	struct addr host; /* port 0 */
	struct peer_identity id; /* key and users are 0 */
};

#define PROVEN_WORDS                                                           \
	((sizeof(struct proven_entry) + sizeof(uint64_t) - 1) /                \
	    sizeof(uint64_t))

/*
 * Shared memory; zeroed but for the key. The times lie together: pages of
 * entries that were never written are never touched.
 */
struct proven {
	struct hash_key key; /* set before it is shared */
	_Atomic uint64_t at[PROVEN_SLOTS]; /* second of the proof; 0: none */
	_Atomic uint64_t words[PROVEN_SLOTS][PROVEN_WORDS];
};

/* Is every text of it ended, and every name there? */
bool proven_is_sound(const struct peer_identity *);
/*
 * The address proves this identity now. At a limit the weakest and oldest
 * gives way: of the same address, or of the same set.
 */
void proven_note(struct proven *, const struct addr *,
    const struct peer_identity *, uint64_t now_ms);
/* The certificate of the identity is no longer good. */
void proven_forget(struct proven *, const struct addr *,
    const struct peer_identity *);
/* The authorities have changed: nothing is proven. */
void proven_clear(struct proven *);
/*
 * Copies what the address has proved within PROVEN_SECONDS, the strongest
 * first, then the newest. Returns how many. The memory may be read-only.
 */
size_t proven_by(const struct proven *, const struct addr *, uint64_t now_ms,
    struct peer_identity out[PROVEN_EACH]);
/*
 * Finds the client entry of an export that counts for a call in the clear from
 * this address, as exports_client() does. It is the first entry whose demands a
 * proven identity satisfies; else one that demands nothing. Sets *id to the
 * identity, or its security to PEER_PLAIN. Returns NULL if there is none.
 */
const struct export_client *proven_client(const struct proven *,
    const struct export *, const struct addr *, enum export_names,
    uint64_t now_ms, struct peer_identity *id);

#endif
