/* SPDX-License-Identifier: ISC */
/*
 * Tells the parent of each address that the machine gets or loses, such as a
 * floating one of a cluster. The kernel tells by netlink; no right is needed to
 * listen.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_ADDRESSES_H
#define PARENT_ADDRESSES_H

#include <stdbool.h>

struct addr;
struct event;
struct event_base;

struct addresses {
	int fd; /* -1: the kernel does not tell */
	struct event *on_news;
	/* To be set before addresses_start(). */
	void (*moved)(void *arg, const struct addr *, bool here);
	void *arg;
};

/*
 * Calls moved() for each address that the machine has now, gets or loses. It may
 * be called again for one that the machine has.
 */
void addresses_start(struct addresses *, struct event_base *);
void addresses_free(struct addresses *);

#endif
