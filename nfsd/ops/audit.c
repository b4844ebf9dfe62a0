/* SPDX-License-Identifier: ISC */
/*
 * The audit: see audit.h. The path of a directory is what the kernel says. A file
 * has the path under which it was last looked up, if it still has that name.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/door/door.h"
#include "nfsd/ops/audit.h"
#include "nfsd/ops/ops.h"
#include "nfsd/ops/subject.h"
#include "nfsd/roles/served.h"
#include "nfsd/wire/audit_record.h"

void
audit_init(struct audit *a, int channel)
{
	pthread_mutex_init(&a->lock, NULL);
	a->channel = channel;
}

uint64_t
audit_lost(struct audit *a)
{
	uint64_t lost;

	pthread_mutex_lock(&a->lock);
	lost = a->lost;
	pthread_mutex_unlock(&a->lock);
	return lost;
}

static void
lose(struct audit *a)
{
	pthread_mutex_lock(&a->lock);
	a->lost++;
	pthread_mutex_unlock(&a->lock);
}

void
audit_tell_lost(struct audit *a)
{
	uint64_t lost = audit_lost(a);

	if (lost > a->told)
		log_warnx("audit: %llu changes not logged: too many at once",
		    (unsigned long long)(lost - a->told));
	a->told = lost;
}

/* May another record be made? */
static bool
permit(struct audit *a)
{
	static const struct bucket_rate rate = { AUDIT_PER_SECOND,
		AUDIT_BURST };
	bool yes;

	pthread_mutex_lock(&a->lock);
	yes = bucket_take(&a->bucket, &rate, 1, clock_coarse_ms());
	if (!yes)
		a->lost++;
	pthread_mutex_unlock(&a->lock);
	return yes;
}

/* The place of a file's name. The lock is held. */
static struct audit_name *
place_of(struct audit *a, const struct fh *file)
{
	uint64_t words[FH_SIZE / 8], sum = 0;
	size_t i;

	memcpy(words, file->bytes, sizeof(words));
	for (i = 0; i < nitems(words); i++)
		sum = hash_mix(sum ^ words[i]);
	return &a->names[sum % AUDIT_NAMES];
}

static void
remember(struct audit *a, const struct fh *file, const struct fh *dir,
    const void *name, size_t len)
{
	struct audit_name *n;

	if (len == 0 || len >= AUDIT_NAME)
		return;
	pthread_mutex_lock(&a->lock);
	n = place_of(a, file);
	n->file = *file;
	n->dir = *dir;
	memcpy(n->name, name, len);
	n->name[len] = '\0';
	pthread_mutex_unlock(&a->lock);
}

static bool
recall(struct audit *a, const struct fh *file, struct audit_name *found)
{
	const struct audit_name *n;
	bool yes;

	pthread_mutex_lock(&a->lock);
	n = place_of(a, file);
	yes = n->name[0] != '\0' && memcmp(&n->file, file, sizeof(*file)) == 0;
	if (yes)
		*found = *n;
	pthread_mutex_unlock(&a->lock);
	return yes;
}

/* Remembers the names of files that the client has just learned. */
static void
learn(struct audit *a, const struct rpc_call *call, const struct op_subject *s,
    const struct call_res *res)
{
	const struct nfs_dirent *e;
	size_t i;

	if (res->status != NFS_OK)
		return;
	if (call->proc->run == op_readdirplus && !fh_is_utf16(s->object))
		for (i = 0; i < res->listing.n; i++) {
			e = &res->listing.list[i];
			if (e->has_fh)
				remember(a, &e->fh, s->object, e->name.data,
				    e->name.len);
		}
	else if (s->name != NULL && s->to == NULL && !res->no_fh &&
	    call->proc->run != op_remove && call->proc->run != op_rmdir)
		remember(a, &res->fh, s->object, s->name->str,
		    strlen(s->name->str));
}

/* The path that the kernel has for a directory. The lock is held. */
static bool
path_of(int fd, char out[PATH_MAX])
{
	return fchdir(fd) == 0 && syscall(SYS_getcwd, out, PATH_MAX) > 0 &&
	    out[0] == '/';
}

/*
 * The path of an open directory: that of its export, and the rest below the
 * export's root. Below the jail both have another beginning. The directory must
 * not stay the current one: it would keep its filesystem busy.
 */
static bool
dir_path(struct audit *a, const struct door_obj *dir, char out[PATH_MAX])
{
	char root[PATH_MAX], path[PATH_MAX];
	size_t len;
	bool found;

	pthread_mutex_lock(&a->lock);
	found = path_of(dir->export->root, root) && path_of(dir->fd, path);
	(void)!chdir("/");
	pthread_mutex_unlock(&a->lock);
	len = found ? strlen(root) : 0;
	if (len == 1)
		len = 0; /* "/" */
	if (!found || strncmp(path, root, len) != 0)
		return false;
	(void)snprintf(out, PATH_MAX, "%s%s", dir->export->path,
	    strcmp(path, "/") == 0 ? "" : path + len);
	return true;
}

/* A path for a record. */
struct shown {
	char path[AUDIT_PATH_MAX];
	size_t len;
	size_t export_len; /* of these, the path of the export; 0: not known */
};

static void
set_path(struct shown *out, const char *path, const char *name)
{
	(void)snprintf(out->path, sizeof(out->path), "%s%s%s", path,
	    name == NULL ? "" : "/", name == NULL ? "" : name);
	out->len = strlen(out->path);
}

/* The path of a directory and a name in it; name NULL: of the object itself. */
static void
find_path(struct call_ctx *ctx, const struct fh *fh, const char *name,
    struct shown *out)
{
	char path[PATH_MAX];
	struct audit_name known;
	struct door_obj obj;
	struct stat st;
	ino_t ino;

	out->export_len = 0;
	set_path(out, "?", name);
	if (door_open(ctx, fh, 0, &obj) != NFS_OK)
		return;
	ino = obj.st.st_ino;
	out->export_len = strlen(obj.export->path);
	(void)snprintf(path, sizeof(path), "%s/(inode %llu)", obj.export->path,
	    (unsigned long long)ino);
	if (S_ISDIR(obj.st.st_mode))
		(void)dir_path(ctx->audit, &obj, path);
	set_path(out, path, name);
	door_close(&obj);
	if (S_ISDIR(obj.st.st_mode) || !recall(ctx->audit, fh, &known) ||
	    door_open(ctx, &known.dir, DOOR_DIR, &obj) != NFS_OK)
		return;
	if (fstatat(obj.fd, known.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_ino == ino && dir_path(ctx->audit, &obj, path))
		set_path(out, path, known.name);
	door_close(&obj);
}

/* What SETATTR sets. */
static void
add_set(struct audit_head *h, const struct nfs_sattr *s)
{
	h->mode = s->mode;
	h->owner = s->uid;
	h->group = s->gid;
	h->size = s->size;
	h->has |= (s->set_mode ? AUDIT_MODE : 0u) |
	    (s->set_uid ? AUDIT_OWNER : 0u) | (s->set_gid ? AUDIT_GROUP : 0u) |
	    (s->set_size ? AUDIT_SIZE : 0u) |
	    (s->set_atime != NFS_KEEP_TIME || s->set_mtime != NFS_KEEP_TIME ?
		    AUDIT_TIMES :
		    0u);
}

/* Sends it to the parent, which never makes a call wait. */
static void
send_record(struct audit *a, struct audit_head *h, struct shown *path,
    struct shown *to)
{
	struct iovec iov[] = {
		{ .iov_base = h, .iov_len = sizeof(*h) },
		{ .iov_base = path->path, .iov_len = path->len },
		{ .iov_base = to->path, .iov_len = to->len },
	};
	const struct msghdr m = { .msg_iov = iov, .msg_iovlen = nitems(iov) };

	h->path_len = (uint32_t)path->len;
	h->to_len = (uint32_t)to->len;
	h->export_len = (uint32_t)path->export_len;
	if (sendmsg(a->channel, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == -1)
		lose(a);
}

static void
tell(struct call_ctx *ctx, const struct op_subject *s,
    const struct call_res *res)
{
	const struct rpc_call *call = ctx->call;
	struct audit_head h = { .client = call->peer->from,
		.status = (uint32_t)res->status,
		.uid = call->cred.uid,
		.as = ctx->uid };
	struct shown path, to = { .len = 0 };

	(void)strlcpy(h.proc, call->proc->name, sizeof(h.proc));
	h.has = (call->cred.flavor == AUTH_SYS ? AUDIT_UID : 0u) |
	    (ctx->options != NULL ? AUDIT_AS : 0u);
	if (call->proc->run == op_setattr)
		add_set(&h, &call->args->setattr.sattr);
	find_path(ctx, s->object, s->name == NULL ? NULL : s->name->str, &path);
	if (s->to != NULL) {
		h.has |= AUDIT_TO;
		find_path(ctx, s->to_dir, s->to->str, &to);
	}
	send_record(ctx->audit, &h, &path, &to);
}

void
audit_call(struct call_ctx *ctx, const struct call_res *res)
{
	struct rpc_call *call = ctx->call;
	struct op_subject s;
	bool refused = call->refused, silent = call->silent;

	if (!ctx->audited || !ops_subject(call->proc, call->args, &s))
		return;
	learn(ctx->audit, call, &s, res);
	if (!s.changes || !permit(ctx->audit))
		return;
	tell(ctx, &s, res);
	/* The objects were opened again, which decides nothing about the call. */
	call->refused = refused;
	call->silent = silent;
	call->deferred = false;
	call->deny = AUTH_OK;
}
