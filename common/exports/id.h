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

#include <stdint.h>

/* Returns the id of an export. text: its path, or the number of fsid=. */
uint16_t exports_id(const char *text);
/* Returns the id of a filesystem mounted at path inside an export. */
uint16_t exports_id_inside(const char *path);
/* Returns the number for fsid=uuid: FNV-1a of its digits, in 32 bits. */
uint32_t exports_id_uuid(const char *uuid);

#endif
