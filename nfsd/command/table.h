/* SPDX-License-Identifier: ISC */
/*
 * Rows of a snapshot as lines of text, and as JSON.
 * Runs in: nfsd -S.
 */
#ifndef COMMAND_TABLE_H
#define COMMAND_TABLE_H

#include <stdio.h>

struct snapshot;
struct snapshot_row;

#define TABLE_LINE 512

/* All columns, or those that a terminal of 80 columns has room for. */
enum table_size { TABLE_WIDE, TABLE_NARROW, TABLE_SIZES };

/* The heading of the columns. */
void table_head(char out[TABLE_LINE], enum table_size);
/* One export, or one client in an export. */
void table_line(char out[TABLE_LINE], const struct snapshot_row *,
    enum table_size);
/* The line above the rows: workers, connections, and what is missing. */
void table_summary(char out[TABLE_LINE], const struct snapshot *);
/* All of it, as plain lines. */
void table_print(FILE *, const struct snapshot *);

/* json.c. Members without braces: gauges, which "stats" has as well. */
void json_gauges(FILE *, const struct snapshot *);
/* "workers", "clients_left_out", "exports":[...],"clients":[...]. */
void json_snapshot(FILE *, const struct snapshot *);
/* A string with its quotes, from a word that is escaped as on the socket. */
void json_word(FILE *, const char *word);

#endif
