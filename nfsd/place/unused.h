/* SPDX-License-Identifier: ISC */
/*
 * How many processors nothing uses, of those that nfsd may run on.
 * Runs in: nfsd parent.
 */
#ifndef PLACE_UNUSED_H
#define PLACE_UNUSED_H

#include <stdbool.h>
#include <stdint.h>

#define UNUSED_TEXT_MAX 65536 /* of /proc/stat: 1,024 processors and more */

/* Sets the time that these processors were idle. False: it is not known. */
bool unused_read(uint64_t *idle_ns);
/*
 * The same from a text in the form of /proc/stat. counts(i): may nfsd run on
 * processor i? False: the text has no such processor.
 */
bool unused_parse(const char *text, bool (*counts)(unsigned int),
    uint64_t tick_ns, uint64_t *idle_ns);
/* Returns on how many processors nfsd may run. */
unsigned int unused_processors(void);

#endif
