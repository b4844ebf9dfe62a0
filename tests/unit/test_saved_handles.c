/* SPDX-License-Identifier: ISC */
/*
 * Handles of clients survive an update: the current version makes the same
 * handles as version 1.0, byte for byte, and accepts them. That version printed
 * the saved values. A change of any of them breaks existing mounts.
 * Runs in: test programs only.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/util.h"
#include "exports/exports.h"
#include "exports/submounts.h"
#include "handle/fhandle.h"
#include "handle/fhandle_fs.h"
#include "tap.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

#define HEX_MAX (2 * FH_SIZE + 1)

static const uint8_t key[FH_KEY_SIZE] = "the key of the saved handles, 32";
static struct fh_keys keys;

/* The export number of each line. */
static const struct {
	const char *line;
	uint16_t id;
} exports[] = {
	{ "/ *", 25009 },
	{ "/srv *", 55445 },
	{ "/srv/ *", 55445 },
	{ "\"/srv/my files\" *", 18485 },
	{ "/srv/caf\303\251 *", 29867 },
	{ "/srv/0123456789/0123456789/0123456789/0123456789 *", 30679 },
	{ "/x *(fsid=1)", 1 },
	{ "/x *(fsid=7)", 7 },
	{ "/x *(fsid=65535)", 65535 },
	{ "/x *(fsid=65536)", 2488 },
	{ "/x *(fsid=4294967295)", 25205 },
	{ "/x *(fsid=5dd15c3e-8f5c-4f38-9f4f-0d2d2a5a4d11)", 54377 },
};

/* The number of a submount, and its handles. */
static const struct {
	const char *path;
	uint16_t id;
} submounts[] = {
	{ "/tmp/inside", 46401 },
	{ "/tmp/inside/deeper", 5104 },
	{ "/tmp/my disk", 47610 },
};

/* A handle: its contents, and its bytes under the key above. */
static const struct {
	const char *path; /* of the export or submount */
	uint16_t id;
	enum fh_kind kind;
	uint8_t type;
	const char *inner; /* in hex */
	const char *handle;
} handles[] = {
	/* ext4: inode number and generation; the second with the parent's */
	{ "/srv", 55445, FH_KERNEL, 1, "0200000000000000",
	    "5101d89502000000000000000000000000000000000000003842a9935219ee35" },
	{ "/srv", 55445, FH_KERNEL, 2, "0c0000001d2ac37102000000a4b5c6d7",
	    "6102d8950c0000001d2ac37102000000a4b5c6d700000000c4da23e6bc8f57e7" },
	/* tmpfs, XFS, and the longest */
	{ "/", 25009, FH_KERNEL, 1, "6d5ae3f10b00000000000000",
	    "590161b16d5ae3f10b00000000000000000000000000000019cf23b33a4bc8f7" },
	{ "/tmp/my disk", 47610, FH_KERNEL, 0xff,
	    "000102030405060708090a0b0c0d0e0f10111213",
	    "69ffb9fa000102030405060708090a0b0c0d0e0f1011121357ba89795effa0b6" },
	/* inode number and check */
	{ "/srv", 55445, FH_INODE, 0, "0c00000000000000a1b2c3d4e5f60718",
	    "6200d8950c00000000000000a1b2c3d4e5f607180000000000000000d60c2e30" },
	{ "/tmp/inside", 46401, FH_INODE, 0, "ffffffffffffffff0000000000000001",
	    "6200b541ffffffffffffffff000000000000000100000000000000000bc71de6" },
	/* players: 48 bits */
	{ "/srv", 55445, FH_PLAYER, 0, "010000000000",
	    "4701d8950000000000795e450000000000000000000000000000000000000000" },
	{ "/media", 9, FH_PLAYER, 0, "a1b2c3d4e5f6",
	    "47a10009b2c3d4e5f654049b0000000000000000000000000000000000000000" },
};

/* FAT: the identity of a file by its path below the root, and its short form. */
static const struct {
	const char *path;
	const char *id;
	const char *brief;
} names[] = {
	{ "", "cae66941d9efbd404e4d88758ea67670", "1753ee584e7d" },
	{ "PIONEER", "2082132a42fc730c86a7dbd1d5fbc175", "1ea9344255a8" },
	{ "PIONEER/rekordbox/export.pdb", "974c12c1f169e5d5e4881635e289bbff",
	    "d6d7a10c925b" },
	{ "Contents/\343\202\253\343\202\254\343\203\237.mp3",
	    "d853252b490e4fa1c312ca96ca5d861b", "e9c7d780b56f" },
};

static const char *
hex(const void *data, size_t len)
{
	static char text[HEX_MAX];

	return sodium_bin2hex(text, sizeof(text), data, len);
}

static size_t
from_hex(uint8_t *out, size_t size, const char *text)
{
	size_t len = 0;

	if (sodium_hex2bin(out, size, text, strlen(text), NULL, &len, NULL) ==
	    -1)
		BAIL_OUT("%s: not hex", text);
	return len;
}

static void
check_exports(void)
{
	static const struct exports_hooks quiet;
	struct exports *ex;
	size_t i;

	for (i = 0; i < nitems(exports); i++) {
		ex = exports_parse(exports[i].line, strlen(exports[i].line),
		    &quiet);
		if (ex == NULL)
			BAIL_OUT("%s", exports[i].line);
		cmp_ok(ex->list[0].id, "==", exports[i].id,
		    "the export number of %s", exports[i].line);
		exports_free(ex);
	}
}

static void
check_handles(void)
{
	struct fh fh, saved;
	struct fh_plain plain, got;
	size_t i;

	for (i = 0; i < nitems(handles); i++) {
		memset(&plain, 0, sizeof(plain));
		plain.kind = handles[i].kind;
		plain.utf16 = plain.kind == FH_PLAYER;
		plain.type = handles[i].type;
		plain.export_id = handles[i].id;
		plain.len = (uint8_t)from_hex(plain.inner, sizeof(plain.inner),
		    handles[i].inner);
		fh_seal(&fh, &plain, handles[i].path, &keys);
		is(hex(fh.bytes, FH_SIZE), handles[i].handle,
		    "the bytes of handle %zu", i);
		memset(&saved, 0, sizeof(saved));
		(void)from_hex(saved.bytes, FH_SIZE, handles[i].handle);
		memset(&got, 0, sizeof(got));
		ok(fh_check_worker(&saved, handles[i].path, &keys.worker,
		       &got) &&
			got.kind == plain.kind && got.type == plain.type &&
			got.export_id == plain.export_id &&
			got.len == plain.len &&
			memcmp(got.inner, plain.inner, got.len) == 0,
		    "the worker accepts it with the same contents");
		ok(fh_check_broker(&saved, handles[i].path, &keys.broker,
		       &got) == (plain.kind == FH_KERNEL),
		    "the broker accepts it if it is a kernel's handle");
	}
}

/* The identity of a path below the root. */
static void
walk(const char *path, struct fh_id *id)
{
	char text[128];
	struct fh_id parent;
	char *name, *rest = text;

	(void)snprintf(text, sizeof(text), "%s", path);
	fh_fs_name_id(NULL, "", id);
	while (*path != '\0' && (name = strsep(&rest, "/")) != NULL) {
		parent = *id;
		fh_fs_name_id(&parent, name, id);
	}
}

static void
check_names(void)
{
	struct fh_plain plain;
	struct fh_id id;
	size_t i;

	for (i = 0; i < nitems(names); i++) {
		walk(names[i].path, &id);
		is(hex(id.bytes, FH_ID_SIZE), names[i].id,
		    "the identity of \"%s\"", names[i].path);
		fh_fs_from_id(&id, 5, false, &plain);
		ok(plain.kind == FH_INODE && plain.len == FH_ID_SIZE &&
			memcmp(plain.inner, id.bytes, FH_ID_SIZE) == 0,
		    "a handle holds all of it");
		fh_fs_from_id(&id, 5, true, &plain);
		ok(plain.kind == FH_PLAYER && plain.len == FH_PLAYER_ID,
		    "a player's handle holds 48 bits");
		is(hex(plain.inner, FH_PLAYER_ID), names[i].brief,
		    "the bits are these");
	}
}

/* The check that distinguishes two files with one inode number: SipHash. */
static void
put_check(uint8_t *out, const void *data, size_t len)
{
	static const uint8_t hash_key[crypto_shorthash_KEYBYTES] =
	    "tern identity";

	(void)crypto_shorthash(out, data, len, hash_key);
}

/* Handles of an existing file, compared with the kernel's data. */
static void
check_file(void)
{
	const struct fh_fs by_handle = { FH_BY_HANDLE, EXT4_SUPER_MAGIC };
	const struct fh_fs by_inode = { FH_BY_INODE, EXT4_SUPER_MAGIC };
	const struct fh_fs fuse = { FH_BY_INODE, FUSE_SUPER_MAGIC };
	char file[] = "/dev/shm/tern-saved.XXXXXX";
	struct {
		struct file_handle head;
		uint8_t room[128];
	} h = { .head.handle_bytes = 128 };
	struct {
		int64_t seconds;
		uint32_t nanoseconds, type;
	} born = { .type = S_IFREG };
	uint8_t want[FH_ID_SIZE];
	struct fh_plain plain;
	struct statx sx;
	int fd = mkstemp(file), mount;

	(void)unlink(file);
	if (fd == -1 ||
	    statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &sx) == -1 ||
	    name_to_handle_at(fd, "", &h.head, &mount, AT_EMPTY_PATH) == -1)
		BAIL_OUT("%s", file);
	ok(fh_fs_plain(&by_handle, fd, 3, false, 0, &plain) == 0 &&
		plain.kind == FH_KERNEL && plain.type == h.head.handle_type &&
		plain.len == h.head.handle_bytes &&
		memcmp(plain.inner, h.head.f_handle, plain.len) == 0,
	    "by handle: the handle holds the kernel's");
	memcpy(want, &sx.stx_ino, 8);
	put_check(want + 8, h.head.f_handle, h.head.handle_bytes);
	ok(fh_fs_plain(&by_inode, fd, 3, false, 0, &plain) == 0 &&
		plain.kind == FH_INODE && plain.len == sizeof(want),
	    "by inode number: the handle is made");
	cmp_mem(plain.inner, want, sizeof(want),
	    "by inode number: the number and a hash of the kernel's handle");
	if ((sx.stx_mask & STATX_BTIME) != 0) {
		born.seconds = sx.stx_btime.tv_sec;
		born.nanoseconds = sx.stx_btime.tv_nsec;
	}
	put_check(want + 8, &born, sizeof(born));
	(void)fh_fs_plain(&fuse, fd, 3, false, 0, &plain);
	cmp_mem(plain.inner, want, sizeof(want),
	    "FUSE: the number and a hash of the creation time");
	put_check(want, want, sizeof(want));
	(void)fh_fs_plain(&fuse, fd, 3, true, 0, &plain);
	ok(plain.kind == FH_PLAYER, "for a player: the handle is made");
	cmp_mem(plain.inner, want, FH_PLAYER_ID,
	    "for a player: six bytes of a hash of both");
	close(fd);
}

/* Runs in its own mount namespace, so that the paths are always these. */
static int
submount_child(void)
{
	static const struct exports_hooks quiet;
	static struct submounts found;
	const struct forbid forbid = { .n = 0 };
	struct mountinfo info;
	struct exports *ex = exports_parse("/tmp *(crossmnt)\n", 17, &quiet);
	size_t i, j;
	int wrong = 0;

	if (unshare(CLONE_NEWNS) == -1 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount("tern", "/tmp", "tmpfs", 0, NULL) == -1)
		return 100;
	for (i = 0; i < nitems(submounts); i++)
		if (mkdir(submounts[i].path, 0755) == -1 ||
		    mount("tern", submounts[i].path, "tmpfs", 0, NULL) == -1)
			return 101;
	mountinfo_read(&info);
	submounts_list(&found, ex, &info, &forbid);
	for (i = 0; i < nitems(submounts); i++) {
		for (j = 0; j < found.n; j++)
			if (strcmp(found.list[j].path, submounts[i].path) == 0)
				break;
		if (j == found.n || found.list[j].id != submounts[i].id) {
			diag("%s: %u", submounts[i].path,
			    j == found.n ? 0 : found.list[j].id);
			wrong++;
		}
	}
	mountinfo_clear(&info);
	exports_free(ex);
	return wrong;
}

static void
check_submounts(void)
{
	int status = -1;
	pid_t pid;

	skip(geteuid() != 0, 1, "only root can mount");
	pid = fork();
	if (pid == 0)
		_exit(submount_child());
	(void)waitpid(pid, &status, 0);
	cmp_ok(status, "==", 0, "the numbers of submounts");
	end_skip;
}

int
main(void)
{
	if (sodium_init() == -1)
		BAIL_OUT("libsodium");
	fh_keys_derive(&keys, key);
	check_exports();
	check_handles();
	check_names();
	check_file();
	check_submounts();
	done_testing();
}
