/* SPDX-License-Identifier: ISC */
/*
 * Questions to the locks role that are made of a few bytes. For the files of
 * locks_files.h.
 * Runs in: fuzzers, and the replay of their corpora.
 */
#ifndef LOCKS_QUESTION_H
#define LOCKS_QUESTION_H

#include <string.h>

#include "locks_files.h"
#include "nfsd/locks/proto.h"

/* A question from eight bytes. */
static size_t
compose(const uint8_t *b, bool brief, uint8_t out[LOCKS_ASK_MAX])
{
	struct locks_ask a = { .type = b[0] & 7,
		.client = { .from = { .family = AF_INET,
				.bytes = { 10, 0, 0, b[1] & 3 } },
		    .vers = 4,
		    .kind = b[1] >> 2 & 1,
		    .name_len = b[1] >> 3 & 3 },
		.cred = { .flavor = AUTH_SYS },
		.fh = handles[b[2] % HANDLES],
		.owner_len = b[2] >> 2 & 7,
		.svid = b[3] & 7,
		.state = b[3] >> 3,
		.offset = b[4] < 250 ? b[4] : UINT64_MAX / (b[4] - 249u),
		.length = b[5] < 250 ? b[5] : UINT64_MAX / (b[5] - 249u),
		.share_mode = b[4],
		.share_access = b[5],
		.exclusive = b[6] & 1,
		.block = b[6] >> 1 & 1,
		.reclaim = b[6] >> 2 & 1,
		.monitored = b[6] >> 3 & 1,
		.proven = b[6] >> 4 & 1,
		.brief = brief || (b[6] >> 5 & 1) != 0 };

	memset(out, b[7], LOCKS_ASK_MAX);
	memcpy(out, &a, sizeof(a));
	return sizeof(a) + a.client.name_len + a.owner_len;
}

#endif
