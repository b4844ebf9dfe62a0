/* SPDX-License-Identifier: ISC */
/*
 * The last calls with their users and names: the answer to the request "files".
 * Runs in: nfsd -S --files.
 */
#ifndef COMMAND_RECENT_H
#define COMMAND_RECENT_H

#include <stdbool.h>
#include <stdio.h>

#include "nfsd/command/table.h"

struct recent_call {
	unsigned long long age_ms, times;
	const char *client, *uid, *export, *version, *procedure, *status;
	const char *fileid, *name; /* "-": none */
};

/*
 * Splits the answer, which is changed and must outlive the calls. The newest is
 * first. A call without a name has the one that another call gave its file, if
 * any. The caller frees the result. NULL: there is no memory.
 */
struct recent_call *recent_read(char *text, size_t *n);
void recent_line(char out[TABLE_LINE], const struct recent_call *);
/* Prints all calls, as lines or as a line of JSON. Changes the text. */
void recent_print(FILE *, char *text, bool json);

#endif
