/* SPDX-License-Identifier: ISC */
/*
 * The export id: 16 bits by which a handle names an export, or a filesystem
 * that is mounted inside one. It depends on a text alone and is never 0.
 * Clients keep handles over restarts and upgrades, so no recipe may change. An
 * id that two paths share is refused. Pure.
 * Runs in: mountd parent, nfsd parent; exports_id() wherever exports are parsed.
 */
#ifndef EXPORTS_ID_H
#define EXPORTS_ID_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the id of an export. text: its path, or the number of fsid=. */
uint16_t exports_id(const char *text);
/* Returns the id of a filesystem mounted at path inside an export. */
uint16_t exports_id_inside(const char *path);
/*
 * The text that the tag of a file's handle covers, where the tag of a
 * directory's covers the path: the path and a sum of the exports inside. The
 * kernel tells where a directory lies, but not where a file does. So handles of
 * files end when the exports inside change. Returns false, with an empty text,
 * if there are none: then the path serves.
 */
struct exports;
#define EXPORTS_FILE_TEXT (1024 + 32)
bool exports_file_text(const struct exports *, const char *path,
    char out[EXPORTS_FILE_TEXT]);
/* Is path below the directory above? */
bool exports_is_below(const char *path, const char *above);
/* Returns the number for fsid=uuid: FNV-1a of its digits, in 32 bits. */
uint32_t exports_id_uuid(const char *uuid);

#endif
