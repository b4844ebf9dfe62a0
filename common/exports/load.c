/* SPDX-License-Identifier: ISC */
/*
 * Reads the exports file and those of its directory, and packs them for the
 * roles.
 * Runs in: mountd parent, nfsd parent (load); their roles (unpack).
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <netdb.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#define SUFFIX	 ".exports"

/* A host name or netgroup of the file, and its part of the addresses. */
struct name {
	char name[NAME_LEN];
	uint32_t first, n; /* n 0: it has no address */
};

struct names {
	struct name *list;
	size_t n;
	struct addr *addrs;
	size_t naddrs;
};

/* The head of the packed form, in whose order the rest follows. */
struct packed {
	uint32_t nnames;
	uint32_t naddrs;
	uint32_t text_len;
	uint32_t nusers;
};

struct load {
	const struct exports_hooks *hooks;
	const struct exports_names *source; /* NULL: no name has an address */
	const char *file;
	const char *part; /* the file that is read; NULL: the exports file */
	char *text;
	size_t len;
	struct names names;
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
	l->hooks->report(l->hooks->arg, EXPORTS_ERROR, l->part, 0, 0, message);
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

/* Appends to the text. Returns false after a report. */
static bool
add_text(struct load *l, const char *text, size_t len)
{
	if (l->text == NULL)
		l->text = malloc(EXPORTS_TEXT_MAX + 1);
	if (l->text == NULL) {
		complain(l, "out of memory");
		return false;
	}
	if (len > EXPORTS_TEXT_MAX - l->len) {
		complain(l, "longer than %d bytes, with the files before it",
		    EXPORTS_TEXT_MAX);
		return false;
	}
	memcpy(l->text + l->len, text, len);
	l->len += len;
	return true;
}

static bool
read_all(struct load *l, int fd)
{
	char part[4096];
	ssize_t n;

	for (;;) {
		n = read(fd, part, sizeof(part));
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			complain(l, "%s", strerror(errno));
		else if (memchr(part, EXPORTS_MARK, (size_t)n) != NULL)
			complain(l, "control character 0x%02x", EXPORTS_MARK);
		else if (n == 0)
			return true;
		else if (add_text(l, part, (size_t)n))
			continue;
		return false;
	}
}

/*
 * Appends a file to the text. Returns false after a report. *missing: it does
 * not exist, which counts as empty. NULL: it must exist.
 */
static bool
read_file(struct load *l, const char *file, bool *missing)
{
	struct stat st;
	bool good = false;
	int fd;

	/* Non-blocking, so that a FIFO in its place cannot block the parent. */
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd == -1 && errno == ENOENT && missing != NULL) {
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

/* Is it a file of the directory, as nfs-utils chooses them? */
static int
is_part(const struct dirent *d)
{
	size_t len = strlen(d->d_name), end = strlen(SUFFIX);

	return d->d_name[0] != '.' && len > end &&
	    strcmp(d->d_name + len - end, SUFFIX) == 0 &&
	    (d->d_type == DT_REG || d->d_type == DT_LNK ||
		d->d_type == DT_UNKNOWN);
}

/* Does the directory belong to root or this user alone? Reports if not. */
static bool
is_our_directory(struct load *l, const char *dir)
{
	struct stat st;

	if (stat(dir, &st) == -1)
		complain(l, "%s", strerror(errno));
	else if (st.st_uid != 0 && st.st_uid != geteuid())
		complain(l, "belongs to user %u (chown root)",
		    (unsigned int)st.st_uid);
	else if ((st.st_mode & 022) != 0)
		complain(l, "others can write it (chmod go-w)");
	else
		return true;
	return false;
}

/* Appends one file of the directory, with its mark. */
static bool
read_part(struct load *l, const char *dir, const char *name)
{
	char path[PATH_MAX + NAME_MAX + 2], mark[sizeof(path) + 8];
	int len;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	l->part = path;
	/* The blank line ends a line that the file before continues. */
	len = snprintf(mark, sizeof(mark), "\n\n%c%s\n", EXPORTS_MARK, path);
	if (strchr(name, '\n') != NULL)
		complain(l, "a line break is in its name");
	else if (add_text(l, mark, (size_t)len) && read_file(l, path, NULL)) {
		l->part = NULL;
		return true;
	}
	l->part = NULL;
	return false;
}

/*
 * Appends the files of the directory "<exports file>.d", sorted by name. Returns
 * false after a report. *n: how many there are.
 */
static bool
read_parts(struct load *l, int *n)
{
	struct dirent **list = NULL;
	char dir[PATH_MAX];
	bool good = true;
	int i;

	(void)snprintf(dir, sizeof(dir), "%s.d", l->file);
	*n = scandir(dir, &list, is_part, versionsort);
	if (*n == -1 && (errno == ENOENT || errno == ENOTDIR)) {
		*n = 0;
		return true;
	}
	l->part = dir;
	if (*n == -1)
		complain(l, "%s", strerror(errno));
	good = *n != -1 && (*n == 0 || is_our_directory(l, dir));
	l->part = NULL;
	for (i = 0; i < *n; i++) {
		good = good && read_part(l, dir, list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return good;
}

/* Reads the exports file and those of its directory. */
static bool
read_files(struct load *l, bool *missing)
{
	int n = 0;

	*missing = false;
	if (!read_file(l, l->file, missing) || !read_parts(l, &n))
		return false;
	*missing = *missing && n == 0;
	return true;
}

static const struct name *
find_name(const struct names *names, const char *name)
{
	size_t i;

	for (i = 0; i < names->n; i++) {
		if (strcmp(names->list[i].name, name) == 0)
			return &names->list[i];
	}
	return NULL;
}

static size_t
copy_addresses(const struct names *names, const struct name *from,
    struct addr *out, size_t max)
{
	size_t i, n = from->n < max ? from->n : max;

	for (i = 0; i < n; i++)
		out[i] = names->addrs[from->first + i];
	return n;
}

/* Reads an address with the name of an interface, "fe80::1%eth0". */
static size_t
read_zone(const char *name, struct addr *to)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = AI_NUMERICHOST };
	struct addrinfo *found = NULL;
	size_t n = 0;

	if (getaddrinfo(name, NULL, &hints, &found) != 0)
		return 0;
	n = addr_from_sockaddr(to, found->ai_addr, found->ai_addrlen);
	to->port = 0;
	freeaddrinfo(found);
	return n;
}

/* Stores the addresses that are known of a name. Returns how many. */
static size_t
find_addresses(const struct load *l, const char *name, struct addr *to)
{
	if (strchr(name, '%') != NULL)
		return read_zone(name, to);
	if (l->source == NULL)
		return 0;
	return l->source->find(l->source->arg, name, to, EXPORTS_ADDRESSES_MAX);
}

/* Returns the name's place in the table, where it is looked up once. */
static const struct name *
learn_name(struct load *l, const char *name)
{
	const struct name *known = find_name(&l->names, name);
	struct addr found[EXPORTS_ADDRESSES_MAX];
	struct names *t = &l->names;
	struct name *more;
	struct addr *addrs;
	size_t n;

	if (known != NULL)
		return known;
	if (t->n == EXPORTS_NAMES_MAX || strlen(name) >= NAME_LEN)
		return NULL;
	more = reallocarray(t->list, t->n + 1, sizeof(*more));
	if (more == NULL)
		return NULL;
	t->list = more;
	n = find_addresses(l, name, found);
	if (t->naddrs + n > EXPORTS_NAMES_ADDRS)
		return NULL;
	addrs = reallocarray(t->addrs, t->naddrs + n + 1, sizeof(*addrs));
	if (addrs == NULL)
		return NULL;
	t->addrs = addrs;
	memcpy(addrs + t->naddrs, found, n * sizeof(*found));
	more += t->n++;
	memset(more, 0, sizeof(*more));
	memcpy(more->name, name, strlen(name));
	more->first = (uint32_t)t->naddrs;
	more->n = (uint32_t)n;
	t->naddrs += n;
	return more;
}

static size_t
resolve(void *arg, const char *name, struct addr *out, size_t max)
{
	struct load *l = arg;
	const struct name *known = learn_name(l, name);

	if (known == NULL)
		return 0;
	if (known->n == 0 && l->source != NULL && !l->source->now)
		return EXPORTS_LATER;
	return copy_addresses(&l->names, known, out, max);
}

static void
pass_report(void *arg, enum exports_severity severity, const char *file,
    int line, int column, const char *message)
{
	struct load *l = arg;

	l->hooks->report(l->hooks->arg, severity, file, line, column, message);
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

static off_t
addrs_at(const struct packed *head)
{
	return (off_t)(sizeof(*head) + head->nnames * sizeof(struct name));
}

static off_t
text_at(const struct packed *head)
{
	return addrs_at(head) + (off_t)(head->naddrs * sizeof(struct addr));
}

static void
clear(struct load *l)
{
	free(l->names.list);
	free(l->names.addrs);
	free(l->text);
}

/* Returns a sealed memory file, which cannot change, or -1 with errno. */
static int
pack(const struct load *l, const struct exports *ex)
{
	const struct packed head = { (uint32_t)l->names.n,
		(uint32_t)l->names.naddrs, (uint32_t)l->len,
		(uint32_t)ex->nusers };
	int fd;

	fd = memfd_create("exports", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd == -1)
		return -1;
	if (write_all(fd, &head, sizeof(head)) &&
	    write_all(fd, l->names.list, l->names.n * sizeof(*l->names.list)) &&
	    write_all(fd, l->names.addrs,
		l->names.naddrs * sizeof(*l->names.addrs)) &&
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
	bool good = read_files(&l, &f.missing) && build(&l, &f);

	if (good)
		*out = f;
	clear(&l);
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

/* Finds a name that came with the text; a role looks up no others. */
static size_t
resolve_table(void *arg, const char *name, struct addr *out, size_t max)
{
	const struct names *t = arg;
	const struct name *known = find_name(t, name);

	return known == NULL ? 0 : copy_addresses(t, known, out, max);
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
    const char *file UNUSED, int line UNUSED, int column UNUSED,
    const char *message UNUSED)
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
		    read_at(f->packed, l.text, l.len, text_at(&head)) &&
		    build(&l, &next);
	}
	if (good) {
		exports_file_clear(f);
		*f = next;
	}
	clear(&l);
	return good;
}

/* How long is all of it? 0: the head is malformed. */
static size_t
packed_size(const struct packed *head)
{
	if (head->text_len > EXPORTS_TEXT_MAX ||
	    head->nnames > EXPORTS_NAMES_MAX ||
	    head->naddrs > EXPORTS_NAMES_ADDRS ||
	    head->nusers > EXPORTS_USERS_MAX)
		return 0;
	return (size_t)text_at(head) + head->text_len +
	    head->nusers * sizeof(struct export_user);
}

/* Adds the users to a list. Returns false if they are malformed. */
static bool
unpack_users(struct exports *ex, const uint8_t *from, size_t n)
{
	size_t i;

	if (n == 0)
		return true;
	ex->users = calloc(n, sizeof(*ex->users));
	if (ex->users == NULL)
		return false;
	memcpy(ex->users, from, n * sizeof(*ex->users));
	for (i = 0; i < n; i++) {
		ex->users[i].name[EXPORTS_USER_NAME - 1] = '\0';
		if (ex->users[i].ngids > EXPORTS_USER_GROUPS)
			return false;
	}
	ex->nusers = n;
	return true;
}

/* Copies the names and their addresses. Returns false if they are malformed. */
static bool
unpack_names(struct names *t, const uint8_t *bytes, const struct packed *head)
{
	size_t i;

	t->list = calloc(head->nnames + (size_t)1, sizeof(*t->list));
	t->addrs = calloc(head->naddrs + (size_t)1, sizeof(*t->addrs));
	if (t->list == NULL || t->addrs == NULL)
		return false;
	memcpy(t->list, bytes + sizeof(*head), head->nnames * sizeof(*t->list));
	memcpy(t->addrs, bytes + addrs_at(head),
	    head->naddrs * sizeof(*t->addrs));
	t->n = head->nnames;
	t->naddrs = head->naddrs;
	for (i = 0; i < t->n; i++) {
		t->list[i].name[NAME_LEN - 1] = '\0';
		if (t->list[i].first > t->naddrs ||
		    t->list[i].n > t->naddrs - t->list[i].first)
			return false;
	}
	return true;
}

struct exports *
exports_unpack_bytes(const uint8_t *bytes, size_t len)
{
	struct load l = { 0 };
	struct exports_hooks hooks = { NULL, resolve_table, &l.names };
	struct exports *ex = NULL;
	struct packed head;
	const uint8_t *text;

	if (len < sizeof(head))
		return NULL;
	memcpy(&head, bytes, sizeof(head));
	if (packed_size(&head) != len)
		return NULL;
	text = bytes + text_at(&head);
	if (unpack_names(&l.names, bytes, &head))
		ex = exports_parse((const char *)text, head.text_len, &hooks);
	if (ex != NULL &&
	    !unpack_users(ex, text + head.text_len, head.nusers)) {
		exports_free(ex);
		ex = NULL;
	}
	clear(&l);
	return ex;
}

uint8_t *
exports_packed_bytes(int fd, size_t *len)
{
	struct packed head;
	uint8_t *bytes;

	if (!read_at(fd, &head, sizeof(head), 0) ||
	    (*len = packed_size(&head)) == 0)
		return NULL;
	bytes = malloc(*len);
	if (bytes == NULL || read_at(fd, bytes, *len, 0))
		return bytes;
	free(bytes);
	return NULL;
}

struct exports *
exports_unpack(int fd)
{
	struct exports *ex = NULL;
	size_t len;
	uint8_t *bytes = exports_packed_bytes(fd, &len);

	if (bytes != NULL)
		ex = exports_unpack_bytes(bytes, len);
	free(bytes);
	return ex;
}
