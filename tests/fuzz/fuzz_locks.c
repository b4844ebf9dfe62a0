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
#include "locks_question.h"
#include "nfsd/locks/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#define SOME 3 /* questions that are made of bytes and travel together */

static void
ask(struct locks_thread *t, const uint8_t *data, size_t len)
{
	static uint8_t out[LOCKS_ANSWERS_MAX];
	struct locks_answer a;
	size_t n, at;

	if (server_answer(t, data, len, out, &n) != NULL)
		return;
	for (at = 0; at < n; at += sizeof(a) + a.owner_len) {
		if (n - at < sizeof(a))
			abort();
		memcpy(&a, out + at, sizeof(a));
		if (a.stat > LOCKS_LATER || a.owner_len > n - at - sizeof(a))
			abort();
	}
}

/* Some brief questions in one message. Returns the bytes that were used. */
static size_t
ask_some(struct locks_thread *t, const uint8_t *data, size_t len)
{
	uint8_t buf[SOME * LOCKS_ASK_MAX];
	size_t at = 0, used;

	for (used = 0; used < SOME * 8 && len - used >= 8; used += 8)
		at += compose(data + used, true, buf + at);
	ask(t, buf, at);
	return used;
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

	if (data[0] < 96) {
		ask(t, buf, compose(data, false, buf));
		return 8;
	}
	if (data[0] < 128)
		return ask_some(t, data, len);
	if (data[0] < 160) {
		pass_time(t->server, data[1]);
		return 8;
	}
	m.len = len - 8 < n ? len - 8 : n;
	m.data = data + 8;
	if (data[0] < 208)
		ask(t, m.data, m.len);
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
