/* SPDX-License-Identifier: ISC */
/*
 * Replays the vectors of a server: in memory, over UDP, over TCP; with every
 * prefix and every flipped bit. A row without a vector fails. A program per
 * daemon supplies the server and its surroundings:
 *
 *	main() { return replay_main(&fixture); }
 *
 * Runs in: tests.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include "case.h"
#include "transport/transport.h"

struct replay_fixture {
	const struct rpc_prog *const *progs;
	size_t nprogs;
	/*
	 * Makes a server in a known state, for one run of one case. setup is
	 * the text after "setup" in the case, or "". The server has no file
	 * threads: operations may block. NULL: impossible here, the case is
	 * skipped.
	 */
	struct rpc_server *(*begin)(const char *setup);
	void (*end)(struct rpc_server *);
	const struct rpc_limits *limits; /* NULL: the defaults */
	bool no_rfc; /* else replies must have their shape: reply_shape.h */
	/* Names that cases may use from the start. value() fills len bytes. */
	const struct case_known *known;
	void (*value)(const char *name, uint8_t *bytes, size_t len);
};

/* Walks tests/wire/<name><version>/<ROW>/ of all rows; exit status. */
int replay_main(const struct replay_fixture *);

#endif
