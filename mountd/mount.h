/* SPDX-License-Identifier: ISC */
/*
 * The MOUNT protocol, versions 1 (RFC 1094, appendix A), 2 (the same with
 * PATHCONF) and 3 (RFC 1813, 5.0): numbers, arguments, results, and the three
 * stages of each procedure. Versions differ in encoders only.
 * Runs in: mountd worker.
 */
#ifndef MOUNT_H
#define MOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "exports/exports.h"
#include "handle/fhandle.h"
#include "rpc/rpc.h"
#include "rpc/xdr.h"

#define MOUNT_PROGRAM 100005

#define MOUNTPROC_NULL	    0
#define MOUNTPROC_MNT	    1
#define MOUNTPROC_DUMP	    2
#define MOUNTPROC_UMNT	    3
#define MOUNTPROC_UMNTALL   4
#define MOUNTPROC_EXPORT    5
#define MOUNTPROC_EXPORTALL 6 /* versions 1 and 2 */
#define MOUNTPROC_PATHCONF  7 /* version 2 */

/* A longer string cannot be decoded; a shorter one gets a status. */
#define MOUNT_WIRE_MAX	 4096
#define MOUNT_RECORD_MAX 8192 /* longest call */
#define MOUNT_REPLY_MAX	 (256 * 1024)
#define MOUNT_LIST_MAX	 4096 /* entries of the mount list */
#define MOUNT_ROWS_MAX	 8192 /* entries of one EXPORT reply */
#define MOUNT_GROUPS_MAX 16384

/* mountstat3; versions 1 and 2 use a subset of the numbers. */
enum mountstat {
	MNT_OK = 0,
	MNTERR_PERM = 1,
	MNTERR_NOENT = 2,
	MNTERR_IO = 5,
	MNTERR_ACCES = 13,
	MNTERR_NOTDIR = 20,
	MNTERR_INVAL = 22,
	MNTERR_NAMETOOLONG = 63,
	MNTERR_NOTSUPP = 10004,
	MNTERR_SERVERFAULT = 10006,
	MNT_DEFERRED = -1 /* never on the wire: run again on a file thread */
};

/* The path of a call. */
struct mount_path {
	enum mountstat status; /* MNT_OK: clean is valid */
	enum export_names names; /* its dialect */
	char clean[EXPORTS_PATH_MAX + 1];
	struct slice raw; /* for the log; valid until the reply is sent */
};

struct call_args {
	struct mount_path path;
};

/* One entry of the mount list. */
struct mount_entry {
	struct addr host; /* port 0 */
	char *path;
};

/* The entries of a DUMP reply; its size bounds their text. */
struct mount_dump {
	struct mount_entry rows[MOUNT_LIST_MAX];
	size_t nrows;
	char text[MOUNT_REPLY_MAX]; /* their paths */
};

/* One entry of an EXPORT reply: a directory and its clients. */
struct mount_row {
	const char *dir;
	enum export_names names;
	size_t first, n; /* in groups */
};

/* An EXPORT reply. Its pointers are valid until the reply is encoded. */
struct mount_listing {
	struct mount_row rows[MOUNT_ROWS_MAX];
	size_t nrows;
	const struct export_client *groups[MOUNT_GROUPS_MAX];
	size_t ngroups;
};

struct call_res {
	enum mountstat status;
	struct fh fh;
	const struct mount_listing *listing; /* EXPORT */
	const struct mount_dump *dump; /* DUMP */
};

struct mount_state;

struct call_ctx {
	struct rpc_call *call;
	struct mount_state *state;
	const struct mount_path *mnt; /* set by MNT, for the log */
	bool is_new; /* MNT: it was not in the mount list */
	bool evicted; /* MNT: an older entry was evicted */
	char why[512]; /* the reason, for the log */
	uint64_t why_key; /* identifies the reason */
};

extern const struct rpc_prog mount_prog;

/* mount_xdr.c */
void mount_get_path(struct xdr_in *, struct call_args *);
void mount_put_fhstatus(struct xdr_out *, const struct call_res *);
void mount_put_mountres3(struct xdr_out *, const struct call_res *);
void mount_put_mounts(struct xdr_out *, const struct call_res *);
void mount_put_exports(struct xdr_out *, const struct call_res *);
void mount_put_exports3(struct xdr_out *, const struct call_res *);
void mount_put_pathconf(struct xdr_out *, const struct call_res *);

/* mount_ops.c */
void op_mnt(struct call_ctx *, const struct call_args *, struct call_res *);
void op_dump(struct call_ctx *, const struct call_args *, struct call_res *);
void op_umnt(struct call_ctx *, const struct call_args *, struct call_res *);
void op_umntall(struct call_ctx *, const struct call_args *, struct call_res *);
void op_export(struct call_ctx *, const struct call_args *, struct call_res *);
void op_pathconf(struct call_ctx *, const struct call_args *,
    struct call_res *);

#endif
