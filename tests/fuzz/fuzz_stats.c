/* SPDX-License-Identifier: ISC */
/*
 * The memory that a worker shares with nfsd's parent, which prints it. Any
 * bytes, repeated over the counters of two workers, must give text of bounded
 * length.
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/stats.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct stats workers[2];
	static char text[STATS_TEXT_MAX];
	const struct stats *list[] = { &workers[0], &workers[1] };
	uint8_t *at = (uint8_t *)workers;
	size_t i, size;

	if (len < 3)
		return 0;
	for (i = 0; i < sizeof(workers); i++)
		at[i] = data[2 + i % (len - 2)];
	size = (size_t)1 << data[0] % 20;
	size = size < sizeof(text) ? size : sizeof(text);
	i = stats_text(list, 1 + data[1] % 2, text, size);
	if (i >= size || memchr(text, '\0', size) != text + i)
		abort();
	return 0;
}
