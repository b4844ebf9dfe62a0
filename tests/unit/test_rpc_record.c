/* SPDX-License-Identifier: ISC */
/*
 * Record marking, without sockets: however a stream is cut, the same records
 * come out, and what is announced costs nothing.
 * Runs in: tests.
 */
#include <stdlib.h>
#include <string.h>

#include "rpc/record.h"
#include "tap.h"

#define RECORD_MAX    4096
#define FRAGMENTS_MAX 64

/* What came out: all records, each followed by '|'. */
static char out[16384];
static size_t outlen, most; /* most memory held at any time */

/* Feeds len bytes in pieces; the state that ended it. */
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
		ok(bad == 0, "cut anywhere%s, the same records come out",
		    direct ? " and read in place" : "");
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
	    "one byte too many is refused at the mark");
	cmp_ok(feed("\xff\xff\xff\xff", 4, 1, false), "==", RPC_RECORD_LONG,
	    "2 GiB are refused at the mark");
	cmp_ok(most, "==", 0, "before any memory is taken");
	cmp_ok(feed(MORE "\1x" LAST "\0" MORE "\1x\x80\0\x10\0", 18, 18, false),
	    "==", RPC_RECORD_LONG, "the sum of fragments counts");
	is(out, "x|", "and what came before was served");
	cmp_ok(feed("\x80\0\x10\0abcd", 8, 8, false), "==", RPC_RECORD_MORE,
	    "the longest record may begin");
	cmp_ok(most, "<=", 512, "and takes memory as it arrives");
	for (i = 0; i < 100; i++)
		memcpy(many + 5 * i, MORE "\1x", 5);
	cmp_ok(feed(many, 5 * FRAGMENTS_MAX, 7, false), "==", RPC_RECORD_MORE,
	    "as many fragments as allowed");
	cmp_ok(feed(many, 5 * 100, 7, false), "==", RPC_RECORD_FRAGMENTS,
	    "and not one more");
	memset(many, 0, sizeof(many));
	cmp_ok(feed(many, 4 * RPC_RECORD_EMPTY_MAX, 4, false),
	    "==", RPC_RECORD_MORE, "some empty fragments");
	cmp_ok(feed(many, 4 * RPC_RECORD_EMPTY_MAX + 4, 4, false),
	    "==", RPC_RECORD_FRAGMENTS, "but not endless ones");
}

static void
test_partial(void)
{
	struct rpc_record r = { .buf = NULL };
	const uint8_t *data, *msg;
	size_t len, msglen;
	uint8_t *room;

	ok(!rpc_record_partial(&r), "nothing has begun");
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
	    "==", RPC_RECORD_DONE, "it is completed");
	ok(!rpc_record_partial(&r), "and then nothing has begun");
	rpc_record_clear(&r);
}

/* What has sent 64 KiB is believed: its memory is taken at once. */
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
