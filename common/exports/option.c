/* SPDX-License-Identifier: ISC */
/*
 * The options of an export, one row each, and how they change a draft. An
 * option that only a kernel server needs has a row too: it is accepted, and one
 * warning names it. An option whose absence would weaken security
 * (Kerberos) is refused.
 * Runs in: wherever exports_parse() does.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "exports/client.h"
#include "exports/id.h"
#include "exports/parse.h"

#define OPTION_NAME_MAX 24

_Static_assert(sizeof(enum export_sync) == sizeof(uint32_t), "a CHOICE");

enum kind {
	/* These set a member each. */
	FLAG, /* a boolean */
	CHOICE, /* one of several, low */
	NUMBER, /* name=number from low to high */
	/* These do not. */
	IDLE, /* has no effect */
	IDLE_VALUE, /* has no effect, with or without =value */
	SPECIAL /* calls a function */
};

struct option {
	const char *name;
	enum kind kind;
	/* Options of one group contradict each other; 0: no group. */
	int group;
	size_t offset; /* of the member in struct export_options */
	bool value;
	uint32_t low, high;
	void (*run)(struct exports_parser *, struct exports_draft *,
	    const char *value, struct exports_at at);
};

static void option_alias(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);
static void option_fsid(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);
static void option_handles(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);
static void option_map_gids(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);
static void option_map_uids(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);
static void option_mountpoint(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);
static void option_names(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);
static void option_sec(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);
static void option_squash_gids(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);
static void option_squash_uids(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);
static void option_xprtsec(struct exports_parser *, struct exports_draft *,
    const char *, struct exports_at);

#define AT(member) offsetof(struct export_options, member)
#define UID_LAST   (UINT32_MAX - 1) /* (uid_t)-1 means "unchanged" */
#define SIZE_LOW   512
#define SIZE_HIGH  (1024 * 1024)

/* clang-format off */
static const struct option options[] = {
	/* name, kind, group, member, value, low, high, function */
	{ "acl",              IDLE,       0,  0, false, 0, 0, NULL },
	{ "alias",            SPECIAL,    0,  0, false, 0, 0, option_alias },
	{ "all_squash",       FLAG,       1,  AT(all_squash), true, 0, 0, NULL },
	{ "anongid",          NUMBER,     2,  AT(anongid), false, 0, UID_LAST, NULL },
	{ "anonuid",          NUMBER,     3,  AT(anonuid), false, 0, UID_LAST, NULL },
	{ "async",            CHOICE,     4,  AT(sync), false, SYNC_NONE, 0, NULL },
	{ "audit",            FLAG,       22, AT(audit), true, 0, 0, NULL },
	{ "auth_nlm",         FLAG,       23, AT(no_auth_nlm), false, 0, 0, NULL },
	{ "certuser",         FLAG,       21, AT(certuser), true, 0, 0, NULL },
	{ "crossmnt",         FLAG,       5,  AT(crossmnt), true, 0, 0, NULL },
	{ "datasync",         CHOICE,     4,  AT(sync), false, SYNC_DATA, 0, NULL },
	{ "fileid32",         FLAG,       6,  AT(fileid32), true, 0, 0, NULL },
	{ "fold",             FLAG,       7,  AT(fold), true, 0, 0, NULL },
	{ "fsid",             SPECIAL,    8,  0, false, 0, 0, option_fsid },
	{ "handles",          SPECIAL,    24, 0, false, 0, 0, option_handles },
	{ "hide",             FLAG,       9,  AT(nohide), false, 0, 0, NULL },
	{ "insecure",         FLAG,       10, AT(insecure), true, 0, 0, NULL },
	{ "insecure_locks",   FLAG,       23, AT(no_auth_nlm), true, 0, 0, NULL },
	{ "map_gids",         SPECIAL,    0,  0, false, 0, 0, option_map_gids },
	{ "map_uids",         SPECIAL,    0,  0, false, 0, 0, option_map_uids },
	{ "mountpoint",       SPECIAL,    11, 0, false, 0, 0, option_mountpoint },
	{ "mp",               SPECIAL,    11, 0, false, 0, 0, option_mountpoint },
	{ "names",            SPECIAL,    12, 0, false, 0, 0, option_names },
	{ "no_acl",           IDLE,       0,  0, false, 0, 0, NULL },
	{ "no_all_squash",    FLAG,       1,  AT(all_squash), false, 0, 0, NULL },
	{ "no_auth_nlm",      FLAG,       23, AT(no_auth_nlm), true, 0, 0, NULL },
	{ "no_pnfs",          IDLE,       0,  0, false, 0, 0, NULL },
	{ "no_root_squash",   FLAG,       13, AT(no_root_squash), true, 0, 0, NULL },
	{ "no_subtree_check", FLAG,       14, AT(subtree_check), false, 0, 0, NULL },
	{ "no_wdelay",        IDLE,       0,  0, false, 0, 0, NULL },
	{ "nohide",           FLAG,       9,  AT(nohide), true, 0, 0, NULL },
	{ "pnfs",             IDLE,       0,  0, false, 0, 0, NULL },
	{ "readsize",         NUMBER,     15, AT(readsize), false, SIZE_LOW, SIZE_HIGH, NULL },
	{ "refer",            IDLE_VALUE, 0,  0, false, 0, 0, NULL },
	{ "replicas",         IDLE_VALUE, 0,  0, false, 0, 0, NULL },
	{ "ro",               FLAG,       16, AT(rw), false, 0, 0, NULL },
	{ "root_squash",      FLAG,       13, AT(no_root_squash), false, 0, 0, NULL },
	{ "rw",               FLAG,       16, AT(rw), true, 0, 0, NULL },
	{ "sec",              SPECIAL,    17, 0, false, 0, 0, option_sec },
	{ "secure",           FLAG,       10, AT(insecure), false, 0, 0, NULL },
	{ "secure_locks",     FLAG,       23, AT(no_auth_nlm), false, 0, 0, NULL },
	{ "security_label",   IDLE,       0,  0, false, 0, 0, NULL },
	{ "setid",            FLAG,       20, AT(setid), true, 0, 0, NULL },
	{ "squash_gids",      SPECIAL,    0,  0, false, 0, 0, option_squash_gids },
	{ "squash_uids",      SPECIAL,    0,  0, false, 0, 0, option_squash_uids },
	{ "subtree_check",    FLAG,       14, AT(subtree_check), true, 0, 0, NULL },
	{ "sync",             CHOICE,     4,  AT(sync), false, SYNC_ALL, 0, NULL },
	{ "wdelay",           IDLE,       0,  0, false, 0, 0, NULL },
	{ "writesize",        NUMBER,     18, AT(writesize), false, SIZE_LOW, SIZE_HIGH, NULL },
	{ "xprtsec",          SPECIAL,    19, 0, false, 0, 0, option_xprtsec },
};
/* clang-format on */

_Static_assert(nitems(options) <= EXPORTS_OPTIONS_MAX, "a bit of idle each");

void
exports_draft_init(struct exports_draft *d)
{
	memset(d, 0, sizeof(*d));
	d->options.anonuid = EXPORTS_ANON;
	d->options.anongid = EXPORTS_ANON;
}

bool
exports_draft_copy(struct exports_draft *to, const struct exports_draft *from)
{
	size_t i;

	*to = *from;
	/* A client may override a default without a warning. */
	memset(to->spoke, 0, sizeof(to->spoke));
	memset(to->aliases, 0, sizeof(to->aliases));
	for (i = 0; i < from->naliases; i++) {
		to->aliases[i] = strdup(from->aliases[i]);
		if (to->aliases[i] == NULL) {
			exports_draft_clear(to);
			return false;
		}
	}
	return true;
}

void
exports_draft_clear(struct exports_draft *d)
{
	size_t i;

	for (i = 0; i < d->naliases; i++)
		free(d->aliases[i]);
	exports_draft_init(d);
}

bool
exports_options_equal(const struct export_options *a,
    const struct export_options *b)
{
	const char *x = (const char *)a, *y = (const char *)b;
	size_t i, size;

	for (i = 0; i < nitems(options); i++) {
		if (options[i].kind > NUMBER)
			continue;
		size =
		    options[i].kind == FLAG ? sizeof(bool) : sizeof(uint32_t);
		if (memcmp(x + options[i].offset, y + options[i].offset,
			size) != 0)
			return false;
	}
	return a->names == b->names && a->mountpoint == b->mountpoint &&
	    a->xprtsec == b->xprtsec &&
	    memcmp(&a->uids, &b->uids, sizeof(a->uids)) == 0 &&
	    memcmp(&a->gids, &b->gids, sizeof(a->gids)) == 0;
}

/* Reads decimal digits only: no sign, no blanks, no overflow. */
static bool
number(const char *s, uint32_t low, uint32_t high, uint32_t *out)
{
	uint64_t n = 0;

	if (*s == '\0')
		return false;
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9')
			return false;
		n = n * 10 + (uint64_t)(*s - '0');
		if (n > high)
			return false;
	}
	if (n < low)
		return false;
	*out = (uint32_t)n;
	return true;
}

static void
option_alias(struct exports_parser *p, struct exports_draft *d,
    const char *value, struct exports_at at)
{
	char clean[EXPORTS_PATH_MAX + 1];
	size_t len = strlen(value);

	/* It must be clean, except for a slash at the end. */
	if (!exports_clean_path(value, len, clean) ||
	    strncmp(value, clean, strlen(clean)) != 0 ||
	    len > strlen(clean) + 1) {
		exports_error(p, at,
		    "alias \"%s\" is not an absolute path without \"..\" "
		    "and \"//\" (for example alias=/C/)",
		    value);
		return;
	}
	if (d->naliases == EXPORTS_ALIASES_MAX) {
		exports_error(p, at, "more than %d aliases",
		    EXPORTS_ALIASES_MAX);
		return;
	}
	d->aliases[d->naliases] = strdup(value);
	if (d->aliases[d->naliases] == NULL)
		exports_error(p, at, "out of memory");
	else
		d->naliases++;
}

static bool
is_uuid(const char *s)
{
	size_t i, digits = 0;

	for (i = 0; s[i] != '\0'; i++) {
		if (strchr("0123456789abcdefABCDEF", s[i]) != NULL)
			digits++;
		else if (s[i] != '-' && s[i] != ':')
			return false;
	}
	return digits == 32;
}

static void
option_fsid(struct exports_parser *p, struct exports_draft *d,
    const char *value, struct exports_at at)
{
	uint32_t n;

	if (strcmp(value, "root") == 0 || strcmp(value, "0") == 0) {
		exports_warning(p, at,
		    "fsid=%s marks the root of NFSv4, which is not served; "
		    "ignored",
		    value);
		return;
	}
	if (is_uuid(value)) {
		d->fsid = exports_id_uuid(value);
		d->has_fsid = true;
		return;
	}
	if (!number(value, 1, UINT32_MAX, &n)) {
		exports_error(p, at,
		    "fsid \"%s\" is not a number from 1 to %u, nor a UUID",
		    value, UINT32_MAX);
		return;
	}
	d->fsid = n;
	d->has_fsid = true;
}

static void
option_handles(struct exports_parser *p, struct exports_draft *d,
    const char *value, struct exports_at at)
{
	static const enum fh_naming all[] = { FH_BY_ANY, FH_BY_HANDLE,
		FH_BY_INODE, FH_BY_GFID };
	size_t i;

	for (i = 0; i < nitems(all); i++) {
		if (strcmp(value, fh_naming_names[all[i]]) != 0)
			continue;
		d->handles = all[i];
		d->has_handles = true;
		return;
	}
	exports_error(p, at,
	    "handles \"%s\" is neither \"auto\", \"kernel\", \"inode\" nor "
	    "\"gfid\"",
	    value);
}

static void
map_add(struct exports_parser *p, struct id_map *map, const char *name,
    const char *value, struct exports_at at)
{
	const char *why = id_map_add(map, value, *name == 's');

	if (why != NULL)
		exports_error(p, at, "%s \"%s\": %s", name, value, why);
}

static void
option_map_gids(struct exports_parser *p, struct exports_draft *d,
    const char *value, struct exports_at at)
{
	map_add(p, &d->options.gids, "map_gids", value, at);
}

static void
option_map_uids(struct exports_parser *p, struct exports_draft *d,
    const char *value, struct exports_at at)
{
	map_add(p, &d->options.uids, "map_uids", value, at);
}

static void
option_squash_gids(struct exports_parser *p, struct exports_draft *d,
    const char *value, struct exports_at at)
{
	map_add(p, &d->options.gids, "squash_gids", value, at);
}

static void
option_squash_uids(struct exports_parser *p, struct exports_draft *d,
    const char *value, struct exports_at at)
{
	map_add(p, &d->options.uids, "squash_uids", value, at);
}

static void
option_mountpoint(struct exports_parser *p, struct exports_draft *d,
    const char *value, struct exports_at at)
{
	if (*value != '\0') {
		exports_error(p, at,
		    "mountpoint takes no path here: write \"mountpoint\" to "
		    "serve the export only while something is mounted on it");
		return;
	}
	d->options.mountpoint = true;
}

static void
option_names(struct exports_parser *p, struct exports_draft *d,
    const char *value, struct exports_at at)
{
	if (strcmp(value, "utf16le") == 0)
		d->options.names = NAMES_UTF16LE;
	else if (strcmp(value, "bytes") == 0)
		d->options.names = NAMES_BYTES;
	else
		exports_error(p, at,
		    "names \"%s\" is neither \"bytes\" nor \"utf16le\"", value);
}

static void
option_sec(struct exports_parser *p, struct exports_draft *d UNUSED,
    const char *value, struct exports_at at)
{
	if (strcmp(value, "sys") != 0)
		exports_error(p, at,
		    "sec \"%s\" is not supported: only \"sys\" is", value);
}

/*
 * Reads a list such as "tls:mtls". Its weakest word is what the connection must
 * be at least: a client with a certificate satisfies "tls" too.
 */
static void
option_xprtsec(struct exports_parser *p, struct exports_draft *d,
    const char *value, struct exports_at at)
{
	static const enum peer_security all[] = { PEER_PLAIN, PEER_TLS,
		PEER_MTLS };
	enum peer_security least = PEER_MTLS;
	const char *word = value;
	size_t i, len;

	for (;; word += len + 1) {
		len = strcspn(word, ":");
		for (i = 0; i < nitems(all); i++) {
			if (strlen(exports_xprtsec(all[i])) == len &&
			    memcmp(word, exports_xprtsec(all[i]), len) == 0)
				break;
		}
		if (i == nitems(all)) {
			exports_error(p, at,
			    "xprtsec \"%s\" is not a list of \"none\", \"tls\" "
			    "and \"mtls\" with colons between them",
			    value);
			return;
		}
		if (all[i] < least)
			least = all[i];
		if (word[len] == '\0')
			break;
	}
	d->options.xprtsec = least;
}

static void
option_unknown(struct exports_parser *p, const char *text, size_t len,
    struct exports_at at)
{
	struct text_near near = { .word = text, .len = len };
	size_t i;

	for (i = 0; i < nitems(options); i++)
		text_near(&near, options[i].name);
	if (near.best != NULL)
		exports_error(p, at,
		    "unknown option \"%.*s\" (did you mean \"%s\"?)", (int)len,
		    text, near.best);
	else
		exports_error(p, at, "unknown option \"%.*s\"",
		    len > EXPORTS_PATH_MAX ? EXPORTS_PATH_MAX : (int)len, text);
}

/* Warns if an option is repeated or contradicts one before it. */
static void
check_repeat(struct exports_parser *p, struct exports_draft *d,
    const struct option *o, const char *text, struct exports_at at)
{
	const char **before = &d->spoke[o->group];

	if (o->group == 0)
		return;
	if (*before == o->name && (o->kind == FLAG || o->kind == CHOICE))
		exports_warning(p, at, "\"%s\" is given twice", text);
	else if (*before != NULL)
		exports_warning(p, at,
		    "\"%s\" contradicts \"%s\" before it: the last one counts",
		    text, *before);
	*before = o->name;
}

static void
option_idle(struct exports_parser *p, const struct option *o,
    struct exports_at at)
{
	if (p->idle == 0)
		p->idle_at = at;
	p->idle |= UINT64_C(1) << (o - options);
}

static void
option_number(struct exports_parser *p, struct exports_draft *d,
    const struct option *o, const char *value, struct exports_at at)
{
	uint32_t n;

	if (!number(value, o->low, o->high, &n)) {
		exports_error(p, at, "%s \"%s\" is not a number from %u to %u",
		    o->name, value, o->low, o->high);
		return;
	}
	memcpy((char *)&d->options + o->offset, &n, sizeof(n));
}

static void
option_apply(struct exports_parser *p, struct exports_draft *d,
    const struct option *o, const char *text, const char *equals,
    struct exports_at at)
{
	const char *value = equals == NULL ? "" : equals + 1;

	if (equals != NULL &&
	    (o->kind == FLAG || o->kind == CHOICE || o->kind == IDLE)) {
		exports_error(p, at, "\"%s\" takes no value", o->name);
		return;
	}
	if (equals == NULL &&
	    (o->kind == NUMBER ||
		(o->kind == SPECIAL && o->run != option_mountpoint))) {
		exports_error(p, at, "\"%s\" needs a value: %s=...", o->name,
		    o->name);
		return;
	}
	check_repeat(p, d, o, text, at);
	if (o->kind == FLAG)
		memcpy((char *)&d->options + o->offset, &o->value,
		    sizeof(o->value));
	else if (o->kind == CHOICE)
		memcpy((char *)&d->options + o->offset, &o->low,
		    sizeof(o->low));
	else if (o->kind == NUMBER)
		option_number(p, d, o, value, at);
	else if (o->kind == SPECIAL)
		o->run(p, d, value, at);
	else
		option_idle(p, o, at);
}

void
exports_option(struct exports_parser *p, struct exports_draft *d,
    const char *text, struct exports_at at)
{
	const char *equals = strchr(text, '=');
	size_t len = equals == NULL ? strlen(text) : (size_t)(equals - text);
	size_t i;

	for (i = 0; i < nitems(options); i++) {
		if (strlen(options[i].name) == len &&
		    memcmp(options[i].name, text, len) == 0) {
			option_apply(p, d, &options[i], text, equals, at);
			return;
		}
	}
	option_unknown(p, text, len, at);
}

void
exports_option_idle(struct exports_parser *p)
{
	char names[EXPORTS_OPTIONS_MAX * (OPTION_NAME_MAX + 2)] = "";
	size_t i, n = 0, len;

	for (i = 0; i < nitems(options); i++) {
		if ((p->idle & UINT64_C(1) << i) == 0)
			continue;
		len = strlen(options[i].name);
		if (n > 0) {
			memcpy(names + n, ", ", 2);
			n += 2;
		}
		memcpy(names + n, options[i].name, len);
		n += len;
		names[n] = '\0';
	}
	if (n > 0)
		exports_warning(p, p->idle_at,
		    "accepted but without effect in this server: %s", names);
}

static void append(char out[EXPORTS_OPTIONS_TEXT], const char *fmt, ...)
    PRINTF_LIKE(2, 3);

/* Appends an option, with a comma before it. What does not fit is left out. */
static void
append(char out[EXPORTS_OPTIONS_TEXT], const char *fmt, ...)
{
	size_t len = strlen(out);
	va_list ap;

	if (len > 0 && len < EXPORTS_OPTIONS_TEXT - 1)
		out[len++] = ',';
	va_start(ap, fmt);
	(void)vsnprintf(out + len, EXPORTS_OPTIONS_TEXT - len, fmt, ap);
	va_end(ap);
}

/* Appends "map_uids=2000-2999/12000" or "squash_uids=0" for each range. */
static void
append_map(char out[EXPORTS_OPTIONS_TEXT], const struct id_map *map,
    const char *what)
{
	const struct id_range *r;
	char last[16], here[16];
	uint32_t i;

	for (i = 0; i < map->n; i++) {
		r = &map->list[i];
		last[0] = here[0] = '\0';
		if (r->count > 1)
			(void)snprintf(last, sizeof(last), "-%u",
			    r->client + r->count - 1);
		if (r->here != ID_MAP_SQUASH)
			(void)snprintf(here, sizeof(here), "/%u", r->here);
		append(out, "%s_%s=%u%s%s", *here != '\0' ? "map" : "squash",
		    what, r->client, last, here);
	}
}

/* Does an earlier word mean the same? */
static bool
is_synonym(const struct option *o)
{
	const struct option *other;

	for (other = options; other < o; other++)
		if (other->kind == FLAG && other->offset == o->offset &&
		    other->value == o->value)
			return true;
	return false;
}

void
exports_options_print(const struct export_options *options_of,
    char out[EXPORTS_OPTIONS_TEXT])
{
	const char *from = (const char *)options_of;
	const struct option *o;
	uint32_t number;
	size_t i;

	out[0] = '\0';
	for (i = 0; i < nitems(options); i++) {
		o = &options[i];
		if (o->kind == FLAG) {
			if (!is_synonym(o) &&
			    memcmp(from + o->offset, &o->value,
				sizeof(o->value)) == 0)
				append(out, "%s", o->name);
			continue;
		}
		if (o->kind != CHOICE && o->kind != NUMBER)
			continue;
		memcpy(&number, from + o->offset, sizeof(number));
		if (o->kind == CHOICE && number == o->low)
			append(out, "%s", o->name);
		else if (o->kind == NUMBER && number >= o->low)
			append(out, "%s=%u", o->name, number);
	}
	append_map(out, &options_of->uids, "uids");
	append_map(out, &options_of->gids, "gids");
	append(out, "sec=sys");
	if (options_of->mountpoint)
		append(out, "mountpoint");
	if (options_of->names == NAMES_UTF16LE)
		append(out, "names=utf16le");
	if (options_of->xprtsec != PEER_PLAIN)
		append(out, "xprtsec=%s", exports_xprtsec(options_of->xprtsec));
}
