/* SPDX-License-Identifier: ISC */
/*
 * Converts NFSACL, versions 2 and 3, between wire and neutral form. The program
 * has no RFC: Solaris made it, and Linux follows. An ACL on the wire is a number
 * of entries, then an array. The array is empty if the client asked only for the
 * number. An entry is three words: tag, id, permissions.
 * Runs in: nfsd worker, tests, fuzzers.
 */
#ifndef WIRE_NFSACL_XDR_H
#define WIRE_NFSACL_XDR_H

#include "nfsd/wire/call.h"

/* What a call is about; the counts come with the entries as well. */
#define NFSACL_ACCESS	     0x1u
#define NFSACL_ACCESS_COUNT  0x2u
#define NFSACL_DEFAULT	     0x4u
#define NFSACL_DEFAULT_COUNT 0x8u
#define NFSACL_ALL	     0xfu

#define NFSACL_ENTRY_DEFAULT 0x1000u /* in the tag of a default ACL's entry */

extern const struct rpc_proc nfsacl2_procs[NFSACLPROC2_COUNT];
extern const struct rpc_proc nfsacl3_procs[NFSACLPROC3_COUNT];

void nfsacl2_get_getacl(struct xdr_in *, struct call_args *);
void nfsacl2_get_setacl(struct xdr_in *, struct call_args *);
void nfsacl2_get_access(struct xdr_in *, struct call_args *);
void nfsacl3_get_getacl(struct xdr_in *, struct call_args *);
void nfsacl3_get_setacl(struct xdr_in *, struct call_args *);

void nfsacl2_put_getacl(struct xdr_out *, const struct call_res *);
void nfsacl2_put_access(struct xdr_out *, const struct call_res *);
void nfsacl3_put_getacl(struct xdr_out *, const struct call_res *);
/* SETACL of version 3: status and attributes. */
void nfsacl3_put_setacl(struct xdr_out *, const struct call_res *);

/* How many entries a SETACL has. */
size_t nfsacl_count(struct slice);
/*
 * Copies the entries of a SETACL, without the mark of a default ACL. Returns
 * false if there are more than NFS_ACL_MAX.
 */
bool nfsacl_unpack(struct slice, struct nfs_acl *);

#endif
