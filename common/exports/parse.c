/* SPDX-License-Identifier: ISC */
/*
 * Turns exports(5) text into a list. Pure: no files, no lookups of its own, no
 * logging, no clock. The parser goes on after an error, so that all errors of a
 * file are reported at once. After any error there is no list.
 *
 *   line     path { blank client | blank "-" options }
 *   client   host [ "(" options ")" ]
 *   options  option { "," option }
 *
 * Characters are quoted by "..." or written as \ooo. A backslash at the end of
 * a line continues it. "#" at the start of a word begins a comment.
 * Runs in: mountd (all roles), nfsd (all roles), tests, fuzzers.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "exports/client.h"
#include "exports/parse.h"

#define LITERAL	 0x100 /* quoted or escaped: never syntax */
#define END	 (-1)
#define WORD_MAX (EXPORTS_PATH_MAX + 64) /* "alias=" and a path fit */

struct lexer {
	const char *text;
	size_t len, pos; /* pos: after the current character */
	bool quoted;
	int c; /* current character: 0-255, with LITERAL, '\n', END */
	struct exports_at at; /* of c */
	struct exports_at next;
};

struct parse {
	struct exports_parser p;
	struct lexer lx;
	struct exports *ex;
	size_t nclients; /* in all exports */
	bool full; /* a limit was hit and reported */
};

/* A word and the place of its first character. */
struct word {
	char text[WORD_MAX + 1];
	size_t len;
	struct exports_at at;
};

/* Returns the byte at pos, or END after the text. */
static int
lex_byte(const struct lexer *lx, size_t pos)
{
	return pos < lx->len ? (unsigned char)lx->text[pos] : END;
}

static void
lex_step(struct lexer *lx, size_t n)
{
	lx->pos += n;
	lx->next.column += (int)n;
}

/* If "\n" or "\r\n" is at pos, returns its length, else 0. */
static size_t
lex_newline(const struct lexer *lx, size_t pos)
{
	if (lex_byte(lx, pos) == '\n')
		return 1;
	if (lex_byte(lx, pos) == '\r' && lex_byte(lx, pos + 1) == '\n')
		return 2;
	return 0;
}

/* After a backslash: reads three octal digits, or the end of the line. */
static int
lex_escape(struct parse *s)
{
	struct lexer *lx = &s->lx;
	size_t n = lex_newline(lx, lx->pos);
	unsigned char c;

	if (n > 0 && !lx->quoted) {
		lx->pos += n;
		lx->next.line++;
		lx->next.column = 1;
		return ' ';
	}
	if (!text_octal(lx->text + lx->pos, lx->len - lx->pos, &c) || c == 0) {
		exports_error(&s->p, lx->at,
		    "\"\\\" must be followed by three octal digits (\\040 is a "
		    "blank) or end the line");
		return '?' | LITERAL;
	}
	lex_step(lx, TEXT_ESCAPED - 1);
	return c | LITERAL;
}

/* At the end of a line or of the text: an open quote ends here too. */
static int
lex_end(struct parse *s, size_t n)
{
	struct lexer *lx = &s->lx;

	if (lx->quoted)
		exports_error(&s->p, lx->at,
		    "the quote is not closed on this line");
	lx->quoted = false;
	if (n == 0)
		return END;
	lx->pos += n;
	lx->next.line++;
	lx->next.column = 1;
	return '\n';
}

static int
lex_read(struct parse *s)
{
	struct lexer *lx = &s->lx;
	size_t n;
	int c;

	for (;;) {
		lx->at = lx->next;
		c = lex_byte(lx, lx->pos);
		n = lex_newline(lx, lx->pos);
		if (c == END || n > 0)
			return lex_end(s, n);
		lex_step(lx, 1);
		if (c != '"')
			break;
		lx->quoted = !lx->quoted;
	}
	if (c == '\\')
		return lex_escape(s);
	if (c == '\t')
		c = ' ';
	if (c < 0x20 || c == 0x7f) {
		exports_error(&s->p, lx->at, "control character 0x%02x",
		    (unsigned int)c);
		return '?' | LITERAL;
	}
	return lx->quoted ? c | LITERAL : c;
}

static void
lex_next(struct parse *s)
{
	s->lx.c = lex_read(s);
}

static bool
at_line_end(const struct parse *s)
{
	return s->lx.c == '\n' || s->lx.c == END;
}

static void
skip_line(struct parse *s)
{
	while (!at_line_end(s))
		lex_next(s);
}

/* Skips blanks and a comment after them. */
static void
skip_blanks(struct parse *s)
{
	while (s->lx.c == ' ')
		lex_next(s);
	if (s->lx.c == '#') {
		/* A comment has no quotes and no escapes. */
		while (lex_byte(&s->lx, s->lx.pos) != END &&
		    lex_newline(&s->lx, s->lx.pos) == 0)
			lex_step(&s->lx, 1);
		lex_next(s);
	}
}

/*
 * Reads up to a blank, the end of the line, or one of the stop characters.
 * Returns false, after a report, if the word is too long.
 */
static bool
read_word(struct parse *s, struct word *w, const char *stop)
{
	bool fits = true;

	w->len = 0;
	w->at = s->lx.at;
	while (!at_line_end(s) && s->lx.c != ' ' &&
	    (s->lx.c >= LITERAL || strchr(stop, s->lx.c) == NULL)) {
		if (w->len < WORD_MAX)
			w->text[w->len++] = (char)(s->lx.c & 0xff);
		else
			fits = false;
		lex_next(s);
	}
	w->text[w->len] = '\0';
	if (!fits)
		exports_error(&s->p, w->at, "longer than %d bytes", WORD_MAX);
	return fits;
}

/* Reads options up to a blank or one of the stop characters. */
static void
parse_options(struct parse *s, struct exports_draft *d, const char *stop)
{
	struct word w;

	for (;;) {
		if (read_word(s, &w, stop) && w.len > 0)
			exports_option(&s->p, d, w.text, w.at);
		if (s->lx.c != ',')
			return;
		lex_next(s);
	}
}

/* Is there room for one more? Reports the limit once. */
static bool
has_room(struct parse *s, size_t used, size_t max, const char *what,
    const struct word *w)
{
	if (used < max)
		return true;
	if (!s->full)
		exports_error(&s->p, w->at, "more than %zu %s", max, what);
	s->full = true;
	return false;
}

/* Grows an array by one zeroed element. Returns NULL after a report. */
static void *
grow(struct parse *s, void *array, size_t n, size_t size, const struct word *w)
{
	void *bigger = reallocarray(array, n + 1, size);

	if (bigger == NULL) {
		exports_error(&s->p, w->at, "out of memory");
		return NULL;
	}
	memset((char *)bigger + n * size, 0, size);
	return bigger;
}

/* Returns the export at a cleaned path, which may be new. NULL: reported. */
static struct export *
find_or_add_export(struct parse *s, const char *path, const struct word *w)
{
	struct exports *ex = s->ex;
	struct export *list;
	size_t i;

	for (i = 0; i < ex->n; i++) {
		if (strcmp(ex->list[i].path, path) == 0)
			return &ex->list[i];
	}
	if (!has_room(s, ex->n, EXPORTS_MAX, "exports", w))
		return NULL;
	list = grow(s, ex->list, ex->n, sizeof(*list), w);
	if (list == NULL)
		return NULL;
	ex->list = list;
	list[ex->n].path = strdup(path);
	if (list[ex->n].path == NULL) {
		exports_error(&s->p, w->at, "out of memory");
		return NULL;
	}
	list[ex->n].source = w->at.source;
	list[ex->n].line = w->at.line;
	return &list[ex->n++];
}

/* Would both match the same clients? */
static bool
same_client(const struct export_client *a, const struct export_client *b)
{
	if (a->options.names != b->options.names || a->cert != b->cert ||
	    a->any != b->any)
		return false;
	if (a->cert == CERT_NAME)
		return strcasecmp(a->text, b->text) == 0;
	if (a->cert != 0)
		return memcmp(a->fingerprint, b->fingerprint,
			   sizeof(a->fingerprint)) == 0;
	if (a->any)
		return true;
	if (a->net.family == 0) /* host names without address */
		return b->net.family == 0 && strcasecmp(a->text, b->text) == 0;
	return a->plen == b->plen && addr_same_host(&a->net, &b->net);
}

static bool
has_alias(const struct export_client *c, const char *alias)
{
	size_t i;

	for (i = 0; i < c->naliases; i++) {
		if (strcmp(c->aliases[i], alias) == 0)
			return true;
	}
	return false;
}

/* Adds the draft's aliases that the client lacks. Returns how many. */
static size_t
add_aliases(struct parse *s, struct export_client *c,
    const struct exports_draft *d, const struct word *w)
{
	size_t i, added = 0;
	char *copy;

	for (i = 0; i < d->naliases; i++) {
		if (has_alias(c, d->aliases[i]))
			continue;
		copy = c->naliases < EXPORTS_ALIASES_MAX ?
		    strdup(d->aliases[i]) :
		    NULL;
		if (copy == NULL) {
			exports_error(&s->p, w->at, "more than %d aliases",
			    EXPORTS_ALIASES_MAX);
			return added;
		}
		c->aliases[c->naliases++] = copy;
		added++;
	}
	return added;
}

/* The client is listed again: its first entry counts, aliases are added. */
static void
repeat_client(struct parse *s, struct export_client *c,
    const struct exports_draft *d, const struct word *w)
{
	char where[EXPORTS_WHERE];

	(void)exports_where(c->source, c->line, where);
	if (!exports_options_equal(&c->options, &d->options))
		exports_warning(&s->p, w->at,
		    "\"%s\" contradicts %s, which counts: remove one of them",
		    w->text, where);
	else if (add_aliases(s, c, d, w) == 0)
		exports_warning(&s->p, w->at,
		    "\"%s\" is listed twice (also in %s)", w->text, where);
}

/* Adds a client; wanted says which hosts it matches. */
static void
add_client(struct parse *s, struct export *e, const struct word *w,
    const struct export_client *wanted, const struct exports_draft *d)
{
	struct export_client *c;
	size_t i;

	for (i = 0; i < e->nclients; i++) {
		if (same_client(&e->clients[i], wanted)) {
			repeat_client(s, &e->clients[i], d, w);
			return;
		}
	}
	if (!has_room(s, s->nclients, EXPORTS_CLIENTS_MAX, "clients", w))
		return;
	c = grow(s, e->clients, e->nclients, sizeof(*c), w);
	if (c == NULL)
		return;
	e->clients = c;
	c += e->nclients;
	*c = *wanted;
	c->again = e->nclients > 0 && c[-1].column == wanted->column &&
	    c[-1].line == wanted->line && c[-1].source == wanted->source;
	c->text = strdup(w->text);
	if (c->text == NULL) {
		exports_error(&s->p, w->at, "out of memory");
		return;
	}
	e->nclients++;
	s->nclients++;
	(void)add_aliases(s, c, d, w);
}

/* Adds the entries of one client: one, or one for each of its addresses. */
static void
add_clients(struct parse *s, struct export *e, struct word *w,
    const struct exports_host *h, const struct exports_draft *d)
{
	struct export_client wanted = { .cert = h->cert,
		.any = h->any,
		.source = w->at.source,
		.line = w->at.line,
		.column = w->at.column,
		.text = w->text, /* to compare */
		.options = d->options };
	size_t i;

	memcpy(wanted.fingerprint, h->fingerprint, sizeof(h->fingerprint));
	if (h->any || h->cert != 0)
		add_client(s, e, w, &wanted, d);
	for (i = 0; i < h->n; i++) {
		wanted.net = h->net[i];
		wanted.plen = h->plen[i];
		add_client(s, e, w, &wanted, d);
	}
}

/* Reports options of one client that do not go together. */
static void
check_draft(struct parse *s, const struct exports_host *h,
    const struct exports_draft *d, const struct word *w)
{
	const struct export_options *o = &d->options;
	bool anon_root = o->anonuid == 0 || o->anongid == 0;

	if (h->cert != 0 && d->naliases > 0)
		exports_error(&s->p, w->at,
		    "\"%s\": a client that is known by certificate has no "
		    "alias, since mountd sees no certificate",
		    w->text);
	if (o->certuser && h->cert == 0 && o->xprtsec != PEER_MTLS)
		exports_error(&s->p, w->at,
		    "\"%s\": certuser needs a certificate: add xprtsec=mtls",
		    w->text);
	if (o->certuser && (o->all_squash || o->no_root_squash))
		exports_error(&s->p, w->at,
		    "\"%s\": certuser goes with neither all_squash nor "
		    "no_root_squash",
		    w->text);
	if (o->certuser && (o->uids.n > 0 || o->gids.n > 0))
		exports_error(&s->p, w->at,
		    "\"%s\": certuser goes with no map, since the user is one "
		    "of this machine",
		    w->text);
	if (!o->no_root_squash &&
	    (id_map_gives(&o->uids, 0) || id_map_gives(&o->gids, 0)))
		exports_error(&s->p, w->at,
		    "\"%s\": a map gives user or group 0, which needs "
		    "no_root_squash",
		    w->text);
	if (anon_root && !o->no_root_squash)
		exports_error(&s->p, w->at,
		    "\"%s\": anonymous callers get user or group 0, which "
		    "needs no_root_squash",
		    w->text);
	else if (anon_root)
		exports_warning(&s->p, w->at,
		    "\"%s\": anonymous callers get user or group 0", w->text);
	else if (o->all_squash && o->no_root_squash)
		exports_warning(&s->p, w->at,
		    "\"%s\": no_root_squash has no effect with all_squash",
		    w->text);
}

static void
set_fsid(struct parse *s, struct export *e, const struct exports_draft *d,
    const struct word *w)
{
	if (!d->has_fsid)
		return;
	if (e->has_fsid && e->fsid != d->fsid)
		exports_error(&s->p, w->at,
		    "\"%s\" has fsid=%u already: an export has one fsid",
		    e->path, e->fsid);
	e->has_fsid = true;
	e->fsid = d->fsid;
}

static void
set_handles(struct parse *s, struct export *e, const struct exports_draft *d,
    const struct word *w)
{
	if (!d->has_handles)
		return;
	if (e->handles != FH_BY_ANY && e->handles != d->handles)
		exports_error(&s->p, w->at,
		    "\"%s\" has handles=%s already: an export has one kind",
		    e->path, fh_naming_names[e->handles]);
	e->handles = d->handles;
}

/*
 * Reads host(options). e NULL: the path was bad, and the rest is only checked.
 * Returns false if there is no memory.
 */
static bool
parse_client(struct parse *s, struct export *e,
    const struct exports_draft *defaults)
{
	struct exports_draft d;
	struct exports_host h;
	struct word w, junk;
	bool fits;

	fits = read_word(s, &w, "()");
	if (!exports_draft_copy(&d, defaults)) {
		exports_error(&s->p, w.at, "out of memory");
		return false;
	}
	if (s->lx.c == '(') {
		lex_next(s);
		parse_options(s, &d, ",)");
		if (s->lx.c != ')') {
			exports_error(&s->p, s->lx.at,
			    "\")\" expected: options have no blanks between "
			    "them and end with \")\"");
			skip_line(s); /* the rest cannot be interpreted */
		} else {
			lex_next(s);
		}
	}
	if (!at_line_end(s) && s->lx.c != ' ' && read_word(s, &junk, ""))
		exports_error(&s->p, junk.at,
		    "a blank is missing before \"%s\"", junk.text);
	if (fits && exports_host(&s->p, &h, w.text, w.at) && e != NULL) {
		check_draft(s, &h, &d, &w);
		set_fsid(s, e, &d, &w);
		set_handles(s, e, &d, &w);
		add_clients(s, e, &w, &h, &d);
	}
	exports_draft_clear(&d);
	return true;
}

/* Reads the rest of the line. Returns how many clients it lists. */
static size_t
parse_clients(struct parse *s, struct export *e)
{
	struct exports_draft defaults;
	struct word junk;
	size_t n = 0;

	exports_draft_init(&defaults);
	for (;;) {
		skip_blanks(s);
		if (at_line_end(s))
			break;
		if (s->lx.c == '-') {
			lex_next(s);
			parse_options(s, &defaults, ",");
			continue;
		}
		n++;
		if (s->lx.c == '(') {
			exports_error(&s->p, s->lx.at,
			    "options without a client: remove the blank before "
			    "\"(\", or write \"*(\" for every client");
			(void)read_word(s, &junk, "");
			continue;
		}
		if (!parse_client(s, e, &defaults))
			break;
	}
	exports_draft_clear(&defaults);
	return n;
}

static void
parse_line(struct parse *s)
{
	char path[EXPORTS_PATH_MAX + 1];
	struct export *e = NULL;
	struct word w;
	bool fits;

	skip_blanks(s);
	if (at_line_end(s))
		return;
	fits = read_word(s, &w, "");
	if (fits && exports_clean_path(w.text, w.len, path)) {
		e = find_or_add_export(s, path, &w);
		if (e == NULL) {
			skip_line(s);
			return;
		}
	} else if (fits) {
		exports_error(&s->p, w.at,
		    "\"%s\" is not an absolute path of at most %d bytes "
		    "without \"..\"",
		    w.text, EXPORTS_PATH_MAX);
	}
	if (parse_clients(s, e) == 0 && e != NULL)
		exports_error(&s->p, w.at,
		    "\"%s\" has no client: write \"*\" to export it to "
		    "every client",
		    w.text);
}

/*
 * Begins the files whose marks are here, at the start of a line. Returns false
 * if there is no memory.
 */
static bool
begin_file(struct parse *s)
{
	struct exports_source *source;
	struct lexer *lx = &s->lx;
	const char *name, *end;
	size_t len;

	while (lex_byte(lx, lx->pos) == EXPORTS_MARK) {
		name = lx->text + lx->pos + 1;
		end = memchr(name, '\n', lx->len - lx->pos - 1);
		len =
		    end != NULL ? (size_t)(end - name) : lx->len - lx->pos - 1;
		source = calloc(1, sizeof(*source) + len + 1);
		if (source == NULL) {
			exports_error(&s->p, lx->at, "out of memory");
			return false;
		}
		memcpy(source->name, name, len);
		source->next = s->ex->sources;
		source->number =
		    source->next != NULL ? source->next->number + 1 : 1;
		s->ex->sources = source;
		lx->next = exports_top;
		lx->next.source = source;
		lx->pos += 1 + len + (end != NULL);
	}
	return true;
}

struct exports *
exports_parse(const char *text, size_t len, const struct exports_hooks *hooks)
{
	struct parse s = {
		.p = { .hooks = hooks },
		.lx = { .text = text, .len = len, .next = exports_top },
	};

	s.ex = calloc(1, sizeof(*s.ex));
	if (s.ex == NULL) {
		exports_error(&s.p, exports_top, "out of memory");
		return NULL;
	}
	if (len > EXPORTS_TEXT_MAX) {
		exports_error(&s.p, exports_top, "longer than %d bytes",
		    EXPORTS_TEXT_MAX);
		goto out;
	}
	while (begin_file(&s)) {
		lex_next(&s);
		if (s.lx.c == END)
			break;
		parse_line(&s);
		if (s.lx.c == END || s.full ||
		    s.p.reports > EXPORTS_REPORTS_MAX)
			break;
	}
	exports_finish(&s.p, s.ex);
out:
	if (s.p.failed) {
		exports_free(s.ex);
		return NULL;
	}
	return s.ex;
}
