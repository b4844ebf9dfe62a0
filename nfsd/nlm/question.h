/* SPDX-License-Identifier: ISC */
/*
 * Questions to the locks role and its answers, as bytes: nfsd/locks/proto.h.
 * Runs in: nfsd nlm (event loop and file threads), tests.
 */
#ifndef NLM_QUESTION_H
#define NLM_QUESTION_H

#include <stdbool.h>
#include <stddef.h>

#include "nfsd/locks/proto.h"
#include "rpc/xdr.h"

/* A question to the locks role; the texts stand behind it. */
struct nlm_question {
	struct locks_ask ask;
	struct slice name, owner;
};

/* Writes a question, with its texts. Returns its length; 0: there is no room. */
size_t question_put(const struct nlm_question *, uint8_t *out, size_t room);
/*
 * Takes the first of the answers. owner is set to its bytes, which stay where
 * they are. Returns false if it is malformed.
 */
bool answer_get(struct slice *answers, bool brief, struct locks_answer *,
    const uint8_t **owner);

#endif
