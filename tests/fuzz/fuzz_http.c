/* SPDX-License-Identifier: ISC */
/*
 * The request of a scraper, in pieces as they arrive. The judgement must not
 * depend on the pieces, and must come when the head is complete or too long.
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

#include "nfsd/metrics/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *bytes = malloc(len + 1), head[HTTP_ANSWER_MAX];
	enum http_status first = HTTP_MORE, now;
	size_t i, n;

	if (bytes == NULL)
		return 0;
	memcpy(bytes, data, len);
	for (i = 0; i <= len; i++) {
		now = http_read(bytes, i);
		if (first != HTTP_MORE && now != first)
			abort();
		first = now;
	}
	if (len >= HTTP_HEAD_MAX && first == HTTP_MORE)
		abort();
	if (first != HTTP_MORE) {
		n = http_answer(head, first, len);
		if (n == 0 || http_name(first)[0] == '\0' ||
		    memcmp(head + n - 4, "\r\n\r\n", 4) != 0)
			abort();
	}
	if (first == HTTP_OK && memmem(bytes, len, "/metrics", 8) == NULL)
		abort();
	free(bytes);
	return 0;
}
