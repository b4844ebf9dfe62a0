/* SPDX-License-Identifier: ISC */
/*
 * The command line: the flags that all daemons share, and how rows are applied.
 * The usage is printed from the same rows.
 * Runs in: the first process of each daemon.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "process/options.h"
#include "transport/transport.h"

#define OPTIONS_MAX 48
#define SETTING_MAX 64 /* longest name of an -o setting */
#define LONG_ONLY   0x100 /* getopt's value for a row without a letter */

/* All rows, and the struct that holds the members of each. */
struct options {
	struct daemon *d;
	const struct daemon_spec *spec;
	const struct daemon_option *rows[OPTIONS_MAX];
	void *args[OPTIONS_MAX];
	size_t n;
};

const char *
daemon_read_listen(struct daemon_listen *l, const char *value)
{
	static const uint8_t zero[16];
	const char *at = strchr(value, '@'), *wrong;
	char text[ADDR_STRLEN];
	long long port = 0;
	size_t len = at != NULL ? (size_t)(at - value) : strlen(value);

	if (len >= sizeof(text))
		return "not an IPv4 or IPv6 address";
	memcpy(text, value, len);
	text[len] = '\0';
	if (!addr_parse(&l->at, text))
		return "not an IPv4 or IPv6 address";
	if (at != NULL) {
		wrong = number_read(at + 1, 1, 65535, &port);
		if (wrong != NULL)
			return "the port after @ is not 1-65535";
		l->at.port = (uint16_t)port;
	}
	l->any = memcmp(l->at.bytes, zero, sizeof(zero)) == 0;
	return NULL;
}

static const char *
set_address(void *arg, const char *value)
{
	struct daemon *d = arg;
	const char *wrong;

	if (d->nlistens == DAEMON_LISTEN_MAX)
		return "too many addresses";
	wrong = daemon_read_listen(&d->listens[d->nlistens], value);
	if (wrong == NULL)
		d->nlistens++;
	return wrong;
}

#define D struct daemon

/* clang-format off */
static const struct daemon_option shared_options[] = {
	{ 'a', "address", "addr[@port]", "listen here; repeatable", OPT_CALL(set_address) },
	{ 'd', "foreground", NULL, "stay in the foreground, log to stderr", OPT_FLAG(D, foreground) },
	{ 'n', "check", NULL, "check the configuration and exit", OPT_FLAG(D, check_only) },
	{ 'p', "port", "port", "listen on this port, UDP and TCP", OPT_PORT(D, port) },
	{ 's', "socket", "path", "portmapd's registration socket", OPT_PATH(D, socket) },
	{ 'u', "user", "user", "run as this user", OPT_TEXT(D, user, 1) },
	{ 'v', "verbose", NULL, "more detail; twice: every request", OPT_COUNT(D, verbose) },
};

static const struct daemon_option exports_options[] = {
	{ 'R', "no-register", NULL, "do not register with a portmapper", OPT_FLAG(D, no_register) },
	{ 'f', "exports", "file", "exports file", OPT_TEXT(D, exports_file, 0) },
	{ 'k', "key", "file", "handle key", OPT_TEXT(D, key_file, 0) },
};

static const struct daemon_option shared_settings[] = {
	{ 0, "strict", NULL, "refuse to start if a layer of the sandbox is missing", OPT_FLAG(D, strict) },
};
/* clang-format on */

static void
add_rows(struct options *o, const struct daemon_option *rows, size_t n,
    void *arg)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (o->n == OPTIONS_MAX)
			fatalx("options: more than OPTIONS_MAX rows");
		o->rows[o->n] = &rows[i];
		o->args[o->n++] = arg;
	}
}

static void
print_row(FILE *to, const struct daemon_option *row, const char *lead)
{
	const char *value = row->value != NULL ? row->value : "";
	const char *joint = *value == '\0' ? "" : *lead == '-' ? " " : "=";
	char letter[8] = "", left[96];

	if (row->letter != 0)
		(void)snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	(void)snprintf(left, sizeof(left), "%s%s%s%s%s", letter, lead,
	    row->name, joint, value);
	(void)fprintf(to, "  %-34s %s\n", left, row->help);
}

static void
print_usage(FILE *to, const struct options *o)
{
	const struct daemon_spec *spec = o->spec;
	size_t i;

	(void)fprintf(to, "usage: %s [options]%s%s\n", spec->name,
	    spec->operands != NULL ? " " : "",
	    spec->operands != NULL ? spec->operands : "");
	for (i = 0; i < o->n; i++)
		print_row(to, o->rows[i], "--");
	(void)fprintf(to,
	    "  -V, --version\n  -h, --help\n"
	    "  -o, --option name[=value], one of:\n");
	for (i = 0; i < nitems(shared_settings); i++)
		print_row(to, &shared_settings[i], "     ");
	for (i = 0; i < spec->nsettings; i++)
		print_row(to, &spec->settings[i], "     ");
}

static void NO_RETURN
usage_error(const struct options *o)
{
	(void)fprintf(stderr, "%s: try \"%s --help\" or %s(8)\n", o->spec->name,
	    o->spec->name, o->spec->name);
	exit(o->d->check_only ? EXIT_FAILURE : EX_CONFIG);
}

/* Stores a number in a member of its type. Returns NULL, or what is wrong. */
static const char *
set_number(const struct daemon_option *row, void *member, const char *value)
{
	long long n;
	const char *wrong = number_read(value, row->low, row->high, &n);

	if (wrong != NULL)
		return wrong;
	if (row->kind == OPTION_PORT)
		*(uint16_t *)member = (uint16_t)n;
	else
		*(unsigned int *)member = (unsigned int)n;
	return NULL;
}

/* Stores value in the row's member. Returns NULL, or what is wrong with it. */
static const char *
set_member(const struct options *o, const struct daemon_option *row, void *arg,
    const char *value)
{
	void *member = (char *)arg + row->offset;

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return NULL;
	case OPTION_COUNT:
		++*(int *)member;
		return NULL;
	case OPTION_TEXT:
		*(const char **)member = value;
		return strlen(value) < (size_t)row->low ? "empty" : NULL;
	case OPTION_PATH:
		*(const char **)member = value;
		return value[0] == '/' ? NULL : "not an absolute path";
	case OPTION_PORT:
	case OPTION_UINT:
		return set_number(row, member, value);
	case OPTION_LIMIT:
		return rpc_limits_set(o->spec->limits, row->name, value);
	case OPTION_CALL:
		break;
	}
	return row->set(arg, value);
}

static void
options_apply(const struct options *o, const struct daemon_option *row,
    void *arg, const char *what, const char *value)
{
	const char *wrong = set_member(o, row, arg, value);

	if (wrong == NULL)
		return;
	if (value != NULL)
		(void)fprintf(stderr, "%s: %s \"%s\": %s\n", o->spec->name,
		    what, value, wrong);
	else
		(void)fprintf(stderr, "%s: %s: %s\n", o->spec->name, what,
		    wrong);
	usage_error(o);
}

static const struct daemon_option *
find_setting(const struct daemon_option *rows, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

static void
print_unknown(const struct daemon_spec *spec, const char *name)
{
	struct text_near near = { .word = name, .len = strlen(name) };
	size_t i;

	for (i = 0; i < nitems(shared_settings); i++)
		text_near(&near, shared_settings[i].name);
	for (i = 0; i < spec->nsettings; i++)
		text_near(&near, spec->settings[i].name);
	(void)fprintf(stderr, "%s: -o %s: no such setting", spec->name, name);
	if (near.best != NULL)
		(void)fprintf(stderr, " (did you mean \"%s\"?)", near.best);
	(void)fputc('\n', stderr);
}

/* Applies -o name[=value]. */
static void
options_setting(const struct options *o, const char *text)
{
	const struct daemon_spec *spec = o->spec;
	const struct daemon_option *row;
	const char *equal = strchr(text, '=');
	char name[SETTING_MAX], what[SETTING_MAX + 8];
	void *arg = o->d;

	(void)snprintf(name, sizeof(name), "%.*s",
	    equal != NULL ? (int)(equal - text) : (int)strlen(text), text);
	row = find_setting(shared_settings, nitems(shared_settings), name);
	if (row == NULL) {
		row = find_setting(spec->settings, spec->nsettings, name);
		arg = spec->arg;
	}
	if (row == NULL)
		print_unknown(spec, name);
	else if ((row->value != NULL) != (equal != NULL))
		(void)fprintf(stderr, "%s: -o %s: %s\n", spec->name, name,
		    equal != NULL ? "takes no value" : "needs a value");
	else {
		(void)snprintf(what, sizeof(what), "-o %s", name);
		options_apply(o, row, arg, what,
		    equal != NULL ? equal + 1 : NULL);
		return;
	}
	usage_error(o);
}

/* Makes the two tables of getopt_long(3) from the rows. */
static void
make_getopt(const struct options *o, char *letters, struct option *longs)
{
	static const struct option common[] = {
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ "option", required_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	const struct daemon_option *row;
	char *p = letters;
	size_t i;

	for (i = 0; i < o->n; i++) {
		row = o->rows[i];
		longs[i].name = row->name;
		longs[i].has_arg =
		    row->value != NULL ? required_argument : no_argument;
		longs[i].flag = NULL;
		longs[i].val =
		    row->letter != 0 ? row->letter : LONG_ONLY + (int)i;
		if (row->letter == 0)
			continue;
		*p++ = (char)row->letter;
		if (row->value != NULL)
			*p++ = ':';
	}
	memcpy(longs + o->n, common, sizeof(common));
	memcpy(p, "Vho:", sizeof("Vho:"));
}

static void
apply_letter(const struct options *o, int letter, const char *value)
{
	char what[SETTING_MAX];
	size_t i;

	for (i = 0; i < o->n; i++) {
		const struct daemon_option *row = o->rows[i];

		if (letter == LONG_ONLY + (int)i)
			(void)snprintf(what, sizeof(what), "--%s", row->name);
		else if (letter == row->letter)
			(void)snprintf(what, sizeof(what), "-%c", letter);
		else
			continue;
		options_apply(o, row, o->args[i], what, value);
		return;
	}
	usage_error(o); /* getopt has printed what is wrong */
}

static void
check_result(const struct options *o)
{
	struct daemon *d = o->d;

	if (d->noperands > o->spec->max_operands) {
		(void)fprintf(stderr, "%s: unexpected argument \"%s\"\n",
		    o->spec->name, d->operands[o->spec->max_operands]);
		usage_error(o);
	}
	log_set_verbose(d->verbose);
}

void
daemon_options(struct daemon *d, const struct daemon_spec *spec, int argc,
    char *argv[])
{
	struct options o = { .d = d, .spec = spec };
	struct option longs[OPTIONS_MAX + 4];
	char letters[2 * OPTIONS_MAX + 8];
	int c;

	*d = (struct daemon){ .name = spec->name,
		.user = spec->user,
		.port = spec->port,
		.exports_file = "/etc/exports",
		.key_file = "/var/lib/tern/handle.key",
		.port_option = "-p",
		.starter = -1,
		.notify = { .fd = -1 } };
	add_rows(&o, shared_options, nitems(shared_options), d);
	if (spec->has_exports)
		add_rows(&o, exports_options, nitems(exports_options), d);
	add_rows(&o, spec->options, spec->noptions, spec->arg);
	make_getopt(&o, letters, longs);
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (c == 'V') {
			(void)printf("%s (tern) %s\n", spec->name,
			    TERN_VERSION);
			exit(0);
		} else if (c == 'h') {
			print_usage(stdout, &o);
			exit(0);
		} else if (c == 'o')
			options_setting(&o, optarg);
		else
			apply_letter(&o, c, optarg);
	}
	d->operands = argv + optind;
	d->noperands = argc - optind;
	check_result(&o);
}
