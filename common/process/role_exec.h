/* SPDX-License-Identifier: ISC */
/*
 * Between role_child.c, which forks, and role.c, which knows the command line
 * of a role.
 * Runs in: the forked child of a parent.
 */
#ifndef PROCESS_ROLE_EXEC_H
#define PROCESS_ROLE_EXEC_H

#include <stddef.h>

#include "base/util.h"

struct daemon;
struct role_spec;

/* Executes this binary as a role with only these descriptors. */
void role_exec(const struct daemon *, const struct role_spec *, int channel,
    const int *fds, size_t nfds) NO_RETURN;

#endif
