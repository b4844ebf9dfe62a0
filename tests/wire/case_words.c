/* SPDX-License-Identifier: ISC */
/*
 * The fields of calls and replies in words: "fh $root", "post dir 0755". A word
 * takes the tokens behind it that are its value. Tokens that no word takes are
 * bytes.
 * Runs in: tests.
 */
#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "case_parser.h"

#define NFS   (NFS2 | NFS3)
#define MOUNT (MOUNT1 | MOUNT3)
#define MAPS  (PMAP2 | RPCB)
#define NLM   (NLM1 | NLM4)
#define LOCKS (NLM | NSM)
#define ALL   (NFS | MOUNT | MAPS)

/* A word; size is what its put needs to know. */
struct field {
	const char *word;
	unsigned int in; /* dialects */
	bool (*put)(struct case_parser *, size_t size);
	size_t size;
};

/* A member of a structure; absent: the value when it is not named. */
struct member {
	const char *word;
	bool (*put)(struct case_parser *, size_t size);
	size_t size;
	const char *absent[3];
};

static const struct {
	const char *name;
	uint32_t value;
} symbols[] = {
	{ "false", 0 },
	{ "true", 1 },
	/* ftype, ftype3 */
	{ "reg", 1 },
	{ "dir", 2 },
	{ "blk", 3 },
	{ "chr", 4 },
	{ "lnk", 5 },
	{ "sock", 6 },
	{ "fifo", 7 },
	/* createmode3 */
	{ "UNCHECKED", 0 },
	{ "GUARDED", 1 },
	{ "EXCLUSIVE", 2 },
	/* stable_how */
	{ "UNSTABLE", 0 },
	{ "DATA_SYNC", 1 },
	{ "FILE_SYNC", 2 },
	/* flavors */
	{ "AUTH_NONE", 0 },
	{ "AUTH_SYS", 1 },
	/* protocols of version 2 of the portmapper, semantics of version 4 */
	{ "tcp", 6 },
	{ "udp", 17 },
	/* tags of an ACL */
	{ "USER_OBJ", 0x1 },
	{ "USER", 0x2 },
	{ "GROUP_OBJ", 0x4 },
	{ "GROUP", 0x8 },
	{ "MASK", 0x10 },
	{ "OTHER", 0x20 },
	{ "NC_TPI_CLTS", 1 },
	{ "NC_TPI_COTS_ORD", 3 },
	/* nlm_stats and nlm4_stats */
	{ "Q_NOQUOTA", 2 },
	{ "Q_EPERM", 3 },
	{ "GRANTED", 0 },
	{ "DENIED", 1 },
	{ "DENIED_NOLOCKS", 2 },
	{ "BLOCKED", 3 },
	{ "DENIED_GRACE_PERIOD", 4 },
	{ "DEADLCK", 5 },
	{ "ROFS", 6 },
	{ "STALE_FH", 7 },
	{ "FBIG", 8 },
	{ "FAILED", 9 },
	/* sm_res */
	{ "STAT_SUCC", 0 },
	{ "STAT_FAIL", 1 },
};

static const struct field *field_named(const struct case_parser *,
    const char *word);

/* A name as the whole of a number or a time. */
static bool
put_var(struct case_parser *p, const char *name, size_t size)
{
	size_t at = p->msg->len;

	if (!case_add_var(p, name))
		return false;
	if (p->msg->len - at != size)
		return case_fail(p, "$%s has %zu bytes, expected %zu", name,
		    p->msg->len - at, size);
	return true;
}

bool
case_put_number(struct case_parser *p, size_t size)
{
	const char *token = case_take(p, "a number");
	size_t i;

	if (token == NULL)
		return false;
	if (strcmp(token, "any") == 0)
		return case_add_many(p, 0, 0, (long)size);
	if (token[0] == '$')
		return put_var(p, token + 1, size);
	for (i = 0; i < nitems(symbols); i++)
		if (strcmp(symbols[i].name, token) == 0)
			return case_add_many(p, 0, 0xff, (long)size - 4) &&
			    case_add_u32(p, symbols[i].value);
	if (token[0] != '-' && !isdigit((unsigned char)token[0]))
		return case_fail(p, "\"%s\" is neither number nor symbol",
		    token);
	return case_add_number(p, token, size);
}

/* Is this the end of the line, or does the next field start here? */
static bool
at_end(const struct case_parser *p)
{
	return *p->next == NULL || field_named(p, *p->next) != NULL;
}

bool
case_put_list(struct case_parser *p, size_t size)
{
	size_t at = p->msg->len, n;

	if (!case_add_u32(p, 0))
		return false;
	for (n = 0; !at_end(p); n++)
		if (!case_put_number(p, size))
			return false;
	case_set_u32(p, at, n);
	return true;
}

/* The number of entries, then the entries: "acl USER_OBJ 0 6 MASK 0 7". */
static bool
put_acl(struct case_parser *p, size_t size)
{
	size_t at = p->msg->len, n;

	if (!case_add_u32(p, 0) || !case_add_u32(p, 0))
		return false;
	for (n = 0; !at_end(p); n++)
		if (!case_put_number(p, size) || !case_put_number(p, size) ||
		    !case_put_number(p, size))
			return false;
	case_set_u32(p, at, n);
	case_set_u32(p, at + 4, n);
	return true;
}

static bool
put_tokens(struct case_parser *p)
{
	while (!at_end(p))
		if (!case_add_token(p, *p->next++))
			return false;
	return true;
}

/* Bytes whose number is fixed. */
static bool
put_fixed(struct case_parser *p, size_t size)
{
	size_t at = p->msg->len;

	if (!put_tokens(p))
		return false;
	if (p->msg->len - at != size)
		return case_fail(p, "%zu bytes, expected %zu", p->msg->len - at,
		    size);
	return true;
}

/* Length, bytes, padding. */
static bool
put_opaque(struct case_parser *p, size_t size UNUSED)
{
	size_t at = p->msg->len;

	if (*p->next == NULL)
		return case_fail(p, "bytes are missing; none are \"\"");
	if (!case_add_u32(p, 0) || !put_tokens(p))
		return false;
	case_set_u32(p, at, p->msg->len - at - 4);
	return case_add_token(p, "pad");
}

/* The boolean before an entry of a list, or behind the last one. */
static bool
put_mark(struct case_parser *p, size_t follows)
{
	return case_add_u32(p, (uint32_t)follows);
}

static bool
put_optional_opaque(struct case_parser *p, size_t size)
{
	if (case_skip(p, "none"))
		return case_add_u32(p, 0);
	return case_add_u32(p, 1) && put_opaque(p, size);
}

static bool
put_optional_number(struct case_parser *p, size_t size)
{
	if (case_skip(p, "none"))
		return case_add_u32(p, 0);
	return case_add_u32(p, 1) && case_put_number(p, size);
}

/* Two numbers: a time, a device; or any, or a name. */
static bool
put_pair(struct case_parser *p, size_t size)
{
	if (*p->next != NULL &&
	    (strcmp(*p->next, "any") == 0 || **p->next == '$'))
		return case_put_number(p, size);
	return case_put_number(p, size / 2) && case_put_number(p, size / 2);
}

static bool
put_optional_pair(struct case_parser *p, size_t size)
{
	if (case_skip(p, "none"))
		return case_add_u32(p, 0);
	return case_add_u32(p, 1) && put_pair(p, size);
}

/* set_atime, set_mtime of version 3. */
static bool
put_set_time(struct case_parser *p, size_t size)
{
	if (case_skip(p, "none"))
		return case_add_u32(p, 0);
	if (case_skip(p, "server"))
		return case_add_u32(p, 1);
	return case_add_u32(p, 2) && put_pair(p, size);
}

static const struct member fattr2[] = {
	{ "nlink", case_put_number, 4, { "any" } },
	{ "uid", case_put_number, 4, { "any" } },
	{ "gid", case_put_number, 4, { "any" } },
	{ "size", case_put_number, 4, { "any" } },
	{ "blocksize", case_put_number, 4, { "8192" } },
	{ "rdev", case_put_number, 4, { "0" } },
	{ "blocks", case_put_number, 4, { "any" } },
	{ "fsid", case_put_number, 4, { "any" } },
	{ "fileid", case_put_number, 4, { "any" } },
	{ "atime", put_pair, 8, { "any" } },
	{ "mtime", put_pair, 8, { "any" } },
	{ "ctime", put_pair, 8, { "any" } },
};

static const struct member fattr3[] = {
	{ "nlink", case_put_number, 4, { "any" } },
	{ "uid", case_put_number, 4, { "any" } },
	{ "gid", case_put_number, 4, { "any" } },
	{ "size", case_put_number, 8, { "any" } },
	{ "used", case_put_number, 8, { "any" } },
	{ "rdev", put_pair, 8, { "0", "0" } },
	{ "fsid", case_put_number, 8, { "any" } },
	{ "fileid", case_put_number, 8, { "any" } },
	{ "atime", put_pair, 8, { "any" } },
	{ "mtime", put_pair, 8, { "any" } },
	{ "ctime", put_pair, 8, { "any" } },
};

static const struct member sattr2[] = {
	{ "mode", case_put_number, 4, { "-1" } },
	{ "uid", case_put_number, 4, { "-1" } },
	{ "gid", case_put_number, 4, { "-1" } },
	{ "size", case_put_number, 4, { "-1" } },
	{ "atime", put_pair, 8, { "-1", "-1" } },
	{ "mtime", put_pair, 8, { "-1", "-1" } },
};

static const struct member sattr3[] = {
	{ "mode", put_optional_number, 4, { "none" } },
	{ "uid", put_optional_number, 4, { "none" } },
	{ "gid", put_optional_number, 4, { "none" } },
	{ "size", put_optional_number, 8, { "none" } },
	{ "atime", put_set_time, 8, { "none" } },
	{ "mtime", put_set_time, 8, { "none" } },
};

static const struct member wcc_attr[] = {
	{ "size", case_put_number, 8, { "any" } },
	{ "mtime", put_pair, 8, { "any" } },
	{ "ctime", put_pair, 8, { "any" } },
};

/* The members that are named, in the order of the RFC, and the others. */
static bool
put_members(struct case_parser *p, const struct member *m, size_t n)
{
	const char *const *next;
	bool good = true;

	for (; n > 0 && good; m++, n--) {
		if (case_skip(p, m->word)) {
			good = m->put(p, m->size);
			continue;
		}
		next = p->next;
		p->next = m->absent;
		good = m->put(p, m->size);
		p->next = next;
	}
	return good;
}

/* "dir 0755 nlink 2": type, mode where it matters, other members. */
static bool
put_attr(struct case_parser *p, const struct member *m, size_t n)
{
	if (!case_put_number(p, 4))
		return false;
	if (*p->next != NULL && isdigit((unsigned char)**p->next)) {
		if (!case_put_number(p, 4))
			return false;
	} else if (!case_add_many(p, 0, 0, 4))
		return false;
	return put_members(p, m, n);
}

static bool
put_attr2(struct case_parser *p, size_t size UNUSED)
{
	return put_attr(p, fattr2, nitems(fattr2));
}

static bool
put_attr3(struct case_parser *p, size_t size UNUSED)
{
	return put_attr(p, fattr3, nitems(fattr3));
}

static bool
put_post(struct case_parser *p, size_t size)
{
	if (case_skip(p, "none"))
		return case_add_u32(p, 0);
	return case_add_u32(p, 1) && put_attr3(p, size);
}

static bool
put_before(struct case_parser *p, size_t size UNUSED)
{
	if (case_skip(p, "none"))
		return case_add_u32(p, 0);
	(void)case_skip(p, "any");
	return case_add_u32(p, 1) && put_members(p, wcc_attr, nitems(wcc_attr));
}

/* "none", or any attributes before the call and these after it. */
static bool
put_wcc(struct case_parser *p, size_t size)
{
	if (case_skip(p, "none"))
		return case_add_u32(p, 0) && case_add_u32(p, 0);
	return case_add_u32(p, 1) &&
	    put_members(p, wcc_attr, nitems(wcc_attr)) && put_post(p, size);
}

static bool
put_sattr(struct case_parser *p, const struct member *m, size_t n)
{
	if (*p->next == NULL)
		return case_fail(p, "sattr: expected none, or what to set");
	(void)case_skip(p, "none");
	return put_members(p, m, n);
}

static bool
put_sattr2(struct case_parser *p, size_t size UNUSED)
{
	return put_sattr(p, sattr2, nitems(sattr2));
}

static bool
put_sattr3(struct case_parser *p, size_t size UNUSED)
{
	return put_sattr(p, sattr3, nitems(sattr3));
}

/* The words, by the names of the RFCs where those are short. */
static const struct field fields[] = {
	{ "entry", ALL, put_mark, 1 },
	{ "end", ALL, put_mark, 0 },
	{ "fh", NFS2 | MOUNT1, put_fixed, 32 },
	{ "fh", NFS3 | MOUNT3 | NLM, put_opaque, 0 },
	{ "postfh", NFS3, put_optional_opaque, 0 },
	{ "name", NFS | LOCKS, put_opaque, 0 },
	{ "text", NFS, put_opaque, 0 },
	{ "data", NFS, put_opaque, 0 },
	{ "attr", NFS2, put_attr2, 0 },
	{ "attr", NFS3, put_attr3, 0 },
	{ "post", NFS3, put_post, 0 },
	{ "before", NFS3, put_before, 0 },
	{ "wcc", NFS3, put_wcc, 0 },
	{ "sattr", NFS2, put_sattr2, 0 },
	{ "sattr", NFS3, put_sattr3, 0 },
	{ "guard", NFS3, put_optional_pair, 8 },
	{ "offset", NFS2, case_put_number, 4 },
	{ "offset", NFS3, case_put_number, 8 },
	{ "beginoffset", NFS2, case_put_number, 4 },
	{ "totalcount", NFS2, case_put_number, 4 },
	{ "count", NFS, case_put_number, 4 },
	{ "dircount", NFS3, case_put_number, 4 },
	{ "maxcount", NFS3, case_put_number, 4 },
	{ "fileid", NFS2, case_put_number, 4 },
	{ "fileid", NFS3, case_put_number, 8 },
	{ "cookie", NFS2, case_put_number, 4 },
	{ "cookie", NFS3, case_put_number, 8 },
	{ "verf", NFS3, case_put_number, 8 },
	{ "eof", NFS, case_put_number, 4 },
	{ "access", NFS3, case_put_number, 4 },
	{ "how", NFS3, case_put_number, 4 },
	{ "stable", NFS3, case_put_number, 4 },
	{ "committed", NFS3, case_put_number, 4 },
	{ "type", NFS3, case_put_number, 4 },
	{ "device", NFS3, put_pair, 8 },
	{ "tsize", NFS2, case_put_number, 4 },
	{ "bsize", NFS2, case_put_number, 4 },
	{ "blocks", NFS2, case_put_number, 4 },
	{ "bfree", NFS2, case_put_number, 4 },
	{ "bavail", NFS2, case_put_number, 4 },
	{ "tbytes", NFS3, case_put_number, 8 },
	{ "fbytes", NFS3, case_put_number, 8 },
	{ "abytes", NFS3, case_put_number, 8 },
	{ "tfiles", NFS3, case_put_number, 8 },
	{ "ffiles", NFS3, case_put_number, 8 },
	{ "afiles", NFS3, case_put_number, 8 },
	{ "invarsec", NFS3, case_put_number, 4 },
	{ "rtmax", NFS3, case_put_number, 4 },
	{ "rtpref", NFS3, case_put_number, 4 },
	{ "rtmult", NFS3, case_put_number, 4 },
	{ "wtmax", NFS3, case_put_number, 4 },
	{ "wtpref", NFS3, case_put_number, 4 },
	{ "wtmult", NFS3, case_put_number, 4 },
	{ "dtpref", NFS3, case_put_number, 4 },
	{ "maxfilesize", NFS3, case_put_number, 8 },
	{ "time_delta", NFS3, put_pair, 8 },
	{ "properties", NFS3, case_put_number, 4 },
	{ "linkmax", NFS3, case_put_number, 4 },
	{ "name_max", NFS3, case_put_number, 4 },
	{ "no_trunc", NFS3, case_put_number, 4 },
	{ "chown_restricted", NFS3, case_put_number, 4 },
	{ "case_insensitive", NFS3, case_put_number, 4 },
	{ "case_preserving", NFS3, case_put_number, 4 },
	{ "access", NFSACL, case_put_number, 4 },
	{ "mask", NFSACL, case_put_number, 4 },
	{ "acl", NFSACL, put_acl, 4 },
	{ "entries", NFSACL, case_put_number, 4 },
	{ "command", RQUOTA, case_put_number, 4 },
	{ "type", RQUOTA, case_put_number, 4 },
	{ "id", RQUOTA, case_put_number, 4 },
	{ "limits", RQUOTA, put_fixed, 32 },
	{ "status", RQUOTA, case_put_number, 4 },
	{ "path", MOUNT | RQUOTA, put_opaque, 0 },
	{ "host", MOUNT, put_opaque, 0 },
	{ "group", MOUNT, put_optional_opaque, 0 },
	{ "flavors", MOUNT3, case_put_list, 4 },
	{ "program", MAPS, case_put_number, 4 },
	{ "version", MAPS, case_put_number, 4 },
	{ "procedure", MAPS, case_put_number, 4 },
	{ "protocol", PMAP2, case_put_number, 4 },
	{ "protocol", RPCB, put_opaque, 0 },
	{ "port", PMAP2, case_put_number, 4 },
	{ "netid", RPCB, put_opaque, 0 },
	{ "address", RPCB, put_opaque, 0 },
	{ "owner", RPCB, put_opaque, 0 },
	{ "family", RPCB, put_opaque, 0 },
	{ "semantics", RPCB, case_put_number, 4 },
	{ "maxlen", RPCB, case_put_number, 4 },
	{ "buf", RPCB, put_opaque, 0 },
	{ "time", RPCB, case_put_number, 4 },
	{ "args", MAPS, put_opaque, 0 },
	{ "res", MAPS, put_opaque, 0 },
	{ "result", MAPS | NSM, case_put_number, 4 },
	{ "cookie", NLM, put_opaque, 0 },
	{ "oh", NLM, put_opaque, 0 },
	{ "svid", NLM, case_put_number, 4 },
	{ "offset", NLM1, case_put_number, 4 },
	{ "offset", NLM4, case_put_number, 8 },
	{ "length", NLM1, case_put_number, 4 },
	{ "length", NLM4, case_put_number, 8 },
	{ "block", NLM, case_put_number, 4 },
	{ "exclusive", NLM, case_put_number, 4 },
	{ "reclaim", NLM, case_put_number, 4 },
	{ "mode", NLM, case_put_number, 4 },
	{ "access", NLM, case_put_number, 4 },
	{ "sequence", NLM, case_put_number, 4 },
	{ "stat", NLM, case_put_number, 4 },
	{ "state", LOCKS, case_put_number, 4 },
	{ "my_name", NSM, put_opaque, 0 },
	{ "program", NSM, case_put_number, 4 },
	{ "version", NSM, case_put_number, 4 },
	{ "procedure", NSM, case_put_number, 4 },
	{ "priv", NSM, put_fixed, 16 },
};

static const struct field *
field_named(const struct case_parser *p, const char *word)
{
	const struct case_program *program = case_program(p);
	size_t i;

	for (i = 0; program != NULL && i < nitems(fields); i++)
		if ((fields[i].in & program->dialect) != 0 &&
		    strcmp(fields[i].word, word) == 0)
			return &fields[i];
	return NULL;
}

bool
case_add_line(struct case_parser *p)
{
	const struct field *field;
	const char *token;

	while (*p->next != NULL) {
		token = *p->next++;
		field = field_named(p, token);
		if (field != NULL ? !field->put(p, field->size) :
				    !case_add_token(p, token))
			return false;
	}
	return true;
}
