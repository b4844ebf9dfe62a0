/* SPDX-License-Identifier: ISC */
/*
 * Any answers of a broker to a worker's questions. The first byte chooses the
 * question and the number of descriptors, the second the type of the answer,
 * the rest is the answer. The client must close descriptors that it does not
 * return.
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <sys/socket.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ipc.h"
#include "nfsd/broker/broker.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* The lowest free descriptor: a leak changes it. */
static int
lowest(void)
{
	int fd = fcntl(0, F_DUPFD_CLOEXEC, 0);

	close(fd);
	return fd;
}

static void
ask(struct broker_client *c, uint8_t which)
{
	static const char *const names[] = { "one", "two" };
	struct broker_open open_it = { .want = BROKER_READ };
	struct broker_seal seal_it = { .export_id = 1 };
	struct broker_link link_it = { .name_len = 0 };
	struct broker_sync sync_it = { .fh = { { 0 } } };
	struct broker_sealed sealed;
	int fds[2] = { 0, 1 }, fd;
	bool readable;

	if (which == 0) {
		fd = broker_client_open(c, &open_it, &readable);
		if (fd != -1)
			close(fd);
	} else if (which == 1) {
		seal_it.n = 2;
		(void)broker_client_seal(c, &seal_it, names, fds, &sealed);
	} else if (which == 2)
		(void)broker_client_seal(c, &seal_it, names, fds, &sealed);
	else if (which == 4)
		(void)broker_client_sync(c, &sync_it);
	else
		(void)broker_client_link(c, &link_it, "name");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct broker_client *c;
	int pair[2], fds[8] = { 0 }, before = lowest();

	if (len < 2 || ipc_pair(pair) == -1)
		return 0;
	c = broker_client_new(pair[0], NULL);
	/* the answer is there before the question */
	(void)ipc_send(pair[1], data[1] % (BROKER_TYPES + 1), data + 2, len - 2,
	    fds, data[0] >> 5);
	(void)shutdown(pair[1], SHUT_WR);
	ask(c, data[0] & 7);
	broker_client_free(c);
	close(pair[1]);
	if (lowest() != before)
		abort();
	return 0;
}
