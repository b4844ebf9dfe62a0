/* SPDX-License-Identifier: ISC */
/*
 * What the event loop takes to be in memory.
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <stdio.h>

#include "nfsd/cache/warm.h"
#include "tap.h"

#define SECOND UINT64_C(1000000000)
#define MANY   (WARM_MAX * 4)
#define FEW    1000u

int
main(void)
{
	struct stat dir = { .st_ino = 5, .st_dev = 7 }, other = dir;
	struct warm *w = warm_new();
	uint64_t now = 1000 * SECOND, key;
	unsigned int i, wrong = 0, kept = 0;
	char name[16];

	plan(NO_PLAN);
	key = warm_key(w, &dir, 1, "name");
	ok(!warm_has(w, key, now), "nothing is warm at first");
	warm_add(w, key, now);
	ok(warm_has(w, key, now), "what was used is");
	ok(warm_has(w, key, now + 20 * SECOND), "it stays so for a while");
	ok(!warm_has(w, key, now + 60 * SECOND), "and not for ever");
	warm_add(w, key, now + 60 * SECOND);
	ok(warm_has(w, key, now + 60 * SECOND), "if it is used again it is");
	other.st_ino = 6;
	ok(warm_key(w, &other, 1, "name") != key &&
		warm_key(w, &dir, 2, "name") != key &&
		warm_key(w, &dir, 1, "nam") != key,
	    "another directory, user or name is another thing");
	for (i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "n%u", i);
		key = warm_key(w, &dir, 1, name);
		wrong += warm_has(w, key, now);
		warm_add(w, key, now);
		kept += warm_has(w, key, now);
	}
	cmp_ok(wrong, "==", 0, "none of %u other names passes for one", MANY);
	cmp_ok(kept, "==", MANY, "each replaces what was in its place");
	for (i = kept = 0; i < FEW; i++) {
		(void)snprintf(name, sizeof(name), "few%u", i);
		warm_add(w, warm_key(w, &dir, 1, name), now + 20 * SECOND);
	}
	for (i = 0; i < FEW; i++) {
		(void)snprintf(name, sizeof(name), "few%u", i);
		kept +=
		    warm_has(w, warm_key(w, &dir, 1, name), now + 40 * SECOND);
	}
	cmp_ok(kept, ">", FEW - 10, "%u names replace older ones only", FEW);
	warm_free(w);
	warm_free(NULL);
	done_testing();
}
