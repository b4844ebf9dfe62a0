/* SPDX-License-Identifier: ISC */
/*
 * The counters of mountd as text for Prometheus: tally/tally.h.
 * Runs in: nfsd parent.
 */
#ifndef FIGURES_MOUNTD_TEXT_H
#define FIGURES_MOUNTD_TEXT_H

struct figures;

/* path: the file in which mountd counts. */
void mountd_text(const char *path, struct figures *);

#endif
