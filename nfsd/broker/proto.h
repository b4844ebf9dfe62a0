/* SPDX-License-Identifier: ISC */
/*
 * What a worker's thread asks the broker, and the answers: one question at a
 * time on a channel of its own. Both sides check every length.
 * Runs in: nfsd worker (asks), nfsd broker (answers).
 */
#ifndef BROKER_PROTO_H
#define BROKER_PROTO_H

#include <stdint.h>

#include "handle/fhandle.h"

#define BROKER_GROUPS_MAX 16
#define BROKER_MANAGED	  UINT32_MAX /* in ngids: those of nfsd/groups.h */
#define BROKER_SEAL_MAX	  64 /* descriptors in one question */
#define BROKER_NAME_MAX	  767 /* bytes of a name; FUSE has longer ones */
#define BROKER_NAMES_MAX  (BROKER_SEAL_MAX * (BROKER_NAME_MAX + 1))
#define BROKER_FORGED	  4096 /* an error no system call has: a bad tag */

enum broker_type {
	BROKER_OPEN,
	BROKER_SEAL,
	BROKER_LINK,
	BROKER_SYNC,
	BROKER_CHMOD,
	BROKER_GET_ACL,
	BROKER_SET_ACL,
	BROKER_GET_QUOTA,
	BROKER_QUESTIONS,
	BROKER_OPENED = BROKER_QUESTIONS, /* answers, in the same order */
	BROKER_SEALED,
	BROKER_LINKED,
	BROKER_SYNCED,
	BROKER_CHMODED,
	BROKER_GOT_ACL,
	BROKER_ACL_SET,
	BROKER_GOT_QUOTA,
	BROKER_TYPES
};

enum broker_want {
	BROKER_PATH, /* O_PATH, whatever it is */
	BROKER_READ, /* a regular file, to read or execute */
	BROKER_WRITE, /* a regular file, to read and write */
	BROKER_LIST, /* a directory, to list */
	BROKER_LOCK, /* a regular file, to lock; the locks role alone asks */
	BROKER_LOCK_WRITE, /* the same, to lock exclusively */
	BROKER_LOCK_ANY, /* the same without a right to it: no_auth_nlm */
	BROKER_WANTS
};

/* As this user. Answered by broker_opened; a descriptor when error is 0. */
struct broker_open {
	struct fh fh;
	uint32_t want; /* enum broker_want */
	uint32_t uid, gid, ngids;
	uint32_t gids[BROKER_GROUPS_MAX];
};

struct broker_opened {
	int32_t error; /* errno */
	/*
	 * BROKER_WRITE: it can be read as well. BROKER_LOCK: it can be locked
	 * to write as well.
	 */
	uint32_t both;
};

/*
 * With n descriptors (O_PATH is enough), which must lie in the export. Behind
 * it n names, each with its NUL, as the files are called in dir: the broker
 * may need them to find the files again. Where handles are the kernel's they may
 * be missing (names_len 0). n 0: the root is meant, dir is not looked at, and the
 * answer holds one.
 */
struct broker_seal {
	uint32_t export_id;
	uint32_t n;
	uint32_t utf16; /* for a player */
	uint32_t names_len;
	struct fh dir;
};

struct broker_sealed_one {
	int32_t error;
	struct fh fh; /* only when error is 0 */
};

/* Answered by n of them. */
struct broker_sealed {
	struct broker_sealed_one list[BROKER_SEAL_MAX];
};

/*
 * One more name for a file, as the user in it; both handles of one export.
 * Behind it the name with its NUL.
 */
struct broker_link {
	struct broker_open file; /* want is not looked at */
	struct fh dir;
	uint32_t name_len; /* with its NUL */
};

struct broker_linked {
	int32_t error;
};

/*
 * The file of the handle, its attributes and, if it is a directory, its entries
 * on stable storage. No user is asked for: nothing is handed out.
 */
struct broker_sync {
	struct fh fh;
};

struct broker_synced {
	int32_t error;
};

/*
 * The mode of a directory, set-id bits included, as the user in it. A worker's
 * filter refuses those bits, because it cannot tell a directory from a file.
 */
struct broker_chmod {
	struct broker_open dir; /* want is not looked at */
	uint32_t mode;
};

struct broker_chmoded {
	int32_t error;
};

#include "nfsd/broker/proto_acl.h"
#include "nfsd/broker/proto_quota.h"

union broker_answer {
	struct broker_opened opened;
	struct broker_sealed sealed;
	struct broker_linked linked;
	struct broker_synced synced;
	struct broker_chmoded chmoded;
	struct broker_got_acl got_acl;
	struct broker_acl_set acl_set;
	struct broker_got_quota got_quota;
};

#define BROKER_QUESTION_MAX (sizeof(struct broker_seal) + BROKER_NAMES_MAX)

#endif
