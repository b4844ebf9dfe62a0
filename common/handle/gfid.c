/* SPDX-License-Identifier: ISC */
/*
 * See gfid.h.
 * Runs in: mountd parent, nfsd broker, children of both parents.
 */
#include <sys/stat.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "handle/fstype.h"
#include "handle/gfid.h"

static int
digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits);
}

/* A dash stands before these bytes. */
static bool
is_dashed(size_t i)
{
	return i == 4 || i == 6 || i == 8 || i == 10;
}

bool
gfid_parse(const char *text, size_t len, struct gfid *out)
{
	size_t i, at = 0;
	int high, low;

	if (len != GFID_TEXT - 1)
		return false;
	for (i = 0; i < GFID_SIZE; i++) {
		if (is_dashed(i) && text[at++] != '-')
			return false;
		high = digit(text[at++]);
		low = digit(text[at++]);
		if (high == -1 || low == -1)
			return false;
		out->bytes[i] = (uint8_t)(high * 16 + low);
	}
	return true;
}

void
gfid_print(const struct gfid *gfid, char out[GFID_TEXT])
{
	size_t i, at = 0;

	for (i = 0; i < GFID_SIZE; i++) {
		if (is_dashed(i))
			out[at++] = '-';
		(void)snprintf(out + at, GFID_TEXT - at, "%02x",
		    gfid->bytes[i]);
		at += 2;
	}
}

bool
gfid_is_root(const struct gfid *gfid)
{
	static const struct gfid root = { { [GFID_SIZE - 1] = 1 } };

	return memcmp(gfid, &root, sizeof(root)) == 0;
}

uint64_t
gfid_ino(const struct gfid *gfid)
{
	uint64_t ino = 0;
	size_t i;

	for (i = GFID_SIZE / 2; i < GFID_SIZE; i++)
		ino = ino << 8 | gfid->bytes[i];
	return ino;
}

int
gfid_read(int fd, struct gfid *out)
{
	char text[GFID_TEXT];
	ssize_t n = fgetxattr(fd, GFID_ATTR, text, sizeof(text));

	if (n == -1)
		return -1;
	if (gfid_parse(text, (size_t)n, out))
		return 0;
	errno = EPROTO;
	return -1;
}

int
gfid_read_path(int fd, struct gfid *out)
{
	char link[64];
	int open_fd, result;

	open_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (open_fd == -1 && errno == ENOTDIR) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		open_fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	if (open_fd == -1)
		return -1;
	result = gfid_read(open_fd, out);
	close_keep_errno(open_fd);
	return result;
}

int
gfid_serves(int root)
{
	char name[sizeof(GFID_DIR) + GFID_TEXT], text[GFID_TEXT];
	struct gfid gfid;
	struct stat st;

	if (gfid_read_path(root, &gfid) == -1)
		return fstype_is_sick(errno) ? -1 : 0;
	if (!gfid_is_root(&gfid))
		return 0;
	gfid_print(&gfid, text);
	(void)snprintf(name, sizeof(name), GFID_DIR "/%s", text);
	if (fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return S_ISDIR(st.st_mode) ? 1 : 0;
	return fstype_is_sick(errno) ? -1 : 0;
}
