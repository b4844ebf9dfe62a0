/* SPDX-License-Identifier: ISC */
/*
 * On which processor a thread of the locks role runs. If nlm asks one question at a
 * time, it waits for each answer. On two processors, each question and each answer
 * would wake an idle one, which takes longer than the answer. The kernel often
 * leaves them there. So the thread stays where nlm asks from. When nlm asks more
 * at once, or moves, the thread may run anywhere again.
 * Runs in: nfsd locks, tests.
 */
#ifndef ROLES_NEAR_H
#define ROLES_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#define NEAR_ANY   UINT32_MAX
#define NEAR_AFTER 32 /* questions in a row */

struct near {
	uint32_t cpu; /* the thread stays there, or NEAR_ANY */
	uint32_t last; /* from which nlm asked last */
	unsigned int n; /* questions from there in a row, each alone */
};

void near_init(struct near *);
/*
 * nlm has asked from this processor, one question alone or several. Returns true
 * if that changes where the thread must stay.
 */
bool near_note(struct near *, uint32_t cpu, bool alone);

#endif
