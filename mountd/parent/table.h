/* SPDX-License-Identifier: ISC */
/*
 * The table of exports as text, for "mountd -n -v".
 * Runs in: mountd -n.
 */
#ifndef PARENT_TABLE_H
#define PARENT_TABLE_H

#include "exports/exports.h"

/* Prints one line for each client of each export, in the order that decides. */
void table_print(const struct exports *);

#endif
