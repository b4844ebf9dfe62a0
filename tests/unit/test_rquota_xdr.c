/* SPDX-License-Identifier: ISC */
/*
 * The RQUOTA codec: amounts that do not fit into 32 bits, time that is left, and
 * which status becomes which of the three words.
 * Runs in: test program.
 */
#include <string.h>

#include "base/util.h"
#include "nfsd/wire/rquota_xdr.h"
#include "tap.h"

enum {
	STATUS,
	BSIZE,
	ACTIVE,
	BHARD,
	BSOFT,
	BLOCKS,
	FHARD,
	FSOFT,
	FILES,
	BLEFT,
	FLEFT,
	WORDS
};

static uint32_t words[WORDS];

static size_t
encode(const struct call_res *res)
{
	static uint8_t buf[256];
	struct xdr_out out;
	struct xdr_in in;
	size_t i;

	xdr_out_init(&out, buf, sizeof(buf));
	rquota_put_quota(&out, res);
	memset(words, 0, sizeof(words));
	xdr_in_init(&in, buf, out.len);
	for (i = 0; i < out.len / 4 && i < WORDS; i++)
		words[i] = xdr_get_u32(&in);
	return out.len;
}

static void
test_numbers(void)
{
	struct call_res res = { .quota = { .hard_blocks = 20,
				    .soft_blocks = 10,
				    .bytes = 10241,
				    .hard_files = 5,
				    .files = 3,
				    .bytes_until = 1060,
				    .now = 1000 } };

	ok(encode(&res) == WORDS * 4, "a quota has eleven words");
	ok(words[STATUS] == 1 && words[BSIZE] == 1024 && words[ACTIVE] == 1,
	    "it is active, in blocks of 1 KiB");
	ok(words[BHARD] == 20 && words[BSOFT] == 10 && words[BLOCKS] == 11,
	    "what is in use is rounded up");
	ok(words[FHARD] == 5 && words[FSOFT] == 0 && words[FILES] == 3,
	    "files");
	ok(words[BLEFT] == 60 && words[FLEFT] == 0, "60 seconds are left");
	res.quota.now = 1061;
	(void)encode(&res);
	ok((int32_t)words[BLEFT] == -1, "over since a second");
	res.quota.now = 1060;
	(void)encode(&res);
	ok((int32_t)words[BLEFT] == -1, "0 would say: not exceeded");
	res.quota.bytes_until = UINT64_MAX / 2;
	(void)encode(&res);
	ok(words[BLEFT] == INT32_MAX, "a grace of many years");
}

static void
test_large(void)
{
	struct call_res res = { .quota = { .hard_blocks = UINT64_C(3) << 33,
				    .soft_blocks = 4,
				    .bytes = UINT64_C(5) << 30 } };

	(void)encode(&res);
	ok(words[BSIZE] == 8192 && words[BHARD] == UINT32_C(3) << 30,
	    "24 TiB are told in blocks of 8 KiB");
	ok(words[BSOFT] == 0 && words[BLOCKS] == 5 << 17,
	    "and so are the other numbers");
	res.quota.hard_blocks = UINT64_MAX;
	res.quota.files = UINT64_MAX;
	(void)encode(&res);
	ok(words[BSIZE] == 1024u << 20 && words[BHARD] == UINT32_MAX,
	    "more than can be told is the most that can");
	ok(words[FILES] == UINT32_MAX, "of files too");
}

static void
test_status(void)
{
	static const struct {
		enum nfsstat status;
		uint32_t word;
	} rows[] = {
		{ NFSERR_PERM, 3 },
		{ NFSERR_ACCES, 3 },
		{ NFSERR_NOENT, 2 },
		{ NFSERR_IO, 2 },
		{ NFSERR_STALE, 2 },
	};
	size_t i;

	for (i = 0; i < nitems(rows); i++) {
		struct call_res res = { .status = rows[i].status };

		ok(encode(&res) == 4 && words[STATUS] == rows[i].word,
		    "status %d is one word", (int)rows[i].status);
	}
}

int
main(void)
{
	test_numbers();
	test_large();
	test_status();
	done_testing();
}
