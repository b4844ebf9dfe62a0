/* SPDX-License-Identifier: ISC */
/*
 * The text form of wire vectors: each word gives the same bytes as its
 * hexadecimal form. A case that cannot be read is refused with the line and
 * what was expected there.
 * Runs in: test program.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "case.h"
#include "tap.h"

/* The header of a call in bytes: xid 1, one procedure, AUTH_NONE. */
#define CALL(prog, vers, proc)                                                 \
	"call\n"                                                               \
	"\t00000001 00000000 00000002 u32:" prog " u32:" vers " u32:" proc     \
	"\n\t00*16\n"
#define NFS2(proc)   CALL("100003", "2", proc)
#define NFS3(proc)   CALL("100003", "3", proc)
#define MOUNT1(proc) CALL("100005", "1", proc)
#define MOUNT3(proc) CALL("100005", "3", proc)
#define PMAP(proc)   CALL("100000", "2", proc)
#define RPCB(proc)   CALL("100000", "4", proc)
/* The header of its reply: accepted, SUCCESS. */
#define ACCEPTED "reply\n\t00000001 00000001 00*12 00000000\n"
#define DONE	 ACCEPTED "\t00000000\n"
/* A fattr3 from its nlink on, without size. */
#define NO_ATTR "any:12 any:8 any:8 00*8 any:40\n"

static struct wire_case words, bytes;

static const struct case_known known[] = {
	{ "root", 32 },
	{ NULL, 0 },
};

/* clang-format off */
static const struct {
	const char *words, *bytes, *what;
} same[] = {
	{ "call nfs3 LOOKUP\nreply none\n", NFS3("3") "reply none\n",
	    "a call" },
	{ "call nfs2 LOOKUP uid 7\nreply none\n",
	    "call\n\t00000001 00000000 00000002 u32:100003 u32:2 u32:4\n"
	    "\t00000001 00000014 00*8 u32:7 u32:7 00000000 00*8\nreply none\n",
	    "a user, and a group of the same number" },
	{ "call mount2 MNT uid 7 gid 8 groups 9 10\nreply none\n",
	    "call\n\t00000001 00000000 00000002 u32:100005 u32:2 u32:1\n"
	    "\t00000001 0000001c 00*8 u32:7 u32:8 u32:2 u32:9 u32:10 00*8\n"
	    "reply none\n",
	    "groups" },
	{ "call pmap2 NULL\nreply ok\ncall rpcb3 GETTIME\nreply ok\n\ttime any\n",
	    PMAP("0") ACCEPTED
	    "call\n\t00000002 00000000 00000002 u32:100000 u32:3 u32:6 00*16\n"
	    "reply\n\t00000002 00000001 00*16 any:4\n",
	    "calls are numbered; a reply without a status has none" },
	{ "call nfs3 NULL\nreply hangup\n", NFS3("0") "reply hangup\n",
	    "a hangup" },
	{ NFS3("1") "\tfh $root\nreply STALE\n",
	    NFS3("1") "\t00000020 $root\n" ACCEPTED "\tu32:70\n",
	    "words behind a header in bytes" },
	{ "call nfs3 GETATTR\nreply GARBAGE_ARGS\n",
	    NFS3("1") "reply\n\t00000001 00000001 00*12 00000004\n",
	    "an error of RPC" },
	{ "call nfs3 GETATTR\nreply BADHANDLE\n",
	    NFS3("1") ACCEPTED "\tu32:10001\n",
	    "an error of NFS" },
	{ "call mount3 MNT\n\tpath \"/a b;c\" 00 ; remark\nreply ok\n"
	    "\tfh a0*5 flavors AUTH_SYS AUTH_NONE\n",
	    MOUNT3("1") "\tu32:7 2f612062 3b630000\n" DONE
	    "\tu32:5 a0*5 000000 u32:2 u32:1 u32:0\n",
	    "length and padding; a list; two words in a line" },
	{ "call mount1 MNT\n\tpath u\"/C\"\nreply ok\n\tfh any:32\n",
	    MOUNT1("1") "\tu32:4 2f004300\n" DONE "\tany:32\n",
	    "UTF-16LE; a handle of version 2" },
	{ "call mount1 EXPORT\nreply ok\n"
	    "\tentry path \"/a\" group \"b\" group \"\" end\n\tend\n",
	    MOUNT1("5") ACCEPTED "\tu32:1 u32:2 \"/a\" pad u32:1 u32:1 \"b\" pad"
	    " u32:1 u32:0 u32:0\n\tu32:0\n",
	    "lists in lists" },
	{ "call nfs2 GETATTR\n\tfh $root\nreply ok\n"
	    "\tattr reg 0100644 nlink 1 size 12\n",
	    NFS2("1") "\t$root\n" DONE
	    "\tu32:1 u32:0100644 u32:1 any:8 u32:12 u32:8192 u32:0 any:36\n",
	    "attributes of version 2" },
	{ "call nfs3 GETATTR\n\tfh $root\nreply ok\n"
	    "\tattr dir 0755 uid 5 fileid 6 mtime 7 any ctime $t=8\n",
	    NFS3("1") "\tu32:32 $root\n" DONE
	    "\tu32:2 u32:0755 any:4 u32:5 any:4 any:16 00*8 any:8 u64:6 any:8\n"
	    "\tu32:7 any:4 $t=8\n",
	    "attributes of version 3; a time" },
	{ "call nfs3 LOOKUP\nreply ok\n\tpost lnk size 3\n\tpost none\n",
	    NFS3("3") DONE
	    "\tu32:1 u32:5 any:4 any:12 u64:3 any:8 00*8 any:40\n\tu32:0\n",
	    "optional attributes" },
	{ "call nfs3 REMOVE\nreply ok\n\twcc dir\n",
	    NFS3("12") DONE "\tu32:1 any:24 u32:1 u32:2 any:4 " NO_ATTR,
	    "weak cache data" },
	{ "call nfs3 REMOVE\nreply IO\n\twcc none\n",
	    NFS3("12") ACCEPTED "\tu32:5 u32:0 u32:0\n",
	    "absent weak cache data" },
	{ "call nfs3 REMOVE\nreply ok\n\tbefore none post dir\n"
	    "\tbefore any post none\n\tbefore size 5\n",
	    NFS3("12") DONE "\tu32:0 u32:1 u32:2 any:4 " NO_ATTR
	    "\tu32:1 any:24 u32:0\n\tu32:1 u64:5 any:16\n",
	    "the two halves of weak cache data" },
	{ "call nfs3 SETATTR\n"
	    "\tsattr mode 0640 size 3 atime 1 2 mtime server guard 5 6\nreply ok\n",
	    NFS3("2") "\tu32:1 u32:0640 u32:0 u32:0 u32:1 u64:3\n"
	    "\tu32:2 u32:1 u32:2 u32:1 u32:1 u32:5 u32:6\n" DONE,
	    "what SETATTR of version 3 sets" },
	{ "call nfs3 SETATTR\n\tsattr none guard none\nreply ok\n",
	    NFS3("2") "\t00*28\n" DONE, "nothing to set" },
	{ "call nfs2 SETATTR\n\tsattr gid 5 mtime 0 1000000\nreply ok\n",
	    NFS2("2") "\tff*8 u32:5 ff*12 u32:0 u32:1000000\n" DONE,
	    "what SETATTR of version 2 sets" },
	{ "call nfs3 CREATE\n\thow EXCLUSIVE verf 0x0123456789abcdef\n"
	    "reply ok\n\tpostfh $f=32 postfh none\n",
	    NFS3("8") "\tu32:2 01234567 89abcdef\n" DONE
	    "\tu32:1 u32:32 $f=32 u32:0\n",
	    "symbols; an optional handle" },
	{ "call nfs3 MKNOD\n\ttype blk device 1 3 offset -1 offset true\n"
	    "reply ok\n",
	    NFS3("11") "\tu32:3 u32:1 u32:3 ff*8 u64:1\n" DONE,
	    "numbers of four and of eight bytes" },
	{ "call nfs2 READ\n\toffset -1 count 0x10\nreply ok\n",
	    NFS2("6") "\tff*4 u32:16\n" DONE, "the same words in version 2" },
	{ "call pmap2 DUMP\nreply ok\n"
	    "\tentry program 7 version 1 protocol udp port 9\n\tend\n",
	    PMAP("4") ACCEPTED "\tu32:1 u32:7 u32:1 u32:17 u32:9 u32:0\n",
	    "a list of mappings" },
	{ "call rpcb4 GETADDRLIST\nreply ok\n"
	    "\tsemantics NC_TPI_CLTS protocol \"udp\"\n\tend\n",
	    RPCB("11") ACCEPTED "\tu32:1 u32:3 \"udp\" pad u32:0\n",
	    "a protocol by its name" },
	{ "call nfs3 READ\nreply ok\n\tdata \"a\"\n\t...\n",
	    NFS3("6") DONE "\tu32:1 61000000 ...\n", "an open end" },
};

#define CALLED "call nfs3 LOOKUP uid 0\n"

static const struct {
	const char *text;
	unsigned int line;
	const char *why;
} refused[] = {
	{ "", 0, "no call" },
	{ "# nothing\n\n", 2, "no call" },
	{ "cal nfs3 NULL\n", 1,
	    "unknown word \"cal\": expected call reply setup from uid over "
	    "prefixes or flips; bytes are indented" },
	{ "\tfh $root\n", 1, "bytes outside of call and reply" },
	{ "call nfs4 NULL\n", 1,
	    "unknown program \"nfs4\": expected nfs2 nfs3 nfsacl2 nfsacl3 rquota1 rquota2 "
	    "mount1 mount2 mount3 pmap2 rpcb3 rpcb4 nlm1 nlm3 nlm4 or nsm1" },
	{ "call nfs3\n", 1, "a procedure is missing at the end of the line" },
	{ "call nfs3 STATFS\n", 1, "nfs3 has no procedure \"STATFS\"" },
	{ "call nfs3 NULL gid 0\n", 1,
	    "\"gid\" behind the procedure: expected uid or nothing" },
	{ "call nfs3 NULL uid\n", 1,
	    "a number is missing at the end of the line" },
	{ "call nfs3 NULL uid root\n", 1, "\"root\" is neither number nor symbol" },
	{ "call nfs3 NULL uid 0 xid 7\n", 1, "\"xid\" is too much" },
	{ "reply ok\n", 1, "reply without call" },
	{ CALLED "reply ok\nreply ok\n", 3, "reply without call" },
	{ CALLED CALLED, 2, "the call before this one has no reply" },
	{ CALLED, 1, "the last call has no reply" },
	{ CALLED "reply ENOENT\n", 2,
	    "unknown reply \"ENOENT\": expected ok none hangup, or a status such "
	    "as NOENT or GARBAGE_ARGS" },
	{ CALLED "reply ok ok\n", 2, "\"ok\" is too much" },
	{ "call nfs3 NULL\nreply IO\n", 2, "this procedure has no status IO" },
	{ "call\n\t00000001\nreply ok\n", 3,
	    "reply in words to an unknown procedure" },
	{ CALLED "\tpath \"a\"\n", 2,
	    "\"path\" is neither bytes nor a word of nfs3" },
	{ "call\n\tfh $root\n", 2,
	    "\"fh\" is neither bytes nor a word of this program" },
	{ CALLED "\n\t# no\n", 3, "\"#\" is neither bytes nor a word of nfs3" },
	{ CALLED "\t123\n", 2, "\"123\" is neither bytes nor a word of nfs3" },
	{ CALLED "\t*3\n", 2, "\"*3\" is neither bytes nor a word of nfs3" },
	{ CALLED "\t00*x\n", 2, "\"x\" is not a count from 1 to 16384" },
	{ CALLED "\t00*16384\n", 2, "message longer than 16384 bytes" },
	{ CALLED "\tname \"a\n", 2, "quote not closed" },
	{ CALLED "\tfh $found\n", 2, "$found is used before it is captured" },
	{ CALLED "\tfh $found=32\n", 2, "any and captures belong into replies" },
	{ CALLED "\tfh any:32\n", 2, "any and captures belong into replies" },
	{ CALLED "\tcount any\n", 2, "any and captures belong into replies" },
	{ CALLED "\t...\n", 2, "... belongs into replies" },
	{ CALLED "reply ok\n\t... 00\n", 3, "bytes after ..." },
	{ CALLED "reply ok\n\tfh $f=0\n", 3, "\"0\" is not a count from 1 to 256" },
	{ CALLED "\tname\n", 2, "bytes are missing; none are \"\"" },
	{ CALLED "\tcount\n", 2, "a number is missing at the end of the line" },
	{ CALLED "\tcount 0x100000000\n", 2, "0x100000000 has more than 32 bits" },
	{ CALLED "\tcount -2147483649\n", 2, "-2147483649 has more than 32 bits" },
	{ CALLED "\toffset 0x10000000000000000\n", 2,
	    "\"0x10000000000000000\" is not a number" },
	{ CALLED "\tu32:1x\n", 2, "\"1x\" is not a number" },
	{ CALLED "\tcookie $root\n", 2, "$root has 32 bytes, expected 8" },
	{ "call nfs2 GETATTR\n\tfh 00*31\n", 2, "31 bytes, expected 32" },
	{ CALLED "\tsattr\n", 2, "sattr: expected none, or what to set" },
	{ CALLED "\tsattr size 0 mode 0\n", 2,
	    "\"mode\" is neither bytes nor a word of nfs3" },
	{ CALLED "reply ok\n\tpost directory\n", 3,
	    "\"directory\" is neither number nor symbol" },
	{ "from here\n", 1, "\"here\": expected local or an address" },
	{ "from\n", 1, "an address is missing at the end of the line" },
	{ "uid root\n", 1, "\"root\" is not a user id" },
	{ "over ip\n", 1, "over: expected memory udp or tcp" },
	{ "over udp ip\n", 1, "\"ip\" is too much" },
	{ "prefixes refused\n", 1, "prefixes: expected harmless" },
	{ "flips all\n", 1, "flips: expected none" },
};
/* clang-format on */

static bool
is_same(const struct case_message *a, const struct case_message *b)
{
	size_t i;

	if (a->len != b->len || memcmp(a->bytes, b->bytes, a->len) != 0 ||
	    memcmp(a->mask, b->mask, a->len) != 0 || a->open != b->open ||
	    a->nrefs != b->nrefs)
		return false;
	for (i = 0; i < a->nrefs; i++)
		if (a->refs[i].var != b->refs[i].var ||
		    a->refs[i].at != b->refs[i].at ||
		    a->refs[i].captures != b->refs[i].captures)
			return false;
	return true;
}

static bool
read_case(struct wire_case *c, const char *text)
{
	unsigned int line;

	if (case_parse(c, known, text, &line))
		return true;
	diag("line %u: %s", line, c->why);
	return false;
}

static bool
says_the_same(const char *in_words, const char *in_bytes)
{
	size_t i;

	if (!read_case(&words, in_words) || !read_case(&bytes, in_bytes) ||
	    words.nexchanges != bytes.nexchanges)
		return false;
	for (i = 0; i < words.nexchanges; i++)
		if (!is_same(&words.exchanges[i].call,
			&bytes.exchanges[i].call) ||
		    !is_same(&words.exchanges[i].reply,
			&bytes.exchanges[i].reply) ||
		    words.exchanges[i].answer != bytes.exchanges[i].answer)
			return false;
	return true;
}

static void
check_refused(const char *text, unsigned int line, const char *why)
{
	unsigned int at = 0;

	ok(!case_parse(&words, known, text, &at), "refused: %s", why);
	is(words.why, why, "the reason");
	cmp_ok(at, "==", line, "the line");
}

/* A line and a name that are one byte too long. */
static void
check_limits(void)
{
	char text[CASE_LINE_MAX + 32] = "# ";
	unsigned int line;

	memset(text + 2, 'x', CASE_LINE_MAX - 2);
	ok(!case_parse(&words, known, text, &line), "a long line is refused");
	is(words.why, "line longer than 511 bytes", "with the limit");
	(void)snprintf(text, sizeof(text), CALLED "reply ok\n\tfh $%032d=32\n",
	    0);
	ok(!case_parse(&words, known, text, &line), "a long name is refused");
	like(words.why, "^name too long: ", "with the name");
}

/* Each byte knows the line of the case that it is from. */
static void
check_lines(void)
{
	ok(read_case(&words,
	       "# one\n" CALLED "\tfh $root\nreply ok\n\tpost none\n"),
	    "a case of five lines");
	cmp_ok(words.exchanges[0].line, "==", 2, "where the call is");
	cmp_ok(words.exchanges[0].call.lines[0], "==", 2, "its header");
	cmp_ok(words.exchanges[0].call.lines[60], "==", 3, "its handle");
	cmp_ok(words.exchanges[0].reply.lines[27], "==", 4, "the status");
	cmp_ok(words.exchanges[0].reply.lines[28], "==", 5, "behind it");
}

static void
check_directives(void)
{
	ok(read_case(&words,
	       "setup a  b\nover tcp memory\nuid 5\nfrom 192.0.2.7:9\n"
	       "prefixes harmless\nflips none\n" CALLED "reply none\n"),
	    "all directives");
	is(words.setup, "a b", "setup");
	cmp_ok(words.over, "==", CASE_TCP | CASE_MEMORY, "over");
	cmp_ok(words.uid, "==", 5, "uid");
	ok(!words.prefixes_refused && !words.flips, "prefixes and flips");
	ok(words.exchanges[0].from.port == 9, "from");
	ok(read_case(&words, CALLED "reply none\n") &&
		words.over == (CASE_MEMORY | CASE_UDP | CASE_TCP) &&
		words.prefixes_refused && words.flips &&
		words.exchanges[0].from.port == 700,
	    "the defaults");
}

int
main(void)
{
	size_t i;

	plan(NO_PLAN);
	for (i = 0; i < nitems(same); i++)
		ok(says_the_same(same[i].words, same[i].bytes), "%s",
		    same[i].what);
	for (i = 0; i < nitems(refused); i++)
		check_refused(refused[i].text, refused[i].line, refused[i].why);
	check_limits();
	check_lines();
	check_directives();
	done_testing();
}
