/* SPDX-License-Identifier: ISC */
/*
 * The verbs every main() uses, in the order it uses them. What differs
 * between the daemons is data: struct daemon_spec.
 * Runs in: the first process of each daemon; role start and signals in all.
 */
#ifndef DAEMON_H
#define DAEMON_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

#define DAEMON_LISTEN_MAX 64

struct event_base;

struct daemon_listen {
	struct addr at; /* port 0: the kernel chooses */
	bool any; /* wildcard of that family */
};

/* The flags all three share; each daemon embeds it in its own struct. */
struct daemon {
	const char *name; /* "nfsd" */
	const char *user; /* -u */
	const char *socket; /* -s */
	const char *exports_file; /* -f */
	const char *key_file; /* -k */
	bool foreground; /* -d */
	bool check_only; /* -n */
	bool no_register; /* -R */
	bool strict; /* -o strict */
	int verbose; /* -v */
	uint16_t port; /* -p */
	struct daemon_listen listens[DAEMON_LISTEN_MAX]; /* -a */
	size_t nlistens;
	bool rootless; /* started by a plain user */
	uid_t uid; /* what to run as */
	gid_t gid;
};

#endif
