/* SPDX-License-Identifier: ISC */
/*
 * Converts NFS version 2 (RFC 1094) between wire and neutral form. The encoder
 * refuses what the version cannot express and never truncates a value: a file
 * of more than 4 GiB gets FBIG. A status that version 2 lacks is mapped to one
 * it has. No allocation, no system call.
 * Runs in: nfsd worker, tests, fuzzers.
 */
#ifndef WIRE_NFS2_XDR_H
#define WIRE_NFS2_XDR_H

#include "nfsd/wire/call.h"

extern const struct rpc_proc nfs2_procs[NFSPROC2_COUNT];

void nfs2_get_object(struct xdr_in *, struct call_args *);
void nfs2_get_setattr(struct xdr_in *, struct call_args *);
void nfs2_get_place(struct xdr_in *, struct call_args *);
void nfs2_get_read(struct xdr_in *, struct call_args *);
void nfs2_get_write(struct xdr_in *, struct call_args *);
void nfs2_get_create(struct xdr_in *, struct call_args *);
void nfs2_get_mkdir(struct xdr_in *, struct call_args *);
void nfs2_get_symlink(struct xdr_in *, struct call_args *);
void nfs2_get_rename(struct xdr_in *, struct call_args *);
void nfs2_get_link(struct xdr_in *, struct call_args *);
void nfs2_get_readdir(struct xdr_in *, struct call_args *);

/*
 * The status and, after a success, the attributes of the object, for codecs that
 * add to them. Returns true if the results must follow.
 */
bool nfs2_put_object(struct xdr_out *, const struct call_res *);
/* REMOVE, RENAME, LINK, SYMLINK, RMDIR: only the status. */
void nfs2_put_status(struct xdr_out *, const struct call_res *);
/* GETATTR: attributes of the object. */
void nfs2_put_getattr(struct xdr_out *, const struct call_res *);
/* SETATTR, WRITE: attributes of the changed object. */
void nfs2_put_changed(struct xdr_out *, const struct call_res *);
/* LOOKUP, CREATE, MKDIR: handle and attributes. */
void nfs2_put_dirop(struct xdr_out *, const struct call_res *);
void nfs2_put_readlink(struct xdr_out *, const struct call_res *);
void nfs2_put_read(struct xdr_out *, const struct call_res *);
void nfs2_put_readdir(struct xdr_out *, const struct call_res *);
void nfs2_put_statfs(struct xdr_out *, const struct call_res *);

#endif
