/* SPDX-License-Identifier: ISC */
/*
 * What somebody who has taken over a role would try. Linked only into the
 * programs of build/owned (the shipped objects, relinked with these): the
 * programs that are installed hold none of it, which tests/lint proves.
 * Runs in: children of each role, sealed as the role is.
 */
#ifndef OWNED_H
#define OWNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OWNED_DIRS_MAX 64

/* What the tries know about the process and the test. */
struct owned {
	int dirs[OWNED_DIRS_MAX]; /* directories it holds */
	size_t ndirs;
	int sockets[OWNED_DIRS_MAX];
	size_t nsockets;
	int broker; /* a channel to it; -1: none */
	uint32_t export_id;
	pid_t parent;
	unsigned short port; /* somebody listens on 127.0.0.1 there */
	const char *socket; /* and at this path */
	const char *secret; /* name of a file beside the export */
	long squashed; /* an id that must not be taken */
};

struct owned_try {
	const char *name;
	bool (*run)(const struct owned *); /* true: it worked */
};

/* Questions to nfsd's broker. */
bool ask_for_readable(const struct owned *);
bool ask_for_closed(const struct owned *);

extern const struct owned_try owned_tries[];
extern const size_t owned_ntries;

#endif
