/* SPDX-License-Identifier: ISC */
/*
 * Record marking: see transport/record.h.
 * Runs in: the process that reads the network; fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/record.h"

#define RECORD_FIRST 512 /* initial memory of a record */

void
rpc_record_clear(struct rpc_record *r)
{
	free(r->buf);
	memset(r, 0, sizeof(*r));
}

size_t
rpc_record_room(const struct rpc_record *r, uint8_t **at)
{
	size_t room;

	if (r->done || r->left == 0 || r->cap == r->len)
		return 0;
	room = r->cap - r->len;
	*at = r->buf + r->len;
	return room < r->left ? room : r->left;
}

void
rpc_record_filled(struct rpc_record *r, size_t n)
{
	r->len += n;
	r->left -= (uint32_t)n;
}

/* Collects the four bytes of a mark. Returns true when a fragment begins. */
static bool
get_mark(struct rpc_record *r, const uint8_t **data, size_t *len)
{
	struct rpc_mark mark;

	while (r->have < sizeof(r->mark) && *len > 0) {
		r->mark[r->have++] = *(*data)++;
		(*len)--;
	}
	if (r->have < sizeof(r->mark))
		return false;
	r->have = 0;
	mark = rpc_mark_get(r->mark);
	r->last = mark.last;
	r->left = mark.len;
	r->fragments++;
	if (r->left == 0)
		r->empty++;
	return true;
}

/* Makes room for n more bytes of the fragment. */
static bool
grow(struct rpc_record *r, size_t n)
{
	uint8_t *buf;
	size_t cap;

	if (n <= r->cap - r->len)
		return true;
	if (r->len + n >= RPC_RECORD_TRUST)
		cap = r->len + r->left;
	else
		for (cap = RECORD_FIRST; cap < r->len + n;)
			cap *= 2;
	buf = realloc(r->buf, cap);
	if (buf == NULL)
		return false;
	r->buf = buf;
	r->cap = cap;
	return true;
}

/* Copies bytes of the fragment. Returns false if there is no memory. */
static bool
fill(struct rpc_record *r, const uint8_t **data, size_t *len)
{
	size_t n;

	n = *len < r->left ? *len : r->left;
	if (n == 0)
		return true;
	if (!grow(r, n))
		return false;
	memcpy(r->buf + r->len, *data, n);
	rpc_record_filled(r, n);
	*data += n;
	*len -= n;
	return true;
}

static enum rpc_record_state
done(struct rpc_record *r, const uint8_t *at, size_t n, const uint8_t **msg,
    size_t *msglen)
{
	r->fragments = 0;
	r->empty = 0;
	r->done = true;
	*msg = at;
	*msglen = n;
	return RPC_RECORD_DONE;
}

enum rpc_record_state
rpc_record_next(struct rpc_record *r, size_t record_max,
    unsigned int fragments_max, const uint8_t **data, size_t *len,
    const uint8_t **msg, size_t *msglen)
{
	const uint8_t *at;

	if (r->done)
		rpc_record_clear(r);
	if (!rpc_record_partial(r) && rpc_record_is_whole(*data, *len)) {
		*msglen = rpc_mark_get(*data).len;
		*msg = *data + RPC_MARK_SIZE;
		*data += RPC_MARK_SIZE + *msglen;
		*len -= RPC_MARK_SIZE + *msglen;
		return *msglen > record_max ? RPC_RECORD_LONG : RPC_RECORD_DONE;
	}
	for (;;) {
		if (r->fragments == 0 || (r->left == 0 && !r->last)) {
			if (!get_mark(r, data, len))
				return RPC_RECORD_MORE;
			if (r->left > record_max - r->len)
				return RPC_RECORD_LONG;
			if (r->fragments > fragments_max ||
			    r->empty > RPC_RECORD_EMPTY_MAX)
				return RPC_RECORD_FRAGMENTS;
		}
		if (r->last && r->len == 0 && *len >= r->left) {
			at = *data;
			*data += r->left;
			*len -= r->left;
			return done(r, at, r->left, msg, msglen);
		}
		if (!fill(r, data, len))
			return RPC_RECORD_MEMORY;
		if (r->left > 0)
			return RPC_RECORD_MORE;
		if (r->last)
			return done(r, r->buf, r->len, msg, msglen);
	}
}

bool
rpc_bytes_add(struct rpc_bytes *b, const void *data, size_t len)
{
	uint8_t *buf;
	size_t cap;

	if (b->at > 0) {
		memmove(b->buf, b->buf + b->at, b->len - b->at);
		b->len -= b->at;
		b->at = 0;
	}
	if (len > b->cap - b->len) {
		cap = b->len + len;
		buf = realloc(b->buf, cap);
		if (buf == NULL)
			return false;
		b->buf = buf;
		b->cap = cap;
	}
	memcpy(b->buf + b->len, data, len);
	b->len += len;
	return true;
}

bool
rpc_record_is_whole(const uint8_t *data, size_t len)
{
	struct rpc_mark mark;

	if (len < RPC_MARK_SIZE)
		return false;
	mark = rpc_mark_get(data);
	return mark.last && mark.len <= len - RPC_MARK_SIZE;
}
