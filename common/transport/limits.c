/* SPDX-License-Identifier: ISC */
/*
 * The limits of the transports, their defaults, and their names for -o. The
 * name of a limit in a log line is the name of the option that raises it.
 * Runs in: every process that serves RPC; option parsing in parents.
 */
#include <string.h>

#include "base/number.h"
#include "base/util.h"
#include "transport/transport.h"

const struct rpc_limits rpc_limits_default = {
	.record_max = 1024 * 1024 + 4096,
	.reply_max = 1024 * 1024 + 4096,
	.datagram_reply_max = 65507,
	.fragments_max = 2048,
	.connections_max = 16384,
	.connections_per_host = 12288,
	.queue_max = 1024 * 1024,
	.unsent_max = 64 * 1024 * 1024,
	.partial_max = 64 * 1024 * 1024,
	.deferred_max = 128,
	.record_seconds = 60,
	.stall_seconds = 60,
	.idle_seconds = 0,
	.amplification_percent = 0,
	.datagrams_per_second = 0,
	.datagram_bytes_per_second = 4 * 1024 * 1024,
};

struct limit_row {
	const char *name;
	size_t offset;
	bool is_size; /* a size_t, else an unsigned int */
	long long low, high;
};

#define KIB 1024LL
#define MIB (1024 * KIB)
/* of all clients: not more than the machine can address */
#define MANY  (SIZE_MAX / MIB < 65536 ? 2048 * MIB : 65536 * MIB)
#define AT(m) offsetof(struct rpc_limits, m)

/* clang-format off */
static const struct limit_row rows[] = {
	{ "record-max",		   AT(record_max),	       true,  1 * KIB,	64 * MIB },
	{ "fragments-max",	   AT(fragments_max),	       false, 1,	1000000 },
	{ "connections-max",	   AT(connections_max),	       false, 1,	1000000 },
	{ "connections-per-host",  AT(connections_per_host),   false, 1,	1000000 },
	{ "queue-max",		   AT(queue_max),	       true,  4 * KIB,	64 * MIB },
	{ "unsent-max",		   AT(unsent_max),	       true,  4 * KIB,	MANY },
	{ "partial-max",	   AT(partial_max),	       true,  4 * KIB,	MANY },
	{ "late-max",		   AT(deferred_max),	       false, 1,	65536 },
	{ "record-seconds",	   AT(record_seconds),	       false, 1,	86400 },
	{ "stall-seconds",	   AT(stall_seconds),	       false, 1,	86400 },
	{ "idle-seconds",	   AT(idle_seconds),	       false, 0,	86400 },
	{ "datagrams-per-second",  AT(datagrams_per_second),   false, 0,	100000000 },
	{ "datagram-bytes-per-second", AT(datagram_bytes_per_second), false, 0, 1000000000 },
};
/* clang-format on */

const char *
rpc_limits_set(struct rpc_limits *limits, const char *name, const char *value)
{
	const char *wrong;
	char *field;
	long long v;
	size_t i, size;
	unsigned int u;

	for (i = 0; i < nitems(rows) && strcmp(rows[i].name, name) != 0;)
		i++;
	if (i == nitems(rows))
		return "unknown limit";
	wrong = number_read(value, rows[i].low, rows[i].high, &v);
	if (wrong != NULL)
		return wrong;
	field = (char *)limits + rows[i].offset;
	size = (size_t)v;
	u = (unsigned int)v;
	if (rows[i].is_size)
		memcpy(field, &size, sizeof(size));
	else
		memcpy(field, &u, sizeof(u));
	return NULL;
}

const char *
rpc_limits_name(size_t i)
{
	return i < nitems(rows) ? rows[i].name : NULL;
}
