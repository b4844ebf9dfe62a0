/* SPDX-License-Identifier: ISC */
/*
 * Waiting locks that were granted: the client is called back, and its answer
 * goes to the locks role. And the results of _MSG calls, which are calls, too.
 * Only the holder of an unpredictable cookie can answer.
 * Runs in: nfsd nlm (event loop).
 */
#ifndef NLM_CALLBACK_H
#define NLM_CALLBACK_H

#include "nfsd/nlm/nlm.h"
#include "nfsd/nlm/outgoing.h"

struct callbacks;

/* reply gets each answer to a call-back. Never returns NULL. */
struct callbacks *callback_new(struct outgoing *, struct locks_stats *,
    void (*reply)(void *arg, const struct locks_reply *), void *arg);
void callback_free(struct callbacks *);
/* Calls the client back. The texts stand behind the message. */
void callback_grant(struct callbacks *, const struct locks_grant *,
    struct slice name, struct slice owner);
/* GRANTED_RES. It may be forged. */
void callback_answer(struct callbacks *, struct slice cookie, uint32_t stat);
/* Sends the result of a _MSG call to its caller. */
void callback_respond(struct callbacks *, const struct call_ctx *,
    const struct call_res *);

#endif
