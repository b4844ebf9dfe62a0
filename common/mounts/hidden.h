/* SPDX-License-Identifier: ISC */
/*
 * Directories that the units of Tern do not see, though an administrator does:
 * under systemd they have a /tmp and a /var/tmp of their own (PrivateTmp=).
 * Runs in: mountd -n, nfsd -n.
 */
#ifndef MOUNTS_HIDDEN_H
#define MOUNTS_HIDDEN_H

#include <stdbool.h>

#define HIDDEN_WHY                                                             \
	"the units have a /tmp of their own (PrivateTmp=, see tern(7))"

/* Is the path there, but not for mountd's unit, which runs? */
bool hidden_from_units(const char *path);

#endif
