/* SPDX-License-Identifier: ISC */
/*
 * Access control lists as clients see them, and the program that carries them.
 * Runs in: nfsd parent (registers), nfsd worker, tests.
 */
#ifndef WIRE_ACL_H
#define WIRE_ACL_H

#include <stdint.h>

/* The program has no RFC. Version 2 has two procedures more than 3. */
#define NFSACL_PROGRAM 100227
enum nfsacl_proc {
	NFSACLPROC_NULL = 0,
	NFSACLPROC_GETACL = 1,
	NFSACLPROC_SETACL = 2,
	NFSACLPROC3_COUNT,
	NFSACLPROC2_GETATTR = 3,
	NFSACLPROC2_ACCESS = 4,
	NFSACLPROC2_COUNT
};

/* One entry of an ACL; tags are those of acl(5). */
struct nfs_ace {
	uint16_t tag;
	uint16_t perm;
	uint32_t id; /* of a named user or group */
};

#define NFS_ACL_MAX 1024 /* entries, as with other servers */

struct nfs_acl {
	uint32_t n; /* 0: there is none */
	struct nfs_ace list[NFS_ACL_MAX];
};

struct rpc_prog;

/* Both versions (nfsacl_proc.c), for rpc_server_new(). */
extern const struct rpc_prog nfsacl_program;

#endif
