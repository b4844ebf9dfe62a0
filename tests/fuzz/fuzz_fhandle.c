/* SPDX-License-Identifier: ISC */
/*
 * Any bytes as a handle: they are refused, or equal what fh_pack() makes of
 * their contents. Half of the inputs get valid tags, so that the other fields
 * are tested too.
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <stdlib.h>
#include <string.h>

#include "handle/fhandle.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t key[FH_KEY_SIZE] = { 1, 2, 3 };
	struct fh_plain plain, again;
	struct fh_keys keys;
	struct fh fh = { { 0 } }, packed;

	fh_keys_derive(&keys, key);
	memcpy(&fh, data, len < sizeof(fh) ? len : sizeof(fh));
	fh_normalize(&fh);
	if (fh_check_worker(&fh, "/x", &keys.worker, &plain)) {
		fh_pack(&packed, &plain);
		if (memcmp(&packed, &fh, 9) != 0 ||
		    fh_export_id(&fh) != plain.export_id)
			abort();
	}
	(void)fh_check_broker(&fh, "/x", &keys.broker, &plain);
	memset(&plain, 0, sizeof(plain));
	plain.kind = (enum fh_kind)(1 + fh.bytes[0] % 3);
	plain.utf16 = plain.kind == FH_PLAYER;
	plain.len =
	    plain.utf16 ? FH_PLAYER_ID : (uint8_t)(4 + fh.bytes[1] % 5 * 4);
	plain.export_id = fh_export_id(&fh);
	memcpy(plain.inner, fh.bytes + 4, plain.len);
	fh_seal(&fh, &plain, "/x", &keys);
	if (!fh_check_worker(&fh, "/x", &keys.worker, &again) ||
	    again.kind != plain.kind || again.len != plain.len ||
	    memcmp(again.inner, plain.inner, plain.len) != 0)
		abort();
	return 0;
}
