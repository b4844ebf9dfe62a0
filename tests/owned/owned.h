/* SPDX-License-Identifier: ISC */
/*
 * Tries of an attacker in control of a role. Linked only into the programs of
 * build/owned (the shipped objects, relinked with these). The installed
 * programs contain none of it, which tests/lint checks.
 * Runs in: children of each role, sealed as the role is.
 */
#ifndef OWNED_H
#define OWNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OWNED_DIRS_MAX 64

/* What the tries may use. */
struct owned {
	int dirs[OWNED_DIRS_MAX]; /* open directories of the process */
	size_t ndirs;
	int sockets[OWNED_DIRS_MAX];
	size_t nsockets;
	int broker; /* a channel to the broker, or -1 */
	int file; /* open for reading and writing */
	uint32_t export_id;
	pid_t parent;
	unsigned short port; /* of a listener on 127.0.0.1 */
	const char *socket; /* of a unix listener */
	const char *secret; /* name of a file beside the export */
	long squashed; /* a user id the role must not use */
	bool without_filter; /* tests the other layers alone */
};

struct owned_try {
	const char *name;
	bool (*run)(const struct owned *); /* true: it worked */
};

/* Questions to nfsd's broker. */
bool ask_for_readable(const struct owned *);
bool ask_for_closed(const struct owned *);
bool ask_for_setid(const struct owned *);

/* setid.c. */
bool setid_new(const struct owned *);
bool setid_node(const struct owned *);
bool setid_fchmod(const struct owned *);
bool setid_fchmod_group(const struct owned *);
bool setid_fchmodat(const struct owned *);
bool setid_fchmodat2(const struct owned *);
bool setid_wide(const struct owned *);

/* file.c. */
bool file_read(const struct owned *);
bool file_pread(const struct owned *);
bool file_preadv(const struct owned *);
bool file_map(const struct owned *);
bool file_copy(const struct owned *);
bool file_write(const struct owned *);
bool file_writev(const struct owned *);
bool file_pwrite(const struct owned *);
bool file_truncate(const struct owned *);
bool file_as_log(const struct owned *);
bool file_as_log_wide(const struct owned *);
bool file_lock(const struct owned *);
bool close_log(const struct owned *);
bool close_log_wide(const struct owned *);

extern const struct owned_try owned_tries[];
extern const size_t owned_ntries;

#endif
