/* SPDX-License-Identifier: ISC */
/*
 * As much of HTTP/1.1 (RFC 9112) as a scrape needs: the head of one request in,
 * the head of one answer out. GET /metrics is served and nothing else. There is
 * no body in a request and no second request. No allocation, no system call.
 * Runs in: nfsd metrics.
 */
#ifndef METRICS_HTTP_H
#define METRICS_HTTP_H

#include <stddef.h>

#define HTTP_HEAD_MAX	4096 /* bytes of a request */
#define HTTP_ANSWER_MAX 256 /* bytes of the head of an answer */

enum http_status {
	HTTP_MORE = 0, /* the head is not complete */
	HTTP_OK = 200,
	HTTP_BAD = 400,
	HTTP_NOT_FOUND = 404,
	HTTP_METHOD = 405,
	HTTP_LARGE = 431,
	HTTP_VERSION = 505
};

/* Judges the first len bytes of a connection. */
enum http_status http_read(const char *, size_t len);
/* "404 Not Found" */
const char *http_name(enum http_status);
/*
 * Writes the head of the answer, before a body of so many bytes. Returns its
 * length. The connection ends after the body.
 */
size_t http_answer(char out[HTTP_ANSWER_MAX], enum http_status, size_t body);

#endif
