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

int
main(void)
{
	int root = fixture_fd(O_PATH), shm;

	plan(NO_PLAN);
	probing(root);
	identities(root);
	names();
	shm = open("/dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC);
	skip(shm == -1, 6, "no /dev/shm");
	probing(shm);
	end_skip;
	done_testing();
}
