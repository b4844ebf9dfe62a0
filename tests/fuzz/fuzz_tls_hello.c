/* SPDX-License-Identifier: ISC */
/*
 * Any bytes of a client through the tls role, in place of a handshake. There is
 * one verdict for them at most, and it never says that there is a session.
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include "tls_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct fuzz_worker w;
	int client;

	if (w.base == NULL) {
		w.base = event_base_new();
		w.server = make_server(w.base, false);
	}
	if (len > 65536)
		return 0;
	w.begun = w.verdicts = 0;
	worker_connect(&w);
	client = worker_begins(&w, 7, data, len);
	(void)shutdown(client, SHUT_WR);
	worker_hears(&w);
	worker_hears(&w);
	worker_ends(&w);
	close(client);
	return 0;
}
