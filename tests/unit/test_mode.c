/* SPDX-License-Identifier: ISC */
/*
 * The exports determine nfsd's mode, and thus its privileges.
 * Links: nfsd
 * Runs in: tests.
 */
#include "base/util.h"
#include "door_fixture.h"
#include "nfsd/nfsd.h"
#include "tap.h"

int
main(void)
{
	/* clang-format off */
	static const struct {
		const char *text;
		enum nfsd_mode mode;
		uid_t uid;
	} cases[] = {
		{ "/a *(rw)\n", MODE_MULTI, 7 },
		{ "/a *(rw,no_root_squash)\n", MODE_ROOT, 7 },
		{ "/a *(rw,no_root_squash,all_squash)\n", MODE_SQUASH, 65534 },
		{ "/a *(rw,all_squash)\n", MODE_SQUASH, 65534 },
		{ "/a *(rw,all_squash,anonuid=99,anongid=98)\n", MODE_SQUASH, 99 },
		{ "/a *(rw,no_root_squash,all_squash,anonuid=0)\n", MODE_ROOT, 7 },
		{ "/a *(rw,no_root_squash,anongid=0)\n", MODE_ROOT, 7 },
		{ "/a *(rw,all_squash)\n/b *(ro)\n", MODE_MULTI, 7 },
		{ "/a *(all_squash)\n/b *(all_squash,anonuid=1)\n", MODE_MULTI, 7 },
		{ "/a *(all_squash)\n/b *(no_root_squash)\n", MODE_ROOT, 7 },
		{ "\n", MODE_SQUASH, 7 },
	};
	/* clang-format on */
	size_t i;

	plan(NO_PLAN);
	for (i = 0; i < nitems(cases); i++) {
		struct exports *ex = fixture_exports("%s", cases[i].text);
		uid_t uid = 7;
		gid_t gid = 7;

		ok(nfsd_mode(ex, false, &uid, &gid) == cases[i].mode &&
			uid == cases[i].uid,
		    "mode %d for case %zu", (int)cases[i].mode, i);
		ok(nfsd_mode(ex, true, &uid, &gid) == MODE_SQUASH,
		    "a plain user always runs in squash mode");
		exports_free(ex);
	}
	is(nfsd_mode_name(MODE_MULTI, false), "multi-user",
	    "a mode has a name");
	is(nfsd_mode_name(MODE_SQUASH, true), "rootless",
	    "squash mode of a plain user has its own name");
	done_testing();
}
