/* SPDX-License-Identifier: ISC */
/*
 * The tables of both versions: every row is complete and in its place, rows of
 * the same name share the operation, rows that are not idempotent are cached.
 * Runs in: test program.
 */
#include <string.h>

#include "base/util.h"
#include "nfsd/wire/nfs2_xdr.h"
#include "nfsd/wire/nfs3_xdr.h"
#include "tap.h"

/* In the order of RFC 1094, 2.2 and RFC 1813, 3. */
static const char *const names2[] = { "NULL", "GETATTR", "SETATTR", "ROOT",
	"LOOKUP", "READLINK", "READ", "WRITECACHE", "WRITE", "CREATE", "REMOVE",
	"RENAME", "LINK", "SYMLINK", "MKDIR", "RMDIR", "READDIR", "STATFS" };
static const char *const names3[] = { "NULL", "GETATTR", "SETATTR", "LOOKUP",
	"ACCESS", "READLINK", "READ", "WRITE", "CREATE", "MKDIR", "SYMLINK",
	"MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK", "READDIR", "READDIRPLUS",
	"FSSTAT", "FSINFO", "PATHCONF", "COMMIT" };
/* Procedures that are not idempotent. */
static const char *const once[] = { "SETATTR", "CREATE", "MKDIR", "SYMLINK",
	"MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK" };

static bool
must_be_cached(const char *name)
{
	size_t i;

	for (i = 0; i < nitems(once); i++)
		if (strcmp(once[i], name) == 0)
			return true;
	return false;
}

static void
test_table(const struct rpc_proc *rows, const char *const *names, size_t n,
    unsigned int vers)
{
	size_t i;

	for (i = 0; i < n; i++) {
		is(rows[i].name, names[i], "version %u, procedure %zu", vers,
		    i);
		ok(rows[i].get != NULL && rows[i].run != NULL &&
			rows[i].put != NULL,
		    "%s is complete", names[i]);
		cmp_ok((rows[i].flags & RPC_CACHED) != 0,
		    "==", must_be_cached(names[i]),
		    "replies to %s are%s cached", names[i],
		    must_be_cached(names[i]) ? "" : " not");
	}
}

static void
test_shared(void)
{
	size_t i, j;

	for (i = 0; i < nitems(names2); i++)
		for (j = 0; j < nitems(names3); j++)
			if (strcmp(names2[i], names3[j]) == 0)
				ok(nfs2_procs[i].run == nfs3_procs[j].run,
				    "both versions run the same %s", names2[i]);
	ok(nfs2_procs[NFSPROC2_STATFS].run == nfs3_procs[NFSPROC3_FSSTAT].run,
	    "STATFS is FSSTAT");
}

int
main(void)
{
	plan(NO_PLAN);
	cmp_ok(nitems(names2), "==", NFSPROC2_COUNT, "18 procedures");
	cmp_ok(nitems(names3), "==", NFSPROC3_COUNT, "22 procedures");
	test_table(nfs2_procs, names2, nitems(names2), 2);
	test_table(nfs3_procs, names3, nitems(names3), 3);
	test_shared();
	ok(nfs_program.nvers == 2 && nfs_program.vers[0].vers == 2 &&
		nfs_program.vers[1].vers == 3,
	    "the program has versions 2 and 3");
	done_testing();
}
