/* SPDX-License-Identifier: ISC */
/*
 * The question about a quota; a part of proto.h.
 * Runs in: nfsd worker (asks), nfsd broker (answers).
 */
#ifndef BROKER_PROTO_QUOTA_H
#define BROKER_PROTO_QUOTA_H

/*
 * The quota of a user or a group on the filesystem of a handle. The user of the
 * question may ask for itself and its groups, root for all.
 */
struct broker_quota {
	struct broker_open file; /* want is not looked at */
	uint32_t of_group;
	uint32_t id;
};

/* Numbers as struct nfs_quota has them. */
struct broker_got_quota {
	int32_t error; /* ENOENT: there is no quota */
	uint64_t hard_blocks, soft_blocks, bytes;
	uint64_t hard_files, soft_files, files;
	uint64_t bytes_until, files_until;
};

#endif
