/* SPDX-License-Identifier: ISC */
/*
 * The text form of wire vectors: see case.h.
 * Runs in: tests.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "case_parser.h"

static bool
begin_call(struct case_parser *p)
{
	if (p->ex != NULL && !p->replied)
		return case_fail(p, "the call before this one has no reply");
	if (p->c->nexchanges == CASE_EXCHANGES_MAX)
		return case_fail(p, "more than %d calls", CASE_EXCHANGES_MAX);
	p->ex = &p->c->exchanges[p->c->nexchanges++];
	p->ex->from = p->from;
	p->ex->line = p->line;
	p->msg = &p->ex->call;
	p->replied = false;
	return case_call_header(p);
}

static bool
begin_reply(struct case_parser *p)
{
	if (p->ex == NULL || p->replied)
		return case_fail(p, "reply without call");
	p->replied = true;
	p->msg = NULL;
	if (case_skip(p, "none"))
		p->ex->answer = CASE_NONE;
	else if (case_skip(p, "hangup"))
		p->ex->answer = CASE_HANGUP;
	else {
		p->ex->answer = CASE_REPLY;
		p->msg = &p->ex->reply;
		return case_reply_header(p);
	}
	return true;
}

/* The words go to the fixture, one space between them. */
static bool
set_setup(struct case_parser *p)
{
	char *setup = p->c->setup;

	for (; *p->next != NULL; p->next++) {
		if (setup[0] != '\0')
			(void)strlcat(setup, " ", sizeof(p->c->setup));
		(void)strlcat(setup, *p->next, sizeof(p->c->setup));
	}
	return true;
}

static bool
set_from(struct case_parser *p)
{
	const char *token = case_take(p, "an address");

	if (token == NULL)
		return false;
	if (strcmp(token, "local") == 0) {
		memset(&p->from, 0, sizeof(p->from));
		p->from.family = AF_UNIX;
		return true;
	}
	return addr_parse(&p->from, token) ||
	    case_fail(p, "\"%s\": expected local or an address", token);
}

static bool
set_uid(struct case_parser *p)
{
	const char *token = case_take(p, "a user"), *bad;

	if (token == NULL)
		return false;
	p->c->uid = (uint32_t)strtonum(token, 0, UINT32_MAX, &bad);
	return bad == NULL || case_fail(p, "\"%s\" is not a user id", token);
}

static bool
set_over(struct case_parser *p)
{
	p->c->over = 0;
	for (;;)
		if (case_skip(p, "memory"))
			p->c->over |= CASE_MEMORY;
		else if (case_skip(p, "udp"))
			p->c->over |= CASE_UDP;
		else if (case_skip(p, "tcp"))
			p->c->over |= CASE_TCP;
		else
			return p->c->over != 0 ||
			    case_fail(p, "over: expected memory udp or tcp");
}

static bool
set_prefixes(struct case_parser *p)
{
	p->c->prefixes_refused = false;
	return case_skip(p, "harmless") ||
	    case_fail(p, "prefixes: expected harmless");
}

static bool
set_flips(struct case_parser *p)
{
	p->c->flips = false;
	return case_skip(p, "none") || case_fail(p, "flips: expected none");
}

static const struct {
	const char *word;
	bool (*set)(struct case_parser *);
} directives[] = {
	{ "call", begin_call },
	{ "reply", begin_reply },
	{ "setup", set_setup },
	{ "from", set_from },
	{ "uid", set_uid },
	{ "over", set_over },
	{ "prefixes", set_prefixes },
	{ "flips", set_flips },
};

static bool
parse_directive(struct case_parser *p)
{
	const char *word = *p->next++;
	size_t i;

	for (i = 0; i < nitems(directives); i++)
		if (strcmp(directives[i].word, word) == 0)
			return directives[i].set(p) &&
			    (*p->next == NULL ||
				case_fail(p, "\"%s\" is too much", *p->next));
	return case_fail(p,
	    "unknown word \"%s\": expected call reply setup from uid over "
	    "prefixes or flips; bytes are indented",
	    word);
}

static bool
parse_line(struct case_parser *p, const char *line)
{
	if (line[0] == '#')
		return true;
	if (!case_tokens(p, line))
		return false;
	if (*p->next == NULL)
		return true;
	if (line[0] != ' ' && line[0] != '\t')
		return parse_directive(p);
	return p->msg != NULL ? case_add_line(p) :
				case_fail(p, "bytes outside of call and reply");
}

static void
add_known(struct wire_case *c, const struct case_known *known)
{
	struct case_var *var;

	for (; known != NULL && known->name != NULL; known++) {
		var = &c->vars[c->nvars++];
		(void)strlcpy(var->name, known->name, sizeof(var->name));
		var->len = known->len;
	}
}

bool
case_parse(struct wire_case *c, const struct case_known *known,
    const char *text, unsigned int *line)
{
	struct case_parser p = { .c = c };
	char copy[CASE_LINE_MAX];
	size_t n;

	memset(c, 0, sizeof(*c));
	add_known(c, known);
	c->over = CASE_MEMORY | CASE_UDP | CASE_TCP;
	c->prefixes_refused = true;
	c->flips = true;
	(void)addr_parse(&p.from, "127.0.0.1:700");
	for (; *text != '\0' && !p.failed; text += n + (text[n] == '\n')) {
		p.line++;
		n = strcspn(text, "\n");
		if (n >= sizeof(copy)) {
			(void)case_fail(&p, "line longer than %d bytes",
			    CASE_LINE_MAX - 1);
			break;
		}
		memcpy(copy, text, n);
		copy[n] = '\0';
		(void)parse_line(&p, copy);
	}
	*line = p.line;
	if (!p.failed && !p.replied)
		(void)case_fail(&p,
		    p.ex == NULL ? "no call" : "the last call has no reply");
	return !p.failed;
}

void
case_fill(const struct wire_case *c, struct case_message *m)
{
	const struct case_var *var;
	size_t i;

	for (i = 0; i < m->nrefs; i++) {
		var = &c->vars[m->refs[i].var];
		memcpy(m->bytes + m->refs[i].at, var->bytes, var->len);
	}
}

long
case_match(struct wire_case *c, const struct case_message *want,
    const uint8_t *got, size_t len)
{
	const struct case_ref *ref;
	struct case_var *var;
	uint8_t expect;
	size_t i, j;

	for (i = 0; i < want->len; i++) {
		if (i >= len)
			return (long)i;
		expect = want->bytes[i];
		for (j = 0; j < want->nrefs; j++) {
			ref = &want->refs[j];
			var = &c->vars[ref->var];
			if (i < ref->at || i - ref->at >= var->len)
				continue;
			if (ref->captures)
				var->bytes[i - ref->at] = got[i];
			else
				expect = var->bytes[i - ref->at];
		}
		if (((expect ^ got[i]) & want->mask[i]) != 0)
			return (long)i;
	}
	return len > want->len && !want->open ? (long)want->len : -1;
}
