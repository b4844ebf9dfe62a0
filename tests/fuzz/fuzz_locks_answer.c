/* SPDX-License-Identifier: ISC */
/*
 * Answers of the locks role to nlm. The first byte says if the question was brief.
 * What is accepted lies within the message. Links: nfsd
 * Runs in: fuzzers and their replay.
 */
#include <stdlib.h>

#include "nfsd/nlm/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct locks_answer a;
	struct slice s;
	const uint8_t *owner;
	bool brief;

	if (size == 0)
		return 0;
	brief = (data[0] & 1) != 0;
	s = (struct slice){ data + 1, size - 1 };
	while (answer_get(&s, brief, &a, &owner)) {
		if (owner + a.owner_len != s.data ||
		    s.data + s.len != data + size || a.stat > LOCKS_LATER ||
		    (a.stat == LOCKS_LATER && !brief))
			abort();
	}
	return 0;
}
