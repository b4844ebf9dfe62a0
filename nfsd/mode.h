/* SPDX-License-Identifier: ISC */
/*
 * The three modes of nfsd: the fewest rights that serve the exports. No system
 * call.
 * Runs in: nfsd parent; the rules in nfsd broker, nfsd worker.
 */
#ifndef MODE_H
#define MODE_H

#include <sys/types.h>

#include <stdbool.h>

/* The three modes of nfsd, chosen from the exports; see nfsd(8). */
enum nfsd_mode {
	MODE_SQUASH, /* every caller is one user, whom the process acts as */
	MODE_MULTI, /* callers are any user except root */
	MODE_ROOT /* callers are any user */
};

struct exports;
struct sandbox_policy;
/*
 * Returns the least privileged mode that serves these exports. In MODE_SQUASH,
 * sets the user and group to act as.
 */
enum nfsd_mode nfsd_mode(const struct exports *, bool rootless, uid_t *,
    gid_t *);
/* May any client set set-id bits of files? */
bool nfsd_setid(const struct exports *);
const char *nfsd_mode_name(enum nfsd_mode, bool rootless);
/* Sets the rules of the policy: the users that a process may act as. */
void nfsd_mode_rules(struct sandbox_policy *, enum nfsd_mode);

#endif
