/* SPDX-License-Identifier: ISC */
/*
 * The mount list on disk, so that it survives a restart: one line "address
 * path" each, with \ooo as in the exports file, beside the key. Written whole, a
 * second after a change at the latest; losing it loses nothing but showmount -a.
 * Runs in: mountd parent.
 */
#ifndef PARENT_LIST_FILE_H
#define PARENT_LIST_FILE_H

#include <stddef.h>

#include "mountd/mount_list.h"

/* Where it is when the key is there. */
void list_file_name(char *out, size_t size, const char *key_file);
/* Adds what the file holds; a missing or damaged one is no error. */
void list_file_read(struct mount_list *, const char *file);
/* 0 or -1 with errno. */
int list_file_write(const struct mount_list *, const char *file);

#endif
