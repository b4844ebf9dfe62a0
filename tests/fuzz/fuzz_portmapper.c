/* SPDX-License-Identifier: ISC */
/*
 * What a portmapper answers to nfsd's question for its counters.
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/figures/figures.h"
#include "nfsd/figures/portmapper.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct portmapper_counts c;
	char text[8192];
	struct figures f = { .at = text, .size = sizeof(text) };

	if (portmapper_get(&c, data, len) != c.up)
		abort();
	portmapper_text(&c, &f);
	if (f.len >= f.size || strlen(text) != f.len)
		abort();
	return 0;
}
