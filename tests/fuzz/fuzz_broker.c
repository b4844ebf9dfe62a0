/* SPDX-License-Identifier: ISC */
/*
 * Any message to the broker: type, number of descriptors, payload. If the top
 * bit of the second byte is set, the first handle is sealed: a compromised
 * worker may have one. The broker must not crash, nor pass a descriptor without
 * an answer.
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsd/broker/broker.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct fh_keys keys;
static uint16_t export_id;

/* Makes a valid handle of the bytes there. */
static void
seal(uint8_t *at, size_t left)
{
	struct fh_plain plain = { .kind = FH_KERNEL, .len = 12 };
	struct fh fh;

	if (left < sizeof(struct broker_seal))
		return;
	plain.export_id = export_id;
	plain.kind = (enum fh_kind)(1 + at[0] % 3);
	plain.utf16 = plain.kind == FH_PLAYER;
	if (plain.kind == FH_INODE)
		plain.len = 16;
	if (plain.utf16)
		plain.len = FH_PLAYER_ID;
	plain.type = at[1];
	memcpy(plain.inner, at + 4, plain.len);
	fh_seal(&fh, &plain, "/tmp", &keys);
	memcpy(at, &fh, sizeof(fh));
}

static struct broker *
start(void)
{
	static const char text[] = "/tmp *(rw)\n";
	const struct exports_hooks hooks = { NULL, NULL, NULL };
	struct broker *b = broker_new(&keys, MODE_SQUASH);
	int fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct exports *ex = exports_parse(text, sizeof(text) - 1, &hooks);
	struct fh_root root;

	if (fh_fs_look(&root, fd, &(struct fh_ask){ .kernel = true }) == -1)
		abort();
	export_id = ex->list[0].id;
	broker_set_exports(b, served_new(ex, &root, NULL, 0));
	return b;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct broker *broker;
	static uint8_t message[sizeof(struct broker_link) + BROKER_NAMES_MAX];
	struct broker_channel *channel;
	int fds[BROKER_SEAL_MAX] = { 0 };
	struct ipc_message m = { .data = message, .fds = fds };
	struct broker_reply reply;

	if (broker == NULL)
		broker = start();
	if (len < 2)
		return 0;
	channel = broker_channel_new(broker, NULL);
	len = len - 2 < sizeof(message) ? len - 2 : sizeof(message);
	memcpy(message, data + 2, len);
	if ((data[1] & 0x80) != 0)
		seal(message +
			(data[0] == BROKER_SEAL ?
				offsetof(struct broker_seal, dir) :
				0),
		    len);
	m.type = data[0];
	m.len = len;
	m.nfds = data[1] % BROKER_SEAL_MAX;
	if (broker_answer(channel, &m, &reply) != NULL &&
	    (reply.fd != -1 || reply.len != 0))
		abort();
	if (reply.fd != -1)
		close(reply.fd);
	broker_channel_free(channel);
	return 0;
}
