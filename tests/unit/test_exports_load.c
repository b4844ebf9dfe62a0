/* SPDX-License-Identifier: ISC */
/*
 * The exports file: which owners and modes are accepted, how it reaches another
 * process, and what a reload changes.
 * Runs in: test programs only.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "exports/client.h"
#include "exports/load.h"
#include "resolve/resolve.h"
#include "tap.h"

static char dir[] = "/tmp/tern-exports.XXXXXX";
static char file[64], said[1024];

static void
report(void *arg UNUSED, enum exports_severity severity UNUSED,
    const char *part UNUSED, int line, int column, const char *message)
{
	size_t len = strlen(said);

	(void)snprintf(said + len, sizeof(said) - len, "%d:%d %s\n", line,
	    column, message);
}

static const struct exports_hooks hooks = { report, NULL, NULL };

static void
write_file(const char *text, mode_t mode)
{
	FILE *f = fopen(file, "w");

	if (f == NULL || fputs(text, f) == EOF || fclose(f) == EOF ||
	    chmod(file, mode) == -1)
		BAIL_OUT("cannot write %s", file);
	said[0] = '\0';
}

static void
check_who(void)
{
	struct exports_file f = { .packed = -1 };

	ok(exports_load(&f, file, NULL, &hooks), "a missing file is no error");
	ok(f.missing, "the caller can tell");
	cmp_ok(f.list->n, "==", 0, "a missing file exports nothing");
	exports_file_clear(&f);
	write_file("/x *\n", 0644);
	ok(exports_load(&f, file, NULL, &hooks),
	    "a file that others can read is accepted");
	cmp_ok(f.list->n, "==", 1, "it has an export");
	exports_file_clear(&f);
	exports_file_clear(&f);
	write_file("/x *\n", 0664);
	ok(!exports_load(&f, file, NULL, &hooks),
	    "a file that the group can write is refused");
	like(said, "^0:0 others can write it \\(chmod go-w\\)",
	    "the reason names the remedy");
	write_file("/x *\n", 0646);
	ok(!exports_load(&f, file, NULL, &hooks),
	    "a file that all can write is refused");
	skip(getuid() != 0, 2, "only root can give files away");
	write_file("/x *\n", 0644);
	ok(chown(file, 65534, 65534) == 0 &&
		!exports_load(&f, file, NULL, &hooks),
	    "a file of another user is refused");
	like(said, "belongs to user 65534", "the reason names the owner");
	end_skip;
	(void)unlink(file);
	said[0] = '\0';
	ok(mkfifo(file, 0600) == 0 && !exports_load(&f, file, NULL, &hooks),
	    "a pipe is refused without blocking");
	like(said, "not a regular file", "the reason says so");
	(void)unlink(file);
	write_file("/x *(zz)\ny *\n", 0644);
	ok(!exports_load(&f, file, NULL, &hooks),
	    "a file with errors is refused");
	like(said, "1:6 unknown.*\n2:1 ", "all its errors are reported");
}

static void
check_hand_on(void)
{
	struct exports_file f = { .packed = -1 };
	struct exports *ex;
	struct addr local = { .family = AF_INET, .bytes = { 127, 0, 0, 1 } };
	char byte = 0;

	write_file("/x localhost(rw) no-such-host.invalid(rw)\n/y *(fsid=9)\n",
	    0644);
	ok(exports_load(&f, file, &resolve_now, &hooks),
	    "host names are resolved");
	like(said, "no-such-host.invalid.*no address known",
	    "an unknown host is reported");
	ok(exports_client(&f.list->list[0], &local, NULL, NAMES_BYTES) != NULL,
	    "localhost is known");
	ex = exports_unpack(f.packed);
	ok(ex != NULL, "another process unpacks the exports");
	ok(exports_client(&ex->list[0], &local, NULL, NAMES_BYTES) != NULL,
	    "it knows localhost without resolving the name");
	cmp_ok(exports_find_path(ex, "/y")->id, "==", 9,
	    "it knows the export numbers");
	exports_free(ex);
	cmp_ok(pwrite(f.packed, &byte, 1, 0), "==", -1,
	    "the packed exports cannot be written");
	cmp_ok(ftruncate(f.packed, 0), "==", -1, "nor truncated");
	exports_file_clear(&f);
}

/* A pack that the parent would not make is refused. */
static void
check_bad_pack(void)
{
	/* names, addresses, text, users */
	static const uint32_t heads[][4] = { { 0xffffffffu, 0, 0, 0 },
		{ 0, 0xffffffffu, 0, 0 }, { 0, 0, 0xffffffffu, 0 },
		{ 0, 0, 0, 0xffffffffu }, { 1, 0, 0, 0 }, { 0, 1, 0, 0 },
		{ 0, 0, 100, 0 }, { 0, 0, 0, 1 }, { 1024, 0, 0, 0 } };
	size_t i;
	int fd;

	for (i = 0; i < nitems(heads); i++) {
		fd = memfd_create("test", 0);
		if (fd == -1 ||
		    write(fd, heads[i], sizeof(heads[i])) !=
			(ssize_t)sizeof(heads[i]))
			BAIL_OUT("no memory file");
		ok(exports_unpack(fd) == NULL,
		    "pack with lengths %08x %08x %08x %08x", heads[i][0],
		    heads[i][1], heads[i][2], heads[i][3]);
		close(fd);
	}
	ok(exports_unpack(-1) == NULL, "a bad descriptor is refused");
}

static void
tell(void *arg UNUSED, const char *what, const struct export *e)
{
	size_t len = strlen(said);

	(void)snprintf(said + len, sizeof(said) - len, "%s %s, ", what,
	    e->path);
}

static void
check_diff(void)
{
	/* clang-format off */
	static const struct {
		const char *before, *after, *says;
	} rows[] = {
		{ "", "", "" },
		{ "/a *", "/a *", "" },
		{ "/a *\n/b *", "# moved\n/b *\n\n/a *", "" },
		{ "", "/a *", "added /a, " },
		{ "/a *", "", "removed /a, " },
		{ "/a *\n/b *", "/b *\n/c *", "removed /a, added /c, " },
		{ "/a *", "/a *(rw)", "changed /a, " },
		{ "/a *", "/a * 10.0.0.1", "changed /a, " },
		{ "/a *", "/a *(fsid=5)", "changed /a, " },
		{ "/a *", "/a *(names=utf16le)", "changed /a, " },
		{ "/a *(alias=/C/)", "/a *(alias=/B/)", "changed /a, " },
	};
	/* clang-format on */
	static const struct exports_hooks quiet;
	struct exports *a, *b;
	size_t i;

	for (i = 0; i < nitems(rows); i++) {
		a = exports_parse(rows[i].before, strlen(rows[i].before),
		    &quiet);
		b = exports_parse(rows[i].after, strlen(rows[i].after), &quiet);
		said[0] = '\0';
		exports_diff(a, b, tell, NULL);
		is(said, rows[i].says, "from \"%s\" to \"%s\"", rows[i].before,
		    rows[i].after);
		exports_free(a);
		exports_free(b);
	}
	said[0] = '\0';
	exports_diff(NULL, NULL, tell, NULL);
	is(said, "", "from no list to no list");
}

int
main(void)
{
	if (mkdtemp(dir) == NULL)
		BAIL_OUT("no directory");
	(void)snprintf(file, sizeof(file), "%s/exports", dir);
	check_who();
	check_hand_on();
	check_bad_pack();
	check_diff();
	(void)unlink(file);
	(void)rmdir(dir);
	done_testing();
}
