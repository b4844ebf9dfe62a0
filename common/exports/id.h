/* SPDX-License-Identifier: ISC */
/*
 * The 16-bit number by which a handle names an export, or a filesystem that is
 * mounted inside one. It depends on a text alone and is never 0. Clients hold
 * handles with these numbers over restarts and upgrades: no recipe may
 * change. There are two for paths because submounts came later, and a number that two
 * paths share is refused either way. Pure.
 * Runs in: mountd parent, nfsd parent; exports_id() wherever exports are parsed.
 */
#ifndef EXPORTS_ID_H
#define EXPORTS_ID_H

#include <stdint.h>

/* Of an export: text is its path, or the number of fsid=. */
uint16_t exports_id(const char *text);
/* Of what is mounted at path inside an export. */
uint16_t exports_id_inside(const char *path);
/* The number that stands for fsid=uuid: FNV-1a of its digits, in 32 bits. */
uint32_t exports_id_uuid(const char *uuid);

#endif
