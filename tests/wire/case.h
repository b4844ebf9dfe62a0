/* SPDX-License-Identifier: ISC */
/*
 * The text form of wire vectors: README.md beside this file has the format.
 * Runs in: tests.
 */
#ifndef CASE_H
#define CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define CASE_BYTES_MAX	   16384 /* of one message */
#define CASE_EXCHANGES_MAX 24
#define CASE_REFS_MAX	   64 /* uses and captures in one message */
#define CASE_VARS_MAX	   32
#define CASE_NAME_MAX	   32
#define CASE_LINE_MAX	   512
#define CASE_WHY_MAX	   160

enum case_over { CASE_MEMORY = 1, CASE_UDP = 2, CASE_TCP = 4 };

enum case_answer { CASE_REPLY, CASE_NONE, CASE_HANGUP };

/* A run of bytes that is a variable: set (captures) or used. */
struct case_ref {
	size_t var, at;
	bool captures;
};

struct case_message {
	uint8_t bytes[CASE_BYTES_MAX];
	uint8_t mask[CASE_BYTES_MAX]; /* 0: any byte will do */
	uint32_t lines[CASE_BYTES_MAX]; /* of the case that a byte is from */
	size_t len;
	bool open; /* more bytes may follow */
	struct case_ref refs[CASE_REFS_MAX];
	size_t nrefs;
};

struct case_exchange {
	struct case_message call, reply;
	enum case_answer answer;
	struct addr from;
	unsigned int line; /* of the call */
};

struct case_var {
	char name[CASE_NAME_MAX];
	size_t len;
	uint8_t bytes[256];
};

struct wire_case {
	char setup[CASE_LINE_MAX]; /* words for the fixture */
	unsigned int over; /* enum case_over, or-ed */
	bool prefixes_refused; /* else they need only be harmless */
	bool flips;
	uint32_t uid; /* of a local peer */
	struct case_exchange exchanges[CASE_EXCHANGES_MAX];
	size_t nexchanges;
	struct case_var vars[CASE_VARS_MAX];
	size_t nvars;
	char why[CASE_WHY_MAX]; /* it could not be read */
};

/* A name that has a value before the first reply; the last row has none. */
struct case_known {
	const char *name;
	size_t len;
};

/*
 * Reads text. On failure returns false, sets *line, and says why in the case.
 * The known names (NULL: none) become the first of vars, in their order.
 */
bool case_parse(struct wire_case *, const struct case_known *, const char *text,
    unsigned int *line);
/* Writes the values of variables into a call before it is sent. */
void case_fill(const struct wire_case *, struct case_message *);
/*
 * Compares a reply and captures from it. Returns the offset of the first
 * difference, or -1.
 */
long case_match(struct wire_case *, const struct case_message *want,
    const uint8_t *got, size_t len);

#endif
