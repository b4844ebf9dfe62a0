/* SPDX-License-Identifier: ISC */
/*
 * nfsd -L: the locks that clients hold, and how to free them.
 * Runs in: nfsd -L.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "nfsd/command/ask.h"
#include "nfsd/command/locks.h"
#include "nfsd/control.h"

int
locks_command(const char *path, int noperands, char *const operands[])
{
	static const char drop[] = "drop=";
	char request[CONTROL_REQUEST_MAX] = "locks";
	char *text;

	if (noperands > 1 ||
	    (noperands == 1 && strncmp(operands[0], drop, strlen(drop)) != 0)) {
		log_warnx("-L %s: not drop=address", operands[noperands - 1]);
		return 1;
	}
	if (noperands == 1)
		(void)snprintf(request, sizeof(request), "drop %s",
		    operands[0] + strlen(drop));
	text = ask(path, request);
	if (text == NULL)
		return 1;
	(void)fputs(text, stdout);
	if (*text == '\0' && isatty(STDOUT_FILENO)) /* programs count lines */
		(void)puts("no locks");
	free(text);
	return 0;
}
