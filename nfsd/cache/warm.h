/* SPDX-License-Identifier: ISC */
/*
 * What was used a short while ago, and is therefore in the kernel's memory: a
 * name in a directory, the entries of a directory, the target of a link, the
 * rights of a caller. The event loop uses these at once. Anything else may have
 * to come from a disk that does not answer, and is left to a file thread.
 *
 * A table of fixed size; an entry replaces an older one. Safe in all threads.
 * Runs in: nfsd worker.
 */
#ifndef CACHE_WARM_H
#define CACHE_WARM_H

#include <stdbool.h>
#include <stdint.h>

struct stat;
struct warm;

#define WARM_MAX 32768 /* entries of 8 bytes */
#define WARM_NS	 (UINT64_C(30) << 30) /* some 30 s */

/* Never returns NULL. */
struct warm *warm_new(void);
void warm_free(struct warm *);
/*
 * The key of what a user uses of a file, by a name that the caller of this
 * function chooses. No peer can find two that are equal.
 */
uint64_t warm_key(const struct warm *, const struct stat *, uint32_t uid,
    const char *name);
bool warm_has(const struct warm *, uint64_t key, uint64_t now_ns);
/* It was used just now, and is there. */
void warm_add(struct warm *, uint64_t key, uint64_t now_ns);

#endif
