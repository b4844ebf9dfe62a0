/* SPDX-License-Identifier: ISC */
/*
 * READDIR, READDIRPLUS. A cookie is the filesystem's position after an entry.
 * It stays valid while other entries are added and removed. Cached entries are
 * used only while the directory is unchanged. Attributes are never cached.
 * Memory is bounded by the scratch memory of a thread, whatever the size of the
 * directory.
 *
 * Version 2 has cookies of 32 bits. ext4 has positions of 63 bits: hashes of
 * names, in ascending order. The cookie then holds the upper 32 bits. A listing
 * that continues from it may start too early, never too late. A reply therefore
 * never ends between two entries with equal cookies, so that no entry is listed
 * twice. Each call checks the position of the first entry to see whether
 * positions are wide.
 *
 * The verifier is always zero and never checked: positions do not expire.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/name.h"
#include "base/util.h"
#include "nfsd/ops/ops.h"
#include "nfsd/door/list.h"
#include "nfsd/ops/ops_util.h"

#define WIDE_SHIFT 31
#define RECORD_MAX 2048 /* no entry from the kernel is longer */
#define RECORD_MIN 24 /* an entry with a name of one to four bytes */
#define PROBE_SIZE 4096
#define FOLD_MAX   100000 /* entries compared with one name */

_Static_assert(OPS_LISTING_MAX >= LISTING_BYTES, "a cached listing fits");

/* The state of one listing. */
struct walk {
	struct call_ctx *ctx;
	struct door_obj *dir;
	int fd; /* entries are read from it */
	struct ops_scratch *scratch;
	uint64_t cookie; /* the listing continues after it */
	bool plus;
	bool exact; /* cookies are positions */
	unsigned int shift; /* wide positions: bits that the cookie lacks */
	size_t used; /* bytes of scratch->dirents */
	size_t names_used; /* bytes of scratch->names */
	size_t left, dir_left; /* bytes left for entries */
	size_t n;
	bool eof;
	uint64_t at; /* position of fd */
	enum nfsstat status;
};

/*
 * Sets the cookie for a position. Returns false if there is none: the
 * filesystem mixes wide and narrow positions. The position of the end may be
 * any number; its cookie is the largest one.
 */
static bool
to_cookie(const struct walk *w, uint64_t position, uint64_t *cookie)
{
	uint64_t max = w->ctx->limits->cookie_max;

	position >>= w->shift;
	if (position > max && position != INT64_MAX)
		return false;
	*cookie = position > max ? max : position;
	if (*cookie == 0) /* 0 means the beginning */
		*cookie = 1;
	return true;
}

/* Sets the shift if the position of the first entry is wide. */
static enum nfsstat
probe(struct walk *w)
{
	const struct dirent64 *first = (const void *)w->scratch->dirents;
	ssize_t n;

	if (w->exact)
		return NFS_OK;
	w->at = UINT64_MAX; /* equals no cookie */
	if (lseek(w->fd, 0, SEEK_SET) == -1)
		return nfs_status(errno);
	n = getdents64(w->fd, w->scratch->dirents, PROBE_SIZE);
	if (n == -1)
		return nfs_status(errno);
	if (n > 0 && (uint64_t)first->d_off > w->ctx->limits->cookie_max)
		w->shift = WIDE_SHIFT;
	return NFS_OK;
}

static enum nfsstat
seek(struct walk *w)
{
	uint64_t max = w->ctx->limits->cookie_max;

	/* The largest cookie means an end position that 32 bits cannot hold. */
	if (w->shift == 0 && w->cookie == max && max != UINT64_MAX)
		w->cookie = INT64_MAX;
	else if (w->cookie > (uint64_t)INT64_MAX >> w->shift)
		return NFSERR_BAD_COOKIE;
	if (w->at == w->cookie << w->shift)
		return NFS_OK;
	w->at = w->cookie << w->shift;
	if (lseek(w->fd, (off_t)w->at, SEEK_SET) != -1)
		return NFS_OK;
	return errno == EINVAL ? NFSERR_BAD_COOKIE : nfs_status(errno);
}

/*
 * Converts a name for the wire. Returns false if the player dialect cannot
 * express it.
 */
static bool
dialect(struct walk *w, const char *name, struct slice *out)
{
	uint8_t *to = w->scratch->names + w->names_used;

	out->data = (const uint8_t *)name;
	out->len = strlen(name);
	if (!w->dir->utf16)
		return true;
	if (!name_to_utf16(to, sizeof(w->scratch->names) - w->names_used,
		&out->len, name, out->len))
		return false;
	out->data = to;
	return true;
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Returns the file id that the client sees. The inode number of ".." must not
 * reveal what lies above the export. If attributes follow, fill_dots() sets
 * the id with them.
 */
static uint64_t
fileid(struct walk *w, const struct dirent64 *d)
{
	struct door_found up;

	if (strcmp(d->d_name, "..") != 0)
		return door_fileid(w->dir, d->d_ino);
	if (w->plus || door_parent(w->ctx, w->dir, &up) != NFS_OK)
		return door_fileid(w->dir, w->dir->st.st_ino);
	return door_fileid(w->dir, up.st.st_ino);
}

/*
 * Adds an entry. Returns false if it does not fit, or if it has no cookie
 * (w->status).
 */
static bool
add(struct walk *w, const struct dirent64 *d)
{
	const struct nfs_limits *limits = w->ctx->limits;
	struct nfs_dirent *entry = &w->scratch->list[w->n];
	size_t narrow, size;

	if (w->n == OPS_ENTRIES_MAX)
		return false;
	if (!dialect(w, d->d_name, &entry->name))
		return true;
	narrow = limits->dir_entry + entry->name.len + xdr_pad(entry->name.len);
	size = narrow + (w->plus ? limits->dir_plus : 0);
	/* dircount does not prevent the first entry. */
	if (size > w->left || (narrow > w->dir_left && w->n > 0))
		return false;
	if (!to_cookie(w, (uint64_t)d->d_off, &entry->cookie)) {
		w->status = NFSERR_IO;
		return false;
	}
	if (w->dir->utf16)
		w->names_used += entry->name.len;
	w->left -= size;
	w->dir_left -= narrow < w->dir_left ? narrow : w->dir_left;
	entry->fileid = fileid(w, d);
	entry->post.has = false;
	entry->has_fh = false;
	w->scratch->files[w->n++] = d;
	return true;
}

/*
 * Adds the entries in len bytes from the kernel. Returns false if the reply is
 * full.
 */
static bool
add_all(struct walk *w, const uint8_t *bytes, size_t len)
{
	const struct dirent64 *d;
	bool more = true;
	size_t at;

	for (at = 0; at < len; at += d->d_reclen) {
		d = (const void *)(bytes + at);
		w->at = (uint64_t)d->d_off;
		more = more && (d->d_ino == 0 || add(w, d));
	}
	return more;
}

/*
 * Returns the bytes to ask the kernel for: no more entries than fit if all
 * names are short. The descriptor then stops where the reply ends, and the next
 * call needs no seek.
 */
static size_t
share(const struct walk *w)
{
	const struct nfs_limits *limits = w->ctx->limits;
	size_t narrow = limits->dir_entry + 4;
	size_t fit = w->left / (narrow + (w->plus ? limits->dir_plus : 0));

	if (fit > w->dir_left / narrow)
		fit = w->dir_left / narrow;
	return fit * RECORD_MIN;
}

/* Reads entries until the reply is full or the directory ends. */
static void
collect(struct walk *w)
{
	size_t ask, size = sizeof(w->scratch->dirents);
	uint8_t *at;
	ssize_t n;

	for (;;) {
		if (size - w->used < RECORD_MAX) {
			if (w->n > 0)
				return;
			w->used = 0; /* no entry of it was added */
		}
		ask = share(w);
		if (w->n == 0 && ask < RECORD_MAX)
			ask = RECORD_MAX; /* room for one entry */
		if (ask > size - w->used)
			ask = size - w->used;
		if (ask == 0)
			ask = 1; /* only detects the end */
		at = w->scratch->dirents + w->used;
		n = getdents64(w->fd, at, ask);
		if (n == -1 && errno == EINVAL && w->n > 0)
			return; /* the next entry does not fit */
		if (n == -1)
			w->status = nfs_status(errno);
		w->eof = n == 0;
		if (n <= 0)
			return;
		w->used += (size_t)n;
		if (!add_all(w, at, (size_t)n))
			return;
	}
}

/*
 * Removes the last entries while their cookie equals that of the entry before.
 * A reply must end between two different cookies.
 */
static void
end_between(struct walk *w)
{
	const struct nfs_dirent *list = w->scratch->list;

	while (w->n > 0 &&
	    list[w->n - 1].cookie ==
		(w->n > 1 ? list[w->n - 2].cookie : w->cookie))
		w->n--;
	if (w->n == 0)
		w->status = NFSERR_IO;
}

static void
list(struct walk *w)
{
	w->status = probe(w);
	if (w->status == NFS_OK)
		w->status = seek(w);
	if (w->status != NFS_OK)
		return;
	collect(w);
	if (w->status != NFS_OK || w->eof)
		return;
	if (w->n == 0)
		w->status = NFSERR_TOOSMALL;
	else if (w->shift != 0)
		end_between(w);
}

const char *
ops_dir_find_folded(const struct call_ctx *ctx, int fd, const char *name)
{
	uint8_t *bytes = ctx->scratch->dirents;
	const struct dirent64 *d;
	size_t at, seen = 0;
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) == -1)
		return NULL;
	while (seen < FOLD_MAX) {
		n = getdents64(fd, bytes, sizeof(ctx->scratch->dirents));
		if (n <= 0)
			return NULL;
		for (at = 0; at < (size_t)n; at += d->d_reclen, seen++) {
			d = (const void *)(bytes + at);
			if (!is_dots(d->d_name) &&
			    name_same_folded(d->d_name, name))
				return d->d_name;
		}
	}
	return NULL;
}

static void
fill_entry(const struct walk *w, struct nfs_dirent *entry,
    const struct door_found *found)
{
	ops_post_found(&entry->post, w->dir, found);
	entry->fileid = entry->post.attr.fileid;
	entry->fh = found->fh;
	entry->has_fh = true;
}

static void
fill_dots(struct walk *w, struct nfs_dirent *entry, const char *name,
    const struct fh *self)
{
	struct door_found found = {
		.fh = *self, .st = w->dir->st, .export = w->dir->export
	};

	if (strcmp(name, "..") != 0 ||
	    door_parent(w->ctx, w->dir, &found) == NFS_OK)
		fill_entry(w, entry, &found);
	else
		entry->fileid = door_fileid(w->dir, w->dir->st.st_ino);
}

/*
 * Sets attributes and handles of n entries; an entry whose lookup fails gets
 * none. Returns false if the call was deferred.
 */
static bool
fill_plus(struct walk *w, size_t first, size_t n, const struct fh *self)
{
	const struct dirent64 *const *files = &w->scratch->files[first];
	struct door_name names[DOOR_MANY_MAX];
	struct nfs_dirent *entry;
	size_t i, asked = 0;

	for (i = 0; i < n; i++)
		if (!is_dots(files[i]->d_name)) {
			names[asked].name = files[i]->d_name;
			names[asked++].ino = door_inode_number(files[i]);
		}
	if (!door_lookup_many(w->ctx, w->dir, names, asked))
		return false;
	for (i = n; i-- > 0;) {
		entry = &w->scratch->list[first + i];
		if (is_dots(files[i]->d_name)) {
			fill_dots(w, entry, files[i]->d_name, self);
			continue;
		}
		/* The client asks for another export with LOOKUP. */
		if (names[--asked].status == NFS_OK &&
		    names[asked].found.export == w->dir->export)
			fill_entry(w, entry, &names[asked].found);
	}
	return true;
}

/*
 * Does a large directory hold an entry that only a lookup by name can find?
 * Such a lookup is expensive.
 */
static bool
needs_names(const struct walk *w)
{
	const struct dirent64 *const *files = w->scratch->files;
	size_t i;

	if (w->dir->st.st_size <= DOOR_LARGE_DIR)
		return false;
	for (i = 0; i < w->n; i++)
		if (!is_dots(files[i]->d_name) &&
		    door_inode_number(files[i]) == 0)
			return true;
	return false;
}

static void
fill_plus_all(struct walk *w, const struct fh *self)
{
	size_t at, n;

	if (needs_names(w) && door_must_defer(w->ctx)) {
		w->status = NFS_DEFERRED;
		return;
	}
	for (at = 0; at < w->n; at += n) {
		n = w->n - at < DOOR_MANY_MAX ? w->n - at : DOOR_MANY_MAX;
		if (!fill_plus(w, at, n, self)) {
			w->status = NFS_DEFERRED;
			return;
		}
	}
}

/*
 * Returns the bytes for entries that the client, the message and the scratch
 * memory allow.
 */
static size_t
budget(const struct call_ctx *ctx, uint32_t count)
{
	const struct nfs_limits *limits = ctx->limits;
	size_t max = OPS_LISTING_MAX, room = ctx->call->room_len;

	if (count < max)
		max = count;
	if (room < max + limits->dir_uncounted)
		max = room > limits->dir_uncounted ?
		    room - limits->dir_uncounted :
		    0;
	return max > limits->dir_head ? max - limits->dir_head : 0;
}

/* Reads entries from the directory and caches them. */
static void
ask_directory(struct walk *w, const struct door_list_ask *ask)
{
	struct door_list stream;
	struct door_use use;

	if ((w->dir->st.st_size > DOOR_LARGE_DIR && door_must_defer(w->ctx)) ||
	    door_must_defer_cold(w->ctx, w->dir, DOOR_USE_ENTRIES, &use)) {
		w->status = NFS_DEFERRED;
		return;
	}
	w->status = door_list_open(w->ctx, w->dir, w->cookie, &stream);
	w->fd = stream.fd;
	w->at = stream.at;
	if (w->status == NFS_OK)
		list(w);
	if (w->status == NFS_OK)
		door_used(w->ctx, &use);
	if (w->status == NFS_OK && w->exact) {
		if (!w->eof)
			stream.resume = w->at;
		door_list_remember(w->dir, ask, w->scratch->dirents, w->used,
		    w->eof);
	}
	door_list_close(&stream);
}

static void
readdir_any(struct call_ctx *ctx, const struct nfs_readdir *a,
    struct call_res *res, bool plus)
{
	struct door_obj dir;
	struct walk w = { .ctx = ctx,
		.dir = &dir,
		.scratch = ctx->scratch,
		.cookie = a->cookie,
		.plus = plus,
		.exact = ctx->limits->cookie_max == UINT64_MAX,
		.left = budget(ctx, a->count),
		.dir_left = a->dircount };
	const struct door_list_ask ask = { .cookie = a->cookie,
		.room = w.left,
		.dir_room = w.dir_left,
		.plus = plus };

	ctx->call->reply_size = (uint32_t)w.left;
	res->status =
	    ops_open(ctx, &a->dir, DOOR_DIR | DOOR_LIST, &dir, &res->post);
	if (res->status != NFS_OK)
		return;
	if (w.exact &&
	    door_list_recall(&dir, &ask, w.scratch->dirents, &w.used, &w.eof))
		(void)add_all(&w, w.scratch->dirents, w.used);
	else
		ask_directory(&w, &ask);
	if (w.status == NFS_OK && plus)
		fill_plus_all(&w, &a->dir);
	res->status = w.status;
	res->listing.list = w.scratch->list;
	res->listing.n = w.n;
	res->listing.eof = w.eof;
	ops_post(&res->post, &dir, &dir.st);
	door_close(&dir);
}

void
op_readdir(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	readdir_any(ctx, &args->readdir, res, false);
}

void
op_readdirplus(struct call_ctx *ctx, const struct call_args *args,
    struct call_res *res)
{
	readdir_any(ctx, &args->readdir, res, true);
}
