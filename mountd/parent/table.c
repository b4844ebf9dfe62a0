/* SPDX-License-Identifier: ISC */
/*
 * "mountd -n -v": prints the whole table, as exportfs -v does. The output is an
 * exports file with every option written out.
 * Runs in: mountd -n.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "exports/client.h"
#include "mountd/parent/table.h"

/* Prints a path or alias; all but plain characters are octal. */
static void
print_path(const char *path)
{
	char escape[TEXT_ESCAPED];

	for (; *path != '\0'; path++) {
		if (*path > ' ' && *path < 0x7f &&
		    strchr("\"#\\(),", *path) == NULL) {
			(void)putchar(*path);
			continue;
		}
		text_escape(escape, (unsigned char)*path);
		(void)fwrite(escape, 1, sizeof(escape), stdout);
	}
}

void
table_print(const struct exports *ex)
{
	char options[EXPORTS_OPTIONS_TEXT];
	const struct export_client *c;
	const struct export *e;
	size_t i, j, k;

	for (i = 0; i < ex->n; i++) {
		e = &ex->list[i];
		for (j = 0; j < e->nclients; j++) {
			c = &e->clients[j];
			if (c->again)
				continue;
			exports_options_print(&c->options, options);
			print_path(e->path);
			printf("\t%s(%s", c->text, options);
			if (e->has_fsid)
				printf(",fsid=%u", e->fsid);
			for (k = 0; k < c->naliases; k++) {
				printf(",alias=");
				print_path(c->aliases[k]);
			}
			printf(")\n");
		}
	}
}
