/* SPDX-License-Identifier: ISC */
/*
 * nfsd -S SECONDS on a terminal.
 * Runs in: nfsd -S.
 */
#ifndef COMMAND_LIVE_H
#define COMMAND_LIVE_H

/*
 * Shows exports and clients, again after so many seconds, until q is pressed or
 * nfsd is gone. Returns the exit status.
 */
int live_run(const char *path, unsigned int seconds);

#endif
