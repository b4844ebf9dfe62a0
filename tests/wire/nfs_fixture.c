/* SPDX-License-Identifier: ISC */
/*
 * See nfs_fixture.h.
 * Runs in: tests.
 */
#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "nfs_fixture.h"
#include "nfsd/broker/broker.h"
#include "nfsd/door/setup.h"
#include "nfsd/ops/ops_util.h"
#include "rpc/msg.h"

#define REPLY_MAX (1200 * 1024)
#define FILES	  1024

enum { EXP, OTHER, PLAYER, EXPORTS };

struct nfs_fixture {
	char path[64]; /* the scratch directory; exports are below it */
	char exp[80];
	int roots[EXPORTS]; /* as passed to the door */
	int dir;
	struct fh handles[EXPORTS];
	struct fh gone;
	struct broker *broker;
	struct door *door;
	struct rpc_server *server;
	struct ops_scratch *scratch;
	uint8_t reply[REPLY_MAX];
};

static enum rpc_auth_stat
begin(void *arg, struct call_ctx *ctx, struct rpc_call *call)
{
	const struct nfs_fixture *f = arg;

	ctx->call = call;
	ctx->limits = call->vers->vers == 2 ? &nfs2_limits : &nfs3_limits;
	ctx->thread = door_thread(f->door, 0);
	ctx->scratch = f->scratch;
	return AUTH_OK;
}

/* Becomes root again: the last call may have acted as another user. */
static void
be_yourself(void)
{
	struct cred self = { .uid = geteuid(), .gid = getegid() };
	struct cred_acting acting = { .switches = true };

	if (geteuid() == 0 && cred_switch(&acting, &self) == -1)
		err(1, "fixture: cannot be root again");
}

static void
put_file(int dir, const char *name, mode_t mode, const char *text)
{
	int fd =
	    openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);

	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		err(1, "fixture: %s", name);
	close(fd);
}

static int
put_dir(int dir, const char *name, mode_t mode)
{
	int fd;

	if (mkdirat(dir, name, mode) == -1)
		err(1, "fixture: %s", name);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || fchmod(fd, mode) == -1)
		err(1, "fixture: %s", name);
	return fd;
}

static void
put_sized(int dir, const char *name, off_t size)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	if (fd == -1 || ftruncate(fd, size) == -1)
		err(1, "fixture: %s", name);
	close(fd);
}

static void
fill(int dir)
{
	char x[20001];
	int sub;

	memset(x, 'x', sizeof(x) - 1);
	x[sizeof(x) - 1] = '\0';
	put_file(dir, "hello", 0644, "hello, tern\n");
	put_file(dir, "big", 0644, "");
	put_sized(dir, "big", (off_t)5 << 30);
	put_file(dir, "large", 0644, x);
	put_file(dir, "secret", 0600, "secret\n");
	put_file(dir, "mine", 0644, "mine\n");
	put_file(dir, "doomed", 0644, "");
	if (geteuid() == 0 && fchownat(dir, "mine", 1000, 1000, 0) == -1)
		err(1, "fixture: mine");
	if (symlinkat("hello", dir, "link") == -1 ||
	    mkfifoat(dir, "fifo", 0600) == -1)
		err(1, "fixture: link, fifo");
	sub = put_dir(dir, "sub", 0755);
	put_file(sub, "a", 0644, "a");
	put_file(sub, "b", 0644, "b");
	put_file(sub, "c", 0644, "c");
	close(sub);
	close(put_dir(dir, "empty", 0755));
	close(put_dir(dir, "locked", 0700));
	close(put_dir(dir, "open", 01777));
}

static void
fill_player(int dir)
{
	int contents = put_dir(dir, "Contents", 0755);

	put_file(contents, "\xe3\x82\xab\xe3\x82\xac\xe3\x83\x9f", 0644,
	    "track");
	close(contents);
	close(put_dir(dir, "empty", 0755));
}

static void
report(void *arg UNUSED, enum exports_severity severity UNUSED,
    const char *file UNUSED, int line, int column, const char *message)
{
	warnx("fixture: exports:%d:%d: %s", line, column, message);
}

static struct exports *
conf(const char *setup)
{
	static const struct exports_hooks parser = { .report = report };
	struct exports *list;
	char text[512];

	(void)snprintf(text, sizeof(text),
	    "/exp 127.0.0.0/8(%s,%s,%s,no_root_squash)\n"
	    "/other 127.0.0.0/8(rw,insecure,no_root_squash)\n"
	    "/player 127.0.0.0/8(ro,insecure,names=utf16le,fold,alias=/C/)\n",
	    strstr(setup, "ro") != NULL ? "ro" : "rw",
	    strstr(setup, "secure") != NULL ? "secure" : "insecure",
	    strstr(setup, "async") != NULL ? "async" : "sync");
	list = exports_parse(text, strlen(text), &parser);
	if (list == NULL)
		errx(1, "fixture: no exports");
	return list;
}

static struct served_exports *
exports(const struct nfs_fixture *f, const char *setup)
{
	struct served_exports *x;
	struct fh_root roots[EXPORTS];
	int i;

	for (i = 0; i < EXPORTS; i++)
		if (fh_fs_look(&roots[i],
			openat(f->roots[i], ".",
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			&(struct fh_ask){ .kernel = true }) == -1)
			err(1, "fixture: root");
	x = served_new(conf(setup), roots, NULL, 0);
	if (x == NULL)
		errx(1, "fixture: exports");
	return x;
}

/* The door and the broker behind it, in this process. */
static void
open_door(struct nfs_fixture *f, const char *setup)
{
	static const uint8_t key[FH_KEY_SIZE] = "tern";
	struct door_settings settings = { .files = FILES, .notes = FILES };
	struct broker_channel *channel;
	struct served_exports *x;
	struct fh_keys keys;
	struct fh_plain plain;
	int i;

	fh_keys_derive(&keys, key);
	settings.mode = geteuid() == 0 ? MODE_ROOT : MODE_SQUASH;
	settings.key = keys.worker;
	f->broker = broker_new(&keys, settings.mode);
	x = exports(f, setup);
	for (i = 0; i < EXPORTS; i++) {
		plain = x->list[i].plain[i == PLAYER];
		plain.export_id = x->list[i].id;
		fh_seal(&f->handles[i], &plain, x->list[i].path, &keys);
	}
	broker_set_exports(f->broker, x);
	f->door = door_new(&settings);
	door_set_exports(f->door, exports(f, setup));
	channel = broker_channel_new(f->broker, NULL);
	if (channel == NULL)
		errx(1, "fixture: channel");
	door_set_broker(f->door, 0, broker_client_new(-1, channel));
}

struct xdr_in
nfs_fixture_call(struct nfs_fixture *f, uint32_t vers, uint32_t proc,
    uint32_t uid, const void *args, size_t len)
{
	static uint8_t msg[NFS_RECORD_MAX];
	struct rpc_cred cred = { .flavor = AUTH_SYS, .uid = uid, .gid = uid };
	struct rpc_head head = {
		.xid = 7, .prog = NFS_PROGRAM, .vers = vers, .proc = proc
	};
	struct rpc_origin origin = { .peer.kind = RPC_TCP,
		.peer.id = 1,
		.peer.max_reply = sizeof(f->reply) };
	struct xdr_out out;
	struct xdr_in in;
	size_t got = 0;
	uint32_t xid;

	(void)addr_parse(&origin.peer.from, "127.0.0.1:700");
	(void)addr_parse(&origin.peer.to, "127.0.0.1:2049");
	xdr_out_init(&out, msg, sizeof(msg));
	rpc_put_call(&out, &head, &cred);
	xdr_put_fixed(&out, args, len);
	(void)rpc_serve(f->server, &origin, msg, out.len, f->reply,
	    sizeof(f->reply), &got);
	xdr_in_init(&in, f->reply, got);
	in.failed = rpc_get_reply(&in, &xid) != NULL;
	return in;
}

static struct fh
lookup(struct nfs_fixture *f, const struct fh *dir, const void *name,
    size_t len)
{
	uint8_t args[1024];
	struct xdr_out out;
	struct xdr_in in;
	struct slice s;
	struct fh fh;

	xdr_out_init(&out, args, sizeof(args));
	xdr_put_opaque(&out, dir->bytes, FH_SIZE);
	xdr_put_opaque(&out, name, len);
	in = nfs_fixture_call(f, 3, NFSPROC3_LOOKUP, 0, args, out.len);
	if (xdr_get_u32(&in) != NFS_OK)
		errx(1, "fixture: lookup of %.*s", (int)len,
		    (const char *)name);
	s = xdr_get_opaque(&in, FH_SIZE);
	if (s.len != FH_SIZE)
		errx(1, "fixture: no handle");
	memcpy(fh.bytes, s.data, FH_SIZE);
	return fh;
}

struct fh
nfs_fixture_handle(struct nfs_fixture *f, const char *name)
{
	static const char *const roots[EXPORTS] = { "root", "other", "player" };
	struct fh fh;
	int i;

	for (i = 0; i < EXPORTS; i++)
		if (strcmp(name, roots[i]) == 0)
			return f->handles[i];
	if (strcmp(name, "gone") == 0)
		return f->gone;
	if (strcmp(name, "forged") == 0) {
		fh = f->handles[EXP];
		fh.bytes[9] ^= 0x10;
		return fh;
	}
	if (strcmp(name, "playempty") == 0)
		return lookup(f, &f->handles[PLAYER], "e\0m\0p\0t\0y\0", 10);
	if (strcmp(name, "file") == 0)
		name = "hello";
	return lookup(f, &f->handles[EXP], name, strlen(name));
}

/* A handle whose file is gone when the test begins. */
static void
remove_doomed(struct nfs_fixture *f)
{
	uint8_t args[64];
	struct xdr_out out;
	struct xdr_in in;

	f->gone = lookup(f, &f->handles[EXP], "doomed", 6);
	be_yourself();
	if (unlinkat(f->dir, "doomed", 0) == -1)
		err(1, "fixture: doomed");
	/* So that the door finds it removed and drops it. */
	xdr_out_init(&out, args, sizeof(args));
	xdr_put_opaque(&out, f->gone.bytes, FH_SIZE);
	in = nfs_fixture_call(f, 3, NFSPROC3_GETATTR, 0, args, out.len);
	if (xdr_get_u32(&in) != NFSERR_STALE)
		errx(1, "fixture: a removed file is not stale");
}

static void
scratch_dir(char *path, size_t size, bool disk)
{
	const char *tmp = getenv("TMPDIR");

	if (tmp == NULL || strlen(tmp) > 40)
		tmp = disk || access("/dev/shm", W_OK) == -1 ? "/tmp" :
							       "/dev/shm";
	(void)snprintf(path, size, "%s/tern.XXXXXX", tmp);
	if (mkdtemp(path) == NULL)
		err(1, "fixture: %s", path);
}

struct nfs_fixture *
nfs_fixture_new(const char *setup)
{
	static const char *const names[EXPORTS] = { "exp", "other", "player" };
	static const struct rpc_prog *const progs[] = { &nfs_program,
		&nfsacl_program, &rquota_program };
	struct rpc_hooks hooks = { .ctx_size = sizeof(struct call_ctx),
		.args_size = sizeof(struct call_args),
		.res_size = sizeof(struct call_res),
		.args_raw = NFS_ARGS_RAW,
		.begin = begin,
		.settle = ops_settle };
	struct nfs_fixture *f;
	int i, top;

	if (strstr(setup, "users") != NULL && geteuid() != 0)
		return NULL;
	(void)umask(0);
	f = calloc(1, sizeof(*f));
	if (f == NULL || (f->scratch = malloc(sizeof(*f->scratch))) == NULL)
		err(1, "fixture");
	scratch_dir(f->path, sizeof(f->path), strstr(setup, "disk") != NULL);
	(void)snprintf(f->exp, sizeof(f->exp), "%s/exp", f->path);
	top = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < EXPORTS; i++)
		f->roots[i] = put_dir(top, names[i], 0755);
	close(top);
	f->dir = f->roots[EXP];
	fill(f->dir);
	fill_player(f->roots[PLAYER]);
	open_door(f, setup);
	hooks.arg = f;
	f->server = rpc_server_new(progs, nitems(progs), &hooks);
	remove_doomed(f);
	return f;
}

static void
remove_all(const char *path)
{
	char *paths[] = { strdup(path), NULL };
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *e;

	while (fts != NULL && (e = fts_read(fts)) != NULL) {
		if (e->fts_info == FTS_D)
			(void)chmod(e->fts_accpath, 0700);
		else if (e->fts_info == FTS_DP)
			(void)rmdir(e->fts_accpath);
		else
			(void)unlink(e->fts_accpath);
	}
	if (fts != NULL)
		(void)fts_close(fts);
	free(paths[0]);
}

void
nfs_fixture_free(struct nfs_fixture *f)
{
	int i;

	if (f == NULL)
		return;
	be_yourself();
	rpc_server_free(f->server);
	door_free(f->door);
	broker_free(f->broker);
	for (i = 0; i < EXPORTS; i++)
		close(f->roots[i]);
	remove_all(f->path);
	free(f->scratch);
	free(f);
}

struct rpc_server *
nfs_fixture_server(struct nfs_fixture *f)
{
	return f->server;
}

const char *
nfs_fixture_path(const struct nfs_fixture *f)
{
	return f->exp;
}

uint64_t
nfs_fixture_recalled(struct nfs_fixture *f)
{
	struct door_stats stats;

	door_stats(f->door, &stats);
	return stats.listings.hits;
}

int
nfs_fixture_dir(const struct nfs_fixture *f)
{
	return f->dir;
}
