/* SPDX-License-Identifier: ISC */
/*
 * Converts NFS version 3 (RFC 1813) between wire and neutral form. A decoder
 * reads the fields in the order of the RFC; the cursor records whether the
 * message was long enough. An encoder writes what the result says, on errors
 * the weak cache data that the RFC requires. No allocation, no system call.
 * Runs in: nfsd worker, tests, fuzzers.
 */
#ifndef WIRE_NFS3_XDR_H
#define WIRE_NFS3_XDR_H

#include "nfsd/wire/call.h"

extern const struct rpc_proc nfs3_procs[NFSPROC3_COUNT];

void nfs3_get_object(struct xdr_in *, struct call_args *);
void nfs3_get_setattr(struct xdr_in *, struct call_args *);
void nfs3_get_place(struct xdr_in *, struct call_args *);
void nfs3_get_access(struct xdr_in *, struct call_args *);
void nfs3_get_read(struct xdr_in *, struct call_args *);
void nfs3_get_write(struct xdr_in *, struct call_args *);
void nfs3_get_create(struct xdr_in *, struct call_args *);
void nfs3_get_mkdir(struct xdr_in *, struct call_args *);
void nfs3_get_symlink(struct xdr_in *, struct call_args *);
void nfs3_get_mknod(struct xdr_in *, struct call_args *);
void nfs3_get_rename(struct xdr_in *, struct call_args *);
void nfs3_get_link(struct xdr_in *, struct call_args *);
void nfs3_get_readdir(struct xdr_in *, struct call_args *);
void nfs3_get_readdirplus(struct xdr_in *, struct call_args *);
void nfs3_get_commit(struct xdr_in *, struct call_args *);

/*
 * The status and the attributes of the object, for codecs that add to them.
 * Returns true if the results of a success must follow.
 */
bool nfs3_put_object(struct xdr_out *, const struct call_res *);
void nfs3_put_getattr(struct xdr_out *, const struct call_res *);
/* SETATTR, REMOVE, RMDIR: status and weak cache data. */
void nfs3_put_wcc(struct xdr_out *, const struct call_res *);
void nfs3_put_lookup(struct xdr_out *, const struct call_res *);
void nfs3_put_access(struct xdr_out *, const struct call_res *);
void nfs3_put_readlink(struct xdr_out *, const struct call_res *);
void nfs3_put_read(struct xdr_out *, const struct call_res *);
void nfs3_put_write(struct xdr_out *, const struct call_res *);
/* CREATE, MKDIR, SYMLINK, MKNOD. */
void nfs3_put_made(struct xdr_out *, const struct call_res *);
void nfs3_put_rename(struct xdr_out *, const struct call_res *);
void nfs3_put_link(struct xdr_out *, const struct call_res *);
void nfs3_put_readdir(struct xdr_out *, const struct call_res *);
void nfs3_put_readdirplus(struct xdr_out *, const struct call_res *);
void nfs3_put_fsstat(struct xdr_out *, const struct call_res *);
void nfs3_put_fsinfo(struct xdr_out *, const struct call_res *);
void nfs3_put_pathconf(struct xdr_out *, const struct call_res *);
void nfs3_put_commit(struct xdr_out *, const struct call_res *);

#endif
