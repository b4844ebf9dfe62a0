/* SPDX-License-Identifier: ISC */
/*
 * Records of the audit: what is no record is refused, and a line has every byte of
 * a stranger escaped, however long the paths are.
 * Links: nfsd
 * Runs in: test program.
 */
#include <sys/socket.h>

#include <string.h>

#include "nfsd/wire/audit_record.h"
#include "nfsd/wire/nfs.h"
#include "tap.h"

static struct {
	struct audit_head head;
	char paths[2 * AUDIT_PATH_MAX];
} sent;
static char line[AUDIT_LINE_MAX];

static size_t
make(const char *path, const char *to)
{
	size_t n = strlen(path), m = strlen(to);

	memset(&sent, 0, sizeof(sent));
	sent.head.client.family = AF_INET;
	sent.head.client.bytes[0] = 10;
	sent.head.client.bytes[3] = 7;
	sent.head.client.port = 912;
	memcpy(sent.head.proc, "RENAME", 7);
	sent.head.has = AUDIT_UID | (m > 0 ? AUDIT_TO : 0u);
	sent.head.uid = 1001;
	sent.head.path_len = (uint32_t)n;
	sent.head.to_len = (uint32_t)m;
	sent.head.export_len = (uint32_t)(n > 2 ? 2 : n);
	memcpy(sent.paths, path, n);
	memcpy(sent.paths + n, to, m);
	return sizeof(sent.head) + n + m;
}

static bool
is_read(size_t len)
{
	struct audit_record r;

	return audit_record_read(&sent, len, &r);
}

static void
test_bad(void)
{
	size_t len = make("/x/a", "/x/b"), i;
	bool none = true;

	ok(is_read(len), "a record is read");
	for (i = 0; i < len; i++)
		none = none && !is_read(i);
	ok(none, "a record that is cut anywhere is refused");
	ok(!is_read(len + 1), "a byte too many");
	sent.head.export_len = 5;
	ok(!is_read(len), "an export that is longer than the path");
	len = make("/x/a", "/x/b");
	sent.head.path_len = UINT32_MAX;
	ok(!is_read(len), "a length that would overflow");
	sent.head.path_len = 3;
	ok(!is_read(len), "lengths that do not add up");
	len = make("/x/a", "/x/b");
	sent.paths[1] = '\0';
	ok(!is_read(len), "a zero byte in a path");
	len = make("/x/a", "/x/b");
	memset(sent.head.proc, 'A', sizeof(sent.head.proc));
	ok(!is_read(len), "a name without an end");
	memcpy(sent.head.proc, "X\nY", 4);
	ok(!is_read(len), "a name with a newline");
	sent.head.proc[0] = '\0';
	ok(!is_read(len), "no name");
	len = make("/x/a", "/x/b");
	sent.head.client.family = 99;
	ok(!is_read(len), "a client of no family");
}

static const char *
show(size_t len, size_t shown)
{
	struct audit_record r;
	size_t n;

	if (!audit_record_read(&sent, len, &r))
		return "refused";
	n = audit_record_line(&r, shown, line);
	return n == strlen(line) ? line : "wrong length";
}

static void
test_lines(void)
{
	static char path[AUDIT_PATH_MAX + 1];
	size_t len = make("/x/a", ""), n;

	is(show(len, 100),
	    "RENAME OK client=10.0.0.7:912 uid=1001 as=- "
	    "path=\"/x/a\"",
	    "a line");
	len = make("/x/a\"\n\\\x1b\xff", "/x/b");
	is(show(len, 100),
	    "RENAME OK client=10.0.0.7:912 uid=1001 as=- "
	    "path=\"/x/a\\042\\012\\134\\033\\377\" to=\"/x/b\"",
	    "bytes of a stranger are escaped");
	len = make("/x/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "");
	like(show(len, 20), "aaa\\.\\.\\.\"$", "a long path is cut");
	memset(path, '\1', AUDIT_PATH_MAX);
	len = make(path, path);
	n = strlen(show(len, AUDIT_LINE_MAX));
	ok(n > 8 * (size_t)AUDIT_PATH_MAX && n < AUDIT_LINE_MAX,
	    "the longest paths fit");
	like(line, "\\\\001\"$", "to the end");
	sent.head.has = AUDIT_UID | AUDIT_AS | AUDIT_MODE | AUDIT_OWNER |
	    AUDIT_GROUP | AUDIT_SIZE | AUDIT_TIMES;
	sent.head.as = sent.head.uid = sent.head.mode = sent.head.owner =
	    sent.head.group = UINT32_MAX;
	sent.head.size = UINT64_MAX;
	sent.head.status = UINT32_MAX;
	like(show(len, 10),
	    "RENAME \\? client=.* mode=37777777777 "
	    "owner=4294967295 group=4294967295 "
	    "size=18446744073709551615 times path=",
	    "all that can be set");
}

int
main(void)
{
	plan(NO_PLAN);
	test_bad();
	test_lines();
	done_testing();
}
