/* SPDX-License-Identifier: ISC */
/*
 * Calls every procedure of both versions of running daemons with independent
 * code (libnfs):
 *
 *	libnfs_raw server path uid
 *
 * where path is exported, empty and may be written by uid. Prints TAP.
 * Runs in: tests.
 */
#include <err.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <nfsc/libnfs.h>

#include <nfsc/libnfs-raw.h>

#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#include "base/util.h"
#include "tap.h"

#define WAIT_MS 10000

/* What the callbacks keep of one reply. */
static struct {
	bool done;
	int status; /* of the call; -1: RPC failed */
	char fh[NFS3_FHSIZE];
	u_int fh_len;
	char data[8192];
	size_t len;
	uint64_t size, id;
	u_int mode, nlink, number;
	bool has_attr, eof;
	int entries;
} a;

static struct rpc_context *rpc;

static void
wait_for_it(void)
{
	struct pollfd pfd;
	int spins;

	for (spins = 0; !a.done && spins < 1000; spins++) {
		pfd.fd = rpc_get_fd(rpc);
		pfd.events = (short)rpc_which_events(rpc);
		if (poll(&pfd, 1, WAIT_MS) <= 0 ||
		    rpc_service(rpc, pfd.revents) < 0)
			break;
	}
	if (!a.done)
		a.status = -1;
}

/* Calls and waits. The status is in a. */
#define CALL(function, take, arguments)                                        \
	do {                                                                   \
		memset(&a, 0, sizeof(a));                                      \
		if (function(rpc, take, arguments, NULL) != 0)                 \
			errx(1, "%s: %s", #function, rpc_get_error(rpc));      \
		wait_for_it();                                                 \
	} while (0)

/* Stores the status. Returns the reply if it has results. */
static void *
begin(int status, void *data)
{
	a.done = true;
	a.status = status == RPC_STATUS_SUCCESS ? *(int *)data : -1;
	return status == RPC_STATUS_SUCCESS && a.status == 0 ? data : NULL;
}

static void
keep_handle(const void *fh, u_int len)
{
	a.fh_len = len < sizeof(a.fh) ? len : sizeof(a.fh);
	memcpy(a.fh, fh, a.fh_len);
}

static void
keep_data(const void *data, size_t len)
{
	a.len = len < sizeof(a.data) ? len : sizeof(a.data) - 1;
	memcpy(a.data, data, a.len);
	a.data[a.len] = '\0';
}

static void
keep_attr3(const post_op_attr *p)
{
	const fattr3 *attr = &p->post_op_attr_u.attributes;

	a.has_attr = p->attributes_follow;
	if (!a.has_attr)
		return;
	a.size = attr->size;
	a.mode = attr->mode;
	a.nlink = attr->nlink;
	a.id = attr->fileid;
}

static void
keep_attr2(const fattr2 *attr)
{
	a.has_attr = true;
	a.size = attr->size;
	a.mode = attr->mode;
	a.nlink = attr->nlink;
	a.id = attr->fileid;
}

static void
connected(struct rpc_context *ctx UNUSED, int status, void *data UNUSED,
    void *arg UNUSED)
{
	a.done = true;
	a.status = status;
}

static void
connect_to(const char *server, int program, int version, int uid)
{
	memset(&a, 0, sizeof(a));
	rpc = rpc_init_context();
	rpc_set_uid(rpc, uid);
	rpc_set_gid(rpc, uid);
	if (rpc_connect_program_async(rpc, server, program, version, connected,
		NULL) != 0)
		errx(1, "connect: %s", rpc_get_error(rpc));
	wait_for_it();
	cmp_ok(a.status, "==", 0, "program %d version %d", program, version);
}

static void
take_mnt3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	mountres3 *r = begin(status, data);

	if (r != NULL)
		keep_handle(r->mountres3_u.mountinfo.fhandle.fhandle3_val,
		    r->mountres3_u.mountinfo.fhandle.fhandle3_len);
}

/* For replies of which only the status matters. */
static void
take_status(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	(void)begin(status, data);
}

static void
take_getattr3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	GETATTR3res *r = begin(status, data);
	post_op_attr p = { .attributes_follow = 1 };

	if (r == NULL)
		return;
	p.post_op_attr_u.attributes = r->GETATTR3res_u.resok.obj_attributes;
	keep_attr3(&p);
}

static void
take_lookup3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	LOOKUP3res *r = begin(status, data);

	if (r == NULL)
		return;
	keep_handle(r->LOOKUP3res_u.resok.object.data.data_val,
	    r->LOOKUP3res_u.resok.object.data.data_len);
	keep_attr3(&r->LOOKUP3res_u.resok.obj_attributes);
}

/* CREATE, MKDIR, SYMLINK and MKNOD have the same results. */
static void
take_made3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	CREATE3res *r = begin(status, data);

	if (r == NULL)
		return;
	if (r->CREATE3res_u.resok.obj.handle_follows)
		keep_handle(r->CREATE3res_u.resok.obj.post_op_fh3_u.handle.data
				.data_val,
		    r->CREATE3res_u.resok.obj.post_op_fh3_u.handle.data
			.data_len);
	keep_attr3(&r->CREATE3res_u.resok.obj_attributes);
}

static void
take_read3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	READ3res *r = begin(status, data);

	if (r == NULL)
		return;
	keep_attr3(&r->READ3res_u.resok.file_attributes);
	keep_data(r->READ3res_u.resok.data.data_val,
	    r->READ3res_u.resok.data.data_len);
	a.eof = r->READ3res_u.resok.eof != 0;
}

static void
take_write3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	WRITE3res *r = begin(status, data);

	if (r == NULL)
		return;
	a.number = r->WRITE3res_u.resok.count;
	keep_attr3(&r->WRITE3res_u.resok.file_wcc.after);
	keep_data(r->WRITE3res_u.resok.verf, NFS3_WRITEVERFSIZE);
}

static void
take_commit3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	COMMIT3res *r = begin(status, data);

	if (r != NULL)
		keep_data(r->COMMIT3res_u.resok.verf, NFS3_WRITEVERFSIZE);
}

static void
take_access3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	ACCESS3res *r = begin(status, data);

	if (r != NULL)
		a.number = r->ACCESS3res_u.resok.access;
}

static void
take_readlink3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	READLINK3res *r = begin(status, data);

	if (r != NULL)
		keep_data(r->READLINK3res_u.resok.data,
		    strlen(r->READLINK3res_u.resok.data));
}

/* libnfs does not align the entries of its lists, so they are copied. */
static const void *
next_entry(const void *from, void *to, size_t size)
{
	if (from != NULL)
		memcpy(to, from, size);
	return from;
}

static void
take_readdir3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	READDIR3res *r = begin(status, data);
	entry3 e;

	if (r == NULL)
		return;
	e.nextentry = r->READDIR3res_u.resok.reply.entries;
	while (next_entry(e.nextentry, &e, sizeof(e)) != NULL)
		a.entries++;
	a.eof = r->READDIR3res_u.resok.reply.eof != 0;
}

static void
take_readdirplus3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	READDIRPLUS3res *r = begin(status, data);
	entryplus3 e;

	if (r == NULL)
		return;
	e.nextentry = r->READDIRPLUS3res_u.resok.reply.entries;
	while (next_entry(e.nextentry, &e, sizeof(e)) != NULL)
		a.entries += e.name_attributes.attributes_follow &&
		    e.name_handle.handle_follows;
	a.eof = r->READDIRPLUS3res_u.resok.reply.eof != 0;
}

static void
take_fsinfo3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	FSINFO3res *r = begin(status, data);

	if (r != NULL)
		a.number = r->FSINFO3res_u.resok.rtmax;
}

static void
take_pathconf3(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	PATHCONF3res *r = begin(status, data);

	if (r != NULL)
		a.number = r->PATHCONF3res_u.resok.name_max;
}

static char root[NFS3_FHSIZE], file[NFS3_FHSIZE];
static u_int root_len, file_len;
static char name_buf[5][16] = { "file", "dir", "link", "fifo", "hard" };

static diropargs3
in_root(char *name)
{
	diropargs3 d = { .name = name };

	d.dir.data.data_val = root;
	d.dir.data.data_len = root_len;
	return d;
}

static nfs_fh3
handle(char *bytes, u_int len)
{
	nfs_fh3 fh;

	fh.data.data_val = bytes;
	fh.data.data_len = len;
	return fh;
}

static sattr3
mode_only(u_int mode)
{
	sattr3 s;

	memset(&s, 0, sizeof(s));
	s.mode.set_it = 1;
	s.mode.set_mode3_u.mode = mode;
	return s;
}

/* Into another directory and back. */
static void
test_move3(char *dir, u_int dir_len)
{
	RENAME3args r = { .from = in_root(name_buf[3]) };
	RENAME3args back = { .to = in_root(name_buf[3]) };

	r.to.dir = handle(dir, dir_len);
	r.to.name = name_buf[3];
	CALL(rpc_nfs3_rename_async, take_status, &r);
	cmp_ok(a.status, "==", 0, "RENAME into another directory");
	back.from = r.to;
	CALL(rpc_nfs3_rename_async, take_status, &back);
	cmp_ok(a.status, "==", 0, "RENAME back");
}

static void
test_make3(void)
{
	CREATE3args c = { .where = in_root(name_buf[0]) };
	MKDIR3args d = { .where = in_root(name_buf[1]) };
	SYMLINK3args s = { .where = in_root(name_buf[2]) };
	MKNOD3args n = { .where = in_root(name_buf[3]) };
	LINK3args l = { .link = in_root(name_buf[4]) };
	static char text[] = "file";
	char dir[NFS3_FHSIZE];
	u_int dir_len;

	c.how.mode = GUARDED;
	c.how.createhow3_u.obj_attributes = mode_only(0640);
	CALL(rpc_nfs3_create_async, take_made3, &c);
	ok(a.status == 0 && a.mode == 0640 && a.fh_len == 32, "CREATE");
	memcpy(file, a.fh, a.fh_len);
	file_len = a.fh_len;
	CALL(rpc_nfs3_create_async, take_made3, &c);
	cmp_ok(a.status, "==", NFS3ERR_EXIST, "CREATE again");
	d.attributes = mode_only(0750);
	CALL(rpc_nfs3_mkdir_async, take_made3, &d);
	ok(a.status == 0 && a.mode == 0750, "MKDIR");
	memcpy(dir, a.fh, a.fh_len);
	dir_len = a.fh_len;
	s.symlink.symlink_attributes = mode_only(0777);
	s.symlink.symlink_data = text;
	CALL(rpc_nfs3_symlink_async, take_made3, &s);
	ok(a.status == 0 && a.size == 4, "SYMLINK");
	n.what.type = NF3FIFO;
	n.what.mknoddata3_u.pipe_attributes = mode_only(0600);
	CALL(rpc_nfs3_mknod_async, take_made3, &n);
	cmp_ok(a.status, "==", 0, "MKNOD");
	test_move3(dir, dir_len);
	l.file = handle(file, file_len);
	CALL(rpc_nfs3_link_async, take_status, &l);
	cmp_ok(a.status, "==", 0, "LINK");
}

static void
test_data3(void)
{
	static char text[] = "some data";
	WRITE3args w = { .file = handle(file, file_len),
		.offset = 5,
		.count = 9,
		.stable = UNSTABLE };
	COMMIT3args c = { .file = handle(file, file_len) };
	READ3args r = { .file = handle(file, file_len), .count = 100 };
	SETATTR3args s = { .object = handle(file, file_len) };
	GETATTR3args g = { .object = handle(file, file_len) };
	char verf[NFS3_WRITEVERFSIZE];

	w.data.data_val = text;
	w.data.data_len = 9;
	CALL(rpc_nfs3_write_async, take_write3, &w);
	ok(a.status == 0 && a.number == 9 && a.size == 14, "WRITE");
	memcpy(verf, a.data, sizeof(verf));
	CALL(rpc_nfs3_commit_async, take_commit3, &c);
	ok(a.status == 0 && memcmp(verf, a.data, sizeof(verf)) == 0, "COMMIT");
	CALL(rpc_nfs3_read_async, take_read3, &r);
	ok(a.status == 0 && a.eof && a.len == 14 &&
		memcmp(a.data, "\0\0\0\0\0some data", 14) == 0,
	    "READ");
	s.new_attributes.size.set_it = 1;
	s.new_attributes.size.set_size3_u.size = 3;
	CALL(rpc_nfs3_setattr_async, take_status, &s);
	cmp_ok(a.status, "==", 0, "SETATTR");
	CALL(rpc_nfs3_getattr_async, take_getattr3, &g);
	ok(a.status == 0 && a.size == 3 && a.nlink == 2, "GETATTR");
}

static void
test_names3(void)
{
	LOOKUP3args l = { .what = in_root(name_buf[2]) };
	READLINK3args t;
	READDIR3args d = { .dir = handle(root, root_len), .count = 4096 };
	READDIRPLUS3args p = { .dir = handle(root, root_len),
		.dircount = 4096,
		.maxcount = 8192 };
	RENAME3args r = { .from = in_root(name_buf[4]),
		.to = in_root(name_buf[2]) };
	ACCESS3args acc = { .object = handle(root, root_len), .access = 0x3f };
	char link[NFS3_FHSIZE];

	CALL(rpc_nfs3_lookup_async, take_lookup3, &l);
	cmp_ok(a.status, "==", 0, "LOOKUP");
	memcpy(link, a.fh, a.fh_len);
	t.symlink = handle(link, a.fh_len);
	CALL(rpc_nfs3_readlink_async, take_readlink3, &t);
	is(a.data, "file", "READLINK");
	CALL(rpc_nfs3_readdir_async, take_readdir3, &d);
	ok(a.status == 0 && a.entries == 7 && a.eof, "READDIR");
	CALL(rpc_nfs3_readdirplus_async, take_readdirplus3, &p);
	ok(a.status == 0 && a.entries == 7 && a.eof, "READDIRPLUS");
	CALL(rpc_nfs3_rename_async, take_status, &r);
	cmp_ok(a.status, "==", 0, "RENAME");
	CALL(rpc_nfs3_access_async, take_access3, &acc);
	ok(a.status == 0 && a.number == 0x1f, "ACCESS");
}

static void
test_rest3(void)
{
	FSSTAT3args st = { .fsroot = handle(root, root_len) };
	FSINFO3args in = { .fsroot = handle(root, root_len) };
	PATHCONF3args pc = { .object = handle(root, root_len) };
	REMOVE3args r;
	RMDIR3args d = { .object = in_root(name_buf[1]) };
	int i;

	CALL(rpc_nfs3_fsstat_async, take_status, &st);
	cmp_ok(a.status, "==", 0, "FSSTAT");
	CALL(rpc_nfs3_fsinfo_async, take_fsinfo3, &in);
	ok(a.status == 0 && a.number == 1024 * 1024, "FSINFO");
	CALL(rpc_nfs3_pathconf_async, take_pathconf3, &pc);
	ok(a.status == 0 && a.number == 255, "PATHCONF");
	for (i = 0; i < 4; i++) {
		r.object = in_root(name_buf[i]);
		CALL(rpc_nfs3_remove_async, take_status, &r);
		cmp_ok(a.status, "==", i == 1 ? NFS3ERR_ISDIR : 0,
		    "REMOVE of %s", name_buf[i]);
	}
	CALL(rpc_nfs3_rmdir_async, take_status, &d);
	cmp_ok(a.status, "==", 0, "RMDIR");
}

static void
take_attr2(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	GETATTR2res *r = begin(status, data);

	if (r != NULL)
		keep_attr2(&r->GETATTR2res_u.resok.attributes);
}

/* LOOKUP, CREATE and MKDIR have the same results. */
static void
take_dirop2(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	LOOKUP2res *r = begin(status, data);

	if (r == NULL)
		return;
	keep_handle(r->LOOKUP2res_u.resok.file, 32);
	keep_attr2(&r->LOOKUP2res_u.resok.attributes);
}

static void
take_read2(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	READ2res *r = begin(status, data);

	if (r == NULL)
		return;
	keep_attr2(&r->READ2res_u.resok.attributes);
	keep_data(r->READ2res_u.resok.data.nfsdata2_val,
	    r->READ2res_u.resok.data.nfsdata2_len);
}

static void
take_readlink2(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	READLINK2res *r = begin(status, data);

	if (r != NULL)
		keep_data(r->READLINK2res_u.resok.data,
		    strlen(r->READLINK2res_u.resok.data));
}

static void
take_readdir2(struct rpc_context *ctx UNUSED, int status, void *data,
    void *arg UNUSED)
{
	READDIR2res *r = begin(status, data);
	entry2 e;

	if (r == NULL)
		return;
	e.nextentry = r->READDIR2res_u.resok.entries;
	while (next_entry(e.nextentry, &e, sizeof(e)) != NULL)
		a.entries++;
	a.eof = r->READDIR2res_u.resok.eof != 0;
}

static diropargs2
at2(char *name)
{
	diropargs2 d = { .name = name };

	memcpy(d.dir, root, sizeof(d.dir));
	return d;
}

static sattr2
sattr(u_int mode, u_int size)
{
	sattr2 s;

	memset(&s, 0xff, sizeof(s));
	s.mode = mode;
	s.size = size;
	return s;
}

static void
test_make2(void)
{
	static char text[] = "file";
	CREATE2args c = { .where = at2(name_buf[0]),
		.attributes = sattr(0640, 0) };
	MKDIR2args d = { .where = at2(name_buf[1]),
		.attributes = sattr(0750, UINT32_MAX) };
	SYMLINK2args s = { .from = at2(name_buf[2]),
		.to = text,
		.attributes = sattr(0777, UINT32_MAX) };
	LINK2args l = { .to = at2(name_buf[4]) };

	CALL(rpc_nfs2_create_async, take_dirop2, &c);
	ok(a.status == 0 && a.mode == 0100640, "version 2 CREATE");
	memcpy(file, a.fh, 32);
	CALL(rpc_nfs2_mkdir_async, take_dirop2, &d);
	ok(a.status == 0 && a.mode == 040750, "version 2 MKDIR");
	CALL(rpc_nfs2_symlink_async, take_status, &s);
	cmp_ok(a.status, "==", 0, "version 2 SYMLINK");
	memcpy(l.from, file, 32);
	CALL(rpc_nfs2_link_async, take_status, &l);
	cmp_ok(a.status, "==", 0, "version 2 LINK");
}

static void
test_data2(void)
{
	static char text[] = "some data";
	WRITE2args w = { .offset = 5 };
	READ2args r = { .count = 8192 };
	SETATTR2args s = { .attributes = sattr(UINT32_MAX, 3) };
	GETATTR2args g;

	memcpy(w.file, file, 32);
	w.data.nfsdata2_val = text;
	w.data.nfsdata2_len = 9;
	CALL(rpc_nfs2_write_async, take_attr2, &w);
	ok(a.status == 0 && a.size == 14, "version 2 WRITE");
	memcpy(r.file, file, 32);
	CALL(rpc_nfs2_read_async, take_read2, &r);
	ok(a.status == 0 && a.len == 14 && strcmp(a.data + 5, text) == 0,
	    "version 2 READ");
	memcpy(s.fhandle, file, 32);
	CALL(rpc_nfs2_setattr_async, take_attr2, &s);
	ok(a.status == 0 && a.size == 3, "version 2 SETATTR");
	memcpy(g.fhandle, file, 32);
	CALL(rpc_nfs2_getattr_async, take_attr2, &g);
	ok(a.status == 0 && a.size == 3 && a.nlink == 2, "version 2 GETATTR");
}

static void
test_rest2(void)
{
	LOOKUP2args l = { .what = at2(name_buf[2]) };
	READLINK2args t;
	READDIR2args d = { .count = 4096 };
	RENAME2args r = { .from = at2(name_buf[4]), .to = at2(name_buf[2]) };
	STATFS2args st;
	REMOVE2args rm;
	RMDIR2args rd = { .what = at2(name_buf[1]) };

	CALL(rpc_nfs2_lookup_async, take_dirop2, &l);
	cmp_ok(a.status, "==", 0, "version 2 LOOKUP");
	memcpy(t.file, a.fh, 32);
	CALL(rpc_nfs2_readlink_async, take_readlink2, &t);
	is(a.data, "file", "version 2 READLINK");
	memcpy(d.dir, root, 32);
	CALL(rpc_nfs2_readdir_async, take_readdir2, &d);
	ok(a.status == 0 && a.entries == 6 && a.eof, "version 2 READDIR");
	CALL(rpc_nfs2_rename_async, take_status, &r);
	cmp_ok(a.status, "==", 0, "version 2 RENAME");
	memcpy(st.dir, root, 32);
	CALL(rpc_nfs2_statfs_async, take_status, &st);
	cmp_ok(a.status, "==", 0, "version 2 STATFS");
	rm.what = at2(name_buf[0]);
	CALL(rpc_nfs2_remove_async, take_status, &rm);
	cmp_ok(a.status, "==", 0, "version 2 REMOVE");
	rm.what = at2(name_buf[2]);
	CALL(rpc_nfs2_remove_async, take_status, &rm);
	cmp_ok(a.status, "==", 0, "version 2 REMOVE of a link");
	CALL(rpc_nfs2_rmdir_async, take_status, &rd);
	cmp_ok(a.status, "==", 0, "version 2 RMDIR");
}

int
main(int argc, char *argv[])
{
	int uid;

	if (argc != 4)
		errx(1, "usage: libnfs_raw server path uid");
	uid = (int)strtonum(argv[3], 0, INT32_MAX, NULL);
	plan(NO_PLAN);
	connect_to(argv[1], MOUNT_PROGRAM, MOUNT_V3, uid);
	CALL(rpc_mount3_mnt_async, take_mnt3, argv[2]);
	ok(a.status == 0 && a.fh_len == 32, "MNT gives a handle of 32 bytes");
	memcpy(root, a.fh, a.fh_len);
	root_len = a.fh_len;
	rpc_destroy_context(rpc);
	connect_to(argv[1], NFS_PROGRAM, NFS_V3, uid);
	test_make3();
	test_data3();
	test_names3();
	test_rest3();
	rpc_destroy_context(rpc);
	connect_to(argv[1], NFS_PROGRAM, NFS_V2, uid);
	test_make2();
	test_data2();
	test_rest2();
	rpc_destroy_context(rpc);
	done_testing();
}
