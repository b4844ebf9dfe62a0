/* SPDX-License-Identifier: ISC */
/*
 * The headers of calls and replies in words: "call nfs3 LOOKUP uid 0" and
 * "reply NOENT". The numbers are those of RFC 5531, 1094, 1813, 1833 and XNFS. They
 * are repeated here because the daemons' own tables are what is tested.
 * Runs in: tests.
 */
#include <string.h>

#include "base/util.h"
#include "case_parser.h"
#include "reply_shape.h"

#define AUTH_SYS_FLAVOR 1
#define PROGRAM_AT	12 /* in a call; version and procedure follow */
#define HEADER_MIN	24

static const struct case_program programs[] = {
	{ "nfs2", 100003, 2, NFS2 },
	{ "nfs3", 100003, 3, NFS3 },
	{ "nfsacl2", 100227, 2, NFS2 | NFSACL },
	{ "nfsacl3", 100227, 3, NFS3 | NFSACL },
	{ "rquota1", 100011, 1, RQUOTA },
	{ "rquota2", 100011, 2, RQUOTA },
	{ "mount1", 100005, 1, MOUNT1 },
	{ "mount2", 100005, 2, MOUNT1 },
	{ "mount3", 100005, 3, MOUNT3 },
	{ "pmap2", 100000, 2, PMAP2 },
	{ "rpcb3", 100000, 3, RPCB },
	{ "rpcb4", 100000, 4, RPCB },
	{ "nlm1", 100021, 1, NLM1 },
	{ "nlm3", 100021, 3, NLM1 },
	{ "nlm4", 100021, 4, NLM4 },
	{ "nsm1", 100024, 1, NSM },
};

struct status {
	const char *word;
	uint32_t number;
};

/* accept_stat of RFC 5531 without SUCCESS. */
static const struct status accepted[] = {
	{ "PROG_UNAVAIL", 1 },
	{ "PROG_MISMATCH", 2 },
	{ "PROC_UNAVAIL", 3 },
	{ "GARBAGE_ARGS", 4 },
	{ "SYSTEM_ERR", 5 },
};

/* nfsstat, nfsstat3 and mountstat3, without their prefixes. */
static const struct status statuses[] = {
	{ "ok", 0 },
	{ "PERM", 1 },
	{ "NOENT", 2 },
	{ "IO", 5 },
	{ "NXIO", 6 },
	{ "ACCES", 13 },
	{ "EXIST", 17 },
	{ "XDEV", 18 },
	{ "NODEV", 19 },
	{ "NOTDIR", 20 },
	{ "ISDIR", 21 },
	{ "INVAL", 22 },
	{ "FBIG", 27 },
	{ "NOSPC", 28 },
	{ "ROFS", 30 },
	{ "MLINK", 31 },
	{ "NAMETOOLONG", 63 },
	{ "NOTEMPTY", 66 },
	{ "DQUOT", 69 },
	{ "STALE", 70 },
	{ "REMOTE", 71 },
	{ "BADHANDLE", 10001 },
	{ "NOT_SYNC", 10002 },
	{ "BAD_COOKIE", 10003 },
	{ "NOTSUPP", 10004 },
	{ "TOOSMALL", 10005 },
	{ "SERVERFAULT", 10006 },
	{ "BADTYPE", 10007 },
	{ "JUKEBOX", 10008 },
};

/* The number of a word, or -1. */
static long
number_of(const struct status *rows, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(rows[i].word, word) == 0)
			return (long)rows[i].number;
	return -1;
}

static uint32_t
word_at(const struct case_message *m, size_t at)
{
	const uint8_t *b = m->bytes + at;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	    (uint32_t)b[2] << 8 | b[3];
}

const struct case_program *
case_program(const struct case_parser *p)
{
	const struct case_message *call = &p->ex->call;
	size_t i;

	for (i = 0; i < nitems(programs) && call->len >= HEADER_MIN; i++)
		if (programs[i].prog == word_at(call, PROGRAM_AT) &&
		    programs[i].vers == word_at(call, PROGRAM_AT + 4))
			return &programs[i];
	return NULL;
}

static const struct case_program *
program_named(struct case_parser *p, const char *name)
{
	size_t i;

	for (i = 0; i < nitems(programs); i++)
		if (strcmp(programs[i].name, name) == 0)
			return &programs[i];
	(void)case_fail(p,
	    "unknown program \"%s\": expected nfs2 nfs3 nfsacl2 nfsacl3 "
	    "rquota1 rquota2 mount1 mount2 mount3 pmap2 rpcb3 rpcb4 nlm1 nlm3 nlm4 or nsm1",
	    name);
	return NULL;
}

/* AUTH_SYS without stamp and machine name: uid 5 gid 6 groups 7 8. */
static bool
add_credential(struct case_parser *p)
{
	size_t at = p->msg->len + 4;

	if (!case_skip(p, "uid"))
		return case_fail(p,
		    "\"%s\" behind the procedure: expected uid or nothing",
		    *p->next);
	if (!case_add_u32(p, AUTH_SYS_FLAVOR) || !case_add_u32(p, 0) ||
	    !case_add_u32(p, 0) || !case_add_u32(p, 0) ||
	    !case_put_number(p, 4))
		return false;
	if (case_skip(p, "gid") ?
		!case_put_number(p, 4) :
		!case_add_u32(p, word_at(p->msg, p->msg->len - 4)))
		return false;
	if (case_skip(p, "groups") ? !case_put_list(p, 4) : !case_add_u32(p, 0))
		return false;
	case_set_u32(p, at, p->msg->len - at - 4);
	return true;
}

bool
case_call_header(struct case_parser *p)
{
	const struct case_program *program;
	const char *name;
	long proc;

	if (*p->next == NULL)
		return true;
	program = program_named(p, *p->next++);
	name = program == NULL ? NULL : case_take(p, "a procedure");
	if (name == NULL)
		return false;
	proc = reply_shape_number(program->prog, program->vers, name);
	if (proc == -1)
		return case_fail(p, "%s has no procedure \"%s\"", program->name,
		    name);
	return case_add_u32(p, (uint32_t)p->c->nexchanges) &&
	    case_add_u32(p, 0) && case_add_u32(p, 2) &&
	    case_add_u32(p, program->prog) && case_add_u32(p, program->vers) &&
	    case_add_u32(p, (uint32_t)proc) &&
	    (*p->next != NULL ? add_credential(p) :
				case_add_u32(p, 0) && case_add_u32(p, 0)) &&
	    case_add_u32(p, 0) && case_add_u32(p, 0);
}

bool
case_reply_header(struct case_parser *p)
{
	const struct case_message *call = &p->ex->call;
	const struct reply_shape *shape = NULL;
	const char *word = *p->next;
	long error, status;

	if (word == NULL)
		return true;
	p->next++;
	error = number_of(accepted, nitems(accepted), word);
	status = number_of(statuses, nitems(statuses), word);
	if (error == -1 && status == -1)
		return case_fail(p,
		    "unknown reply \"%s\": expected ok none hangup, or a status "
		    "such as NOENT or GARBAGE_ARGS",
		    word);
	if (call->len >= HEADER_MIN)
		shape = reply_shape_find(word_at(call, PROGRAM_AT),
		    word_at(call, PROGRAM_AT + 4),
		    word_at(call, PROGRAM_AT + 8));
	if (shape == NULL)
		return case_fail(p, "reply in words to an unknown procedure");
	if (status > 0 && shape->bad == NULL)
		return case_fail(p, "this procedure has no status %s", word);
	return case_add_u32(p, word_at(call, 0)) && case_add_u32(p, 1) &&
	    case_add_u32(p, 0) && case_add_u32(p, 0) && case_add_u32(p, 0) &&
	    case_add_u32(p, error == -1 ? 0 : (uint32_t)error) &&
	    (error != -1 || shape->bad == NULL ||
		case_add_u32(p, (uint32_t)status));
}
