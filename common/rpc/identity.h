/* SPDX-License-Identifier: ISC */
/*
 * What TLS has proved about the sender of a call: nothing, a session without
 * certificate, or a verified certificate and what it says. The tls role makes
 * it once for each connection. A plain connection and a datagram have none
 * (NULL).
 *
 * It is never changed after it was made. The connection holds it, and so does
 * each of its deferred calls, since the connection may end before them.
 * Runs in: the process that reads the network; the tls role makes it.
 */
#ifndef RPC_IDENTITY_H
#define RPC_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PEER_FINGERPRINT 32 /* SHA-256 of the certificate */
#define PEER_TEXT	 256 /* with the final 0 */
#define PEER_SERIAL	 64 /* hexadecimal digits; 20 bytes at most */
#define PEER_NAMES	 2048 /* bytes of all names, each with its final 0 */

enum peer_security { PEER_PLAIN, PEER_TLS, PEER_MTLS };

struct peer_identity {
	/*
	 * Differs for different contents, and for servers with other handle
	 * keys. Every memory of a decision about a peer includes it; see
	 * peer_key().
	 */
	uint64_t key;
	uint32_t users; /* event loop only */
	uint32_t security; /* enum peer_security */
	/* The rest is zero unless security is PEER_MTLS. */
	uint8_t fingerprint[PEER_FINGERPRINT];
	char serial[PEER_SERIAL];
	char subject[PEER_TEXT]; /* cut if longer; for logs */
	char issuer[PEER_TEXT];
	char
	    user[PEER_TEXT]; /* user@domain: otherName 1.3.6.1.4.1.2238.1.1.1 */
	/* The DNS names of the certificate and its common name. */
	uint32_t nnames;
	char names[PEER_NAMES]; /* one after the other, each ends with 0 */
};

/* What TLS proved; PEER_PLAIN for NULL. */
static inline enum peer_security
peer_security(const struct peer_identity *id)
{
	return id == NULL ? PEER_PLAIN : (enum peer_security)id->security;
}

/* Two peers with equal keys have proved the same. 0 for NULL. */
static inline uint64_t
peer_key(const struct peer_identity *id)
{
	return id == NULL ? 0 : id->key;
}

/* Returns name i; NULL after the last. */
static inline const char *
peer_name(const struct peer_identity *id, uint32_t i)
{
	const char *name;

	if (id == NULL || i >= id->nnames)
		return NULL;
	for (name = id->names; i > 0; i--)
		name += strlen(name) + 1;
	return name;
}

/* One more user of the identity. Event loop only. Returns id. */
static inline struct peer_identity *
peer_hold(struct peer_identity *id)
{
	if (id != NULL)
		id->users++;
	return id;
}

/* One user less; the last one frees it. Event loop only. */
static inline void
peer_release(struct peer_identity *id)
{
	if (id != NULL && --id->users == 0)
		free(id);
}

#endif
