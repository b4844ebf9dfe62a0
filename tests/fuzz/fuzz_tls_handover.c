/* SPDX-License-Identifier: ISC */
/*
 * Any messages of a worker to its tls role, and what its clients send. A worker
 * may be compromised: it hands over descriptors of any kind, uses numbers twice
 * and ends what never began. The input is a list of steps: what, a number, a
 * length, and so many bytes.
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <sys/eventfd.h>

#include "tls_server.h"

#define STEPS 64
#define FDS   3

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum step {
	STEP_CLIENT, /* a connection; its client sends the bytes and closes */
	STEP_SILENT, /* a connection; its client sends the bytes and waits */
	STEP_OTHER, /* a descriptor that is no connection */
	STEP_ENDED,
	STEP_FRAME, /* any message, with up to FDS descriptors */
	STEP_RUN,
	STEP_WORKER, /* another worker */
	STEP_KINDS
};

static void
begin_other(struct fuzz_worker *w, uint8_t id)
{
	const struct tls_connection m = { .id = id };
	const int fds[FDS] = { open("/dev/null", O_RDWR | O_CLOEXEC),
		eventfd(0, EFD_CLOEXEC),
		socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) };
	size_t i;

	worker_says(w, TLS_BEGIN, &m, sizeof(m), &fds[id % FDS], 1);
	for (i = 0; i < FDS; i++)
		close(fds[i]);
}

/* Returns a client that stays connected, or -1. */
static int
take_step(struct fuzz_worker *w, enum step what, uint8_t id,
    const uint8_t *data, size_t len)
{
	const struct tls_connection m = { .id = id };
	const int fds[FDS] = { w->channel[1], w->channel[1], w->channel[1] };
	int client = -1;

	if (what == STEP_CLIENT || what == STEP_SILENT)
		client = worker_begins(w, id, data, len);
	else if (what == STEP_OTHER)
		begin_other(w, id);
	else if (what == STEP_ENDED)
		worker_says(w, TLS_ENDED, &m, sizeof(m), NULL, 0);
	else if (what == STEP_FRAME)
		worker_says(w, id & 15, data, len, fds, (id >> 4) % (FDS + 1));
	else if (what == STEP_WORKER) {
		worker_ends(w);
		worker_connect(w);
	}
	if (what == STEP_CLIENT) {
		close(client);
		client = -1;
	}
	worker_hears(w);
	return client;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct event_base *base;
	static struct tls_server *servers[2];
	struct fuzz_worker w = { .begun = 0 };
	int clients[STEPS];
	size_t n, i, steps;

	if (base == NULL) {
		base = event_base_new();
		servers[0] = make_server(base, false);
		servers[1] = make_server(base, true);
	}
	if (len < 1)
		return 0;
	w.base = base;
	w.server = servers[data[0] & 1];
	worker_connect(&w);
	data++;
	len--;
	for (steps = 0; steps < STEPS && len >= 3; steps++) {
		n = data[2] < len - 3 ? data[2] : len - 3;
		clients[steps] =
		    take_step(&w, data[0] % STEP_KINDS, data[1], data + 3, n);
		data += 3 + n;
		len -= 3 + n;
	}
	worker_ends(&w);
	for (i = 0; i < steps; i++)
		if (clients[i] != -1)
			close(clients[i]);
	return 0;
}
