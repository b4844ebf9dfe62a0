/* SPDX-License-Identifier: ISC */
/*
 * Any text into the exports parser. The list must keep the promises of
 * exports.h. Host names that begin with "h" have an address.
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <stdlib.h>

#include "base/util.h"
#include "exports/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static size_t
resolve(void *arg UNUSED, const char *name, struct addr *a, size_t max)
{
	if (name[0] != 'h' || max == 0)
		return 0;
	*a = (struct addr){ .family = AF_INET, .bytes = { 10, 0, 0, 1 } };
	return 1;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct exports_hooks hooks = { NULL, resolve, NULL };
	const struct addr host = { .family = AF_INET, .bytes = { 10 } };
	const struct peer_identity id = {
		.security = PEER_MTLS, .nnames = 2, .names = "host\0laptop"
	};
	struct exports *ex = exports_parse((const char *)data, len, &hooks);
	size_t i;

	for (i = 0; ex != NULL && i < ex->n; i++) {
		if (exports_find_id(ex, ex->list[i].id) != &ex->list[i] ||
		    exports_find_path(ex, ex->list[i].path) != &ex->list[i] ||
		    exports_find_above(ex, ex->list[i].path) != &ex->list[i])
			abort();
		(void)exports_place(ex, ex->list[i].path, &host, NULL,
		    NAMES_BYTES);
		(void)exports_place(ex, ex->list[i].path, &host, &id,
		    NAMES_BYTES);
	}
	exports_free(ex);
	return 0;
}
