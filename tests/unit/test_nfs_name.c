/* SPDX-License-Identifier: ISC */
/*
 * Names from the wire: only a single component reaches the kernel.
 * Runs in: test program.
 */
#include <string.h>

#include "base/util.h"
#include "nfsd/wire/nfs.h"
#include "tap.h"

static struct fh bytes_dir, player_dir;

static enum nfsstat
take(struct nfs_name *name, const void *data, size_t len, const struct fh *dir)
{
	static char text[NFS_NAME_SIZE];

	nfs_name_set(name, text, (struct slice){ data, len }, dir);
	return name->fault;
}

static void
test_bytes(void)
{
	struct nfs_name name;
	char full[4000];

	memset(full, 'x', sizeof(full));
	cmp_ok(take(&name, "song.mp3", 8, &bytes_dir), "==", NFS_OK,
	    "accepts a plain name");
	is(name.str, "song.mp3", "leaves it as it is");
	cmp_ok(take(&name, "\xff\n\x01", 3, &bytes_dir), "==", NFS_OK,
	    "accepts bytes that are not UTF-8");
	cmp_mem(name.str, "\xff\n\x01", 4, "unchanged");
	cmp_ok(take(&name, full, 255, &bytes_dir), "==", NFS_OK,
	    "accepts 255 bytes");
	cmp_ok(strlen(name.str), "==", 255, "keeps all of them");
	cmp_ok(take(&name, full, 256, &bytes_dir), "==", NFSERR_NAMETOOLONG,
	    "refuses 256 bytes");
	is(name.str, "", "keeps none of them");
	cmp_ok(take(&name, full, 4000, &bytes_dir), "==", NFSERR_NAMETOOLONG,
	    "refuses 4000 bytes");
	cmp_ok(take(&name, "", 0, &bytes_dir), "==", NFSERR_ACCES,
	    "refuses the empty name");
	cmp_ok(take(&name, "a/b", 3, &bytes_dir), "==", NFSERR_ACCES,
	    "refuses a slash");
	cmp_ok(take(&name, "ab\0c", 4, &bytes_dir), "==", NFSERR_ACCES,
	    "refuses a NUL");
	is(name.str, "", "does not end the name there");
	cmp_ok(take(&name, "a\0", 2, &bytes_dir), "==", NFSERR_ACCES,
	    "refuses a NUL at the end");
}

static void
test_dots(void)
{
	static const struct {
		const char *name;
		bool dots;
	} cases[] = { { ".", true }, { "..", true }, { "...", false },
		{ ".a", false }, { "a", false } };
	struct nfs_name name;
	size_t i;

	for (i = 0; i < nitems(cases); i++) {
		take(&name, cases[i].name, strlen(cases[i].name), &bytes_dir);
		cmp_ok(nfs_name_is_dots(&name), "==", cases[i].dots, "%s %s",
		    cases[i].name, cases[i].dots ? "is a dot name" : "is not");
	}
}

static void
test_player(void)
{
	struct nfs_name name;
	uint8_t wide[512];
	size_t i;

	cmp_ok(take(&name, "P\0I\0O\0", 6, &player_dir), "==", NFS_OK,
	    "accepts UTF-16LE below a player's handle");
	is(name.str, "PIO", "converts it to UTF-8");
	cmp_ok(take(&name, "\xab\x30\xac\x30", 4, &player_dir), "==", NFS_OK,
	    "accepts katakana");
	is(name.str, "\xe3\x82\xab\xe3\x82\xac", "converts it to UTF-8");
	for (i = 0; i < sizeof(wide); i += 2)
		memcpy(wide + i, "\xab\x30", 2);
	cmp_ok(take(&name, wide, 510, &player_dir), "==", NFS_OK,
	    "accepts 255 characters");
	cmp_ok(strlen(name.str), "==", 765, "converts them to 765 bytes");
	cmp_ok(take(&name, wide, 512, &player_dir), "==", NFSERR_NOENT,
	    "256 characters get NOENT");
	cmp_ok(take(&name, "/\0", 2, &player_dir), "==", NFSERR_NOENT,
	    "a slash gets NOENT");
	cmp_ok(take(&name, "a\0\0\0", 4, &player_dir), "==", NFSERR_NOENT,
	    "a NUL gets NOENT");
	cmp_ok(take(&name, "\x00\xd8", 2, &player_dir), "==", NFSERR_NOENT,
	    "an unpaired surrogate gets NOENT");
	cmp_ok(take(&name, "a", 1, &player_dir), "==", NFSERR_NOENT,
	    "an odd number of bytes gets NOENT");
	cmp_ok(take(&name, "", 0, &player_dir), "==", NFSERR_NOENT,
	    "the empty name gets NOENT");
}

int
main(void)
{
	struct fh_plain plain = { .kind = FH_PLAYER, .utf16 = true };
	struct fh_keys keys;
	uint8_t key[FH_KEY_SIZE] = { 0 };

	plan(NO_PLAN);
	fh_keys_derive(&keys, key);
	plain.export_id = 1;
	plain.len = FH_PLAYER_ID;
	fh_seal(&player_dir, &plain, "/x", &keys);
	plain.kind = FH_KERNEL;
	plain.utf16 = false;
	plain.len = 8;
	fh_seal(&bytes_dir, &plain, "/x", &keys);
	test_bytes();
	test_dots();
	test_player();
	done_testing();
}
