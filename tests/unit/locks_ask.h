/* SPDX-License-Identifier: ISC */
/*
 * Locks of the model (locks_model.h) as questions to the table, and grants of
 * the table as locks of the model.
 * Runs in: tests.
 */
#ifndef LOCKS_ASK_H
#define LOCKS_ASK_H

#include "locks_model.h"
#include "nfsd/locks/table.h"

#define MODEL_SVIDS 4 /* owners of one client */
#define MODEL_LAST  (MODEL_BYTES - 1)

/* Some share an address, some a name, two differ in the transport alone. */
struct model_client {
	uint8_t host;
	const char *name;
	uint32_t kind;
};
extern const struct model_client model_clients[MODEL_OWNERS / MODEL_SVIDS];

struct locks_client model_client(unsigned int owner);
struct locks_ask model_ask(const struct model_lock *);
/* The question with the bytes behind it. */
struct table_ask model_question(const struct model_lock *,
    const struct locks_ask *);
struct model_lock model_lock_of(const struct locks_grant *);

#endif
