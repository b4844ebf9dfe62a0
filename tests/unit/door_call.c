/* SPDX-License-Identifier: ISC */
/*
 * See door_call.h.
 * Runs in: tests.
 */
#include <arpa/inet.h>

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "door_call.h"
#include "door_fixture.h"

static struct served_exports *
served_to(const char *clients)
{
	struct exports *ex = fixture_exports("%s %s\n", fixture_dir(), clients);
	struct served_exports *x;
	struct fh_root root;

	if (fh_fs_look(&root, fixture_fd(O_RDONLY | O_DIRECTORY),
		&(struct fh_ask){ .kernel = true }) == -1)
		err(1, "root");
	x = served_new(ex, &root, NULL, 0);
	if (x == NULL)
		errx(1, "exports");
	return x;
}

static struct served_exports *
served(const char *options)
{
	char clients[256];

	(void)snprintf(clients, sizeof(clients), "127.0.0.0/8(%s)", options);
	return served_to(clients);
}

static void
come_from(struct rpc_peer *peer, const char *address, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons(port) };

	if (inet_pton(AF_INET, address, &in.sin_addr) != 1 ||
	    !addr_from_sockaddr(&peer->from, (const struct sockaddr *)&in,
		sizeof(in)))
		errx(1, "address");
}

void
door_call_init(struct door_call *c, const char *options)
{
	struct door_settings settings = { .files = 64,
		.threads = 1,
		.mode = geteuid() == 0 ? MODE_ROOT : MODE_SQUASH };
	struct served_exports *x = served(options);
	struct fh_plain plain;
	static const struct rpc_proc proc = { .name = "TEST" };
	struct fh_keys keys;
	unsigned int i;

	memset(c, 0, sizeof(*c));
	fh_keys_derive(&keys, fixture_key);
	settings.key = keys.worker;
	plain = x->list[0].plain[0];
	plain.export_id = x->list[0].id;
	fh_seal(&c->root, &plain, x->list[0].path, &keys);
	c->broker = broker_new(&keys, settings.mode);
	broker_set_exports(c->broker, x);
	c->door = door_new(&settings);
	door_set_exports(c->door, served(options));
	for (i = 0; i < 2; i++)
		door_set_broker(c->door, i,
		    broker_client_new(-1, broker_channel_new(c->broker, NULL)));
	come_from(&c->peer, "127.0.0.1", 700);
	c->call.peer = &c->peer;
	c->call.proc = &proc;
	c->call.cred.flavor = AUTH_SYS;
	c->call.may_block = true;
	c->ctx.call = &c->call;
	c->ctx.thread = door_thread(c->door, 0);
}

void
door_call_reload(struct door_call *c, const char *options)
{
	door_set_exports(c->door, served(options));
}

void
door_call_clients(struct door_call *c, const char *clients)
{
	door_set_exports(c->door, served_to(clients));
}

void
door_call_clear(struct door_call *c)
{
	door_free(c->door);
	broker_free(c->broker);
}

enum nfsstat
door_call_try(struct door_call *c, unsigned int want)
{
	struct door_obj obj;
	enum nfsstat status = door_open(&c->ctx, &c->root, want, &obj);

	if (status == NFS_OK)
		door_close(&obj);
	return status;
}
