/* SPDX-License-Identifier: ISC */
/*
 * What the parts of durable share: the connection to the server, and names.
 * Runs in: tests.
 */
#ifndef DURABLE_H
#define DURABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/xdr.h"

#define DURABLE_AWAY UINT32_MAX
#define DURABLE_FH   64

struct durable_fh {
	size_t len;
	uint8_t bytes[DURABLE_FH];
};

/* durable.c. Room for the arguments of the next call. */
void durable_begin(struct xdr_out *);
/* The status of an NFS 3 call, or DURABLE_AWAY: the server is away. */
uint32_t durable_ask(uint32_t proc, const struct xdr_out *, struct xdr_in *);
uint32_t durable_random(uint32_t below);
void durable_put_fh(struct xdr_out *, const struct durable_fh *);
void durable_get_fh(struct xdr_in *, struct durable_fh *);

/*
 * durable_names.c. Changes names and attributes one by one and knows which of
 * them were answered. promised: an answered change must not be lost.
 */
void names_init(bool promised);
/* Each returns false if the server is away. */
bool names_make_dirs(const struct durable_fh *root);
bool names_change(void);
/* Is every name and attribute as it was promised? */
bool names_look(void);
/* Prints numbers; returns how many promises were broken. */
unsigned long names_report(void);

#endif
