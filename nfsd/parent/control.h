/* SPDX-License-Identifier: ISC */
/*
 * The parent's side of the control socket (nfsd/control.h). A request is a row.
 * Each module of the parent adds the rows that it answers, with its own arg. A
 * handler prints its answer, now or later, and ends it. Bytes that came from the
 * network or from a role must pass log_text() first.
 *
 * File mode and credentials decide which clients may ask. A client that is silent
 * or reads slowly is dropped, and few are served at once. So no client can delay
 * or fill the parent.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_CONTROL_H
#define PARENT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

struct control;
struct control_request;
struct event_base;
struct nfsd;

struct control_row {
	const char *word;
	const char *operand; /* its name in the help; NULL: it takes none */
	bool changes; /* the log names the user that asked */
	const char *help;
	/* operand: "" if there is none. */
	void (*run)(void *arg, struct control_request *, const char *operand);
};

/*
 * Listens. If the socket cannot be made by a plain user, logs one line and
 * listens nowhere; else that is fatal. Never returns NULL.
 */
struct control *control_new(struct event_base *, const struct nfsd *);
void control_free(struct control *);
/* Adds requests. The rows must outlive the socket. */
void control_add(struct control *, const struct control_row *, size_t n,
    void *arg);

/*
 * The answer of a handler. What exceeds CONTROL_ANSWER_MAX turns it into an
 * error. Every request must be ended once, by one of the last two.
 */
void control_print(struct control_request *, const char *fmt, ...)
    PRINTF_LIKE(2, 3);
void control_write(struct control_request *, const void *bytes, size_t len);
void control_end(struct control_request *);
/* The answer is this error, and nothing that was printed before. */
void control_fail(struct control_request *, const char *fmt, ...)
    PRINTF_LIKE(2, 3);

/* The answer may take so many seconds from now on, and some for sending it. */
void control_wait(struct control_request *, unsigned int seconds);
/*
 * A handler that answers later keeps the number: its client may be gone by then.
 * control_find() returns NULL in that case.
 */
uint64_t control_number(const struct control_request *);
struct control_request *control_find(struct control *, uint64_t number);

#endif
