/* SPDX-License-Identifier: ISC */
/*
 * The shapes of all results: RFC 1833 (portmapper), RFC 1094 and RFC 1813 (MOUNT
 * and NFS), XNFS (NLM and NSM), by number; and of NFSACL and
 * RQUOTA, which have no RFC.
 * Runs in: tests, fuzzers.
 */
#include <string.h>

#include "base/util.h"
#include "reply_shape.h"

#define PROCS_MAX 24
#define POST	  "?(a)"
#define WCC	  "?(p)?(a)"
#define MADE	  "?(o)" POST WCC
#define MOUNTS	  "*(oo)"
#define EXPORTS	  "*(o*(o))"
#define NLM_MSGS                                                               \
	{ "TEST_MSG", { "", NULL } }, { "LOCK_MSG", { "", NULL } },            \
	    { "CANCEL_MSG", { "", NULL } }, { "UNLOCK_MSG", { "", NULL } },    \
	    { "GRANTED_MSG", { "", NULL } }, { "TEST_RES", { "", NULL } },     \
	    { "LOCK_RES", { "", NULL } }, { "CANCEL_RES", { "", NULL } },      \
	    { "UNLOCK_RES", { "", NULL } },                                    \
	{                                                                      \
		"GRANTED_RES",                                                 \
		{                                                              \
			"", NULL                                               \
		}                                                              \
	}
#define ACLS  "uu#(uuu)u#(uuu)"
#define QUOTA "1(ubuuuuuuuu)"
#define STAT  "uuuuuuuuuuuuuuu*(uuuuo)*(uuuuuuo)" /* of one version */

/* clang-format off */
static const struct shape_table {
	uint32_t prog, vers;
	struct {
		const char *name; /* as in the RFC */
		struct reply_shape shape;
	} procs[PROCS_MAX];
} tables[] = {
	{ 100000, 2, {
		{ "NULL", { "", NULL } },
		{ "SET", { "b", NULL } },
		{ "UNSET", { "b", NULL } },
		{ "GETPORT", { "u", NULL } },
		{ "DUMP", { "*(uuuu)", NULL } },
		{ "CALLIT", { "uo", NULL } },
	} },
	{ 100000, 3, {
		{ "NULL", { "", NULL } },
		{ "SET", { "b", NULL } },
		{ "UNSET", { "b", NULL } },
		{ "GETADDR", { "o", NULL } },
		{ "DUMP", { "*(uuooo)", NULL } },
		{ "CALLIT", { "oo", NULL } },
		{ "GETTIME", { "u", NULL } },
		{ "UADDR2TADDR", { "uo", NULL } },
		{ "TADDR2UADDR", { "o", NULL } },
	} },
	{ 100000, 4, {
		{ "NULL", { "", NULL } },
		{ "SET", { "b", NULL } },
		{ "UNSET", { "b", NULL } },
		{ "GETADDR", { "o", NULL } },
		{ "DUMP", { "*(uuooo)", NULL } },
		{ "BCAST", { "oo", NULL } },
		{ "GETTIME", { "u", NULL } },
		{ "UADDR2TADDR", { "uo", NULL } },
		{ "TADDR2UADDR", { "o", NULL } },
		{ "GETVERSADDR", { "o", NULL } },
		{ "INDIRECT", { "oo", NULL } },
		{ "GETADDRLIST", { "*(oouoo)", NULL } },
		{ "GETSTAT", { STAT STAT STAT, NULL } },
	} },
	{ 100005, 1, {
		{ "NULL", { "", NULL } },
		{ "MNT", { "v", "" } },
		{ "DUMP", { MOUNTS, NULL } },
		{ "UMNT", { "", NULL } },
		{ "UMNTALL", { "", NULL } },
		{ "EXPORT", { EXPORTS, NULL } },
		{ "EXPORTALL", { EXPORTS, NULL } },
	} },
	{ 100005, 2, {
		{ "NULL", { "", NULL } },
		{ "MNT", { "v", "" } },
		{ "DUMP", { MOUNTS, NULL } },
		{ "UMNT", { "", NULL } },
		{ "UMNTALL", { "", NULL } },
		{ "EXPORT", { EXPORTS, NULL } },
		{ "EXPORTALL", { EXPORTS, NULL } },
		{ "PATHCONF", { "uuuuuuuuuu", NULL } },
	} },
	{ 100005, 3, {
		{ "NULL", { "", NULL } },
		{ "MNT", { "o#(u)", "" } },
		{ "DUMP", { MOUNTS, NULL } },
		{ "UMNT", { "", NULL } },
		{ "UMNTALL", { "", NULL } },
		{ "EXPORT", { EXPORTS, NULL } },
	} },
	{ 100003, 2, {
		{ "NULL", { "", NULL } },
		{ "GETATTR", { "f", "" } },
		{ "SETATTR", { "f", "" } },
		{ "ROOT", { "", NULL } },
		{ "LOOKUP", { "vf", "" } },
		{ "READLINK", { "o", "" } },
		{ "READ", { "fo", "" } },
		{ "WRITECACHE", { "", NULL } },
		{ "WRITE", { "f", "" } },
		{ "CREATE", { "vf", "" } },
		{ "REMOVE", { "", "" } },
		{ "RENAME", { "", "" } },
		{ "LINK", { "", "" } },
		{ "SYMLINK", { "", "" } },
		{ "MKDIR", { "vf", "" } },
		{ "RMDIR", { "", "" } },
		{ "READDIR", { "*(uou)b", "" } },
		{ "STATFS", { "uuuuu", "" } },
	} },
	{ 100003, 3, {
		{ "NULL", { "", NULL } },
		{ "GETATTR", { "a", "" } },
		{ "SETATTR", { WCC, WCC } },
		{ "LOOKUP", { "o" POST POST, POST } },
		{ "ACCESS", { POST "u", POST } },
		{ "READLINK", { POST "o", POST } },
		{ "READ", { POST "ubo", POST } },
		{ "WRITE", { WCC "uuU", WCC } },
		{ "CREATE", { MADE, WCC } },
		{ "MKDIR", { MADE, WCC } },
		{ "SYMLINK", { MADE, WCC } },
		{ "MKNOD", { MADE, WCC } },
		{ "REMOVE", { WCC, WCC } },
		{ "RMDIR", { WCC, WCC } },
		{ "RENAME", { WCC WCC, WCC WCC } },
		{ "LINK", { POST WCC, POST WCC } },
		{ "READDIR", { POST "U*(UoU)b", POST } },
		{ "READDIRPLUS", { POST "U*(UoU" POST "?(o))b", POST } },
		{ "FSSTAT", { POST "UUUUUUu", POST } },
		{ "FSINFO", { POST "uuuuuuuUUu", POST } },
		{ "PATHCONF", { POST "uubbbb", POST } },
		{ "COMMIT", { WCC "U", WCC } },
	} },
	{ 100021, 1, {
		{ "NULL", { "", NULL } },
		{ "TEST", { "o1(buouu)", NULL } },
		{ "LOCK", { "ou", NULL } },
		{ "CANCEL", { "ou", NULL } },
		{ "UNLOCK", { "ou", NULL } },
		{ "GRANTED", { "ou", NULL } },
		NLM_MSGS,
	} },
	{ 100021, 3, {
		{ "NULL", { "", NULL } },
		{ "TEST", { "o1(buouu)", NULL } },
		{ "LOCK", { "ou", NULL } },
		{ "CANCEL", { "ou", NULL } },
		{ "UNLOCK", { "ou", NULL } },
		{ "GRANTED", { "ou", NULL } },
		NLM_MSGS,
		[20] = { "SHARE", { "ouu", NULL } },
		{ "UNSHARE", { "ouu", NULL } },
		{ "NM_LOCK", { "ou", NULL } },
		{ "FREE_ALL", { "", NULL } },
	} },
	{ 100021, 4, {
		{ "NULL", { "", NULL } },
		{ "TEST", { "o1(buoUU)", NULL } },
		{ "LOCK", { "ou", NULL } },
		{ "CANCEL", { "ou", NULL } },
		{ "UNLOCK", { "ou", NULL } },
		{ "GRANTED", { "ou", NULL } },
		NLM_MSGS,
		[20] = { "SHARE", { "ouu", NULL } },
		{ "UNSHARE", { "ouu", NULL } },
		{ "NM_LOCK", { "ou", NULL } },
		{ "FREE_ALL", { "", NULL } },
	} },
	{ 100024, 1, {
		{ "NULL", { "", NULL } },
		{ "STAT", { "uu", NULL } },
		{ "MON", { "uu", NULL } },
		{ "UNMON", { "u", NULL } },
		{ "UNMON_ALL", { "u", NULL } },
		{ "SIMU_CRASH", { "", NULL } },
		{ "NOTIFY", { "", NULL } },
	} },
	{ 100011, 1, {
		{ "NULL", { "", NULL } },
		{ "GETQUOTA", { QUOTA, NULL } },
		{ "GETACTIVEQUOTA", { QUOTA, NULL } },
		{ "SETQUOTA", { QUOTA, NULL } },
		{ "SETACTIVEQUOTA", { QUOTA, NULL } },
	} },
	{ 100011, 2, {
		{ "NULL", { "", NULL } },
		{ "GETQUOTA", { QUOTA, NULL } },
		{ "GETACTIVEQUOTA", { QUOTA, NULL } },
		{ "SETQUOTA", { QUOTA, NULL } },
		{ "SETACTIVEQUOTA", { QUOTA, NULL } },
	} },
	{ 100227, 2, {
		{ "NULL", { "", NULL } },
		{ "GETACL", { "f" ACLS, "" } },
		{ "SETACL", { "f", "" } },
		{ "GETATTR", { "f", "" } },
		{ "ACCESS", { "fu", "" } },
	} },
	{ 100227, 3, {
		{ "NULL", { "", NULL } },
		{ "GETACL", { POST ACLS, POST } },
		{ "SETACL", { POST, POST } },
	} },
};
/* clang-format on */

static const struct shape_table *
table_find(uint32_t prog, uint32_t vers)
{
	size_t i;

	for (i = 0; i < nitems(tables); i++)
		if (tables[i].prog == prog && tables[i].vers == vers)
			return &tables[i];
	return NULL;
}

const struct reply_shape *
reply_shape_find(uint32_t prog, uint32_t vers, uint32_t proc)
{
	const struct shape_table *t = table_find(prog, vers);

	return t == NULL || proc >= PROCS_MAX || t->procs[proc].name == NULL ?
	    NULL :
	    &t->procs[proc].shape;
}

long
reply_shape_number(uint32_t prog, uint32_t vers, const char *name)
{
	const struct shape_table *t = table_find(prog, vers);
	long i;

	for (i = 0; t != NULL && i < PROCS_MAX; i++)
		if (t->procs[i].name != NULL &&
		    strcmp(t->procs[i].name, name) == 0)
			return i;
	return -1;
}
