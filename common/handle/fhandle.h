/* SPDX-License-Identifier: ISC */
/*
 * The 32-byte file handle of NFS v2 and v3: layout, sealing, checking. Pure.
 *
 *   0      version, kind, flags, length / 4 of the inner part
 *   1      type of the kernel's handle   2-3   export id
 *   4-23   inner, zero padded            24-27 broker's tag  28-31 worker's
 *
 * Two 32-bit SipHash tags under two keys derived from the one key file, both
 * over the export's path. The worker's tag lets a worker refuse noise at once
 * and without asking; the broker's tag is checked by the broker, the only
 * process of nfsd that can make it: a worker that has been taken over can
 * open what it was given handles for and nothing else. The inode and player
 * kinds are resolved by walking inside the export and cannot lead out of it:
 * their broker's tag is zero and is not what protects them.
 *
 * The player kind (PRO DJ LINK devices return only bytes 0-11 of a directory
 * handle) keeps everything there: 1 and 4-8 are 48 bits that name the file,
 * 9-11 the worker's tag shortened; the rest is ignored.
 * Runs in: mountd parent and nfsd broker (seal), nfsd worker (check only).
 */
#ifndef HANDLE_FHANDLE_H
#define HANDLE_FHANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FH_SIZE	     32
#define FH_INNER_MAX 20
#define FH_KEY_SIZE  32 /* the key file */
#define FH_SUBKEY    16
#define FH_PLAYER_ID 6 /* bytes of inner in the player kind */
#define FH_TAGGED    24 /* bytes before the tags */

struct fh {
	uint8_t bytes[FH_SIZE];
};

enum fh_kind { FH_KERNEL = 1, FH_INODE = 2, FH_PLAYER = 3 };

/* What a handle says, without the tags. */
struct fh_plain {
	enum fh_kind kind;
	bool utf16; /* names below are UTF-16LE */
	uint8_t type; /* FH_KERNEL: the kernel's handle_type (fits a byte) */
	uint8_t len; /* bytes used in inner */
	uint16_t export_id;
	uint8_t inner[FH_INNER_MAX];
};

struct fh_subkey {
	uint8_t bytes[FH_SUBKEY];
};

struct fh_keys {
	struct fh_subkey worker; /* all an nfsd worker ever gets */
	struct fh_subkey broker;
};

/* Derives both keys from the key file's content. */
void fh_keys_derive(struct fh_keys *, const uint8_t key[FH_KEY_SIZE]);
/* Makes the handle of plain in the export at path. */
void fh_seal(struct fh *, const struct fh_plain *, const char *path,
    const struct fh_keys *);
/*
 * The handle without its tags: equal for equal plain, so a cache can find the
 * sealed handle by it.
 */
void fh_pack(struct fh *, const struct fh_plain *);
/* Zeroes what a player may have written over, so that equal means equal. */
void fh_normalize(struct fh *);
/* Reads the export id before anything is trusted: to find the path. */
uint16_t fh_export_id(const struct fh *);
/* Does the kernel open it? Else it is found by where it was last seen. */
bool fh_is_kernel(const struct fh *);
/* Are names below it UTF-16LE? Also before it is trusted: to read a name. */
bool fh_is_utf16(const struct fh *);
/* Constant time. On success plain is filled. */
bool fh_check_worker(const struct fh *, const char *path,
    const struct fh_subkey *, struct fh_plain *);
bool fh_check_broker(const struct fh *, const char *path,
    const struct fh_subkey *, struct fh_plain *);

/*
 * Reads the key file, or makes it (mode 0600) when missing, with its directory.
 * 0: read; 1: made; -1 with a reason that names the file and the fix: "others
 * can read it (chmod 600)".
 */
int fh_key_load(const char *file, uint8_t key[FH_KEY_SIZE], char *why,
    size_t why_size);

#endif
