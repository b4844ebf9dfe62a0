/* SPDX-License-Identifier: ISC */
/*
 * The text form of wire vectors: see case.h.
 * Runs in: tests.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "case.h"

struct parser {
	struct wire_case *c;
	struct case_exchange *ex; /* NULL before the first call */
	struct case_message *msg; /* being read, or NULL */
	struct addr from;
	unsigned int line;
	const char *why;
};

static bool
fails(struct parser *p, const char *why)
{
	p->why = why;
	return false;
}

static bool
add(struct parser *p, uint8_t byte, uint8_t mask)
{
	struct case_message *m = p->msg;

	if (m->open)
		return fails(p, "bytes after ...");
	if (m->len == CASE_BYTES_MAX)
		return fails(p, "message too long");
	m->bytes[m->len] = byte;
	m->mask[m->len++] = mask;
	return true;
}

/* A count from the text; -1 is never a good one. */
static long
count_of(const char *text)
{
	const char *bad;
	long long n;

	n = strtonum(text, 0, CASE_BYTES_MAX, &bad);
	return bad != NULL ? -1 : (long)n;
}

static bool
add_many(struct parser *p, uint8_t byte, uint8_t mask, long n)
{
	if (n < 0 || n > CASE_BYTES_MAX)
		return fails(p, "bad count");
	while (n-- > 0)
		if (!add(p, byte, mask))
			return false;
	return true;
}

static int
digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at;

	at = c == '\0' ? NULL : strchr(digits, tolower((unsigned char)c));
	return at == NULL ? -1 : (int)(at - digits);
}

/* "00ff", or "00*20": one byte twenty times. */
static bool
add_hex(struct parser *p, const char *word)
{
	uint8_t byte;
	int high, low;

	byte = 0;
	for (; *word != '\0' && *word != '*'; word += 2) {
		high = digit(word[0]);
		low = high == -1 ? -1 : digit(word[1]);
		if (low == -1)
			return fails(p, "not hexadecimal");
		byte = (uint8_t)(high << 4 | low);
		if (word[2] == '*')
			return add_many(p, byte, 0xff, count_of(word + 3));
		if (!add(p, byte, 0xff))
			return false;
	}
	return *word == '\0' || fails(p, "nothing before *");
}

static bool
add_number(struct parser *p, const char *text, int bytes)
{
	unsigned long long v;
	char *end;

	v = strtoull(text, &end, 0);
	if (end == text || *end != '\0')
		return fails(p, "not a number");
	while (bytes-- > 0)
		if (!add(p, (uint8_t)(v >> (8 * bytes)), 0xff))
			return false;
	return true;
}

static struct case_var *
find_var(struct parser *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->c->nvars; i++)
		if (strcmp(p->c->vars[i].name, name) == 0)
			return &p->c->vars[i];
	return NULL;
}

/* "name=32" captures, "name" uses. */
static bool
add_var(struct parser *p, const char *word)
{
	char name[CASE_NAME_MAX];
	struct case_ref *ref;
	struct case_var *var;
	const char *equals;
	long len;

	equals = strchr(word, '=');
	if (strlcpy(name, word, sizeof(name)) >= sizeof(name))
		return fails(p, "name too long");
	name[strcspn(name, "=")] = '\0';
	var = find_var(p, name);
	if (equals != NULL && var == NULL) {
		if (p->c->nvars == CASE_VARS_MAX)
			return fails(p, "too many names");
		var = &p->c->vars[p->c->nvars++];
		memcpy(var->name, name, sizeof(name));
	}
	if (var == NULL)
		return fails(p, "used before it is captured");
	if (equals != NULL) {
		len = count_of(equals + 1);
		if (len < 1 || len > (long)sizeof(var->bytes))
			return fails(p, "bad length of a capture");
		if (p->msg == &p->ex->call)
			return fails(p, "captures belong into replies");
		var->len = (size_t)len;
	}
	if (p->msg->nrefs == CASE_REFS_MAX)
		return fails(p, "too many names in one message");
	ref = &p->msg->refs[p->msg->nrefs++];
	ref->var = (size_t)(var - p->c->vars);
	ref->at = p->msg->len;
	ref->captures = equals != NULL;
	return add_many(p, 0, equals != NULL ? 0 : 0xff, (long)var->len);
}

static bool
add_word(struct parser *p, char *word)
{
	long n;

	if (strcmp(word, "...") == 0) {
		p->msg->open = true;
		return true;
	}
	if (strcmp(word, "pad") == 0) {
		n = (long)((4 - (p->msg->len & 3)) & 3);
		return add_many(p, 0, 0xff, n);
	}
	if (strncmp(word, "u32:", 4) == 0)
		return add_number(p, word + 4, 4);
	if (strncmp(word, "u64:", 4) == 0)
		return add_number(p, word + 4, 8);
	if (strncmp(word, "any:", 4) == 0)
		return add_many(p, 0, 0, count_of(word + 4));
	if (word[0] == '$')
		return add_var(p, word + 1);
	return add_hex(p, word);
}

/* A quoted string; *at is behind the closing quote afterwards. */
static bool
add_string(struct parser *p, char **at)
{
	char *s = *at + 1;

	for (; *s != '\0' && *s != '"'; s++)
		if (!add(p, (uint8_t)*s, 0xff))
			return false;
	if (*s == '\0')
		return fails(p, "quote not closed");
	*at = s + 1;
	return true;
}

static bool
add_line(struct parser *p, char *line)
{
	char *word;

	for (;;) {
		line += strspn(line, " \t");
		if (*line == '\0' || *line == ';')
			return true;
		if (*line == '"') {
			if (!add_string(p, &line))
				return false;
			continue;
		}
		word = line;
		line += strcspn(line, " \t;");
		if (*line == ';')
			*line = '\0';
		else if (*line != '\0')
			*line++ = '\0';
		if (!add_word(p, word))
			return false;
	}
}

static bool
begin_call(struct parser *p, const char *rest UNUSED)
{
	if (p->c->nexchanges == CASE_EXCHANGES_MAX)
		return fails(p, "too many exchanges");
	p->ex = &p->c->exchanges[p->c->nexchanges++];
	p->ex->from = p->from;
	p->ex->line = p->line;
	p->ex->answer = CASE_NONE;
	p->msg = &p->ex->call;
	return true;
}

static bool
begin_reply(struct parser *p, const char *rest)
{
	if (p->ex == NULL)
		return fails(p, "reply without call");
	p->msg = NULL;
	if (strcmp(rest, "none") == 0)
		p->ex->answer = CASE_NONE;
	else if (strcmp(rest, "hangup") == 0)
		p->ex->answer = CASE_HANGUP;
	else {
		p->ex->answer = CASE_REPLY;
		p->msg = &p->ex->reply;
	}
	return true;
}

static bool
set_setup(struct parser *p, const char *rest)
{
	(void)strlcpy(p->c->setup, rest, sizeof(p->c->setup));
	return true;
}

static bool
set_from(struct parser *p, const char *rest)
{
	if (strcmp(rest, "local") == 0) {
		memset(&p->from, 0, sizeof(p->from));
		p->from.family = AF_UNIX;
		return true;
	}
	return addr_parse(&p->from, rest) || fails(p, "not an address");
}

static bool
set_uid(struct parser *p, const char *rest)
{
	p->c->uid = (uint32_t)strtoul(rest, NULL, 10);
	return true;
}

static bool
set_over(struct parser *p, const char *rest)
{
	p->c->over = (strstr(rest, "memory") != NULL ? CASE_MEMORY : 0u) |
	    (strstr(rest, "udp") != NULL ? CASE_UDP : 0u) |
	    (strstr(rest, "tcp") != NULL ? CASE_TCP : 0u);
	return p->c->over != 0 || fails(p, "over what?");
}

static bool
set_prefixes(struct parser *p, const char *rest)
{
	p->c->prefixes_refused = strcmp(rest, "harmless") != 0;
	return true;
}

static bool
set_flips(struct parser *p, const char *rest)
{
	p->c->flips = strcmp(rest, "none") != 0;
	return true;
}

static const struct {
	const char *word;
	bool (*set)(struct parser *, const char *);
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
parse_line(struct parser *p, char *line)
{
	size_t i, n;

	if (line[0] == '\0' || line[0] == '#')
		return true;
	if (line[0] == ' ' || line[0] == '\t') {
		if (p->msg == NULL && line[strspn(line, " \t")] == '\0')
			return true;
		if (p->msg == NULL)
			return fails(p, "bytes outside of call and reply");
		return add_line(p, line);
	}
	n = strcspn(line, " \t");
	for (i = 0; i < nitems(directives); i++)
		if (strlen(directives[i].word) == n &&
		    strncmp(line, directives[i].word, n) == 0)
			return directives[i].set(p,
			    line + n + strspn(line + n, " \t"));
	return fails(p, "unknown word (bytes are indented)");
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
    const char *text, unsigned int *line, const char **why)
{
	struct parser p = { .c = c };
	char copy[CASE_LINE_MAX];
	size_t n;

	memset(c, 0, sizeof(*c));
	add_known(c, known);
	c->over = CASE_MEMORY | CASE_UDP | CASE_TCP;
	c->prefixes_refused = true;
	c->flips = true;
	(void)addr_parse(&p.from, "127.0.0.1:700");
	for (; *text != '\0'; text += n + (text[n] == '\n')) {
		p.line++;
		n = strcspn(text, "\n");
		if (n >= sizeof(copy))
			(void)fails(&p, "line too long");
		else {
			memcpy(copy, text, n);
			copy[n] = '\0';
			(void)parse_line(&p, copy);
		}
		if (p.why != NULL)
			break;
	}
	if (p.why == NULL && c->nexchanges == 0)
		(void)fails(&p, "no call");
	*line = p.line;
	*why = p.why;
	return p.why == NULL;
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
