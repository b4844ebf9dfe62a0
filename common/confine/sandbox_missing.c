/* SPDX-License-Identifier: ISC */
/*
 * Collects the layers that are not active, for one log line.
 * Runs in: every role and portmapd.
 */
#include <stdio.h>
#include <string.h>

#include "confine/sandbox_parts.h"

void
sandbox_missing(struct sandbox *box, const char *what, const char *why)
{
	size_t len = strlen(box->missing);

	(void)snprintf(box->missing + len, sizeof(box->missing) - len,
	    "%s%s (%s)", len > 0 ? "; " : "", what, why);
}
