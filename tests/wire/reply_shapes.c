/* SPDX-License-Identifier: ISC */
/*
 * The shapes of all results: RFC 1833 (portmapper), RFC 1094 and RFC 1813 (MOUNT
 * and NFS), by number.
 * Runs in: tests, fuzzers.
 */
#include "base/util.h"
#include "reply_shape.h"

#define PROCS_MAX 22
#define POST	  "?(a)"
#define WCC	  "?(p)?(a)"
#define MADE	  "?(o)" POST WCC
#define MOUNTS	  "*(oo)"
#define EXPORTS	  "*(o*(o))"
#define STAT	  "uuuuuuuuuuuuuuu*(uuuuo)*(uuuuuuo)" /* of one version */

/* clang-format off */
static const struct {
	uint32_t prog, vers;
	struct reply_shape procs[PROCS_MAX];
} tables[] = {
	{ 100000, 2, {
		{ "", NULL }, /* NULL */
		{ "b", NULL }, /* SET */
		{ "b", NULL }, /* UNSET */
		{ "u", NULL }, /* GETPORT */
		{ "*(uuuu)", NULL }, /* DUMP */
		{ "uo", NULL }, /* CALLIT */
	} },
	{ 100000, 3, {
		{ "", NULL }, /* NULL */
		{ "b", NULL }, /* SET */
		{ "b", NULL }, /* UNSET */
		{ "o", NULL }, /* GETADDR */
		{ "*(uuooo)", NULL }, /* DUMP */
		{ "oo", NULL }, /* CALLIT */
		{ "u", NULL }, /* GETTIME */
		{ "uo", NULL }, /* UADDR2TADDR */
		{ "o", NULL }, /* TADDR2UADDR */
	} },
	{ 100000, 4, {
		{ "", NULL }, /* NULL */
		{ "b", NULL }, /* SET */
		{ "b", NULL }, /* UNSET */
		{ "o", NULL }, /* GETADDR */
		{ "*(uuooo)", NULL }, /* DUMP */
		{ "oo", NULL }, /* BCAST */
		{ "u", NULL }, /* GETTIME */
		{ "uo", NULL }, /* UADDR2TADDR */
		{ "o", NULL }, /* TADDR2UADDR */
		{ "o", NULL }, /* GETVERSADDR */
		{ "oo", NULL }, /* INDIRECT */
		{ "*(oouoo)", NULL }, /* GETADDRLIST */
		{ STAT STAT STAT, NULL }, /* GETSTAT */
	} },
	{ 100005, 1, {
		{ "", NULL }, /* NULL */
		{ "v", "" }, /* MNT */
		{ MOUNTS, NULL }, /* DUMP */
		{ "", NULL }, /* UMNT */
		{ "", NULL }, /* UMNTALL */
		{ EXPORTS, NULL }, /* EXPORT */
		{ EXPORTS, NULL }, /* EXPORTALL */
	} },
	{ 100005, 2, {
		{ "", NULL }, /* NULL */
		{ "v", "" }, /* MNT */
		{ MOUNTS, NULL }, /* DUMP */
		{ "", NULL }, /* UMNT */
		{ "", NULL }, /* UMNTALL */
		{ EXPORTS, NULL }, /* EXPORT */
		{ EXPORTS, NULL }, /* EXPORTALL */
		{ "uuuuuuuuuu", NULL }, /* PATHCONF */
	} },
	{ 100005, 3, {
		{ "", NULL }, /* NULL */
		{ "o#(u)", "" }, /* MNT */
		{ MOUNTS, NULL }, /* DUMP */
		{ "", NULL }, /* UMNT */
		{ "", NULL }, /* UMNTALL */
		{ EXPORTS, NULL }, /* EXPORT */
	} },
	{ 100003, 2, {
		{ "", NULL }, /* NULL */
		{ "f", "" }, /* GETATTR */
		{ "f", "" }, /* SETATTR */
		{ "", NULL }, /* ROOT */
		{ "vf", "" }, /* LOOKUP */
		{ "o", "" }, /* READLINK */
		{ "fo", "" }, /* READ */
		{ "", NULL }, /* WRITECACHE */
		{ "f", "" }, /* WRITE */
		{ "vf", "" }, /* CREATE */
		{ "", "" }, /* REMOVE */
		{ "", "" }, /* RENAME */
		{ "", "" }, /* LINK */
		{ "", "" }, /* SYMLINK */
		{ "vf", "" }, /* MKDIR */
		{ "", "" }, /* RMDIR */
		{ "*(uou)b", "" }, /* READDIR */
		{ "uuuuu", "" }, /* STATFS */
	} },
	{ 100003, 3, {
		{ "", NULL }, /* NULL */
		{ "a", "" }, /* GETATTR */
		{ WCC, WCC }, /* SETATTR */
		{ "o" POST POST, POST }, /* LOOKUP */
		{ POST "u", POST }, /* ACCESS */
		{ POST "o", POST }, /* READLINK */
		{ POST "ubo", POST }, /* READ */
		{ WCC "uuU", WCC }, /* WRITE */
		{ MADE, WCC }, /* CREATE */
		{ MADE, WCC }, /* MKDIR */
		{ MADE, WCC }, /* SYMLINK */
		{ MADE, WCC }, /* MKNOD */
		{ WCC, WCC }, /* REMOVE */
		{ WCC, WCC }, /* RMDIR */
		{ WCC WCC, WCC WCC }, /* RENAME */
		{ POST WCC, POST WCC }, /* LINK */
		{ POST "U*(UoU)b", POST }, /* READDIR */
		{ POST "U*(UoU" POST "?(o))b", POST }, /* READDIRPLUS */
		{ POST "UUUUUUu", POST }, /* FSSTAT */
		{ POST "uuuuuuuUUu", POST }, /* FSINFO */
		{ POST "uubbbb", POST }, /* PATHCONF */
		{ WCC "U", WCC }, /* COMMIT */
	} },
};
/* clang-format on */

const struct reply_shape *
reply_shape_find(uint32_t prog, uint32_t vers, uint32_t proc)
{
	size_t i;

	for (i = 0; i < nitems(tables) && proc < PROCS_MAX; i++)
		if (tables[i].prog == prog && tables[i].vers == vers &&
		    tables[i].procs[proc].good != NULL)
			return &tables[i].procs[proc];
	return NULL;
}
