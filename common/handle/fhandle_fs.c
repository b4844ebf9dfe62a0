/* SPDX-License-Identifier: ISC */
/*
 * Identifies files for handles: by the kernel's handle, by gfid, by inode number,
 * or by name. Only this file and the broker encode or decode the kernel's handles.
 * Runs in: mountd parent, nfsd broker; nfsd worker (identities only).
 */
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/hash.h"
#include "base/util.h"
#include "handle/fhandle_fs.h"
#include "handle/fstype.h"

#ifndef AT_HANDLE_FID
#define AT_HANDLE_FID 0x200
#endif

#define HANDLE_ROOM 128 /* MAX_HANDLE_SZ */

struct kernel_handle {
	struct file_handle head;
	uint8_t room[HANDLE_ROOM];
};

/* Stores the kernel's handle of a file. Returns its length, or 0. */
static unsigned int
encode(int dirfd, const char *name, int flags, struct kernel_handle *h,
    int *mount)
{
	h->head.handle_bytes = HANDLE_ROOM;
	if (*name == '\0')
		flags |= AT_EMPTY_PATH;
	if (name_to_handle_at(dirfd, name, &h->head, mount, flags) == -1)
		return 0;
	return h->head.handle_bytes;
}

static const uint8_t *
handle_bytes(const struct kernel_handle *h)
{
	return (const uint8_t *)h + offsetof(struct file_handle, f_handle);
}

/*
 * Do the kernel's handles fit, last, and open with the present rights? Returns 1,
 * 0, or -1 with errno: it cannot be told now.
 */
static int
handles_serve(int root, const struct fstype *type)
{
	struct kernel_handle h;
	unsigned int len;
	int dir, fd, mount; /* O_PATH is not enough to open by handle */

	if (type->lasting_type == FSTYPE_NEVER)
		return 0;
	len = encode(root, "", 0, &h, &mount);
	if (len == 0 || len > FH_INNER_MAX || len % 4 != 0 ||
	    h.head.handle_type < type->lasting_type ||
	    h.head.handle_type > UINT8_MAX)
		return 0;
	dir = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = open_by_handle_at(dir, &h.head, O_PATH | O_CLOEXEC);
	if (fd == -1 && fstype_is_sick(errno)) {
		close_keep_errno(dir);
		return -1;
	}
	if (dir != -1)
		close(dir);
	if (fd != -1)
		close(fd);
	return fd != -1;
}

/* Can handles name the files in this way? Returns 1, 0, or -1 with errno. */
static int
naming_serves(enum fh_naming naming, int root, const struct fstype *type,
    bool kernel)
{
	if (naming == FH_BY_HANDLE)
		return kernel ? handles_serve(root, type) : 0;
	if (naming == FH_BY_GFID)
		return kernel && type->naming == FH_BY_GFID ?
		    gfid_serves(root) :
		    0;
	return (naming == FH_BY_NAME) == (type->naming == FH_BY_NAME);
}

int
fh_fs_probe(struct fh_fs *fs, int root, const struct fh_ask *ask)
{
	const struct fstype *type;
	enum fh_naming naming;
	struct statfs sf;
	int serves;

	if (fstatfs(root, &sf) == -1)
		return -1;
	fs->magic = (uint32_t)sf.f_type;
	type = fstype_named(fs->magic, ask->type);
	for (naming = FH_BY_HANDLE; naming < FH_NAMINGS; naming++) {
		if (ask->wish != FH_BY_ANY && ask->wish != naming)
			continue;
		serves = naming_serves(naming, root, type, ask->kernel);
		if (serves == -1)
			return -1;
		fs->naming = naming;
		if (serves == 1)
			return 0;
	}
	errno = EOPNOTSUPP;
	return -1;
}

uint64_t
fh_fs_mount(int fd)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &sx) == -1 ||
	    (sx.stx_mask & STATX_MNT_ID) == 0)
		return 0;
	return sx.stx_mnt_id;
}

int
fh_fs_root(const struct fh_fs *fs, int root, uint16_t export_id, bool utf16,
    struct fh_plain *plain)
{
	struct fh_id id;

	if (fs->naming != FH_BY_NAME)
		return fh_fs_plain(fs, root, export_id, utf16, 0, plain);
	fh_fs_name_id(NULL, "", &id);
	fh_fs_from_id(&id, export_id, utf16, plain);
	return 0;
}

int
fh_fs_look(struct fh_root *r, int root, const struct fh_ask *ask)
{
	struct statx sx;
	struct stat st;

	memset(r, 0, sizeof(*r));
	r->fd = -1;
	if (fstat(root, &st) == -1)
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return -1;
	}
	if (fh_fs_probe(&r->fs, root, ask) == -1 ||
	    fh_fs_root(&r->fs, root, 0, false, &r->plain[0]) == -1 ||
	    fh_fs_root(&r->fs, root, 0, true, &r->plain[1]) == -1)
		return -1;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	r->mount_id = fh_fs_mount(root);
	r->own_mount = statx(root, "", AT_EMPTY_PATH, 0, &sx) == 0 &&
	    (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	r->fd = root;
	return 0;
}

struct fh_plain
fh_fs_plain_root(const struct fh_root *r, uint16_t export_id, bool utf16)
{
	struct fh_plain plain = r->plain[utf16];

	plain.export_id = export_id;
	return plain;
}

static int
kernel_plain(int fd, uint16_t export_id, uint64_t mount_id,
    struct fh_plain *plain)
{
	struct fh_plain p = { .kind = FH_KERNEL, .export_id = export_id };
	struct kernel_handle h;
	unsigned int len;
	int mount;

	len = encode(fd, "", 0, &h, &mount);
	if (len == 0)
		return -1;
	if (len > FH_INNER_MAX || len % 4 != 0 || h.head.handle_type < 0 ||
	    h.head.handle_type > UINT8_MAX) {
		errno = EOVERFLOW;
		return -1;
	}
	if (mount_id != 0 && (uint64_t)(unsigned int)mount != mount_id) {
		errno = EXDEV;
		return -1;
	}
	p.len = (uint8_t)len;
	p.type = (uint8_t)h.head.handle_type;
	memcpy(p.inner, handle_bytes(&h), len);
	*plain = p;
	return 0;
}

int
fh_fs_plain(const struct fh_fs *fs, int fd, uint16_t export_id, bool utf16,
    uint64_t mount_id, struct fh_plain *plain)
{
	struct gfid gfid;
	struct fh_id id;

	if (fs->naming == FH_BY_HANDLE && !utf16)
		return kernel_plain(fd, export_id, mount_id, plain);
	if (fs->naming == FH_BY_NAME) {
		errno = ENOTSUP;
		return -1;
	}
	if (mount_id != 0 && fh_fs_mount(fd) != mount_id) {
		errno = EXDEV;
		return -1;
	}
	if (fs->naming == FH_BY_GFID && !utf16) {
		if (gfid_read_path(fd, &gfid) == -1)
			return -1;
		fh_fs_from_gfid(&gfid, export_id, plain);
		return 0;
	}
	if (fh_fs_id(fs, fd, "", &id) == -1)
		return -1;
	fh_fs_from_id(&id, export_id, utf16, plain);
	return 0;
}

void
fh_fs_from_gfid(const struct gfid *gfid, uint16_t export_id,
    struct fh_plain *plain)
{
	struct fh_plain p = { .kind = FH_KERNEL,
		.type = FH_TYPE_GFID,
		.len = GFID_SIZE,
		.export_id = export_id };

	memcpy(p.inner, gfid->bytes, GFID_SIZE);
	*plain = p;
}

bool
fh_fs_gfid(const struct fh_plain *plain, struct gfid *gfid)
{
	if (plain->kind != FH_KERNEL || plain->type != FH_TYPE_GFID ||
	    plain->len != GFID_SIZE)
		return false;
	memcpy(gfid->bytes, plain->inner, GFID_SIZE);
	return true;
}

/* Returns a hash of what distinguishes two files with one inode number. */
static uint64_t
digest(const void *data, size_t len)
{
	static const struct hash_key key = { "tern identity" };

	return hash_bytes(&key, data, len);
}

/*
 * Returns a hash that changes when an inode number is reused. The kernel's
 * handle holds the inode's generation number. AT_HANDLE_FID gives a handle even
 * if it cannot be opened. Otherwise the creation time and the type are hashed.
 */
static uint64_t
check_of(const struct fh_fs *fs, int dirfd, const char *name,
    const struct statx *sx)
{
	struct kernel_handle h;
	unsigned int len;
	struct {
		int64_t seconds;
		uint32_t nanoseconds;
		uint32_t type;
	} born = { 0, 0, sx->stx_mode & S_IFMT };
	int mount;

	if ((fstype_find(fs->magic)->traits & FSTYPE_NO_GENERATION) == 0) {
		len = encode(dirfd, name, 0, &h, &mount);
		if (len == 0)
			len = encode(dirfd, name, AT_HANDLE_FID, &h, &mount);
		if (len != 0)
			return digest(handle_bytes(&h), len);
	}
	if ((sx->stx_mask & STATX_BTIME) != 0) {
		born.seconds = sx->stx_btime.tv_sec;
		born.nanoseconds = sx->stx_btime.tv_nsec;
	}
	return digest(&born, sizeof(born));
}

int
fh_fs_id(const struct fh_fs *fs, int dirfd, const char *name, struct fh_id *id)
{
	struct statx sx;
	uint64_t number, check;

	if (statx(dirfd, name,
		AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		STATX_INO | STATX_TYPE | STATX_BTIME, &sx) == -1)
		return -1;
	number = sx.stx_ino;
	check = check_of(fs, dirfd, name, &sx);
	memcpy(id->bytes, &number, sizeof(number));
	memcpy(id->bytes + sizeof(number), &check, sizeof(check));
	return 0;
}

void
fh_fs_name_id(const struct fh_id *parent, const char *name, struct fh_id *id)
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, NULL, 0, FH_ID_SIZE);
	if (parent != NULL) {
		crypto_generichash_update(&state, parent->bytes, FH_ID_SIZE);
		crypto_generichash_update(&state, (const uint8_t *)name,
		    strlen(name));
	}
	crypto_generichash_final(&state, id->bytes, FH_ID_SIZE);
}

void
fh_fs_from_id(const struct fh_id *id, uint16_t export_id, bool utf16,
    struct fh_plain *plain)
{
	struct fh_plain p = { .kind = utf16 ? FH_PLAYER : FH_INODE,
		.utf16 = utf16,
		.export_id = export_id };
	uint64_t brief = fh_fs_short(id);

	if (utf16) {
		p.len = FH_PLAYER_ID;
		memcpy(p.inner, &brief, FH_PLAYER_ID);
	} else {
		p.len = FH_ID_SIZE;
		memcpy(p.inner, id->bytes, FH_ID_SIZE);
	}
	*plain = p;
}

bool
fh_fs_is(const struct fh_plain *plain, const struct fh_id *id)
{
	if (plain->kind == FH_INODE && plain->len == FH_ID_SIZE)
		return memcmp(plain->inner, id->bytes, FH_ID_SIZE) == 0;
	return plain->kind == FH_PLAYER &&
	    fh_fs_short_of(plain) == fh_fs_short(id);
}

uint64_t
fh_fs_short(const struct fh_id *id)
{
	uint64_t sum = digest(id->bytes, FH_ID_SIZE);
	uint64_t brief = 0;

	memcpy(&brief, &sum, FH_PLAYER_ID);
	return brief == 0 ? 1 : brief;
}

uint64_t
fh_fs_short_of(const struct fh_plain *plain)
{
	struct fh_id id;
	uint64_t brief = 0;

	if (plain->kind == FH_PLAYER)
		memcpy(&brief, plain->inner, FH_PLAYER_ID);
	else if (plain->kind == FH_INODE && plain->len == FH_ID_SIZE) {
		memcpy(id.bytes, plain->inner, FH_ID_SIZE);
		brief = fh_fs_short(&id);
	}
	return brief;
}
