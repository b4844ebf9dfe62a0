/* SPDX-License-Identifier: ISC */
/*
 * A disk with a write cache that loses power: serves an image to one emulator
 * over the network block device protocol.
 *
 *	powerdisk image socket
 *
 * What is written stays in memory until the guest flushes (or forces a write
 * through), and only then goes to the image. When the connection ends, however
 * it ends, the power is gone: of the blocks that were not flushed some reach
 * the image and some do not, as chance has it and in no order; a block is never
 * torn. Says on standard output what became of them.
 * Runs in: tests.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK	     4096
#define REQUEST_MAX  (32u << 20)
#define GREETING     "NBDMAGIC"
#define OLD_STYLE    0x00420281861253u
#define ASK	     0x25609513u
#define ANSWER	     0x67446698u
#define HAS_FLAGS    0x1u
#define SEND_FLUSH   0x4u
#define SEND_FUA     0x8u
#define FORCE_ACCESS 0x1u

enum { NBD_READ, NBD_WRITE, NBD_DISCONNECT, NBD_FLUSH };

struct greeting {
	char magic[8];
	uint64_t style, size;
	uint32_t flags;
	uint8_t zeros[124];
} __attribute__((packed));

struct request {
	uint32_t magic;
	uint16_t flags, type;
	uint64_t handle, offset;
	uint32_t len;
} __attribute__((packed));

struct answer {
	uint32_t magic, error;
	uint64_t handle;
} __attribute__((packed));

static int image, guest;
static size_t size, blocks;
static uint8_t *now; /* as the guest sees it */
static bool *dirty; /* not on the image yet */
static unsigned long flushes, writes, lost, kept;

static bool
get(void *to, size_t len)
{
	return recv(guest, to, len, MSG_WAITALL) == (ssize_t)len;
}

static bool
put(const void *from, size_t len)
{
	return send(guest, from, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static void
store(size_t block)
{
	if (pwrite(image, now + block * BLOCK, BLOCK, (off_t)(block * BLOCK)) !=
	    BLOCK)
		err(1, "image");
	dirty[block] = false;
}

static void
store_range(size_t offset, size_t len)
{
	size_t b;

	for (b = offset / BLOCK; b < blocks && b * BLOCK < offset + len; b++)
		if (dirty[b])
			store(b);
}

static bool
take_write(const struct request *r)
{
	size_t b;

	if (!get(now + r->offset, r->len))
		return false;
	for (b = r->offset / BLOCK; b * BLOCK < r->offset + r->len; b++)
		dirty[b] = true;
	writes++;
	if ((r->flags & FORCE_ACCESS) != 0)
		store_range(r->offset, r->len);
	return true;
}

/* One request; false when there are no more. */
static bool
serve(void)
{
	struct answer a = { .magic = htobe32(ANSWER) };
	struct request r;

	if (!get(&r, sizeof(r)) || be32toh(r.magic) != ASK)
		return false;
	r.flags = be16toh(r.flags);
	r.type = be16toh(r.type);
	r.offset = be64toh(r.offset);
	r.len = be32toh(r.len);
	a.handle = r.handle;
	if (r.type == NBD_DISCONNECT || r.len > REQUEST_MAX ||
	    r.offset > size || r.len > size - r.offset)
		return false;
	if (r.type == NBD_WRITE && !take_write(&r))
		return false;
	if (r.type == NBD_FLUSH) {
		store_range(0, size);
		flushes++;
	}
	if (r.type > NBD_FLUSH)
		a.error = htobe32(EINVAL);
	return put(&a, sizeof(a)) &&
	    (r.type != NBD_READ || put(now + r.offset, r.len));
}

/* Between nothing and nearly all of the cache survives. */
static void
lose_power(void)
{
	uint32_t chance = arc4random_uniform(5);
	size_t b;

	for (b = 0; b < blocks; b++) {
		if (!dirty[b])
			continue;
		if (arc4random_uniform(5) < chance) {
			store(b);
			kept++;
		} else
			lost++;
	}
}

static void
open_image(const char *path)
{
	struct stat st;

	image = open(path, O_RDWR | O_CLOEXEC);
	if (image == -1 || fstat(image, &st) == -1)
		err(1, "%s", path);
	size = (size_t)st.st_size / BLOCK * BLOCK;
	blocks = size / BLOCK;
	now = malloc(size);
	dirty = calloc(blocks, sizeof(*dirty));
	if (now == NULL || dirty == NULL ||
	    pread(image, now, size, 0) != (ssize_t)size)
		err(1, "%s", path);
}

static void
wait_for_guest(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct greeting hello = { .magic = GREETING,
		.style = htobe64(OLD_STYLE),
		.size = htobe64(size),
		.flags = htobe32(HAS_FLAGS | SEND_FLUSH | SEND_FUA) };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)unlink(path);
	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *)&un, sizeof(un)) == -1 ||
	    listen(fd, 1) == -1)
		err(1, "%s", path);
	guest = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (guest == -1 || !put(&hello, sizeof(hello)))
		err(1, "%s", path);
}

int
main(int argc, char *argv[])
{
	if (argc != 3)
		errx(2, "usage: powerdisk image socket");
	open_image(argv[1]);
	wait_for_guest(argv[2]);
	while (serve())
		continue;
	lose_power();
	printf(
	    "%lu writes, %lu flushes; unflushed blocks: %lu lost, %lu kept\n",
	    writes, flushes, lost, kept);
	return 0;
}
