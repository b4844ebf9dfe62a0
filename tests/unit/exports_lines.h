/* SPDX-License-Identifier: ISC */
/*
 * The table of exports lines, good and bad, for tests and fuzz seeds.
 * Runs in: test programs only.
 */
#ifndef EXPORTS_LINES_H
#define EXPORTS_LINES_H

#include <stddef.h>

struct exports_line {
	const char *text;
	const char *means; /* the list in one line; NULL: refused */
	const char *says; /* all reports, "line:column: ...", one a line */
	const char *why;
};

extern const struct exports_line exports_lines[];
extern const size_t exports_lines_n;

#endif
