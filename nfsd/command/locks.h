/* SPDX-License-Identifier: ISC */
/*
 * nfsd -L.
 * Runs in: nfsd -L.
 */
#ifndef COMMAND_LOCKS_H
#define COMMAND_LOCKS_H

/*
 * Lists the locks of the nfsd at path, or frees those of the operand
 * "drop=ADDRESS". Returns the exit status.
 */
int locks_command(const char *path, int noperands, char *const operands[]);

#endif
