/* SPDX-License-Identifier: ISC */
/*
 * Locks for an administrator: see lock_list.h.
 * Runs in: nfsd parent.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/nfsd.h"
#include "nfsd/parent/control.h"
#include "nfsd/parent/lock_list.h"

#define ROWS_MAX 40000 /* as many fit into an answer */

/* Sends the question of a request, and keeps its number for the answer. */
static void
put_question(struct lock_list *l, enum lock_list_kind kind,
    struct control_request *r, const struct addr *drop)
{
	struct role_child *role = l->role(l->arg);
	bool sent;

	if (role == NULL)
		control_fail(r, "nfsd serves no locks now");
	else if (l->n[kind] == LOCK_LIST_WAITING)
		control_fail(r, "too many questions at once");
	else {
		sent = drop == NULL ?
		    role_send(role, NFSD_LOCKS_LIST, NULL, 0, NULL, 0) :
		    role_send(role, NFSD_LOCKS_DROP, drop, sizeof(*drop), NULL,
			0);
		if (sent)
			l->waiting[kind][l->n[kind]++] = control_number(r);
		else
			control_fail(r, "nfsd serves no locks now");
	}
}

/* Takes the first that waits; NULL: it has gone. */
static struct control_request *
first(const struct lock_list *l, enum lock_list_kind kind)
{
	return control_find(l->control, l->waiting[kind][0]);
}

static void
take_first(struct lock_list *l, enum lock_list_kind kind)
{
	l->n[kind]--;
	memmove(l->waiting[kind], l->waiting[kind] + 1,
	    l->n[kind] * sizeof(l->waiting[kind][0]));
}

static void
list(void *arg, struct control_request *r, const char *operand UNUSED)
{
	put_question(arg, LOCK_LIST_ROWS, r, NULL);
}

static void
drop(void *arg, struct control_request *r, const char *operand)
{
	struct addr from;

	if (addr_parse(&from, operand) && from.port == 0)
		put_question(arg, LOCK_LIST_DROPS, r, &from);
	else
		control_fail(r, "not an address, such as 10.0.0.7");
}

static const struct control_row requests[] = {
	{ "locks", NULL, false, "locks, waiting locks and shares", list },
	{ "drop", "address", true, "frees what this client holds", drop },
};

void
lock_list_start(struct lock_list *l, struct control *control)
{
	l->control = control;
	control_add(control, requests, nitems(requests), l);
}

/* Prints what is locked: a range of bytes, or what a share denies. */
static void
print_what(char *out, size_t size, const struct locks_row *row)
{
	static const char *const access[] = { "-", "r", "w", "rw" };
	char to[24] = "end";

	if (row->what == LOCKS_ROW_SHARE) {
		(void)snprintf(out, size, "share %s deny %s",
		    access[row->share_access & 3], access[row->share_mode & 3]);
		return;
	}
	if (row->length != 0)
		(void)snprintf(to, sizeof(to), "%" PRIu64,
		    row->offset + row->length - 1);
	(void)snprintf(out, size, "%s%s %" PRIu64 "-%s",
	    row->what == LOCKS_ROW_WAITS ? "waits for " : "",
	    row->exclusive ? "write" : "read", row->offset, to);
}

static void
print_row(const struct lock_list *l, struct control_request *r,
    const struct locks_row *row, const uint8_t *name)
{
	char from[ADDR_STRLEN], what[96], text[4 * LOCKS_TEXT_MAX + 1];
	const char *path = l->path(l->arg, (uint16_t)row->export_id);
	struct addr at = row->client.from;

	at.port = 0;
	print_what(what, sizeof(what), row);
	control_print(r,
	    "%s \"%s\" nlm %u %s: %s, process %d, inode %" PRIu64
	    " in %s, %u s\n",
	    addr_print(&at, from),
	    log_text(text, sizeof(text), name, row->client.name_len),
	    row->client.vers, row->client.kind == RPC_UDP ? "udp" : "tcp", what,
	    row->svid, row->inode, path != NULL ? path : "no export",
	    row->seconds);
}

const char *
lock_list_row(struct lock_list *l, const struct ipc_message *m)
{
	struct control_request *r;
	struct locks_row row;

	if (l->n[LOCK_LIST_ROWS] == 0)
		return "sent locks that it was not asked for";
	r = first(l, LOCK_LIST_ROWS);
	if (m->len == 0) {
		if (r != NULL && l->rows > ROWS_MAX)
			control_print(r, "and %zu more\n", l->rows - ROWS_MAX);
		if (r != NULL)
			control_end(r);
		l->rows = 0;
		take_first(l, LOCK_LIST_ROWS);
		return NULL;
	}
	if (m->len < sizeof(row))
		return "message too short";
	memcpy(&row, m->data, sizeof(row));
	if (row.client.name_len != m->len - sizeof(row))
		return "sent a malformed lock";
	if (r != NULL && ++l->rows <= ROWS_MAX)
		print_row(l, r, &row, m->data + sizeof(row));
	return NULL;
}

const char *
lock_list_dropped(struct lock_list *l, const struct ipc_message *m)
{
	struct control_request *r;
	uint32_t n;

	if (l->n[LOCK_LIST_DROPS] == 0)
		return "dropped locks that it was not told to";
	memcpy(&n, m->data, sizeof(n));
	r = first(l, LOCK_LIST_DROPS);
	if (r != NULL) {
		control_print(r, "%u freed\n", n);
		control_end(r);
	}
	take_first(l, LOCK_LIST_DROPS);
	return NULL;
}

void
lock_list_fail(struct lock_list *l)
{
	struct control_request *r;
	size_t kind;

	for (kind = 0; kind < LOCK_LIST_KINDS; kind++)
		while (l->n[kind] > 0) {
			r = first(l, (enum lock_list_kind)kind);
			if (r != NULL)
				control_fail(r,
				    "the locks role has ended: ask again");
			take_first(l, (enum lock_list_kind)kind);
		}
	l->rows = 0;
}
