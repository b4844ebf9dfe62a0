/* SPDX-License-Identifier: ISC */
/*
 * Exports as text: the table of "mountd -n -v", and the fingerprint of "mountd
 * -n".
 * Runs in: mountd -n.
 */
#ifndef PARENT_TABLE_H
#define PARENT_TABLE_H

#include "confine/mountinfo.h"
#include "exports/config.h"

/* Prints one line for each client of each export, in the order that decides. */
void table_print(const struct exports *);
/*
 * Prints one line for each export, by which two machines are seen to be one
 * server: "handles: key 3f2a91c0, 77 /srv/shared kernel". The key is not made if
 * it is missing.
 */
void table_print_handles(const struct exports *, const struct config *,
    const char *key_file);
/* config_open() as the unit of mountd would do it, which has a /tmp of its own. */
int table_open(const struct export *, const struct config *, const char **why);
/*
 * How handles of an export name files, as the parents will find out: a word.
 * kernel: this process can use handles of the kernel.
 */
const char *table_kind(const struct export *, const struct config *,
    const struct mountinfo *, bool kernel);
/* Enters mounts of its own, which these handles need. False: none can be had. */
bool table_may_use_kernel(void);

#endif
