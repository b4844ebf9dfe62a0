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

#include "base/util.h"
#include "nfsd/figures/figures.h"
#include "nfsd/figures/usage_text.h"
#include "nfsd/stats.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* Some exports are listed, with bytes that cannot stand in a label. */
static const char *
path_of(void *arg UNUSED, uint16_t export_id)
{
	return export_id % 2 == 0 ? "/srv/a\"b\\c\n\xff" : NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct stats workers[2];
	static char text[STATS_TEXT_MAX];
	const struct usage_paths paths = { path_of, NULL };
	struct figures f = { .at = text };
	const struct stats *list[] = { &workers[0], &workers[1] };
	uint8_t *at = (uint8_t *)workers;
	size_t i, size;

	if (len < 3)
		return 0;
	for (i = 0; i < sizeof(workers); i++)
		at[i] = data[2 + i % (len - 2)];
	size = (size_t)1 << data[0] % 23;
	f.size = size < sizeof(text) ? size : sizeof(text);
	text[0] = '\0';
	stats_text(list, 1 + data[1] % 2, &f);
	usage_text(list, 1 + data[1] % 2, &paths, &f);
	if (f.len >= f.size || memchr(text, '\0', f.size) != text + f.len)
		abort();
	return 0;
}
