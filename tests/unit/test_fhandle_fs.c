/* SPDX-License-Identifier: ISC */
/*
 * Handles made from descriptors, on the filesystems of this machine.
 * Runs in: tests.
 */
#include <sys/stat.h>
#include <sys/statfs.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "door_fixture.h"
#include "handle/fhandle_fs.h"
#include "tap.h"

static void
probing(int root)
{
	struct fh_fs fs, again;
	struct fh_plain plain, second;

	ok(fh_fs_probe(&fs, root, &(struct fh_ask){ .kernel = true }) == 0 &&
		fh_fs_probe(&again, root, &(struct fh_ask){ .kernel = true }) ==
		    0 &&
		fs.naming == again.naming,
	    "the choice of a kind is the same each time");
	ok(fh_fs_root(&fs, root, 9, false, &plain) == 0 &&
		fh_fs_plain(&fs, root, 9, false, fh_fs_mount(root), &second) ==
		    0 &&
		memcmp(plain.inner, second.inner, plain.len) == 0,
	    "a root is sealed like any directory");
	ok(plain.kind == (fs.naming == FH_BY_HANDLE ? FH_KERNEL : FH_INODE),
	    "its kind is the one the filesystem needs");
	ok(fh_fs_root(&fs, root, 9, true, &plain) == 0 &&
		plain.kind == FH_PLAYER && plain.utf16,
	    "for a player it is the player's kind");
	ok(fh_fs_plain(&fs, root, 9, false, fh_fs_mount(root) + 1, &plain) ==
		    -1 &&
		errno == EXDEV,
	    "a file on another mount is refused");
	ok(fh_fs_probe(&fs, -1, &(struct fh_ask){ .kernel = true }) == -1,
	    "a bad descriptor is an error");
}

static void
identities(int root)
{
	struct fh_fs fs = { .naming = FH_BY_INODE };
	struct fh_id a, b, link;
	struct fh_plain plain;

	fh_fs_probe(&fs, root, &(struct fh_ask){ .kernel = true });
	fixture_file("a", "a", 0644);
	fixture_file("b", "b", 0644);
	ok(fh_fs_id(&fs, root, "a", &a) == 0 &&
		fh_fs_id(&fs, root, "b", &b) == 0 &&
		memcmp(&a, &b, sizeof(a)) != 0,
	    "two files have two identities");
	ok(linkat(root, "a", root, "link", 0) == 0 &&
		fh_fs_id(&fs, root, "link", &link) == 0 &&
		memcmp(&a, &link, sizeof(a)) == 0,
	    "two names of a file have one identity");
	ok(fh_fs_id(&fs, root, "none", &b) == -1 && errno == ENOENT,
	    "a missing file has no identity");
	renameat(root, "a", root, "c");
	ok(fh_fs_id(&fs, root, "c", &b) == 0 && memcmp(&a, &b, sizeof(a)) == 0,
	    "a rename keeps the identity");
	fh_fs_from_id(&a, 1, false, &plain);
	ok(fh_fs_is(&plain, &a) && fh_fs_short_of(&plain) == fh_fs_short(&a),
	    "long and short form agree");
	fh_fs_from_id(&a, 1, true, &plain);
	ok(fh_fs_is(&plain, &a) && fh_fs_short_of(&plain) == fh_fs_short(&a),
	    "both forms agree for a player too");
}

static void
names(void)
{
	struct fh_fs fat = { .naming = FH_BY_NAME };
	struct fh_id root, a, b;
	struct fh_plain plain;

	fh_fs_name_id(NULL, "", &root);
	fh_fs_name_id(&root, "a", &a);
	fh_fs_name_id(&a, "a", &b);
	ok(memcmp(&root, &a, sizeof(a)) != 0 && memcmp(&a, &b, sizeof(a)) != 0,
	    "by name: the path is the identity");
	ok(fh_fs_root(&fat, -1, 1, true, &plain) == 0 &&
		fh_fs_is(&plain, &root),
	    "the root needs no name");
	ok(fh_fs_plain(&fat, 0, 1, true, 0, &plain) == -1 && errno == ENOTSUP,
	    "by name: any other file needs one");
}

/* A kind that is demanded is taken, or none is. */
static void
wishes(int root)
{
	struct fh_fs fs;

	ok(fh_fs_probe(&fs, root,
	       &(struct fh_ask){ .kernel = true, .wish = FH_BY_INODE }) == 0 &&
		fs.naming == FH_BY_INODE,
	    "the inode kind is taken where the kernel has handles");
	ok(fh_fs_probe(&fs, root,
	       &(struct fh_ask){ .kernel = true, .wish = FH_BY_GFID }) == -1 &&
		errno == EOPNOTSUPP,
	    "no gfid outside GlusterFS");
	ok(fh_fs_probe(&fs, root,
	       &(struct fh_ask){ .kernel = true,
		   .wish = FH_BY_GFID,
		   .type = "fuse.glusterfs" }) == -1 &&
		errno == EOPNOTSUPP,
	    "nor where only the name of the type says so");
	ok(fh_fs_probe(&fs, root, &(struct fh_ask){ .wish = FH_BY_HANDLE }) ==
		    -1 &&
		errno == EOPNOTSUPP,
	    "no kernel handles without a mount of its own");
}

static void
gfids(void)
{
	static const char text[] = "0b2f3a4c-1d5e-4f60-8a7b-9c8d7e6f5a41";
	static const char top[] = "00000000-0000-0000-0000-000000000001";
	static const char *const bad[] = { "",
		"0b2f3a4c1d5e4f608a7b9c8d7e6f5a41----",
		"0b2f3a4c-1d5e-4f60-8a7b-9c8d7e6f5a4",
		"0b2f3a4c-1d5e-4f60-8a7b-9c8d7e6f5a410",
		"0B2f3a4c-1d5e-4f60-8a7b-9c8d7e6f5a41",
		"../../../../../../../../../../../etc" };
	struct gfid gfid, again;
	struct fh_plain plain;
	char out[GFID_TEXT];
	size_t i;

	ok(gfid_parse(text, strlen(text), &gfid) && !gfid_is_root(&gfid),
	    "a gfid");
	gfid_print(&gfid, out);
	is(out, text, "and its text");
	ok(gfid_ino(&gfid) == UINT64_C(0x8a7b9c8d7e6f5a41),
	    "its inode number is the second half");
	fh_fs_from_gfid(&gfid, 7, &plain);
	ok(fh_fs_gfid(&plain, &again) &&
		memcmp(&gfid, &again, sizeof(gfid)) == 0,
	    "it is in a handle");
	plain.type = 1;
	ok(!fh_fs_gfid(&plain, &again), "a kernel handle has none");
	ok(gfid_parse(top, strlen(top), &gfid) && gfid_is_root(&gfid),
	    "that of the top of a volume");
	for (i = 0; i < nitems(bad); i++)
		ok(!gfid_parse(bad[i], strlen(bad[i]), &gfid), "\"%s\" is none",
		    bad[i]);
}

int
main(void)
{
	int root = fixture_fd(O_PATH), shm;

	plan(NO_PLAN);
	probing(root);
	identities(root);
	names();
	wishes(root);
	gfids();
	shm = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
	skip(shm == -1, 6, "no /dev/shm");
	probing(shm);
	end_skip;
	done_testing();
}
