/* SPDX-License-Identifier: ISC */
/*
 * What a user may take of a filesystem and has taken, and the program that tells
 * clients (rquota.x of Sun; version 2 of Linux adds groups).
 * Runs in: nfsd parent (registers), nfsd worker, tests.
 */
#ifndef WIRE_QUOTA_H
#define WIRE_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#define RQUOTA_PROGRAM 100011
enum rquota_proc {
	RQUOTAPROC_NULL = 0,
	RQUOTAPROC_GETQUOTA = 1,
	RQUOTAPROC_GETACTIVEQUOTA = 2,
	RQUOTAPROC_SETQUOTA = 3,
	RQUOTAPROC_SETACTIVEQUOTA = 4,
	RQUOTAPROC_COUNT
};

#define RQUOTA_PATH_MAX 1024
#define QUOTA_BLOCK	1024u /* bytes; the kernel counts limits in these */

/* 0: no limit. */
struct nfs_quota {
	uint64_t hard_blocks, soft_blocks; /* of QUOTA_BLOCK bytes */
	uint64_t bytes; /* in use */
	uint64_t hard_files, soft_files, files;
	/* When the soft limit begins to be obeyed, in seconds since 1970; 0:
	 * it is not exceeded. */
	uint64_t bytes_until, files_until;
	uint64_t now;
};

struct rpc_prog;

/* Both versions (rquota_proc.c), for rpc_server_new(). */
extern const struct rpc_prog rquota_program;

#endif
