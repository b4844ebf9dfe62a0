/* SPDX-License-Identifier: ISC */
/*
 * The 32-byte file handle of NFS v2 and v3: layout, sealing, checking. Pure.
 *
 *   0      version, kind, flags, length / 4 of the inner part
 *   1      type of the kernel's handle   2-3   export id
 *   4-23   inner, zero padded            24-27 broker's tag  28-31 worker's
 *
 * Both tags are 32 bits of SipHash and cover the export's path. Their two keys
 * are derived from the key file. With the worker's tag a worker refuses random
 * handles without asking the broker. The broker checks its own tag, and no
 * other process of nfsd can make it. A compromised worker therefore opens only
 * files whose handles it was given. Inode and player kinds have no broker's
 * tag: they are resolved inside the export and cannot lead out of it.
 *
 * Players (PRO DJ LINK) return only bytes 0-11 of a directory handle. The
 * player kind ignores the rest: bytes 1 and 4-8 identify the file in 48 bits,
 * bytes 9-11 are the worker's tag, shortened.
 * Runs in: mountd parent and nfsd broker (seal), nfsd worker (check only).
 */
#ifndef HANDLE_FHANDLE_H
#define HANDLE_FHANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FH_SIZE	       32
#define FH_INNER_MAX   20
#define FH_KEY_SIZE    32 /* the key file */
#define FH_SUBKEY      16
#define FH_PLAYER_ID   6 /* bytes of inner in the player kind */
#define FH_TAGGED      24 /* bytes before the tags */
#define FH_KIND_MASK   0x03u /* of byte 0 */
#define FH_UTF16       0x04u /* the same */
#define FH_AT_EXPORT   2
#define FH_PLAYER_USED 12 /* bytes that a player returns */

struct fh {
	uint8_t bytes[FH_SIZE];
};

/* FH_KERNEL: a file is opened by it as it is. Others are found by their last
 * place. */
enum fh_kind { FH_KERNEL = 1, FH_INODE = 2, FH_PLAYER = 3 };
/* The type of a gfid of GlusterFS. No filesystem of the kernel uses it. */
#define FH_TYPE_GFID 0xfd

/* What a handle says, without the tags. */
struct fh_plain {
	enum fh_kind kind;
	bool utf16; /* names below are UTF-16LE */
	uint8_t
	    type; /* FH_KERNEL: its handle_type (fits a byte), FH_TYPE_GFID */
	uint8_t len; /* bytes used in inner */
	uint16_t export_id;
	uint8_t inner[FH_INNER_MAX];
};

struct fh_subkey {
	uint8_t bytes[FH_SUBKEY];
};

struct fh_keys {
	struct fh_subkey worker; /* the only one that an nfsd worker gets */
	struct fh_subkey broker;
	uint32_t print; /* tells whether two machines have one key */
};

/* Derives all of them from the key file's content. */
void fh_keys_derive(struct fh_keys *, const uint8_t key[FH_KEY_SIZE]);
/*
 * Derives a key for another purpose. It is the same wherever the key file is the
 * same, and tells nothing about the key that it comes from.
 */
void fh_subkey_derive(struct fh_subkey *, const struct fh_subkey *from,
    const char *purpose);
/* Makes the handle of plain in the export at path, with its tags. */
void fh_seal(struct fh *, const struct fh_plain *, const char *path,
    const struct fh_keys *);
/*
 * Makes the handle without its tags. It is equal for equal plain, so a cache
 * can use it as the key of the sealed handle.
 */
void fh_pack(struct fh *, const struct fh_plain *);
/*
 * Can Tern have made a handle with this first byte: version, kind, dialect,
 * length? False also for a handle of another length, which is all zero.
 */
bool fh_is_formed(const struct fh *);
/* Is the tag right? Takes constant time. Fills plain if it is. */
bool fh_check_worker(const struct fh *, const char *path,
    const struct fh_subkey *, struct fh_plain *);
bool fh_check_broker(const struct fh *, const char *path,
    const struct fh_subkey *, struct fh_plain *);

/* Returns the kind that an unverified handle says it is of; may be 0. */
static inline enum fh_kind
fh_kind(const struct fh *fh)
{
	return (enum fh_kind)(fh->bytes[0] & FH_KIND_MASK);
}

/* Does it hold the kernel's handle, or a gfid? */
static inline bool
fh_is_kernel(const struct fh *fh)
{
	return fh_kind(fh) == FH_KERNEL;
}

/* Are names below it UTF-16LE? Also of an unverified handle. */
static inline bool
fh_is_utf16(const struct fh *fh)
{
	return (fh->bytes[0] & FH_UTF16) != 0;
}

/* Returns the export id of an unverified handle, to find the path. */
static inline uint16_t
fh_export_id(const struct fh *fh)
{
	return (uint16_t)(fh->bytes[FH_AT_EXPORT] << 8 |
	    fh->bytes[FH_AT_EXPORT + 1]);
}

/* Zeroes the bytes that a player may change, so that handles compare equal. */
static inline void
fh_normalize(struct fh *fh)
{
	if (fh_kind(fh) == FH_PLAYER)
		memset(fh->bytes + FH_PLAYER_USED, 0, FH_SIZE - FH_PLAYER_USED);
}

/*
 * Reads the key file. If it is missing, makes it (mode 0600) and its directory.
 * Returns 0: read, 1: made, or -1 with a reason that names the file and the
 * remedy: "others can read it (chmod 600)".
 */
int fh_key_load(const char *file, uint8_t key[FH_KEY_SIZE], char *why,
    size_t why_size);

#endif
