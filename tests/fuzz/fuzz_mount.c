/* SPDX-License-Identifier: ISC */
/*
 * Any message into mountd's pipeline: decoders, decisions, encoders.
 * Links: mountd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <string.h>

#include "mount_ops.h"
#include "mount_table.h"
#include "rpc_server.h"
#include "util.h"

#define EXPORTS                                                                \
	"/a *(rw,insecure)\n/b 10.0.0.0/8\n/m *(insecure,names=utf16le,"       \
	"alias=/C/)\n"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
listed(bool added UNUSED, const struct addr *a UNUSED, const char *p UNUSED)
{
}

static struct rpc_server *
make_server(struct mount_state *s)
{
	static const struct rpc_prog *const progs[] = { &mount_prog };
	static const struct exports_hooks quiet;
	struct rpc_hooks hooks = mount_hooks(s);

	(void)pthread_mutex_init(&s->lock, NULL);
	s->list = mount_list_new();
	s->listed = listed;
	s->table =
	    mount_table_new(exports_parse(EXPORTS, strlen(EXPORTS), &quiet));
	s->table->roots[0].sealed[NAMES_BYTES] = true;
	s->table->roots[2].sealed[NAMES_UTF16LE] = true;
	return rpc_server_new(progs, nitems(progs), &hooks);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct mount_state state;
	static struct rpc_server *server;
	static uint8_t out[8192];
	struct rpc_origin origin = { .peer.from.family = AF_INET,
		.peer.max_reply = sizeof(out) };
	size_t outlen;

	if (server == NULL)
		server = make_server(&state);
	(void)rpc_serve(server, &origin, data, len, out, sizeof(out), &outlen);
	return 0;
}
