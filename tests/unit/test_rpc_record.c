/* SPDX-License-Identifier: ISC */
/*
 * Record marking without sockets: the pieces of a stream do not affect its
 * records, and an announced length takes no memory.
 * Runs in: tests.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/record.h"
#include "tap.h"

#define RECORD_MAX    4096
#define FRAGMENTS_MAX 64

/* All records, each followed by '|'. */
static char out[16384];
static size_t outlen, most; /* most memory held at any time */

/* Feeds len bytes in pieces. Returns the last state. */
static enum rpc_record_state
feed(const char *stream, size_t len, size_t piece, bool direct)
{
	struct rpc_record r = { .buf = NULL };
	enum rpc_record_state state = RPC_RECORD_MORE;
	const uint8_t *data, *msg;
	size_t at, n, left, msglen;
	uint8_t *copy, *room;

	outlen = most = 0;
	for (at = 0; at < len && state == RPC_RECORD_MORE; at += n) {
		n = len - at < piece ? len - at : piece;
		copy = malloc(n);
		if (copy == NULL)
			BAIL_OUT("no memory");
		memcpy(copy, stream + at, n);
		data = copy;
		left = n;
		if (direct && rpc_record_room(&r, &room) >= n) {
			memcpy(room, copy, n);
			rpc_record_filled(&r, n);
			left = 0;
		}
		while ((state = rpc_record_next(&r, RECORD_MAX, FRAGMENTS_MAX,
			    &data, &left, &msg, &msglen)) == RPC_RECORD_DONE) {
			memcpy(out + outlen, msg, msglen);
			outlen += msglen;
			out[outlen++] = '|';
		}
		if (r.cap > most)
			most = r.cap;
		free(copy);
	}
	rpc_record_clear(&r);
	out[outlen] = '\0';
	return state;
}

#define LAST "\x80\0\0"
#define MORE "\0\0\0"

static void
test_cuts(void)
{
	static const char stream[] =
	    LAST "\5hello" MORE "\2wo" MORE "\0" MORE "\1r" LAST "\2ld" LAST
		 "\0" LAST "\3end";
	size_t piece, bad;
	int direct;

	for (direct = 0; direct < 2; direct++) {
		for (bad = 0, piece = 1; piece < sizeof(stream); piece++)
			if (feed(stream, sizeof(stream) - 1, piece,
				direct != 0) != RPC_RECORD_MORE ||
			    strcmp(out, "hello|world||end|") != 0)
				bad++;
		ok(bad == 0, "pieces of any size%s give the same records",
		    direct ? " that are read in place" : "");
	}
}

static void
test_whole(void)
{
	feed(LAST "\5hello" LAST "\5hello", 18, 18, false);
	cmp_ok(most, "==", 0, "whole records are not copied");
}

static void
test_limits(void)
{
	static char many[8 * 100];
	size_t i;

	cmp_ok(feed("\x80\0\x10\1", 4, 4, false), "==", RPC_RECORD_LONG,
	    "a record one byte too long is refused at its mark");
	cmp_ok(feed("\xff\xff\xff\xff", 4, 1, false), "==", RPC_RECORD_LONG,
	    "a record of 2 GiB is refused at its mark");
	cmp_ok(most, "==", 0, "without allocating memory");
	cmp_ok(feed(MORE "\1x" LAST "\0" MORE "\1x\x80\0\x10\0", 18, 18, false),
	    "==", RPC_RECORD_LONG,
	    "fragments that are too long together are refused");
	is(out, "x|", "the record before is complete");
	cmp_ok(feed("\x80\0\x10\0abcd", 8, 8, false), "==", RPC_RECORD_MORE,
	    "the mark of the longest record is accepted");
	cmp_ok(most, "<=", 512, "it takes memory as it arrives");
	for (i = 0; i < 100; i++)
		memcpy(many + 5 * i, MORE "\1x", 5);
	cmp_ok(feed(many, 5 * FRAGMENTS_MAX, 7, false), "==", RPC_RECORD_MORE,
	    "the maximum number of fragments is accepted");
	cmp_ok(feed(many, 5 * 100, 7, false), "==", RPC_RECORD_FRAGMENTS,
	    "one fragment more is refused");
	memset(many, 0, sizeof(many));
	cmp_ok(feed(many, 4 * RPC_RECORD_EMPTY_MAX, 4, false),
	    "==", RPC_RECORD_MORE, "some empty fragments are accepted");
	cmp_ok(feed(many, 4 * RPC_RECORD_EMPTY_MAX + 4, 4, false),
	    "==", RPC_RECORD_FRAGMENTS, "endless empty fragments are refused");
}

static void
test_partial(void)
{
	struct rpc_record r = { .buf = NULL };
	const uint8_t *data, *msg;
	size_t len, msglen;
	uint8_t *room;

	ok(!rpc_record_partial(&r), "no record has begun");
	data = (const uint8_t *)"\x80";
	len = 1;
	(void)rpc_record_next(&r, RECORD_MAX, FRAGMENTS_MAX, &data, &len, &msg,
	    &msglen);
	ok(rpc_record_partial(&r), "part of a mark is part of a record");
	cmp_ok(rpc_record_room(&r, &room), "==", 0,
	    "a mark is not read in place");
	data = (const uint8_t *)"\0\0\1x";
	len = 4;
	cmp_ok(rpc_record_next(&r, RECORD_MAX, FRAGMENTS_MAX, &data, &len, &msg,
		   &msglen),
	    "==", RPC_RECORD_DONE, "the record is completed");
	ok(!rpc_record_partial(&r), "no record has begun afterwards");
	rpc_record_clear(&r);
}

/* After 64 KiB of a record its whole memory is allocated at once. */
static void
test_trust(void)
{
	static const uint8_t mark[] = { 0x80, 0x10, 0, 0 };
	static uint8_t bytes[RPC_RECORD_TRUST];
	struct rpc_record r = { .buf = NULL };
	const uint8_t *data, *msg;
	size_t len, msglen;
	uint8_t *room;

	data = mark;
	len = sizeof(mark);
	(void)rpc_record_next(&r, 2 << 20, FRAGMENTS_MAX, &data, &len, &msg,
	    &msglen);
	data = bytes;
	len = 1000;
	(void)rpc_record_next(&r, 2 << 20, FRAGMENTS_MAX, &data, &len, &msg,
	    &msglen);
	cmp_ok(r.cap, "<=", 1024, "1000 bytes of a MiB take 1 KiB");
	data = bytes;
	len = sizeof(bytes);
	(void)rpc_record_next(&r, 2 << 20, FRAGMENTS_MAX, &data, &len, &msg,
	    &msglen);
	cmp_ok(rpc_record_room(&r, &room),
	    "==", (1 << 20) - 1000 - (long)sizeof(bytes),
	    "after 64 KiB there is room for all of it");
	rpc_record_clear(&r);
}

int
main(void)
{
	plan(NO_PLAN);
	test_cuts();
	test_whole();
	test_limits();
	test_partial();
	test_trust();
	done_testing();
}
