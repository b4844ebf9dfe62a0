/* SPDX-License-Identifier: ISC */
/*
 * The requests of scrapers. tests/system/scrape.py sends more of them.
 * Links: nfsd
 * Runs in: tests.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "nfsd/metrics/http.h"
#include "tap.h"

#define LINE "GET /metrics HTTP/1.1\r\n"
#define HOST "Host: a\r\n"

static const struct {
	const char *name, *bytes;
	enum http_status status;
} rows[] = {
	{ "nothing", "", HTTP_MORE },
	{ "a scrape", LINE HOST "\r\n", HTTP_OK },
	{ "fields in any case, blanks around a value",
	    LINE "hOST:  a \t\r\nCONTENT-LENGTH: 0\r\n\r\n", HTTP_OK },
	{ "a URL", "GET HTTP://a:1/metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_OK },
	{ "HTTP/1.0", "GET /metrics HTTP/1.0\r\n\r\n", HTTP_OK },
	{ "bytes behind it", LINE HOST "\r\nGET / HTTP/1.1\r\n", HTTP_OK },
	{ "no end yet", LINE HOST, HTTP_MORE },
	{ "half an end", LINE HOST "\r", HTTP_MORE },
	{ "a query", "GET /metrics?a HTTP/1.1\r\n" HOST "\r\n",
	    HTTP_NOT_FOUND },
	{ "another path", "GET /metric HTTP/1.1\r\n" HOST "\r\n",
	    HTTP_NOT_FOUND },
	{ "a URL without path", "GET http://a HTTP/1.1\r\n" HOST "\r\n",
	    HTTP_NOT_FOUND },
	{ "another method of another path", "PUT / HTTP/1.1\r\n" HOST "\r\n",
	    HTTP_NOT_FOUND },
	{ "another method", "OPTIONS /metrics HTTP/1.1\r\n" HOST "\r\n",
	    HTTP_METHOD },
	{ "methods have a case", "Get /metrics HTTP/1.1\r\n" HOST "\r\n",
	    HTTP_METHOD },
	{ "no host", LINE "\r\n", HTTP_BAD },
	{ "two hosts", LINE HOST HOST "\r\n", HTTP_BAD },
	{ "a body", LINE HOST "Content-Length: 1\r\n\r\n", HTTP_BAD },
	{ "a length that is 0 in other words",
	    LINE HOST "Content-Length: +0\r\n\r\n", HTTP_BAD },
	{ "chunks", LINE HOST "transfer-encoding: identity\r\n\r\n", HTTP_BAD },
	{ "a field without colon", LINE HOST "oops\r\n\r\n", HTTP_BAD },
	{ "a field without name", LINE HOST ": oops\r\n\r\n", HTTP_BAD },
	{ "a blank before the colon", LINE "Host : a\r\n\r\n", HTTP_BAD },
	{ "a folded field", LINE HOST "\tb\r\n\r\n", HTTP_BAD },
	{ "a lone line feed", LINE "Host: a\nX: b\r\n\r\n", HTTP_BAD },
	{ "two blanks", "GET  /metrics HTTP/1.1\r\n" HOST "\r\n", HTTP_BAD },
	{ "a word too many", "GET /metrics x HTTP/1.1\r\n" HOST "\r\n",
	    HTTP_BAD },
	{ "no version", "GET /metrics\r\n\r\n", HTTP_BAD },
	{ "a version of letters", "GET /metrics HTTP/x.1\r\n" HOST "\r\n",
	    HTTP_BAD },
	{ "an empty line first", "\r\n" LINE HOST "\r\n", HTTP_BAD },
	{ "a control character", LINE "Host: \x01\r\n\r\n", HTTP_BAD },
	{ "version 2", "GET /metrics HTTP/2.0\r\n" HOST "\r\n", HTTP_VERSION },
	{ "version 3", "PRI * HTTP/3.0\r\n\r\n", HTTP_VERSION },
};

int
main(void)
{
	static char large[HTTP_HEAD_MAX + 1];
	char head[HTTP_ANSWER_MAX];
	size_t i, n;

	plan(NO_PLAN);
	for (i = 0; i < nitems(rows); i++)
		cmp_ok(http_read(rows[i].bytes, strlen(rows[i].bytes)),
		    "==", rows[i].status, "%s", rows[i].name);
	cmp_ok(http_read("\x16\x03\x01", 3), "==", HTTP_BAD, "TLS");
	memset(large, 'A', sizeof(large));
	cmp_ok(http_read(large, HTTP_HEAD_MAX - 1), "==", HTTP_MORE,
	    "as long as it may be");
	cmp_ok(http_read(large, HTTP_HEAD_MAX), "==", HTTP_LARGE, "too long");
	n = http_answer(head, HTTP_METHOD, 7);
	ok(n == strlen(head), "the length of an answer");
	like(head, "^HTTP/1.1 405 .*\r\nContent-Length: 7\r\nAllow: GET\r\n",
	    "an answer");
	n = http_answer(head, HTTP_LARGE, SIZE_MAX);
	ok(n > 0, "the longest answer fits");
	done_testing();
}
