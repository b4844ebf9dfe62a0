/* SPDX-License-Identifier: ISC */
/*
 * Handles: a sealed handle is accepted, one that differs in any bit is not.
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "door_fixture.h"
#include "handle/fhandle.h"
#include "tap.h"

static struct fh_keys keys;
static const struct fh_plain kernel = { .kind = FH_KERNEL,
	.type = 0x81,
	.len = 12,
	.export_id = 0x1234,
	.inner = "abcdefghijkl" };
static const struct fh_plain inode = {
	.kind = FH_INODE, .len = 16, .export_id = 7, .inner = "0123456789abcdef"
};
static const struct fh_plain player = { .kind = FH_PLAYER,
	.utf16 = true,
	.len = FH_PLAYER_ID,
	.export_id = 0xffff,
	.inner = "player" };

static bool
same(const struct fh_plain *a, const struct fh_plain *b)
{
	return a->kind == b->kind && a->utf16 == b->utf16 &&
	    a->type == b->type && a->len == b->len &&
	    a->export_id == b->export_id &&
	    memcmp(a->inner, b->inner, a->len) == 0;
}

static void
round_trip(const struct fh_plain *plain, const char *name)
{
	struct fh_plain out;
	struct fh fh;

	fh_seal(&fh, plain, "/srv/x", &keys);
	ok(fh_check_worker(&fh, "/srv/x", &keys.worker, &out) &&
		same(plain, &out),
	    "%s: the worker accepts a sealed handle", name);
	ok(fh_export_id(&fh) == plain->export_id, "%s: export id", name);
	ok(!fh_check_worker(&fh, "/srv/y", &keys.worker, &out),
	    "%s: refused under another export's path", name);
	ok(!fh_check_worker(&fh, "/srv/x", &keys.broker, &out),
	    "%s: refused under another key", name);
}

/* Every single bit of the first n bytes, flipped. */
static void
flip(const struct fh_plain *plain, size_t n, bool broker, const char *name)
{
	struct fh_plain out;
	struct fh fh, bad;
	size_t bit, passed = 0;

	fh_seal(&fh, plain, "/srv/x", &keys);
	for (bit = 0; bit < n * 8; bit++) {
		bad = fh;
		bad.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (broker)
			passed +=
			    fh_check_broker(&bad, "/srv/x", &keys.broker, &out);
		else
			passed +=
			    fh_check_worker(&bad, "/srv/x", &keys.worker, &out);
	}
	cmp_ok(passed, "==", 0, "%s: no flipped bit passes", name);
}

static void
players(void)
{
	struct fh_plain out, odd = player;
	struct fh fh, back;

	fh_seal(&fh, &player, "/srv/x", &keys);
	back = fh;
	memset(back.bytes + 12, 0x55, FH_SIZE - 12);
	ok(fh_check_worker(&back, "/srv/x", &keys.worker, &out),
	    "a player's handle is accepted with bytes 12 to 31 overwritten");
	fh_normalize(&back);
	fh_normalize(&fh);
	cmp_mem(&back, &fh, sizeof(fh), "both are equal when normalized");
	ok(fh_is_utf16(&fh), "a player's handle means names in UTF-16");
	ok(!fh_check_broker(&fh, "/srv/x", &keys.broker, &out),
	    "a player's handle has no broker's tag");
	odd.utf16 = false;
	fh_seal(&fh, &odd, "/srv/x", &keys);
	ok(!fh_check_worker(&fh, "/srv/x", &keys.worker, &out),
	    "a player's short tag is refused in a handle without UTF-16");
	odd = kernel;
	odd.utf16 = true;
	fh_seal(&fh, &odd, "/srv/x", &keys);
	ok(!fh_check_worker(&fh, "/srv/x", &keys.worker, &out),
	    "no other kind of handle may mean UTF-16");
}

static void
noise(void)
{
	struct fh_plain out;
	struct fh fh;
	size_t i, passed = 0;

	for (i = 0; i < 200000; i++) {
		randombytes_buf(&fh, sizeof(fh));
		passed += fh_check_worker(&fh, "/srv/x", &keys.worker, &out);
	}
	cmp_ok(passed, "==", 0, "200,000 random handles: none passes");
}

static void
key_file(void)
{
	uint8_t a[FH_KEY_SIZE], b[FH_KEY_SIZE];
	char path[256], why[512] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/state/key", fixture_dir());
	ok(fh_key_load(path, a, why, sizeof(why)) == 1,
	    "a missing key is made, and its directory");
	ok(fh_key_load(path, b, why, sizeof(why)) == 0 &&
		memcmp(a, b, sizeof(a)) == 0,
	    "the next start reads the same key");
	ok(chmod(path, 0644) == 0 &&
		fh_key_load(path, b, why, sizeof(why)) == -1,
	    "a key that others can read is refused");
	like(why, "chmod 600", "the message names the remedy");
	fd = open(path, O_WRONLY | O_APPEND);
	ok(fchmod(fd, 0600) == 0 && write(fd, "x", 1) == 1 &&
		fh_key_load(path, b, why, sizeof(why)) == -1,
	    "a key that is too long is refused");
	close(fd);
	ok(fh_key_load("/proc/none/key", b, why, sizeof(why)) == -1,
	    "a path where no file can be made is refused");
	ok(unlink(path) == 0 && symlink("/etc/passwd", path) == 0 &&
		fh_key_load(path, b, why, sizeof(why)) == -1,
	    "a symbolic link is refused");
}

int
main(void)
{
	struct fh_keys other;
	uint8_t key[FH_KEY_SIZE] = { 1 };

	plan(NO_PLAN);
	fh_keys_derive(&keys, fixture_key);
	fh_keys_derive(&other, key);
	ok(memcmp(&keys.worker, &keys.broker, FH_SUBKEY) != 0 &&
		memcmp(&keys.worker, &other.worker, FH_SUBKEY) != 0,
	    "both derived keys differ and depend on the file");
	round_trip(&kernel, "kernel");
	round_trip(&inode, "inode");
	round_trip(&player, "player");
	flip(&kernel, FH_SIZE, false, "kernel, worker");
	flip(&kernel, 28, true, "kernel, broker");
	flip(&inode, FH_SIZE, false, "inode");
	flip(&player, 12, false, "player");
	players();
	noise();
	key_file();
	done_testing();
}
