/* SPDX-License-Identifier: ISC */
/*
 * Tells the parent of each address that the machine has lost, such as a floating
 * one of a cluster. The kernel tells by netlink; no right is needed to listen.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_ADDRESSES_H
#define PARENT_ADDRESSES_H

struct addr;
struct event;
struct event_base;

struct addresses {
	int fd; /* -1: the kernel does not tell */
	struct event *on_news;
	void (*left)(void *arg, const struct addr *);
	void *arg;
};

/* Calls left() for each address that the machine loses from now on. */
void addresses_start(struct addresses *, struct event_base *,
    void (*left)(void *arg, const struct addr *), void *arg);
void addresses_free(struct addresses *);

#endif
