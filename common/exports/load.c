/* SPDX-License-Identifier: ISC */
/*
 * Reads the exports file and packs it for the roles. Only a check of the file
 * (-n) looks up host names here, as the user who asks for it.
 * Runs in: mountd parent, nfsd parent (load); their roles (unpack).
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <netdb.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "exports/load.h"
#include "exports/parse.h"
#include "exports/users.h"

#define NAME_LEN 256

/* One host name of the file. n 0: it has no address. */
struct name {
	char name[NAME_LEN];
	uint32_t n;
	struct addr addr[EXPORTS_ADDRESSES_MAX];
};

/* The head of the packed form; the names, the text and the users follow. */
struct packed {
	uint32_t text_len;
	uint32_t nnames;
	uint32_t nusers;
};

struct load {
	const struct exports_hooks *hooks;
	const struct exports_names *source; /* NULL: look up here */
	const char *file;
	char *text;
	size_t len;
	struct name *names;
	size_t nnames;
};

static void complain(struct load *, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
complain(struct load *l, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	l->hooks->report(l->hooks->arg, EXPORTS_ERROR, 0, 0, message);
}

/* May the file be used? Reports why not. */
static bool
is_ours(struct load *l, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		complain(l, "not a regular file");
	else if (st->st_uid != 0 && st->st_uid != geteuid())
		complain(l, "belongs to user %u (chown root)",
		    (unsigned int)st->st_uid);
	else if ((st->st_mode & 022) != 0)
		complain(l, "others can write it (chmod go-w)");
	else if (st->st_size > EXPORTS_TEXT_MAX)
		complain(l, "longer than %d bytes", EXPORTS_TEXT_MAX);
	else
		return true;
	return false;
}

static bool
read_all(struct load *l, int fd)
{
	ssize_t n;

	l->text = malloc(EXPORTS_TEXT_MAX + 1);
	if (l->text == NULL) {
		complain(l, "out of memory");
		return false;
	}
	/* One byte more than the limit, because the file may grow meanwhile. */
	while (l->len <= EXPORTS_TEXT_MAX) {
		n = read(fd, l->text + l->len, EXPORTS_TEXT_MAX + 1 - l->len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1) {
			complain(l, "%s", strerror(errno));
			return false;
		}
		if (n == 0)
			return true;
		l->len += (size_t)n;
	}
	complain(l, "longer than %d bytes", EXPORTS_TEXT_MAX);
	return false;
}

/* Returns false after a report. A missing file counts as an empty one. */
static bool
read_file(struct load *l, bool *missing)
{
	struct stat st;
	bool good = false;
	int fd;

	*missing = false;
	/* Non-blocking, so that a FIFO in its place cannot block the parent. */
	fd = open(l->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1 && errno == ENOENT) {
		*missing = true;
		return true;
	}
	if (fd == -1 || fstat(fd, &st) == -1)
		complain(l, "%s", strerror(errno));
	else
		good = is_ours(l, &st) && read_all(l, fd);
	if (fd != -1)
		close(fd);
	return good;
}

static const struct name *
find_name(const struct name *names, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (strcmp(names[i].name, name) == 0)
			return &names[i];
	}
	return NULL;
}

static size_t
copy_addresses(const struct name *from, struct addr *out, size_t max)
{
	size_t i, n = from->n < max ? from->n : max;

	for (i = 0; i < n; i++)
		out[i] = from->addr[i];
	return n;
}

/* Stores the addresses that the system's resolver knows. */
static void
look_up(struct name *to)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = strchr(to->name, '%') ? AI_NUMERICHOST : 0 };
	struct addrinfo *list = NULL, *at;
	struct addr a;
	uint32_t i;

	if (getaddrinfo(to->name, NULL, &hints, &list) != 0)
		return;
	for (at = list; at != NULL; at = at->ai_next) {
		if (!addr_from_sockaddr(&a, at->ai_addr, at->ai_addrlen))
			continue;
		a.port = 0;
		for (i = 0; i < to->n && !addr_equal(&to->addr[i], &a); i++)
			;
		if (i == to->n && i < EXPORTS_ADDRESSES_MAX)
			to->addr[to->n++] = a;
	}
	freeaddrinfo(list);
}

/* Returns the name's place in the table, where it is looked up once. */
static const struct name *
learn_name(struct load *l, const char *name)
{
	const struct name *known = find_name(l->names, l->nnames, name);
	struct name *more;

	if (known != NULL)
		return known;
	if (l->nnames == EXPORTS_NAMES_MAX || strlen(name) >= NAME_LEN)
		return NULL;
	more = reallocarray(l->names, l->nnames + 1, sizeof(*more));
	if (more == NULL)
		return NULL;
	l->names = more;
	more += l->nnames++;
	memset(more, 0, sizeof(*more));
	memcpy(more->name, name, strlen(name));
	/* An address with a zone is no question for a name server. */
	if (l->source == NULL || strchr(name, '%') != NULL)
		look_up(more);
	else
		more->n = (uint32_t)l->source->find(l->source->arg, name,
		    more->addr, EXPORTS_ADDRESSES_MAX);
	return more;
}

static size_t
resolve(void *arg, const char *name, struct addr *out, size_t max)
{
	struct load *l = arg;
	const struct name *known = learn_name(l, name);

	if (known == NULL)
		return 0;
	if (known->n == 0 && l->source != NULL)
		return EXPORTS_LATER;
	return copy_addresses(known, out, max);
}

static void
pass_report(void *arg, enum exports_severity severity, int line, int column,
    const char *message)
{
	struct load *l = arg;

	l->hooks->report(l->hooks->arg, severity, line, column, message);
}

static bool
write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len > 0) {
		n = write(fd, p, len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

/* Returns a sealed memory file, which cannot change, or -1 with errno. */
static int
pack(const struct load *l, const struct exports *ex)
{
	const struct packed head = { (uint32_t)l->len, (uint32_t)l->nnames,
		(uint32_t)ex->nusers };
	int fd;

	fd = memfd_create("exports", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd == -1)
		return -1;
	if (write_all(fd, &head, sizeof(head)) &&
	    write_all(fd, l->names, l->nnames * sizeof(*l->names)) &&
	    write_all(fd, l->text, l->len) &&
	    write_all(fd, ex->users, ex->nusers * sizeof(*ex->users)) &&
	    fcntl(fd, F_ADD_SEALS,
		F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0)
		return fd;
	close_keep_errno(fd);
	return -1;
}

/* Parses and packs the text. Returns false after a report. */
static bool
build(struct load *l, struct exports_file *out)
{
	const struct exports_hooks mine = { pass_report, resolve, l };
	struct exports_file f = { .packed = -1, .missing = out->missing };

	f.list = exports_parse(l->len > 0 ? l->text : "", l->len, &mine);
	if (f.list == NULL)
		return false;
	if (exports_wants_users(f.list))
		f.list->nusers = exports_users_read(&f.list->users);
	f.packed = pack(l, f.list);
	if (f.packed == -1) {
		complain(l, "cannot pack it for the workers: %s",
		    strerror(errno));
		exports_free(f.list);
		return false;
	}
	*out = f;
	return true;
}

bool
exports_load(struct exports_file *out, const char *file,
    const struct exports_names *names, const struct exports_hooks *hooks)
{
	struct load l = { .hooks = hooks, .file = file, .source = names };
	struct exports_file f = { .packed = -1 };
	bool good = read_file(&l, &f.missing) && build(&l, &f);

	if (good)
		*out = f;
	free(l.names);
	free(l.text);
	return good;
}

void
exports_file_clear(struct exports_file *f)
{
	if (f->list != NULL) {
		close(f->packed);
		exports_free(f->list);
	}
	memset(f, 0, sizeof(*f));
	f->packed = -1;
}

/* The host names that came with the text; a role looks up no others. */
struct table {
	const struct name *names;
	size_t n;
};

static size_t
resolve_table(void *arg, const char *name, struct addr *out, size_t max)
{
	const struct table *t = arg;
	const struct name *known = find_name(t->names, t->n, name);

	return known == NULL ? 0 : copy_addresses(known, out, max);
}

static bool
read_at(int fd, void *to, size_t len, off_t at)
{
	char *p = to;
	ssize_t n;

	while (len > 0) {
		n = pread(fd, p, len, at);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static void
no_report(void *arg UNUSED, enum exports_severity severity UNUSED,
    int line UNUSED, int column UNUSED, const char *message UNUSED)
{
}

bool
exports_rebuild(struct exports_file *f, const struct exports_names *names)
{
	/* The text was reported on when it was read. */
	const struct exports_hooks quiet = { no_report, NULL, NULL };
	struct load l = { .hooks = &quiet, .source = names };
	struct exports_file next = { .packed = -1, .missing = f->missing };
	struct packed head;
	bool good = false;

	if (read_at(f->packed, &head, sizeof(head), 0)) {
		l.len = head.text_len;
		l.text = malloc(l.len + 1);
		good = l.text != NULL &&
		    read_at(f->packed, l.text, l.len,
			(off_t)(sizeof(head) +
			    head.nnames * sizeof(struct name))) &&
		    build(&l, &next);
	}
	if (good) {
		exports_file_clear(f);
		*f = next;
	}
	free(l.names);
	free(l.text);
	return good;
}

/* Adds the users to a list. Returns false if they are malformed. */
static bool
unpack_users(struct exports *ex, int fd, const struct packed *head)
{
	const off_t at = (off_t)(sizeof(*head) +
	    head->nnames * sizeof(struct name) + head->text_len);
	size_t i;

	if (head->nusers == 0)
		return true;
	ex->users = calloc(head->nusers, sizeof(*ex->users));
	if (ex->users == NULL ||
	    !read_at(fd, ex->users, head->nusers * sizeof(*ex->users), at))
		return false;
	for (i = 0; i < head->nusers; i++) {
		ex->users[i].name[EXPORTS_USER_NAME - 1] = '\0';
		if (ex->users[i].ngids > EXPORTS_USER_GROUPS)
			return false;
	}
	ex->nusers = head->nusers;
	return true;
}

struct exports *
exports_unpack(int fd)
{
	struct exports *ex = NULL;
	struct name *names = NULL;
	struct packed head;
	struct table table;
	struct exports_hooks hooks = { NULL, resolve_table, &table };
	char *text = NULL;
	size_t size, i;

	if (!read_at(fd, &head, sizeof(head), 0) ||
	    head.text_len > EXPORTS_TEXT_MAX ||
	    head.nnames > EXPORTS_NAMES_MAX || head.nusers > EXPORTS_USERS_MAX)
		return NULL;
	size = head.nnames * sizeof(*names);
	names = malloc(size + 1);
	text = malloc(head.text_len + (size_t)1);
	if (names == NULL || text == NULL ||
	    !read_at(fd, names, size, sizeof(head)) ||
	    !read_at(fd, text, head.text_len, (off_t)(sizeof(head) + size)))
		goto out;
	for (i = 0; i < head.nnames; i++) {
		names[i].name[NAME_LEN - 1] = '\0';
		if (names[i].n > EXPORTS_ADDRESSES_MAX)
			goto out;
	}
	table.names = names;
	table.n = head.nnames;
	ex = exports_parse(text, head.text_len, &hooks);
	if (ex != NULL && !unpack_users(ex, fd, &head)) {
		exports_free(ex);
		ex = NULL;
	}
out:
	free(names);
	free(text);
	return ex;
}
