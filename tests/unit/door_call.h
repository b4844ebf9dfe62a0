/* SPDX-License-Identifier: ISC */
/*
 * A door over the scratch directory of door_fixture.h, with its broker in this
 * process, and the context of a call by root from 127.0.0.1.
 * Runs in: tests.
 */
#ifndef DOOR_CALL_H
#define DOOR_CALL_H

#include "nfsd/door/state.h"

struct door_call {
	struct call_ctx ctx; /* what the door is given */
	struct rpc_call call;
	struct rpc_peer peer;
	struct fh root; /* handle of the export */
	struct door *door;
	struct broker *broker;
};

/* options: of the export, for every client. */
void door_call_init(struct door_call *, const char *options);
/* A reload: the door gets a new list of the same exports. */
void door_call_reload(struct door_call *, const char *options);
/* The same with these clients, as in an exports file. */
void door_call_clients(struct door_call *, const char *clients);
void door_call_clear(struct door_call *);
/* Opens and closes the root as wanted; the status. */
enum nfsstat door_call_try(struct door_call *, unsigned int want);

#endif
