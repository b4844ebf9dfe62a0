/* SPDX-License-Identifier: ISC */
/*
 * The message pump with arbitrary frames. The first byte is the number of
 * descriptors, the rest is the frame.
 * Runs in: fuzzers and their replay.
 */
#include <sys/socket.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ipc.h"
#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
check(void *arg UNUSED, struct ipc_message *m)
{
	if (m->len < 4 || m->len > 64 || m->nfds > 2 || m->data == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ipc_row rows[] = {
		{ "NONE", 0, 0, 0, 0, NULL },
		{ "SMALL", 4, 64, 0, 2, check },
	};
	static const struct ipc_table table = { rows, nitems(rows) };
	int pair[2], fds[8] = { 0 };
	const char *why;

	if (size == 0 || ipc_pair(pair) == -1)
		return 0;
	/* with a valid frame header, and raw */
	(void)ipc_send(pair[0], data[0] & 3, data + 1, size - 1, fds,
	    data[0] >> 5);
	(void)send(pair[0], data + 1, size - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)fcntl(pair[1], F_SETFL, O_NONBLOCK);
	while (ipc_serve(pair[1], &table, NULL, &why) != 0)
		if (recv(pair[1], fds, 1, MSG_PEEK) < 1)
			break;
	close(pair[0]);
	close(pair[1]);
	return 0;
}
