/* SPDX-License-Identifier: ISC */
/*
 * Questions and answers as bytes: see nlm/question.h.
 * Runs in: nfsd nlm (event loop and file threads), tests.
 */
#include <stddef.h>
#include <string.h>

#include "nfsd/nlm/question.h"

size_t
question_put(const struct nlm_question *q, uint8_t *out, size_t room)
{
	size_t at = sizeof(q->ask), len = at + q->name.len + q->owner.len;

	if (room < len)
		return 0;
	memcpy(out, &q->ask, at);
	if (q->name.len > 0)
		memcpy(out + at, q->name.data, q->name.len);
	at += q->name.len;
	if (q->owner.len > 0)
		memcpy(out + at, q->owner.data, q->owner.len);
	return len;
}

/* A byte of another process is no bool before it was looked at. */
static bool
has_bools(const uint8_t *data)
{
	return data[offsetof(struct locks_answer, admitted)] <= 1 &&
	    data[offsetof(struct locks_answer, exclusive)] <= 1;
}

bool
answer_get(struct slice *answers, bool brief, struct locks_answer *a,
    const uint8_t **owner)
{
	if (answers->len < sizeof(*a) || !has_bools(answers->data))
		return false;
	memcpy(a, answers->data, sizeof(*a));
	*owner = answers->data + sizeof(*a);
	if (a->stat > (brief ? LOCKS_LATER : LOCKS_FAILED) ||
	    a->owner_len > LOCKS_TEXT_MAX ||
	    a->owner_len > answers->len - sizeof(*a))
		return false;
	answers->data += sizeof(*a) + a->owner_len;
	answers->len -= sizeof(*a) + a->owner_len;
	return true;
}
