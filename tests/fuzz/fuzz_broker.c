/* SPDX-License-Identifier: ISC */
/*
 * Any message to the broker: type, number of descriptors, payload. No crash, no
 * descriptor more than before, and none that lies outside the export.
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static struct broker *
start(void)
{
	static const char text[] = "/tmp *(rw)\n";
	const struct exports_hooks hooks = { NULL, NULL, NULL };
	static const struct fh_keys keys;
	struct broker *b = broker_new(&keys, FS_SQUASH);
	int root = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);

	broker_set_exports(b,
	    fs_exports_new(exports_parse(text, sizeof(text) - 1, &hooks), &root,
		NULL, 0, true));
	return b;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct broker *broker;
	struct broker_channel *channel;
	struct broker_sealed answer;
	int fds[BROKER_SEAL_MAX] = { 0 }, fd = -1;
	uint32_t type;

	if (broker == NULL)
		broker = start();
	if (len < 2)
		return 0;
	channel = broker_channel_new(broker);
	if (broker_answer(channel, data[0], data + 2, len - 2, fds,
		data[1] % BROKER_SEAL_MAX, &answer, &type, &fd) == 0 &&
	    fd != -1)
		abort();
	if (fd != -1)
		close(fd);
	broker_channel_free(channel);
	return 0;
}
