/* SPDX-License-Identifier: ISC */
/*
 * Entries of a directory that was opened with FS_LIST.
 * Runs in: nfsd worker (event loop and file threads).
 */
#ifndef FS_LIST_H
#define FS_LIST_H

#include "fs.h"
#include "fs_listings.h"

/* Makes fd one that reads entries, if possible from this position on. */
enum nfsstat fs_list(struct call_ctx *, struct fs_obj *dir, uint64_t at);

/*
 * The entries that this question had for an answer while the directory was as
 * it is now; the caller says what dir does not tell. And, after fs_list(), the
 * entries it has now, to be remembered.
 */
bool fs_recall(const struct fs_obj *dir, struct fs_question *, uint8_t *entries,
    size_t *len, bool *eof);
void fs_remember(const struct fs_obj *dir, struct fs_question *,
    const uint8_t *entries, size_t len, bool eof);

#endif
