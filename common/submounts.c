/* SPDX-License-Identifier: ISC */
/*
 * The kernel's list of mounts tells the paths; whether something is mounted
 * there inside the jail is seen by opening it.
 * Runs in: nfsd parent.
 */
#include <sys/syscall.h>

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "submounts.h"

#define MOUNT_LINE_MAX 8192

/* Undoes the octal escapes of mountinfo, in place. */
static void
unescape(char *text)
{
	char *out = text;
	unsigned int c;

	while (*text != '\0') {
		if (text[0] == '\\' && sscanf(text + 1, "%3o", &c) == 1) {
			*out++ = (char)c;
			text += 4;
		} else
			*out++ = *text++;
	}
	*out = '\0';
}

/* The export that lets clients cross, and what of path lies below it. */
static const struct export *
crossed(const struct exports *ex, const char *path, const char **below)
{
	const struct export *e = exports_find_above(ex, path);
	size_t i, len;

	if (e == NULL || strcmp(e->path, path) == 0)
		return NULL; /* outside, or an export of its own */
	len = strcmp(e->path, "/") == 0 ? 0 : strlen(e->path);
	*below = path + len + 1;
	for (i = 0; i < e->nclients; i++)
		if (e->clients[i].options.crossmnt)
			return e;
	return NULL;
}

static int
open_below(int root, const char *below)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		    RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root, below, &how, sizeof(how));
}

static bool
is_known(const struct fs_submount *subs, size_t n, const char *path)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(subs[i].path, path) == 0)
			return true;
	return false;
}

/* One mount point; true when it became a submount. */
static bool
take(const struct exports *ex, const struct jail *jail, const char *path,
    struct fs_submount *sub)
{
	const char *below;
	const struct export *e = crossed(ex, path, &below);
	int root;

	if (e == NULL || (root = jail_root(jail, e->path)) == -1)
		return false;
	sub->root = open_below(root, below);
	if (sub->root == -1)
		return false;
	if (fh_fs_mount(sub->root) == fh_fs_mount(root) ||
	    strlcpy(sub->path, path, sizeof(sub->path)) >= sizeof(sub->path)) {
		close(sub->root);
		return false;
	}
	sub->index = (uint32_t)(e - ex->list);
	return true;
}

size_t
submounts_find(const struct exports *ex, const struct jail *jail,
    struct fs_submount subs[FS_SUBMOUNTS_MAX])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[MOUNT_LINE_MAX], path[MOUNT_LINE_MAX];
	size_t n = 0;

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%*s %*s %*s %*s %8191s", path) != 1)
			continue;
		unescape(path);
		if (is_known(subs, n, path) || !take(ex, jail, path, &subs[n]))
			continue;
		log_info("exports: %s is entered (crossmnt)", path);
		if (++n == FS_SUBMOUNTS_MAX) {
			log_warnx("exports: more than %d mounts inside, the "
				  "rest is not entered",
			    FS_SUBMOUNTS_MAX);
			break;
		}
	}
	fclose(f);
	return n;
}

void
submounts_close(struct fs_submount *subs, size_t n)
{
	while (n > 0)
		close(subs[--n].root);
}
