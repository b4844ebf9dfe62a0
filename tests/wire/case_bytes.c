/* SPDX-License-Identifier: ISC */
/*
 * Bytes of a case: hexadecimal, strings, numbers, names. See case_parser.h.
 * Runs in: tests.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "case_parser.h"

bool
case_fail(struct case_parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(p->c->why, sizeof(p->c->why), fmt, ap);
	va_end(ap);
	p->failed = true;
	return false;
}

/* Returns the end of the token at text, or NULL if its quote is not closed. */
static char *
token_end(char *text)
{
	char *quote;

	if (text[0] == '"' || (text[0] == 'u' && text[1] == '"')) {
		quote = strchr(text, '"');
		return strchr(quote + 1, '"');
	}
	return text + strcspn(text, " \t;");
}

bool
case_tokens(struct case_parser *p, const char *line)
{
	char *at = p->text, *end, stop;
	size_t n = 0;

	(void)strlcpy(p->text, line, sizeof(p->text));
	p->next = p->tokens;
	p->tokens[0] = NULL;
	for (at += strspn(at, " \t"); *at != '\0' && *at != ';';
	     at += strspn(at, " \t")) {
		end = token_end(at);
		if (end == NULL)
			return case_fail(p, "quote not closed");
		p->tokens[n++] = at;
		p->tokens[n] = NULL;
		stop = *end;
		*end = '\0';
		at = end + (stop != '\0');
		if (stop == ';')
			break;
	}
	return true;
}

const char *
case_take(struct case_parser *p, const char *what)
{
	if (*p->next != NULL)
		return *p->next++;
	(void)case_fail(p, "%s is missing at the end of the line", what);
	return NULL;
}

bool
case_skip(struct case_parser *p, const char *token)
{
	if (*p->next == NULL || strcmp(*p->next, token) != 0)
		return false;
	p->next++;
	return true;
}

static bool
add(struct case_parser *p, uint8_t byte, uint8_t mask)
{
	struct case_message *m = p->msg;

	if (m->open)
		return case_fail(p, "bytes after ...");
	if (m->len == CASE_BYTES_MAX)
		return case_fail(p, "message longer than %d bytes",
		    CASE_BYTES_MAX);
	m->bytes[m->len] = byte;
	m->lines[m->len] = p->line;
	m->mask[m->len++] = mask;
	return true;
}

bool
case_add_many(struct case_parser *p, uint8_t byte, uint8_t mask, long n)
{
	if (mask == 0 && p->msg == &p->ex->call)
		return case_fail(p, "any and captures belong into replies");
	while (n-- > 0)
		if (!add(p, byte, mask))
			return false;
	return true;
}

bool
case_add_u32(struct case_parser *p, uint32_t v)
{
	int shift;

	for (shift = 24; shift >= 0; shift -= 8)
		if (!add(p, (uint8_t)(v >> shift), 0xff))
			return false;
	return true;
}

void
case_set_u32(struct case_parser *p, size_t at, size_t v)
{
	p->msg->bytes[at + 2] = (uint8_t)(v >> 8);
	p->msg->bytes[at + 3] = (uint8_t)v;
}

/* A count of bytes behind * : or =; at least 1, or -1. */
static long
count_of(struct case_parser *p, const char *text, long max)
{
	const char *bad;
	long long n;

	n = strtonum(text, 1, max, &bad);
	if (bad == NULL)
		return (long)n;
	(void)case_fail(p, "\"%s\" is not a count from 1 to %ld", text, max);
	return -1;
}

static bool
add_counted(struct case_parser *p, uint8_t byte, uint8_t mask, const char *text)
{
	long n = count_of(p, text, CASE_BYTES_MAX);

	return n != -1 && case_add_many(p, byte, mask, n);
}

static int
digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at;

	at = c == '\0' ? NULL : strchr(digits, tolower((unsigned char)c));
	return at == NULL ? -1 : (int)(at - digits);
}

static bool
not_bytes(struct case_parser *p, const char *token)
{
	const struct case_program *program = case_program(p);

	return case_fail(p, "\"%s\" is neither bytes nor a word of %s", token,
	    program == NULL ? "this program" : program->name);
}

/* "00ff", or "00*20": one byte twenty times. */
static bool
add_hex(struct case_parser *p, const char *token)
{
	const char *at;
	uint8_t byte;
	int high, low;

	for (at = token; *at != '\0'; at += 2) {
		high = digit(at[0]);
		low = high == -1 ? -1 : digit(at[1]);
		if (low == -1)
			return not_bytes(p, token);
		byte = (uint8_t)(high << 4 | low);
		if (at[2] == '*')
			return add_counted(p, byte, 0xff, at + 3);
		if (!add(p, byte, 0xff))
			return false;
	}
	return true;
}

bool
case_add_number(struct case_parser *p, const char *text, size_t size)
{
	unsigned long long v;
	bool fits;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (end == text || *end != '\0' || errno != 0)
		return case_fail(p, "\"%s\" is not a number", text);
	fits = text[0] == '-' ? -v <= 0x80000000u : v <= UINT32_MAX;
	if (size == 4 && !fits)
		return case_fail(p, "%s has more than 32 bits", text);
	return (size == 4 || case_add_u32(p, (uint32_t)(v >> 32))) &&
	    case_add_u32(p, (uint32_t)v);
}

static struct case_var *
find_var(struct case_parser *p, const char *name)
{
	size_t i;

	for (i = 0; i < p->c->nvars; i++)
		if (strcmp(p->c->vars[i].name, name) == 0)
			return &p->c->vars[i];
	return NULL;
}

/* Finds or adds the name before "=32". NULL: it cannot be captured. */
static struct case_var *
capture(struct case_parser *p, const char *name, const char *len)
{
	struct case_var *var = find_var(p, name);
	long n = count_of(p, len, sizeof(var->bytes));

	if (n == -1)
		return NULL;
	if (var == NULL && p->c->nvars == CASE_VARS_MAX) {
		(void)case_fail(p, "more than %d names", CASE_VARS_MAX);
		return NULL;
	}
	if (var == NULL)
		var = &p->c->vars[p->c->nvars++];
	(void)strlcpy(var->name, name, sizeof(var->name));
	var->len = (size_t)n;
	return var;
}

bool
case_add_var(struct case_parser *p, const char *token)
{
	char name[CASE_NAME_MAX];
	struct case_ref *ref;
	struct case_var *var;
	const char *equals = strchr(token, '=');

	if (strlcpy(name, token, sizeof(name)) >= sizeof(name))
		return case_fail(p, "name too long: $%s", token);
	name[strcspn(name, "=")] = '\0';
	var = equals != NULL ? capture(p, name, equals + 1) : find_var(p, name);
	if (var == NULL && !p->failed)
		(void)case_fail(p, "$%s is used before it is captured", name);
	if (var == NULL)
		return false;
	if (p->msg->nrefs == CASE_REFS_MAX)
		return case_fail(p, "more than %d names in one message",
		    CASE_REFS_MAX);
	ref = &p->msg->refs[p->msg->nrefs++];
	ref->var = (size_t)(var - p->c->vars);
	ref->at = p->msg->len;
	ref->captures = equals != NULL;
	return case_add_many(p, 0, equals != NULL ? 0 : 0xff, (long)var->len);
}

/* "text", or u"text" for a player: UTF-16LE. */
static bool
add_string(struct case_parser *p, const char *token)
{
	const char *s = strchr(token, '"') + 1;

	for (; *s != '\0'; s++)
		if (!add(p, (uint8_t)*s, 0xff) ||
		    (token[0] == 'u' && !add(p, 0, 0xff)))
			return false;
	return true;
}

bool
case_add_token(struct case_parser *p, const char *token)
{
	if (token[0] == '"' || strncmp(token, "u\"", 2) == 0)
		return add_string(p, token);
	if (strcmp(token, "pad") == 0)
		return case_add_many(p, 0, 0xff, -(long)p->msg->len & 3);
	if (strncmp(token, "u32:", 4) == 0)
		return case_add_number(p, token + 4, 4);
	if (strncmp(token, "u64:", 4) == 0)
		return case_add_number(p, token + 4, 8);
	if (strncmp(token, "any:", 4) == 0)
		return add_counted(p, 0, 0, token + 4);
	if (token[0] == '$')
		return case_add_var(p, token + 1);
	if (strcmp(token, "...") != 0)
		return add_hex(p, token);
	if (p->msg == &p->ex->call)
		return case_fail(p, "... belongs into replies");
	p->msg->open = true;
	return true;
}
