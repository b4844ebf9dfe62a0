/* SPDX-License-Identifier: ISC */
/*
 * Which descriptors mountd's parent seals for its worker. The worker may be
 * compromised, so the parent checks each.
 * Links: mountd
 * Runs in: test programs only.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/util.h"
#include "mountd/parent/seal.h"
#include "tap.h"

static char dir[] = "/tmp/tern-seal.XXXXXX";
static struct fh_keys keys;
static struct exports *ex;
static struct seal_export sealed;
static struct mountd_handles root;

static int
open_at(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static void
prepare(void)
{
	static const uint8_t key[FH_KEY_SIZE] = "not random, for a test only";
	static const struct exports_hooks quiet;
	char line[128], path[128];

	if (sodium_init() == -1 || mkdtemp(dir) == NULL)
		BAIL_OUT("no surroundings");
	fh_keys_derive(&keys, key);
	(void)snprintf(line, sizeof(line), "%s *(fsid=77)", dir);
	ex = exports_parse(line, strlen(line), &quiet);
	(void)snprintf(path, sizeof(path), "%s/sub", dir);
	if (ex == NULL || mkdir(path, 0755) == -1)
		BAIL_OUT("no surroundings");
	(void)snprintf(path, sizeof(path), "%s/pipe", dir);
	if (mkfifo(path, 0644) == -1)
		BAIL_OUT("no surroundings");
}

static void
clean_up(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/pipe", dir);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/sub", dir);
	(void)rmdir(path);
	(void)rmdir(dir);
	exports_free(ex);
}

static void
check_root(void)
{
	struct fh_plain plain;
	struct fh_root at;
	int fd = open_at(".");

	seal_root(&sealed, &root, &ex->list[0], NULL, &keys);
	ok(!root.sealed[NAMES_BYTES] && sealed.conf == NULL,
	    "a missing root is not sealed");
	if (fh_fs_look(&at, fd, &(struct fh_ask){ .kernel = true }) == -1)
		BAIL_OUT("root");
	seal_root(&sealed, &root, &ex->list[0], &at, &keys);
	ok(root.sealed[NAMES_BYTES], "a root is sealed");
	ok(!root.sealed[NAMES_UTF16LE],
	    "not for players if no entry of the export is for them");
	ok(fh_check_worker(&root.fh[NAMES_BYTES], dir, &keys.worker, &plain),
	    "its tag is valid");
	cmp_ok(plain.export_id, "==", 77, "it has the number of the export");
	ok(!fh_check_worker(&root.fh[NAMES_BYTES], "/other", &keys.worker,
	       &plain),
	    "its tag is valid for this path only");
	close(fd);
}

static bool
seals(const struct seal_export *s, const char *below, bool utf16, int fd)
{
	struct mountd_seal ask = { .export_id = 77, .utf16 = utf16 };
	struct mountd_sealed answer;
	struct fh_plain plain;

	(void)snprintf(ask.below, sizeof(ask.below), "%s", below);
	answer = seal_descriptor(s, &ask, fd, &keys);
	if (fd != -1)
		close(fd);
	return answer.good &&
	    fh_check_worker(&answer.fh, dir, &keys.worker, &plain);
}

static void
check_descriptors(void)
{
	struct mountd_seal endless = { .export_id = 77 };
	int pair[2], fd;

	ok(seals(&sealed, "sub", false, open_at("sub")),
	    "a subdirectory is sealed");
	ok(!seals(&sealed, "pipe", false, open_at("pipe")),
	    "a fifo is not sealed");
	ok(!seals(&sealed, "sub", true, open_at("sub")),
	    "not for players if no entry of the export is for them");
	ok(!seals(&sealed, "x", false, open("/proc/self", O_PATH)),
	    "a file on another mount is not sealed");
	ok(!seals(&sealed, "x", false, open("/dev/null", O_PATH)),
	    "a device is not sealed");
	if (pipe(pair) == -1)
		BAIL_OUT("no pipe");
	ok(!seals(&sealed, "x", false, pair[0]), "a pipe is not sealed");
	close(pair[1]);
	ok(!seals(&sealed, "x", false, -1), "a bad descriptor is not sealed");
	ok(!seals(NULL, "sub", false, open_at("sub")),
	    "no file is sealed for an unknown export");
	memset(endless.below, 'x', sizeof(endless.below));
	fd = open_at("sub");
	ok(!seal_descriptor(&sealed, &endless, fd, &keys).good,
	    "no file is sealed under a path without its NUL");
	close(fd);
}

/* The handle, by name, of a directory that was asked for as below. */
static struct fh
named(const struct seal_export *s, const char *below, bool *good)
{
	struct mountd_seal ask = { .export_id = 77 };
	struct mountd_sealed answer;
	int fd = open_at("sub");

	(void)snprintf(ask.below, sizeof(ask.below), "%s", below);
	answer = seal_descriptor(s, &ask, fd, &keys);
	close(fd);
	*good = answer.good;
	return answer.fh;
}

/* A submount has its own number and path, and names start at its root. */
static void
check_inside(void)
{
	struct submount sub = { .id = 78 };
	struct seal_export s, alone;
	struct fh_plain plain;
	struct fh a, b;
	bool good;

	if (fh_fs_look(&sub.root, open_at("sub"),
		&(struct fh_ask){ .kernel = true }) == -1)
		BAIL_OUT("root");
	(void)snprintf(sub.path, sizeof(sub.path), "%s/sub", dir);
	seal_submount(&s, &sub, &ex->list[0]);
	a = named(&s, "sub", &good);
	ok(good && fh_check_worker(&a, sub.path, &keys.worker, &plain) &&
		plain.export_id == 78,
	    "a submount has its own number and path");
	s.fs.naming = FH_BY_NAME;
	alone = s;
	alone.above = 0;
	a = named(&s, "sub", &good);
	b = named(&alone, "", &good);
	ok(memcmp(&a, &b, sizeof(a)) == 0,
	    "by name: the root of a submount is a root");
	a = named(&s, "sub/x/y", &good);
	b = named(&alone, "x/y", &good);
	ok(good && memcmp(&a, &b, sizeof(a)) == 0,
	    "by name: a path below it starts there");
	(void)named(&s, "su", &good);
	ok(!good, "by name: a path that does not lead there is refused");
	close(sub.root.fd);
}

int
main(void)
{
	prepare();
	check_root();
	check_descriptors();
	check_inside();
	clean_up();
	done_testing();
}
