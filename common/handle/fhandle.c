/* SPDX-License-Identifier: ISC */
/*
 * File handles: layout, tags, key file. Only the export id and the dialect of a
 * handle are read before its tag is verified. Tags are compared in constant
 * time. Only fh_key_load() opens a file.
 * Runs in: mountd parent, nfsd parent (keys), broker (seal and check), worker
 * (check).
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "handle/fhandle.h"

#define FH_VERSION   0x40u /* top two bits of byte 0 */
#define FH_LEN_SHIFT 3

#define FH_AT_TYPE   1
#define FH_AT_INNER  4
#define FH_AT_BROKER 24
#define FH_AT_WORKER 28
#define FH_TAG	     4

#define FH_PLAYER_AT_TAG 9
#define FH_PLAYER_TAG	 3

/* The longest text that a tag covers: exports_file_text() of MNTPATHLEN. */
#define FH_PATH_MAX (1024 + 32)

_Static_assert(FH_AT_INNER + FH_INNER_MAX == FH_TAGGED, "layout");
_Static_assert(crypto_shorthash_KEYBYTES == FH_SUBKEY, "SipHash key");

void
fh_keys_derive(struct fh_keys *keys, const uint8_t key[FH_KEY_SIZE])
{
	static const char worker[] = "tern handle worker";
	static const char broker[] = "tern handle broker";
	static const char print[] = "tern handle fingerprint";
	uint8_t sum[crypto_generichash_BYTES_MIN];

	crypto_generichash(keys->worker.bytes, FH_SUBKEY,
	    (const uint8_t *)worker, sizeof(worker), key, FH_KEY_SIZE);
	crypto_generichash(keys->broker.bytes, FH_SUBKEY,
	    (const uint8_t *)broker, sizeof(broker), key, FH_KEY_SIZE);
	crypto_generichash(sum, sizeof(sum), (const uint8_t *)print,
	    sizeof(print), key, FH_KEY_SIZE);
	keys->print = (uint32_t)sum[0] << 24 | (uint32_t)sum[1] << 16 |
	    (uint32_t)sum[2] << 8 | sum[3];
}

void
fh_subkey_derive(struct fh_subkey *out, const struct fh_subkey *from,
    const char *purpose)
{
	crypto_generichash(out->bytes, FH_SUBKEY, (const uint8_t *)purpose,
	    strlen(purpose), from->bytes, FH_SUBKEY);
}

/* Stores the SipHash of the handle's first n bytes and the export's path. */
static void
tag(uint8_t out[crypto_shorthash_BYTES], const struct fh *fh, size_t n,
    const char *path, const struct fh_subkey *key)
{
	uint8_t text[FH_SIZE + FH_PATH_MAX];
	size_t len = strnlen(path, FH_PATH_MAX);

	memcpy(text, fh->bytes, n);
	memcpy(text + n, path, len);
	crypto_shorthash(out, text, n + len, key->bytes);
}

void
fh_pack(struct fh *fh, const struct fh_plain *plain)
{
	memset(fh, 0, sizeof(*fh));
	fh->bytes[0] = (uint8_t)(FH_VERSION | (unsigned int)plain->kind |
	    (plain->utf16 ? FH_UTF16 : 0));
	fh->bytes[FH_AT_EXPORT] = (uint8_t)(plain->export_id >> 8);
	fh->bytes[FH_AT_EXPORT + 1] = (uint8_t)plain->export_id;
	if (plain->kind == FH_PLAYER) {
		fh->bytes[1] = plain->inner[0];
		memcpy(fh->bytes + FH_AT_INNER, plain->inner + 1,
		    FH_PLAYER_ID - 1);
		return;
	}
	fh->bytes[0] |= (uint8_t)((plain->len / 4) << FH_LEN_SHIFT);
	fh->bytes[FH_AT_TYPE] = plain->type;
	memcpy(fh->bytes + FH_AT_INNER, plain->inner, plain->len);
}

static size_t
inner_len(const struct fh *fh)
{
	return ((fh->bytes[0] & ~FH_VERSION) >> FH_LEN_SHIFT) * 4u;
}

bool
fh_is_formed(const struct fh *fh)
{
	size_t len = inner_len(fh);

	if ((fh->bytes[0] & 0xc0u) != FH_VERSION || fh_kind(fh) == 0)
		return false;
	/* Other clients must not get away with the short tag of players. */
	if (fh_kind(fh) == FH_PLAYER)
		return len == 0 && fh_is_utf16(fh);
	return len > 0 && len <= FH_INNER_MAX && !fh_is_utf16(fh);
}

/* Reverses fh_pack() of a handle that is formed. */
static void
unpack(const struct fh *fh, struct fh_plain *plain)
{
	struct fh_plain p = { .kind = fh_kind(fh) };
	size_t len = inner_len(fh);

	p.utf16 = (fh->bytes[0] & FH_UTF16) != 0;
	p.export_id = fh_export_id(fh);
	if (p.kind == FH_PLAYER) {
		p.len = FH_PLAYER_ID;
		p.inner[0] = fh->bytes[1];
		memcpy(p.inner + 1, fh->bytes + FH_AT_INNER, FH_PLAYER_ID - 1);
		*plain = p;
		return;
	}
	p.len = (uint8_t)len;
	p.type = fh->bytes[FH_AT_TYPE];
	memcpy(p.inner, fh->bytes + FH_AT_INNER, len);
	*plain = p;
}

void
fh_seal(struct fh *fh, const struct fh_plain *plain, const char *path,
    const struct fh_keys *keys)
{
	uint8_t sum[crypto_shorthash_BYTES];

	fh_pack(fh, plain);
	if (plain->kind == FH_PLAYER) {
		tag(sum, fh, FH_PLAYER_AT_TAG, path, &keys->worker);
		memcpy(fh->bytes + FH_PLAYER_AT_TAG, sum, FH_PLAYER_TAG);
		return;
	}
	if (plain->kind == FH_KERNEL) {
		tag(sum, fh, FH_AT_BROKER, path, &keys->broker);
		memcpy(fh->bytes + FH_AT_BROKER, sum, FH_TAG);
	}
	tag(sum, fh, FH_AT_WORKER, path, &keys->worker);
	memcpy(fh->bytes + FH_AT_WORKER, sum, FH_TAG);
}

bool
fh_check_worker(const struct fh *fh, const char *path,
    const struct fh_subkey *key, struct fh_plain *plain)
{
	uint8_t sum[crypto_shorthash_BYTES];
	size_t at = FH_AT_WORKER, n = FH_TAG;

	if (!fh_is_formed(fh))
		return false;
	if (fh_kind(fh) == FH_PLAYER) {
		at = FH_PLAYER_AT_TAG;
		n = FH_PLAYER_TAG;
	}
	tag(sum, fh, at, path, key);
	if (sodium_memcmp(sum, fh->bytes + at, n) != 0)
		return false;
	unpack(fh, plain);
	return true;
}

bool
fh_check_broker(const struct fh *fh, const char *path,
    const struct fh_subkey *key, struct fh_plain *plain)
{
	uint8_t sum[crypto_shorthash_BYTES];

	if (!fh_is_formed(fh) || fh_kind(fh) != FH_KERNEL)
		return false;
	tag(sum, fh, FH_AT_BROKER, path, key);
	if (sodium_memcmp(sum, fh->bytes + FH_AT_BROKER, FH_TAG) != 0)
		return false;
	unpack(fh, plain);
	return true;
}

/*
 * Makes the key file. It is written under another name and then linked, so two
 * daemons that start together use the same key. *made: this one made it. Returns
 * 0, or -1 with errno.
 */
static int
key_make(const char *file, bool *made)
{
	char temporary[4096];
	uint8_t key[FH_KEY_SIZE];
	int fd, n, saved, result = -1;

	n = snprintf(temporary, sizeof(temporary), "%s.%ld", file,
	    (long)getpid());
	if (n < 0 || (size_t)n >= sizeof(temporary)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(temporary,
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd == -1)
		return -1;
	randombytes_buf(key, sizeof(key));
	if (write(fd, key, sizeof(key)) == (ssize_t)sizeof(key) &&
	    fsync(fd) == 0) {
		*made = link(temporary, file) == 0;
		result = *made || errno == EEXIST ? 0 : -1;
	}
	saved = errno;
	sodium_memzero(key, sizeof(key));
	close(fd);
	unlink(temporary);
	errno = saved;
	return result;
}

/* Opens the key file; makes it and its directory if they are missing. */
static int
key_open(const char *file, bool *made)
{
	char dir[4096];
	char *slash;
	int fd;

	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd != -1 || errno != ENOENT)
		return fd;
	if (strlen(file) < sizeof(dir)) {
		memcpy(dir, file, strlen(file) + 1);
		slash = strrchr(dir, '/');
		if (slash != NULL && slash != dir) {
			*slash = '\0';
			(void)mkdir(dir, 0755); /* open() reports a failure */
		}
	}
	if (key_make(file, made) == -1)
		return -1;
	return open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

int
fh_key_load(const char *file, uint8_t key[FH_KEY_SIZE], char *why,
    size_t why_size)
{
	bool made = false;
	struct stat st;
	uint8_t more;
	int fd, result = -1;

	if (sodium_init() == -1) {
		snprintf(why, why_size, "libsodium cannot be initialised");
		return -1;
	}
	fd = key_open(file, &made);
	if (fd == -1 && (errno == ENOSPC || errno == EDQUOT || errno == EROFS))
		snprintf(why, why_size,
		    "%s: cannot make the handle key: %s (make room there, or "
		    "name another file with -k)",
		    file, strerror(errno));
	else if (fd == -1 || fstat(fd, &st) == -1)
		snprintf(why, why_size, "%s: %s", file, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		snprintf(why, why_size, "%s: not a regular file", file);
	else if (st.st_uid != geteuid() && st.st_uid != 0)
		snprintf(why, why_size,
		    "%s: belongs to user %u (chown it to the user who starts "
		    "the daemon)",
		    file, (unsigned int)st.st_uid);
	else if ((st.st_mode & 077) != 0)
		snprintf(why, why_size, "%s: others can read it (chmod 600)",
		    file);
	else if (read(fd, key, FH_KEY_SIZE) != FH_KEY_SIZE ||
	    read(fd, &more, 1) != 0)
		snprintf(why, why_size,
		    "%s: not %d bytes long (remove it: a "
		    "new one is made, old handles become stale)",
		    file, FH_KEY_SIZE);
	else
		result = made ? 1 : 0;
	if (fd != -1)
		close(fd);
	return result;
}
