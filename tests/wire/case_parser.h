/* SPDX-License-Identifier: ISC */
/*
 * What the files of the case parser share: case.c reads lines, case_head.c the
 * words behind call and reply, case_words.c the fields of a message,
 * case_bytes.c single bytes. A function that fails returns false and sets why
 * in the case.
 * Runs in: tests.
 */
#ifndef CASE_PARSER_H
#define CASE_PARSER_H

#include "case.h"

#define CASE_TOKENS_MAX (CASE_LINE_MAX / 2 + 1)

struct case_parser {
	struct wire_case *c;
	struct case_exchange *ex; /* NULL before the first call */
	struct case_message *msg; /* being read, or NULL */
	bool replied; /* the call has its reply */
	struct addr from;
	unsigned int line;
	bool failed; /* c->why says why */
	char text[CASE_LINE_MAX]; /* the tokens of a line, cut */
	const char *tokens[CASE_TOKENS_MAX + 1]; /* the last is NULL */
	const char *const *next; /* the next of them */
};

/* The programs that have words, as bits. */
enum case_dialect {
	NFS2 = 1,
	NFS3 = 2,
	MOUNT1 = 4, /* and version 2 */
	MOUNT3 = 8,
	PMAP2 = 16,
	RPCB = 32, /* versions 3 and 4 */
	NLM1 = 64, /* and version 3 */
	NLM4 = 128,
	NSM = 256,
	NFSACL = 512,
	RQUOTA = 1024,
};

struct case_program {
	const char *name; /* as in the folder of its cases */
	uint32_t prog, vers;
	unsigned int dialect;
};

/* case_bytes.c */
bool case_fail(struct case_parser *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Cuts a line into p->tokens; strings keep their first quote. */
bool case_tokens(struct case_parser *, const char *line);
/* The next token. If there is none, the error says that what is missing. */
const char *case_take(struct case_parser *, const char *what);
/* Is this the next token? If so, it is consumed. */
bool case_skip(struct case_parser *, const char *token);
bool case_add_many(struct case_parser *, uint8_t byte, uint8_t mask, long n);
bool case_add_u32(struct case_parser *, uint32_t);
/* Writes a length over the zeros that kept its place. */
void case_set_u32(struct case_parser *, size_t at, size_t);
bool case_add_number(struct case_parser *, const char *text, size_t size);
bool case_add_var(struct case_parser *, const char *name);
bool case_add_token(struct case_parser *, const char *token);

/* case_head.c: what follows call and reply, if anything does. */
bool case_call_header(struct case_parser *);
bool case_reply_header(struct case_parser *);
/* The program of the call being read or answered, or NULL. */
const struct case_program *case_program(const struct case_parser *);

/* case_words.c */
bool case_add_line(struct case_parser *);
/* A number, a symbol, any, or a name, as size bytes. */
bool case_put_number(struct case_parser *, size_t size);
/* A count, and that many numbers: those up to the next word. */
bool case_put_list(struct case_parser *, size_t size);

#endif
