/* SPDX-License-Identifier: ISC */
/*
 * Any session of the nlm role with the locks role: questions, events, time. A
 * message is made of eight bytes, or its bytes are taken as they are. The role
 * must not crash, and answers with a status that there is. The broker is in the
 * same process, the files are real. Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <stdlib.h>
#include <string.h>

#include "locks_files.h"
#include "nfsd/locks/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* A question from eight bytes. */
static size_t
compose(const uint8_t *b, uint8_t out[LOCKS_ASK_MAX])
{
	struct locks_ask a = {
		.client = { .from = { .family = AF_INET,
				.bytes = { 10, 0, 0, b[1] & 3 } },
		    .vers = 4,
		    .kind = b[1] >> 2 & 1,
		    .name_len = b[1] >> 3 & 3 },
		.cred = { .flavor = AUTH_SYS },
		.fh = handles[b[2] % HANDLES],
		.owner_len = b[2] >> 2 & 7,
		.svid = b[3] & 7,
		.state = b[3] >> 3,
		.offset = b[4] < 250 ? b[4] : UINT64_MAX / (b[4] - 249u),
		.length = b[5] < 250 ? b[5] : UINT64_MAX / (b[5] - 249u),
		.share_mode = b[4],
		.share_access = b[5],
		.exclusive = b[6] & 1,
		.block = b[6] >> 1 & 1,
		.reclaim = b[6] >> 2 & 1,
		.monitored = b[6] >> 3 & 1,
		.proven = b[6] >> 4 & 1,
		.brief = b[6] >> 5 & 1
	};

	memset(out, b[7], LOCKS_ASK_MAX);
	memcpy(out, &a, sizeof(a));
	return sizeof(a) + a.client.name_len + a.owner_len;
}

static void
ask(struct locks_thread *t, uint32_t type, const uint8_t *data, size_t len)
{
	uint8_t out[LOCKS_ANSWER_MAX];
	struct locks_answer a;
	size_t n;

	if (server_answer(t, type, data, len, out, &n) != NULL)
		return;
	memcpy(&a, out, sizeof(a));
	if (a.stat > LOCKS_LATER || n != sizeof(a) + a.owner_len)
		abort();
}

/* Some seconds pass; grants go to nowhere. */
static void
pass_time(struct locks_server *s, unsigned int seconds)
{
	server_lock(s);
	table_set_now(s->table, 1000000 + 1000 * seconds);
	table_tick(s->table, false);
	table_tick(s->table, true);
	server_unlock(s);
}

/* Returns the bytes that were used. */
static size_t
step(struct locks_thread *t, const uint8_t *data, size_t len)
{
	uint8_t buf[LOCKS_ASK_MAX];
	struct ipc_message m = { .type = data[0] & 7 };
	size_t n = (size_t)data[1] * 2;

	if (data[0] < 128) {
		ask(t, data[0] & 7, buf, compose(data, buf));
		return 8;
	}
	if (data[0] < 160) {
		pass_time(t->server, data[1]);
		return 8;
	}
	m.len = len - 8 < n ? len - 8 : n;
	m.data = data + 8;
	if (data[0] < 208)
		ask(t, m.type, m.data, m.len);
	else
		(void)server_event(t->server, &m);
	return 8 + m.len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct broker_channel *channel;
	struct locks_server server;
	struct locks_thread thread;
	size_t at;

	if (broker == NULL)
		locks_files_start();
	server_init(&server, &keys.worker, NULL, NULL, 64);
	judge_set_exports(&server.judge, locks_files_exports());
	server.begun = len % 8 != 0;
	channel = broker_channel_new(broker, NULL);
	broker_channel_lock_only(channel);
	thread_init(&thread, &server, broker_client_new(-1, channel));
	for (at = 0; len - at >= 8; at += step(&thread, data + at, len - at))
		continue;
	thread_clear(&thread);
	server_clear(&server);
	return 0;
}
