/* SPDX-License-Identifier: ISC */
/*
 * The head of a request: see http.h.
 * Runs in: nfsd metrics.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"
#include "nfsd/metrics/http.h"

#define SERVED "/metrics"

/* A part of the head. */
struct span {
	const char *at;
	size_t len;
};

/* What the fields of a request say that we need. */
struct fields {
	unsigned int hosts;
	bool has_body;
};

static bool
is(struct span s, const char *word)
{
	return s.len == strlen(word) && memcmp(s.at, word, s.len) == 0;
}

/* The same, without case. */
static bool
is_field(struct span s, const char *name)
{
	return s.len == strlen(name) && strncasecmp(s.at, name, s.len) == 0;
}

/* tchar: RFC 9110, 5.6.2. */
static bool
is_token(struct span s)
{
	size_t i;

	for (i = 0; i < s.len; i++) {
		char c = s.at[i];

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
		    !(c >= 'A' && c <= 'Z') &&
		    (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL))
			return false;
	}
	return s.len > 0;
}

/* Takes the bytes before the next c. Returns false if there is none. */
static bool
take_until(struct span *from, char c, struct span *out)
{
	const char *end = memchr(from->at, c, from->len);

	if (end == NULL)
		return false;
	out->at = from->at;
	out->len = (size_t)(end - from->at);
	from->at = end + 1;
	from->len -= out->len + 1;
	return true;
}

/* Takes a line without its CR LF. Control characters are not in a line. */
static bool
take_line(struct span *from, struct span *line)
{
	size_t i;

	if (!take_until(from, '\n', line) || line->len == 0 ||
	    line->at[line->len - 1] != '\r')
		return false;
	line->len--;
	for (i = 0; i < line->len; i++) {
		unsigned char c = (unsigned char)line->at[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool
take_field(struct span line, struct fields *f)
{
	struct span name;

	if (!take_until(&line, ':', &name) || !is_token(name))
		return false;
	while (line.len > 0 && (*line.at == ' ' || *line.at == '\t')) {
		line.at++;
		line.len--;
	}
	while (line.len > 0 &&
	    (line.at[line.len - 1] == ' ' || line.at[line.len - 1] == '\t'))
		line.len--;
	if (is_field(name, "Host"))
		f->hosts++;
	if (is_field(name, "Transfer-Encoding") ||
	    (is_field(name, "Content-Length") && !is(line, "0")))
		f->has_body = true;
	return true;
}

/* The path of a target; a client of a proxy sends the whole URL. */
static struct span
path_of(struct span target)
{
	static const char scheme[] = "http://";
	const size_t n = sizeof(scheme) - 1;
	const char *slash;

	if (target.len <= n || strncasecmp(target.at, scheme, n) != 0)
		return target;
	slash = memchr(target.at + n, '/', target.len - n);
	if (slash == NULL)
		return target;
	return (struct span){ slash, target.len - (size_t)(slash - target.at) };
}

/* "HTTP/1.1": stores the digits. */
static bool
read_version(struct span s, char *major, char *minor)
{
	if (s.len != 8 || memcmp(s.at, "HTTP/", 5) != 0 || s.at[6] != '.')
		return false;
	*major = s.at[5];
	*minor = s.at[7];
	return *major >= '0' && *major <= '9' && *minor >= '0' && *minor <= '9';
}

static enum http_status
judge(struct span head)
{
	struct span line, method, target;
	struct fields f = { 0 };
	char major, minor;

	if (!take_line(&head, &line) || !take_until(&line, ' ', &method) ||
	    !take_until(&line, ' ', &target) || !is_token(method) ||
	    target.len == 0 || memchr(target.at, '\t', target.len) != NULL ||
	    !read_version(line, &major, &minor))
		return HTTP_BAD;
	while (head.len > 0)
		if (!take_line(&head, &line) || !take_field(line, &f))
			return HTTP_BAD;
	if (major != '1')
		return HTTP_VERSION;
	if (f.has_body || f.hosts > 1 || (f.hosts == 0 && minor != '0'))
		return HTTP_BAD;
	if (!is(path_of(target), SERVED))
		return HTTP_NOT_FOUND;
	return is(method, "GET") ? HTTP_OK : HTTP_METHOD;
}

enum http_status
http_read(const char *bytes, size_t len)
{
	static const char end[] = "\r\n\r\n";
	const char *at;

	if (len > 0 && (bytes[0] < 'A' || bytes[0] > 'Z'))
		return HTTP_BAD; /* no method begins so, such as that of TLS */
	at = memmem(bytes, len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX, end,
	    sizeof(end) - 1);
	if (at == NULL)
		return len < HTTP_HEAD_MAX ? HTTP_MORE : HTTP_LARGE;
	return judge((struct span){ bytes, (size_t)(at - bytes) + 2 });
}

const char *
http_name(enum http_status status)
{
	static const struct {
		enum http_status status;
		const char *name;
	} rows[] = {
		{ HTTP_OK, "200 OK" },
		{ HTTP_BAD, "400 Bad Request" },
		{ HTTP_NOT_FOUND, "404 Not Found" },
		{ HTTP_METHOD, "405 Method Not Allowed" },
		{ HTTP_LARGE, "431 Request Header Fields Too Large" },
		{ HTTP_VERSION, "505 HTTP Version Not Supported" },
	};
	size_t i;

	for (i = 0; i < nitems(rows); i++)
		if (rows[i].status == status)
			return rows[i].name;
	return "";
}

size_t
http_answer(char out[HTTP_ANSWER_MAX], enum http_status status, size_t body)
{
	int n = snprintf(out, HTTP_ANSWER_MAX,
	    "HTTP/1.1 %s\r\n"
	    "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
	    "Content-Length: %zu\r\n"
	    "%s"
	    "Connection: close\r\n\r\n",
	    http_name(status), body,
	    status == HTTP_METHOD ? "Allow: GET\r\n" : "");

	return n > 0 && n < HTTP_ANSWER_MAX ? (size_t)n : 0;
}
