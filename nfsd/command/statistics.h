/* SPDX-License-Identifier: ISC */
/*
 * nfsd -S and --end: what the running nfsd does, and an end to it.
 * Runs in: nfsd -S.
 */
#ifndef COMMAND_STATISTICS_H
#define COMMAND_STATISTICS_H

#include <stdbool.h>

struct statistics {
	const char *path; /* of the control socket */
	unsigned int seconds; /* 0: once, since the start */
	unsigned int count; /* of intervals; 0: for ever */
	bool json;
	bool files; /* the last calls instead of counters */
	const char *end; /* a client whose connections are ended; or NULL */
};

/* Returns the exit status. */
int statistics_run(const struct statistics *);

#endif
