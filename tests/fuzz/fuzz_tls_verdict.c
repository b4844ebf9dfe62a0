/* SPDX-License-Identifier: ISC */
/*
 * Any verdict of a tls role to its worker. The first byte is the number of
 * descriptors and the form of TLS, the rest the verdict. What the worker
 * believes must be text that ends.
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/worker/worker_tls.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nfsd_tls_limits limits = { .seconds = 1 };
	struct worker_tls worker = { .limits = &limits };
	struct tls_verdict verdict;
	struct peer_identity *id = NULL;
	size_t total = 0;
	uint32_t i;

	if (len < 1)
		return 0;
	limits.kernel = (data[0] & 1) != 0;
	memset(&verdict, 0, sizeof(verdict));
	memcpy(&verdict, data + 1,
	    len - 1 < sizeof(verdict) ? len - 1 : sizeof(verdict));
	if (worker_tls_judge(&worker, &verdict, data[0] >> 7, &id) != NULL ||
	    id == NULL)
		return 0;
	for (i = 0; peer_name(id, i) != NULL; i++)
		total += strlen(peer_name(id, i)) + 1;
	total += strlen(id->serial) + strlen(id->subject) + strlen(id->issuer) +
	    strlen(id->user);
	if (total > sizeof(*id) || id->key == 0 || id->users != 1 ||
	    peer_security(id) == PEER_PLAIN)
		abort();
	peer_release(id);
	return 0;
}
