/* SPDX-License-Identifier: ISC */
/*
 * Saving and reading the mount list.
 * Runs in: mountd parent.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mountd/parent/list_file.h"

#define FILE_NAME "mounts"
#define LINE_SIZE (ADDR_STRLEN + 4 * EXPORTS_PATH_MAX + 8)

void
list_file_name(char *out, size_t size, const char *key_file)
{
	const char *slash = strrchr(key_file, '/');
	int dir = slash == NULL ? 0 : (int)(slash - key_file) + 1;

	(void)snprintf(out, size, "%.*s%s", dir, key_file, FILE_NAME);
}

/* Blanks, backslashes and everything odd as \ooo, as in the exports file. */
static void
escape(char out[4 * EXPORTS_PATH_MAX + 1], const char *path)
{
	const unsigned char *c = (const unsigned char *)path;
	size_t n = 0;

	for (; *c != '\0' && n + 4 <= 4 * EXPORTS_PATH_MAX; c++) {
		if (*c > ' ' && *c < 0x7f && *c != '\\')
			out[n++] = (char)*c;
		else
			n += (size_t)snprintf(out + n, 5, "\\%03o", *c);
	}
	out[n] = '\0';
}

/* In place; the length. */
static size_t
unescape(char *s)
{
	size_t from, n = 0;

	for (from = 0; s[from] != '\0'; n++) {
		if (s[from] == '\\' && strspn(s + from + 1, "01234567") >= 3) {
			s[n] = (char)((s[from + 1] - '0') << 6 |
			    (s[from + 2] - '0') << 3 | (s[from + 3] - '0'));
			from += 4;
		} else {
			s[n] = s[from++];
		}
	}
	s[n] = '\0';
	return n;
}

/* "10.0.0.5 /srv/my\040files" */
static void
read_line(struct mount_list *list, char *line)
{
	char clean[EXPORTS_PATH_MAX + 1];
	struct addr host;
	char *blank = strchr(line, ' ');

	if (blank == NULL)
		return;
	*blank++ = '\0';
	blank[strcspn(blank, "\n")] = '\0';
	if (addr_parse(&host, line) &&
	    exports_clean_path(blank, unescape(blank), clean))
		(void)mount_list_add(list, &host, clean);
}

void
list_file_read(struct mount_list *list, const char *file)
{
	char line[LINE_SIZE];
	struct stat st;
	size_t n;
	FILE *f;
	int fd;

	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd == -1)
		return;
	f = fdopen(fd, "r");
	if (f == NULL) {
		(void)close(fd);
		return;
	}
	/* What others could write is not our memory. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && (st.st_mode & 022) == 0) {
		for (n = 0;
		     n < MOUNT_LIST_MAX && fgets(line, sizeof(line), f) != NULL;
		     n++)
			read_line(list, line);
	}
	(void)fclose(f);
}

static int
write_rows(FILE *f, const struct mount_list *list)
{
	static const struct mount_entry *rows[MOUNT_LIST_MAX];
	char host[ADDR_STRLEN], path[4 * EXPORTS_PATH_MAX + 1];
	size_t i, n;

	n = mount_list_rows(list, NULL, rows, MOUNT_LIST_MAX);
	for (i = 0; i < n; i++) {
		escape(path, rows[i]->path);
		if (fprintf(f, "%s %s\n", addr_print(&rows[i]->host, host),
			path) < 0)
			return -1;
	}
	return fflush(f);
}

int
list_file_write(const struct mount_list *list, const char *file)
{
	char temporary[PATH_MAX];
	int fd, n, saved, result;
	FILE *f;

	n = snprintf(temporary, sizeof(temporary), "%s.new", file);
	if (n < 0 || (size_t)n >= sizeof(temporary)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	(void)unlink(temporary);
	fd = open(temporary,
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	f = fd == -1 ? NULL : fdopen(fd, "w");
	if (f == NULL) {
		saved = errno;
		if (fd != -1)
			(void)close(fd);
		errno = saved;
		return -1;
	}
	result = write_rows(f, list);
	if (fclose(f) == EOF)
		result = -1;
	if (result == 0)
		result = rename(temporary, file);
	saved = errno;
	if (result != 0)
		(void)unlink(temporary);
	errno = saved;
	return result;
}
