/* SPDX-License-Identifier: ISC */
/*
 * The counters of exports and clients as text for Prometheus. The number of
 * rows is bounded, and so is the text: what was not used for longest is left out
 * and counted.
 * Runs in: nfsd parent.
 */
#ifndef FIGURES_USAGE_TEXT_H
#define FIGURES_USAGE_TEXT_H

#include "nfsd/figures/figures.h"
#include "nfsd/stats.h"

#define USAGE_TEXT_CLIENTS 512 /* clients in exports */

/* The path of an export; NULL: none has this number. */
struct usage_paths {
	const char *(*path)(void *arg, uint16_t export_id);
	void *arg;
};

void usage_text(const struct stats *const *, size_t n,
    const struct usage_paths *, struct figures *);

#endif
