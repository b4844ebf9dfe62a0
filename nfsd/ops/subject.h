/* SPDX-License-Identifier: ISC */
/*
 * What a call is about: the object, the names, and whether it changes names or
 * attributes. For log lines; no operation needs it.
 * Runs in: nfsd worker.
 */
#ifndef OPS_SUBJECT_H
#define OPS_SUBJECT_H

#include "nfsd/wire/call.h"

struct op_subject {
	const struct fh *object; /* or the directory of the name */
	const struct nfs_name *name; /* NULL: the call has none */
	const struct fh *to_dir; /* RENAME and LINK, else NULL */
	const struct nfs_name *to;
	bool changes; /* names or attributes; not data */
};

/* Returns false if the procedure has no object (NULL). */
bool ops_subject(const struct rpc_proc *, const struct call_args *,
    struct op_subject *);

/* Writes status and names of a finished call, with names escaped. */
void ops_show(const struct rpc_call *, const struct call_res *,
    char out[RPC_SHOWN]);

#endif
