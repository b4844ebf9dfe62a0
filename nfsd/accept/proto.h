/* SPDX-License-Identifier: ISC */
/*
 * The messages between the accept role and a worker. The role sends one
 * connection at a time. The worker answers for each of them in the same order,
 * and says later that it has ended. It asks the kernel whose connection it is.
 * Runs in: nfsd accept, nfsd worker.
 */
#ifndef ACCEPT_PROTO_H
#define ACCEPT_PROTO_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

/* ROLE_SETUP of the accept role. */
struct accept_setup {
	uid_t uid;
	gid_t gid;
	bool strict;
	bool rootless;
	unsigned int workers;
	unsigned int connections_max; /* of each worker */
};

enum accept_message {
	ACCEPT_TAKE, /* struct accept_take and the connection */
	ACCEPT_NEWS, /* from the worker: one struct accept_news or more */
	ACCEPT_MESSAGES
};

struct accept_take {
	uint64_t id; /* of the connection */
};

enum accept_what {
	ACCEPT_TAKEN,
	ACCEPT_REFUSED, /* no place, or its descriptor got lost: id is 0 */
	ACCEPT_ENDED,
	ACCEPT_WHATS
};

struct accept_news {
	uint64_t id;
	uint64_t what; /* enum accept_what */
};

#define ACCEPT_NEWS_MAX 256 /* of one message */

#endif
