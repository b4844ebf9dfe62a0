/* SPDX-License-Identifier: ISC */
/*
 * Exports lines: the meaning of correct ones, the reports of wrong ones with
 * their place. The tables are the specification of the format.
 * Runs in: test programs only.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "exports/client.h"
#include "exports_lines.h"
#include "tap.h"

struct out {
	char text[16384];
	size_t len;
};

static void add(struct out *, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
add(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(o->text + o->len, sizeof(o->text) - o->len, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < sizeof(o->text) - o->len)
		o->len += (size_t)n;
}

static void
report(void *arg, enum exports_severity severity, const char *file UNUSED,
    int line, int column, const char *message)
{
	struct out *o = arg;

	add(o, "%s%d:%d: %s%s", o->len > 0 ? "\n" : "", line, column,
	    severity == EXPORTS_WARNING ? "warning: " : "", message);
}

/* The hosts of these tests. */
static size_t
resolve(void *arg UNUSED, const char *name, struct addr *a, size_t max)
{
	static const struct {
		const char *name;
		struct addr addr;
	} hosts[] = {
		{ "one", { .family = AF_INET, .bytes = { 10, 0, 0, 1 } } },
		{ "@trusted", { .family = AF_INET, .bytes = { 10, 0, 0, 1 } } },
		{ "@trusted", { .family = AF_INET, .bytes = { 10, 0, 0, 2 } } },
		{ "two", { .family = AF_INET, .bytes = { 10, 0, 0, 2 } } },
		{ "two",
		    { .family = AF_INET6, .bytes = { 0xfd, 0, [15] = 2 } } },
		{ "fe80::1%eth0",
		    { .family = AF_INET6,
			.scope = 7,
			.bytes = { 0xfe, 0x80, [15] = 1 } } },
	};
	size_t i, n = 0;

	for (i = 0; i < nitems(hosts) && n < max; i++) {
		if (strcmp(hosts[i].name, name) == 0)
			a[n++] = hosts[i].addr;
	}
	return n;
}

static void
add_number(struct out *o, const char *name, uint32_t value, uint32_t normal)
{
	if (value != normal)
		add(o, " %s=%u", name, value);
}

/* What differs from the defaults, in a fixed order. */
static void
add_options(struct out *o, const struct export_client *c)
{
	const struct export_options *p = &c->options;
	const struct {
		bool set;
		const char *name;
	} flags[] = {
		{ p->rw, " rw" },
		{ p->no_root_squash, " no_root_squash" },
		{ p->all_squash, " all_squash" },
		{ p->insecure, " insecure" },
		{ p->sync == SYNC_NONE, " async" },
		{ p->sync == SYNC_DATA, " datasync" },
		{ p->crossmnt, " crossmnt" },
		{ p->nohide, " nohide" },
		{ p->subtree_check, " subtree_check" },
		{ p->mountpoint, " mountpoint" },
		{ p->fold, " fold" },
		{ p->fileid32, " fileid32" },
		{ p->audit, " audit" },
		{ p->certuser, " certuser" },
		{ p->no_auth_nlm, " no_auth_nlm" },
		{ p->setid, " setid" },
		{ p->names == NAMES_UTF16LE, " utf16le" },
	};
	size_t i;

	for (i = 0; i < nitems(flags); i++)
		add(o, "%s", flags[i].set ? flags[i].name : "");
	if (p->xprtsec != PEER_PLAIN)
		add(o, " xprtsec=%s", exports_xprtsec(p->xprtsec));
	add_number(o, "anonuid", p->anonuid, EXPORTS_ANON);
	add_number(o, "anongid", p->anongid, EXPORTS_ANON);
	add_number(o, "readsize", p->readsize, 0);
	add_number(o, "writesize", p->writesize, 0);
	for (i = 0; i < c->naliases; i++)
		add(o, " alias=%s", c->aliases[i]);
}

static void
add_client(struct out *o, const struct export_client *c)
{
	char shown[ADDR_STRLEN];

	if (c->cert != 0)
		add(o, " [%s", c->text);
	else if (c->any)
		add(o, " [*");
	else
		add(o, " [%s/%u",
		    c->net.family == 0 ? "no address" :
					 addr_print(&c->net, shown),
		    c->plen);
	if (c->net.scope != 0)
		add(o, " zone %u", c->net.scope);
	add_options(o, c);
	add(o, "]");
}

/* The whole list in one line. */
static void
show(struct out *o, const struct exports *ex)
{
	const struct export *e;
	size_t i, j;

	for (i = 0; i < ex->n; i++) {
		e = &ex->list[i];
		add(o, "%s%s", o->len > 0 ? "; " : "", e->path);
		if (e->has_fsid)
			add(o, " fsid=%u", e->fsid);
		if (e->handles != FH_BY_ANY)
			add(o, " handles=%s", fh_naming_names[e->handles]);
		for (j = 0; j < e->nclients; j++)
			add_client(o, &e->clients[j]);
	}
}

static void
check_line(const struct exports_line *row)
{
	struct out reports = { .len = 0 }, list = { .len = 0 };
	const struct exports_hooks hooks = { report, resolve, &reports };
	struct exports *ex;

	ex = exports_parse(row->text, strlen(row->text), &hooks);
	if (ex != NULL)
		show(&list, ex);
	is(ex == NULL ? "(refused)" : list.text,
	    row->means == NULL ? "(refused)" : row->means, "%s: %s",
	    row->means == NULL ? "refused" : "accepted", row->why);
	is(reports.text, row->says, "and says so: %s", row->why);
	exports_free(ex);
}

/* Every prefix of every line is parsed without a crash or a leak. */
static void
check_prefixes(const struct exports_line *rows, size_t n)
{
	const struct exports_hooks quiet = { NULL, resolve, NULL };
	size_t i, len, done = 0;
	char *copy;

	for (i = 0; i < n; i++) {
		for (len = 0; len <= strlen(rows[i].text); len++) {
			copy = malloc(len + 1); /* exact: ASan sees overruns */
			if (copy == NULL)
				continue;
			memcpy(copy, rows[i].text, len);
			exports_free(exports_parse(copy, len, &quiet));
			free(copy);
			done++;
		}
	}
	cmp_ok(done, ">", n,
	    "every prefix of every line is accepted or refused");
}

/* One export more than allowed, one client more, one report more. */
static void
check_limits(void)
{
	static char text[EXPORTS_TEXT_MAX + 2];
	struct out reports = { .len = 0 };
	const struct exports_hooks hooks = { report, resolve, &reports };
	size_t i, n = 0;

	for (i = 0; i <= EXPORTS_CLIENTS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "%s10.%zu.%zu.%zu", i == 0 ? "/x " : " ", i >> 16,
		    i >> 8 & 255, i & 255);
	ok(exports_parse(text, n, &hooks) == NULL, "too many clients");
	like(reports.text, "more than 4096 clients", "too many clients: said");
	for (i = 0, n = 0; i <= EXPORTS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "/%zu *(fsid=%zu)\n", i, i + 1);
	reports.len = 0;
	ok(exports_parse(text, n, &hooks) == NULL, "too many exports");
	like(reports.text, "more than 1024 exports", "too many exports: said");
	memset(text, '\n', sizeof(text));
	reports.len = 0;
	ok(exports_parse(text, EXPORTS_TEXT_MAX + 1, &hooks) == NULL,
	    "a text of a MiB and a byte is refused");
	for (i = 0, n = 0; i < 200; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "x\n");
	reports.len = 0;
	ok(exports_parse(text, n, &hooks) == NULL,
	    "200 wrong lines are refused");
	like(reports.text, "too many problems",
	    "the number of reports is bounded");
}

int
main(void)
{
	size_t i;

	for (i = 0; i < exports_lines_n; i++)
		check_line(&exports_lines[i]);
	cmp_ok(exports_lines_n, ">=", 150, "at least 150 lines in the table");
	check_prefixes(exports_lines, exports_lines_n);
	check_limits();
	done_testing();
}
