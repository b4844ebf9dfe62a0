/* SPDX-License-Identifier: ISC */
/*
 * nfsd -H: is the running nfsd healthy? For managers of clusters, containers and
 * services, which ask every few seconds.
 * Runs in: nfsd -H.
 */
#ifndef COMMAND_HEALTH_H
#define COMMAND_HEALTH_H

#define HEALTH_SECONDS 5 /* without -o timeout */

/*
 * Returns 0 after a line that says what was asked, or 1 after one that says what
 * is wrong. Ends the process with 1 if that takes longer than it may.
 */
int health_command(const char *path, unsigned int seconds);

#endif
