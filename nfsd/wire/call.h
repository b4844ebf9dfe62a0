/* SPDX-License-Identifier: ISC */
/*
 * The neutral form of NFS: arguments and results of an operation, independent
 * of the protocol version. Codecs fill and read these structs. Operations never
 * learn the version.
 *
 * The structs are flat except for slices. A slice points into the request, the
 * reply buffer or the thread's scratch memory. All of them stay valid until the
 * reply is encoded.
 * Runs in: nfsd worker.
 */
#ifndef WIRE_CALL_H
#define WIRE_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "handle/fhandle.h"
#include "nfsd/wire/acl.h"
#include "nfsd/wire/nfs.h"
#include "nfsd/wire/quota.h"
#include "rpc/rpc.h"

struct audit;
struct export_options;
struct ops_scratch;
struct door_thread;

struct nfs_setattr {
	struct fh object;
	struct nfs_sattr sattr;
	bool guard;
	struct timespec ctime; /* SETATTR only if the ctime is this */
};

struct nfs_read {
	struct fh file;
	uint64_t offset;
	uint32_t count;
};

struct nfs_write {
	struct fh file;
	uint64_t offset;
	uint32_t count; /* must equal data.len */
	enum nfs_stable stable;
	struct slice data;
};

/* CREATE, MKDIR, MKNOD, SYMLINK; the row of the procedure says which one. */
struct nfs_make {
	struct nfs_place at;
	struct nfs_sattr sattr;
	enum nfs_create how;
	enum nfs_ftype type;
	uint32_t verf[2]; /* NFS_EXCLUSIVE */
	uint32_t rdev_major, rdev_minor;
	struct slice target; /* SYMLINK, as on the wire */
};

struct nfs_rename {
	struct nfs_place from, to;
};

struct nfs_link {
	struct fh file;
	struct nfs_place to;
};

struct nfs_readdir {
	struct fh dir;
	uint64_t cookie;
	uint64_t verf;
	uint32_t dircount; /* names and cookies; UINT32_MAX: no limit */
	uint32_t count; /* bytes of the whole result */
};

struct nfs_commit {
	struct fh file;
	uint64_t offset;
	uint32_t count;
};

struct nfs_access {
	struct fh object;
	uint32_t wanted;
};

/* Which ACLs a call is about: NFSACL_*. */
struct nfs_acl_call {
	struct fh object;
	uint32_t mask;
	struct slice access, dflt; /* SETACL: entries; see nfsacl_unpack() */
};

/* Whose quota; nothing else of a SETQUOTA is looked at. */
struct nfs_quota_call {
	struct slice path;
	bool of_group;
	uint32_t id;
};

struct call_args {
	union {
		struct fh object; /* GETATTR READLINK FSSTAT FSINFO PATHCONF */
		struct nfs_place place; /* LOOKUP REMOVE RMDIR */
		struct nfs_setattr setattr;
		struct nfs_access access;
		struct nfs_read read;
		struct nfs_write write;
		struct nfs_make make;
		struct nfs_rename rename;
		struct nfs_link link;
		struct nfs_readdir readdir;
		struct nfs_commit commit;
		struct nfs_acl_call acl;
		struct nfs_quota_call quota;
	};
	char names[2]
		  [NFS_NAME_SIZE]; /* where a place has its name; not zeroed */
};
#define NFS_ARGS_RAW sizeof(((struct call_args *)0)->names)

/* One entry of a listing. READDIR fills neither post nor handle. */
struct nfs_dirent {
	uint64_t fileid;
	uint64_t cookie;
	struct slice name; /* in the thread's scratch memory */
	struct nfs_post post;
	bool has_fh;
	struct fh fh;
};

struct nfs_listing {
	uint64_t verf;
	const struct nfs_dirent *list;
	size_t n;
	bool eof;
};

struct nfs_data {
	struct slice data; /* READ, READLINK */
	bool eof;
};

struct nfs_written {
	uint32_t count;
	enum nfs_stable committed;
	uint64_t verf; /* COMMIT has only this */
};

struct nfs_fsstat {
	uint32_t block; /* preferred transfer and block size (STATFS) */
	uint64_t tbytes, fbytes, abytes; /* total, free, free for the caller */
	uint64_t tfiles, ffiles, afiles;
};

struct nfs_fsinfo {
	uint32_t rtmax, rtpref, rtmult, wtmax, wtpref, wtmult, dtpref;
	uint64_t maxfilesize;
	struct timespec time_delta;
	uint32_t properties;
};

struct nfs_pathconf {
	uint32_t linkmax, name_max;
	bool no_trunc, chown_restricted, case_insensitive, case_preserving;
};

struct nfs_acls {
	uint32_t mask; /* as the client asked */
	const struct nfs_acl *access, *dflt; /* in the scratch memory */
};

struct call_res {
	enum nfsstat status;
	/* The object of the call, found or made; for LINK the file. */
	struct nfs_post post;
	/* The directory or file that changed; for LOOKUP only `after`. */
	struct nfs_wcc wcc;
	bool no_fh; /* the object was made, but its handle is not known yet */
	union {
		struct fh fh; /* LOOKUP, CREATE, MKDIR, MKNOD, SYMLINK */
		struct nfs_wcc wcc_to; /* RENAME: the other directory */
		struct nfs_listing listing;
		struct nfs_data data;
		struct nfs_written written;
		struct nfs_fsstat fsstat;
		struct nfs_fsinfo fsinfo;
		struct nfs_pathconf pathconf;
		uint32_t access;
		struct nfs_acls acls;
		struct nfs_quota quota;
	};
};

/* One context per call, filled by begin. */
struct call_ctx {
	struct rpc_call *call;
	const struct nfs_limits *limits; /* of the call's version */
	struct door_thread *thread; /* identity, broker channel */
	struct ops_scratch *scratch; /* of this thread */
	/* Set by door_open(): options of the export, caller after squashing. */
	const struct export_options *options;
	uint32_t uid, gid;
	uint16_t export_id; /* of the last handle, once it is listed; else 0 */
	struct audit *audit; /* of the worker */
	bool audited; /* an export of the call has the option */
	/* The object was made: an error afterwards does not undo that. */
	bool changed;
	int late_error; /* of a late call: an error of the broker, or 0 */
	bool refused; /* an export was refused, and the log knows why */
};

#endif
