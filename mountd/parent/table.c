/* SPDX-License-Identifier: ISC */
/*
 * "mountd -n -v": prints the whole table, as exportfs -v does. The output is an
 * exports file with every option written out. "mountd -n" prints the fingerprint.
 * Runs in: mountd -n.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "confine/jail_mount.h"
#include "confine/mountinfo.h"
#include "exports/client.h"
#include "exports/config.h"
#include "handle/fhandle_fs.h"
#include "mountd/parent/table.h"
#include "mounts/hidden.h"

/* Prints a path or alias; all but plain characters are octal. */
static void
print_path(const char *path)
{
	char escape[TEXT_ESCAPED];

	for (; *path != '\0'; path++) {
		if (*path > ' ' && *path < 0x7f &&
		    strchr("\"#\\(),", *path) == NULL) {
			(void)putchar(*path);
			continue;
		}
		text_escape(escape, (unsigned char)*path);
		(void)fwrite(escape, 1, sizeof(escape), stdout);
	}
}

void
table_print(const struct exports *ex)
{
	char options[EXPORTS_OPTIONS_TEXT];
	const struct export_client *c;
	const struct export *e;
	size_t i, j, k;

	for (i = 0; i < ex->n; i++) {
		e = &ex->list[i];
		for (j = 0; j < e->nclients; j++) {
			c = &e->clients[j];
			if (c->again)
				continue;
			exports_options_print(&c->options, options);
			print_path(e->path);
			printf("\t%s(%s", c->text, options);
			if (e->has_fsid)
				printf(",fsid=%u", e->fsid);
			for (k = 0; k < c->naliases; k++) {
				printf(",alias=");
				print_path(c->aliases[k]);
			}
			printf(")\n");
		}
	}
}

/* The key, or why there is none. */
static void
print_key(const char *file, char out[16])
{
	uint8_t key[FH_KEY_SIZE];
	struct fh_keys keys;
	char why[512];

	(void)strlcpy(out, "none", 16);
	if (access(file, F_OK) == -1)
		return;
	(void)strlcpy(out, "unknown", 16);
	if (fh_key_load(file, key, why, sizeof(why)) != 0)
		return;
	fh_keys_derive(&keys, key);
	(void)snprintf(out, 16, "%08x", keys.print);
	explicit_bzero(key, sizeof(key));
	explicit_bzero(&keys, sizeof(keys));
}

bool
table_may_use_kernel(void)
{
	/* The kernel's handles need mounts of the parent's own. */
	return geteuid() == 0 && jail_mount_unshare() == 0;
}

int
table_open(const struct export *e, const struct config *conf, const char **why)
{
	if (!hidden_from_units(e->path))
		return config_open(e, conf, why);
	*why = HIDDEN_WHY;
	return -1;
}

const char *
table_kind(const struct export *e, const struct config *conf,
    const struct mountinfo *mounts, bool kernel)
{
	struct fh_ask ask = { .kernel = kernel, .wish = e->handles };
	const char *kind = "absent";
	struct fh_root root;
	int fd, at;

	at = table_open(e, conf, &kind);
	if (at == -1)
		return "absent";
	ask.type = mountinfo_type(mounts, fh_fs_mount(at));
	fd = jail_mount_open(at);
	if (fd != -1 && fh_fs_look(&root, fd, &ask) == 0)
		kind = fh_naming_names[root.fs.naming];
	else if (fd != -1 && errno == EOPNOTSUPP)
		kind = "refused";
	else
		kind = "absent";
	if (fd != -1)
		close(fd);
	close(at);
	return kind;
}

void
table_print_handles(const struct exports *ex, const struct config *conf,
    const char *key_file)
{
	struct mountinfo mounts;
	char key[16];
	bool kernel = table_may_use_kernel();
	size_t i;

	print_key(key_file, key);
	mountinfo_read(&mounts);
	for (i = 0; i < ex->n; i++) {
		printf("handles: key %s, %u ", key, ex->list[i].id);
		print_path(ex->list[i].path);
		printf(" %s\n",
		    table_kind(&ex->list[i], conf, &mounts, kernel));
	}
	mountinfo_clear(&mounts);
}
