/* SPDX-License-Identifier: ISC */
/*
 * Turns a name from the wire into one that may be passed to the kernel: one
 * component without "/" and NUL. A name is never truncated. Players send
 * UTF-16LE. The handle of the directory says which dialect applies; this choice
 * needs no verified handle. No allocation, no system call.
 * Runs in: nfsd worker, tests, fuzzers.
 */
#include <string.h>

#include "base/name.h"
#include "nfsd/wire/nfs.h"

/*
 * Converts the wire bytes into str. Returns false if the result is no legal
 * name.
 */
static bool
convert(char *str, size_t *len, struct slice wire, bool utf16)
{
	if (utf16)
		return wire.len <= NAME_UTF16_MAX &&
		    name_from_utf16(str, NFS_NAME_SIZE - 1, len, wire.data,
			wire.len);
	if (wire.len > 0)
		memcpy(str, wire.data, wire.len);
	*len = wire.len;
	return true;
}

void
nfs_name_set(struct nfs_name *name, char text[NFS_NAME_SIZE], struct slice wire,
    const struct fh *dir)
{
	bool utf16 = fh_is_utf16(dir);
	size_t len;

	name->str = text;
	text[0] = '\0';
	if (!utf16 && wire.len > NFS_NAME_MAX) {
		name->fault = NFSERR_NAMETOOLONG;
		return;
	}
	/* RFC 1813, 3.2: ACCES for characters that a server cannot store. */
	name->fault = utf16 ? NFSERR_NOENT : NFSERR_ACCES;
	if (!convert(text, &len, wire, utf16) || len == 0 ||
	    memchr(text, '/', len) != NULL || memchr(text, '\0', len) != NULL) {
		text[0] = '\0';
		return;
	}
	text[len] = '\0';
	name->fault = NFS_OK;
}

bool
nfs_name_is_dots(const struct nfs_name *name)
{
	return strcmp(name->str, ".") == 0 || strcmp(name->str, "..") == 0;
}
