/* SPDX-License-Identifier: ISC */
/*
 * The shape of a reply in letters, written from the RFCs and independent of the
 * daemons' encoders:
 *
 *	u U	one word, two words	b	a boolean
 *	o	opaque or string, with zeros as padding
 *	v f	32 bytes: handle of NFS version 2; 68: its attributes
 *	a p	84 bytes: fattr3; 24: wcc_attr
 *	?(x)	optional x		*(x)	list: each x behind a true
 *	#(x)	array: a count, and that many x
 *	1(x)	a word; x follows if it is 1
 *
 * Runs in: tests, fuzzers.
 */
#ifndef REPLY_SHAPE_H
#define REPLY_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bad NULL: the results have no status. */
struct reply_shape {
	const char *good, *bad;
};

/* The shape of a procedure of any program of Tern, or NULL. */
const struct reply_shape *reply_shape_find(uint32_t prog, uint32_t vers,
    uint32_t proc);
/* The number of a procedure by its name in the RFC, or -1. */
long reply_shape_number(uint32_t prog, uint32_t vers, const char *name);

/*
 * Is this exactly one RPC reply? It has a valid header, and behind it an error
 * of the right size, or results of this shape (NULL: there can be none).
 */
bool reply_is_whole(const void *reply, size_t len, const struct reply_shape *);

#endif
