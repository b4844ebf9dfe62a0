/* SPDX-License-Identifier: ISC */
/*
 * The three modes of nfsd: the fewest rights that serve the exports. Pure.
 * Runs in: nfsd parent; the rules in nfsd broker, nfsd worker.
 */
#ifndef MODE_H
#define MODE_H

#include <sys/types.h>

#include <stdbool.h>

/* The three modes of nfsd, chosen from the exports; see nfsd(8). */
enum nfsd_mode {
	MODE_SQUASH, /* everybody is the user the process runs as */
	MODE_MULTI, /* anybody but root */
	MODE_ROOT /* anybody */
};

struct exports;
struct sandbox_policy;
/* The least privileged mode that serves these exports, and as whom. */
enum nfsd_mode nfsd_mode(const struct exports *, bool rootless, uid_t *,
    gid_t *);
const char *nfsd_mode_name(enum nfsd_mode, bool rootless);
/* Sets the policy's rules: the identities a process may take on. */
void nfsd_mode_rules(struct sandbox_policy *, enum nfsd_mode);

#endif
