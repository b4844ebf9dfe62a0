/* SPDX-License-Identifier: ISC */
/*
 * Where audited changes are recorded: as lines of the log, in the journal of
 * systemd with a field for each fact, or in a file. Nothing here waits for a
 * reader; a disk that hangs makes the parent wait, and no client.
 * Runs in: nfsd parent.
 */
#ifndef DISK_AUDIT_SINK_H
#define DISK_AUDIT_SINK_H

#include <stdbool.h>

#include "base/meter.h"
#include "nfsd/wire/audit_record.h"

#define AUDIT_JOURNAL "/run/systemd/journal/socket"

struct audit_sink_row;

struct audit_sink {
	const struct audit_sink_row *row;
	const char *file; /* its path */
	int fd; /* of the file or a socket; -1: none */
	bool torn; /* the last line of the file has no end */
	char line[AUDIT_LINE_MAX + 64];
};

/*
 * Opens what -o audit names (NULL: the journal if the log is there, else the
 * log). Returns NULL, or the error, and *what is its object.
 */
const char *audit_sink_open(struct audit_sink *, const char *option,
    const char **what);
/* How many records it takes. */
const struct bucket_rate *audit_sink_rate(const struct audit_sink *);
/* Returns NULL, or why the record is lost. */
const char *audit_sink_write(struct audit_sink *, const struct audit_record *);
/* Called after some records: a file is closed, so that it can be rotated. */
void audit_sink_rest(struct audit_sink *);
/* The object of an error of audit_sink_write(). */
const char *audit_sink_name(const struct audit_sink *);

#endif
