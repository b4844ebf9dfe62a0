/* SPDX-License-Identifier: ISC */
/*
 * Where audited changes are recorded: see audit_sink.h. The journal takes one
 * datagram with fields: "NAME=value\n", or the name, the length in 8 bytes of
 * little endian and the value, for values with any bytes
 * (systemd.io/JOURNAL_NATIVE_PROTOCOL).
 * Runs in: nfsd parent.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "nfsd/disk/audit_sink.h"
#include "nfsd/wire/nfs.h"

#define PATH_SHOWN 380 /* a line of the log has two, and the rest */
#define FIELDS_MAX (AUDIT_RECORD_MAX + 4096)
/* Made once with uuidgen: journalctl finds all records by it. */
#define MESSAGE_ID "9d3b2f0c5a6e4b7f8f1d64c2a07be915"

struct audit_sink_row {
	const char *name;
	struct bucket_rate rate;
	const char *(*open)(struct audit_sink *);
	const char *(*write)(struct audit_sink *, const struct audit_record *);
};

static const char *
log_write(struct audit_sink *s, const struct audit_record *r)
{
	(void)audit_record_line(r, PATH_SHOWN, s->line);
	log_info("audit: %s", s->line);
	return NULL;
}

static const char *
journal_open(struct audit_sink *s)
{
	if (access(AUDIT_JOURNAL, F_OK) == -1)
		return strerror(errno);
	s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return s->fd == -1 ? strerror(errno) : NULL;
}

/* A datagram for the journal. */
struct fields {
	char bytes[FIELDS_MAX];
	size_t n;
};

static void put_text(struct fields *, const char *, ...) PRINTF_LIKE(2, 3);

static void
put_text(struct fields *f, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(f->bytes + f->n, FIELDS_MAX - f->n, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < FIELDS_MAX - f->n)
		f->n += (size_t)n;
}

/* A field with any bytes. */
static void
put_bytes(struct fields *f, const char *name, const char *value, size_t len)
{
	size_t i, name_len = strlen(name);

	if (len == 0 || f->n + name_len + 10 + len > FIELDS_MAX)
		return;
	put_text(f, "%s\n", name);
	for (i = 0; i < 8; i++)
		f->bytes[f->n++] = (char)(uint8_t)((uint64_t)len >> (8 * i));
	memcpy(f->bytes + f->n, value, len);
	f->n += len;
	f->bytes[f->n++] = '\n';
}

static void
put_number(struct fields *f, const char *name, bool has, uint64_t value)
{
	if (has)
		put_text(f, "TERN_%s=%llu\n", name, (unsigned long long)value);
}

static void
put_fields(struct fields *f, const struct audit_record *r, const char *line)
{
	const struct audit_head *h = &r->head;
	struct addr client = h->client;
	char from[ADDR_STRLEN];

	client.port = 0;
	put_text(f, "MESSAGE=audit: %s\nPRIORITY=6\nSYSLOG_IDENTIFIER=nfsd\n",
	    line);
	put_text(f, "SYSLOG_FACILITY=3\nMESSAGE_ID=%s\n", MESSAGE_ID);
	put_text(f, "TERN_PROCEDURE=%s\nTERN_STATUS=%s\nTERN_CLIENT=%s\n",
	    h->proc, nfs_status_name((enum nfsstat)h->status),
	    addr_print(&client, from));
	put_number(f, "CLIENT_PORT", true, h->client.port);
	put_number(f, "UID", h->has & AUDIT_UID, h->uid);
	put_number(f, "AS", h->has & AUDIT_AS, h->as);
	if (h->has & AUDIT_MODE)
		put_text(f, "TERN_MODE=%04o\n", h->mode);
	put_number(f, "OWNER", h->has & AUDIT_OWNER, h->owner);
	put_number(f, "GROUP", h->has & AUDIT_GROUP, h->group);
	put_number(f, "SIZE", h->has & AUDIT_SIZE, h->size);
	put_bytes(f, "TERN_EXPORT", r->path, h->export_len);
	put_bytes(f, "TERN_PATH", r->path, h->path_len);
	put_bytes(f, "TERN_TO", r->to, h->to_len);
}

/* The address is looked up each time: journald may have been restarted. */
static const char *
journal_write(struct audit_sink *s, const struct audit_record *r)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX,
		.sun_path = AUDIT_JOURNAL };
	struct fields f;

	f.n = 0;
	(void)audit_record_line(r, PATH_SHOWN, s->line);
	put_fields(&f, r, s->line);
	if (sendto(s->fd, f.bytes, f.n, MSG_NOSIGNAL | MSG_DONTWAIT,
		(struct sockaddr *)&un, sizeof(un)) == -1)
		return errno == EAGAIN ? "it is busy" : strerror(errno);
	return NULL;
}

/* O_NONBLOCK: the open of a FIFO in its place must not block. */
static const char *
file_open(struct audit_sink *s)
{
	struct stat st;

	s->fd = open(s->file,
	    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY |
		O_NONBLOCK,
	    0600);
	if (s->fd == -1)
		return strerror(errno);
	if (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode))
		return NULL;
	audit_sink_rest(s);
	return "not a regular file";
}

/* "2026-11-18T04:05:06.789Z " */
static size_t
put_time(char *out, size_t size)
{
	struct timespec now = clock_wall();
	struct tm tm;
	size_t n;

	if (gmtime_r(&now.tv_sec, &tm) == NULL)
		return 0;
	n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &tm);
	return n +
	    (size_t)snprintf(out + n, size - n, ".%03ldZ ",
		now.tv_nsec / 1000000);
}

static const char *
file_write(struct audit_sink *s, const struct audit_record *r)
{
	size_t len = 0;
	const char *why = s->fd == -1 ? file_open(s) : NULL;
	ssize_t n;

	if (why != NULL)
		return why;
	if (s->torn)
		s->line[len++] = '\n';
	len += put_time(s->line + len, 48);
	len += audit_record_line(r, AUDIT_LINE_MAX, s->line + len);
	s->line[len++] = '\n';
	errno = 0;
	n = write(s->fd, s->line, len);
	if (n == (ssize_t)len) {
		s->torn = false;
		return NULL;
	}
	s->torn = s->torn || n > 0;
	return n == -1 ? strerror(errno) : strerror(ENOSPC);
}

/*
 * journald takes 10,000 lines of a service in 30 s and drops the others without a
 * word to us. So its rate is below that. A file has no other reader.
 */
static const struct audit_sink_row log_row = { "log", { 100, 500 }, NULL,
	log_write };
static const struct audit_sink_row journal_row = { AUDIT_JOURNAL, { 250, 2000 },
	journal_open, journal_write };
static const struct audit_sink_row file_row = { NULL, { 5000, 20000 },
	file_open, file_write };

const char *
audit_sink_open(struct audit_sink *s, const char *option, const char **what)
{
	const char *why;

	s->fd = -1;
	if (option == NULL)
		s->row = log_is_journal() && access(AUDIT_JOURNAL, F_OK) == 0 ?
		    &journal_row :
		    &log_row;
	else if (option[0] == '/') {
		s->row = &file_row;
		s->file = option;
	} else
		s->row = strcmp(option, "log") == 0 ? &log_row : &journal_row;
	*what = audit_sink_name(s);
	why = s->row->open == NULL ? NULL : s->row->open(s);
	audit_sink_rest(s);
	return why;
}

const struct bucket_rate *
audit_sink_rate(const struct audit_sink *s)
{
	return &s->row->rate;
}

const char *
audit_sink_write(struct audit_sink *s, const struct audit_record *r)
{
	return s->row->write(s, r);
}

void
audit_sink_rest(struct audit_sink *s)
{
	if (s->file == NULL || s->fd == -1)
		return;
	close(s->fd);
	s->fd = -1;
}

const char *
audit_sink_name(const struct audit_sink *s)
{
	return s->file != NULL ? s->file : s->row->name;
}
