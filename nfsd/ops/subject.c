/* SPDX-License-Identifier: ISC */
/*
 * What a call is about: see subject.h. One row for each operation says where in
 * the arguments its handles and names are.
 * Runs in: nfsd worker.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/ops/ops.h"
#include "nfsd/ops/subject.h"

#define NAME_SHOWN 260

struct row {
	void (*run)(struct call_ctx *, const struct call_args *,
	    struct call_res *);
	bool changes;
	bool has_name;
	size_t object; /* a struct fh; with a name, a struct nfs_place */
	size_t to; /* a struct nfs_place; 0: none */
};

#define AT(member) offsetof(struct call_args, member)

/* clang-format off */
static const struct row subject_rows[] = {
	{ op_access,      false, false, AT(access.object), 0 },
	{ op_commit,      false, false, AT(commit.file), 0 },
	{ op_create,      true,  true,  AT(make.at), 0 },
	{ op_fsinfo,      false, false, AT(object), 0 },
	{ op_fsstat,      false, false, AT(object), 0 },
	{ op_getacl,      false, false, AT(acl.object), 0 },
	{ op_getattr,     false, false, AT(object), 0 },
	{ op_link,        true,  false, AT(link.file), AT(link.to) },
	{ op_lookup,      false, true,  AT(place), 0 },
	{ op_mkdir,       true,  true,  AT(make.at), 0 },
	{ op_mknod,       true,  true,  AT(make.at), 0 },
	{ op_pathconf,    false, false, AT(object), 0 },
	{ op_read,        false, false, AT(read.file), 0 },
	{ op_readdir,     false, false, AT(readdir.dir), 0 },
	{ op_readdirplus, false, false, AT(readdir.dir), 0 },
	{ op_readlink,    false, false, AT(object), 0 },
	{ op_remove,      true,  true,  AT(place), 0 },
	{ op_rename,      true,  true,  AT(rename.from), AT(rename.to) },
	{ op_rmdir,       true,  true,  AT(place), 0 },
	{ op_setacl,      true,  false, AT(acl.object), 0 },
	{ op_setattr,     true,  false, AT(setattr.object), 0 },
	{ op_symlink,     true,  true,  AT(make.at), 0 },
	{ op_write,       false, false, AT(write.file), 0 },
};
/* clang-format on */

bool
ops_subject(const struct rpc_proc *proc, const struct call_args *args,
    struct op_subject *s)
{
	const char *base = (const char *)args;
	const struct nfs_place *place;
	const struct row *row;
	size_t i;

	for (i = 0; i < nitems(subject_rows); i++)
		if (subject_rows[i].run == proc->run)
			break;
	if (i == nitems(subject_rows))
		return false;
	row = &subject_rows[i];
	*s = (struct op_subject){ .changes = row->changes };
	s->object = (const struct fh *)(const void *)(base + row->object);
	if (row->has_name) {
		place = (const struct nfs_place *)(const void *)s->object;
		s->name = &place->name;
	}
	if (row->to != 0) {
		place =
		    (const struct nfs_place *)(const void *)(base + row->to);
		s->to_dir = &place->dir;
		s->to = &place->name;
	}
	return true;
}

static const char *
show_name(char out[NAME_SHOWN], const struct nfs_name *name)
{
	if (name->fault != NFS_OK)
		return "(no name of a file)";
	return log_text(out, NAME_SHOWN, name->str, strlen(name->str));
}

void
ops_show(const struct rpc_call *call, const struct call_res *res,
    char out[RPC_SHOWN])
{
	char name[NAME_SHOWN], to[NAME_SHOWN];
	struct op_subject s;
	int n;

	n = snprintf(out, RPC_SHOWN, ", %s", nfs_status_name(res->status));
	if (!ops_subject(call->proc, call->args, &s))
		return;
	if (s.name != NULL)
		n += snprintf(out + n, RPC_SHOWN - (size_t)n, ", name \"%s\"",
		    show_name(name, s.name));
	if (s.to != NULL)
		(void)snprintf(out + n, RPC_SHOWN - (size_t)n, ", to \"%s\"",
		    show_name(to, s.to));
}
