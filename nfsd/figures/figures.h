/* SPDX-License-Identifier: ISC */
/*
 * Text in the exposition format of Prometheus, of limited size. What does not
 * fit is dropped by whole lines.
 * Runs in: nfsd parent.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

#define FIGURES_LABEL(len) (5 * (len) + 1) /* room for a label of len bytes */

struct figures {
	char *at;
	size_t len, size; /* size is not 0; at[len] is 0 */
};

void figures_put(struct figures *, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The lines HELP and TYPE of a name; "tern_" is put before it. */
void figures_head(struct figures *, const char *name, const char *type,
    const char *help);
/* Both lines, and the value without labels. */
void figures_one(struct figures *, const char *name, const char *type,
    const char *help, uint64_t value);
/*
 * A histogram of n buckets, of which bucket i holds up to 2^i microseconds and
 * the last one the rest. labels: "a=\"b\"".
 */
void figures_histogram(struct figures *, const char *name, const char *labels,
    const uint64_t *buckets, size_t n, uint64_t calls, uint64_t ns);
/*
 * Writes bytes as the value of a label: valid UTF-8 without control characters.
 * Other bytes and backslashes become octal, as in exports(5). So different bytes
 * have different labels. out has room for FIGURES_LABEL(len). Returns out.
 */
const char *figures_label(char *out, const void *bytes, size_t len);

#endif
