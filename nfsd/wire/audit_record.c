/* SPDX-License-Identifier: ISC */
/*
 * A change for the audit: see audit_record.h. No allocation, no system call.
 * Runs in: nfsd worker, nfsd parent.
 */
#include <sys/socket.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "nfsd/wire/audit_record.h"
#include "nfsd/wire/nfs.h"

/* The name is shown without escapes. */
static bool
is_name(const char name[AUDIT_PROC])
{
	size_t i;

	for (i = 0; i < AUDIT_PROC && name[i] != '\0'; i++)
		if (name[i] < 'A' || name[i] > 'Z')
			return false;
	return i > 0 && i < AUDIT_PROC;
}

bool
audit_record_read(const void *bytes, size_t len, struct audit_record *r)
{
	const struct audit_head *h = &r->head;

	if (len < sizeof(r->head))
		return false;
	memcpy(&r->head, bytes, sizeof(r->head));
	r->path = (const char *)bytes + sizeof(r->head);
	if (!is_name(h->proc) || h->path_len > AUDIT_PATH_MAX ||
	    h->to_len > AUDIT_PATH_MAX || h->export_len > h->path_len ||
	    len != sizeof(*h) + h->path_len + h->to_len ||
	    (h->client.family != AF_INET && h->client.family != AF_INET6))
		return false;
	r->to = r->path + h->path_len;
	return memchr(r->path, '\0', h->path_len + (size_t)h->to_len) == NULL;
}

struct line {
	char *out;
	size_t n;
};

static void add(struct line *, const char *, ...) PRINTF_LIKE(2, 3);

/* The room was reckoned for the longest: see AUDIT_LINE_MAX. */
static void
add(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->out + l->n, AUDIT_LINE_MAX - l->n, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < AUDIT_LINE_MAX - l->n)
		l->n += (size_t)n;
}

/* Bytes between quotes, at most shown of them. */
static void
add_quoted(struct line *l, const char *name, const char *text, size_t len,
    size_t shown)
{
	size_t end = l->n + shown, i;

	add(l, " %s=\"", name);
	for (i = 0; i < len && l->n + TEXT_ESCAPED < end; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
			l->out[l->n++] = (char)c;
		else {
			text_escape(l->out + l->n, c);
			l->n += TEXT_ESCAPED;
		}
	}
	add(l, "%s\"", i == len ? "" : "...");
}

static void
add_number(struct line *l, const char *name, bool has, uint32_t value)
{
	if (has)
		add(l, " %s=%u", name, value);
	else
		add(l, " %s=-", name);
}

size_t
audit_record_line(const struct audit_record *r, size_t shown,
    char out[AUDIT_LINE_MAX])
{
	const struct audit_head *h = &r->head;
	struct line l = { .out = out };
	char from[ADDR_STRLEN];

	add(&l, "%s %s client=%s", h->proc,
	    nfs_status_name((enum nfsstat)h->status),
	    addr_print(&h->client, from));
	add_number(&l, "uid", h->has & AUDIT_UID, h->uid);
	add_number(&l, "as", h->has & AUDIT_AS, h->as);
	if (h->has & AUDIT_MODE)
		add(&l, " mode=%04o", h->mode);
	if (h->has & AUDIT_OWNER)
		add(&l, " owner=%u", h->owner);
	if (h->has & AUDIT_GROUP)
		add(&l, " group=%u", h->group);
	if (h->has & AUDIT_SIZE)
		add(&l, " size=%llu", (unsigned long long)h->size);
	if (h->has & AUDIT_TIMES)
		add(&l, " times");
	add_quoted(&l, "path", r->path, h->path_len, shown);
	if (h->has & AUDIT_TO)
		add_quoted(&l, "to", r->to, h->to_len, shown);
	return l.n;
}
