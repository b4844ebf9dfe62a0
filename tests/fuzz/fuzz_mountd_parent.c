/* SPDX-License-Identifier: ISC */
/*
 * What a taken-over worker may tell mountd's parent. The first byte chooses
 * the message and the descriptor that comes along; the rest is the message, as
 * long as its row has it. A seal is given only for a file or directory on the
 * export's own mount; the list can be written and gives no more rows when read.
 * Links: mountd
 * Runs in: fuzzers, and the replay of their corpora.
 */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "mountd/parent/list_file.h"
#include "mountd/parent/seal.h"

#define EXPORTS "/a *(fsid=7)\n/m *(fsid=9,names=utf16le,alias=/C/)\n"
#define SEAL	0x80u

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static char list_name[] = "/dev/shm/tern-list.XXXXXX";
/* The first two lie in the exports. */
static const char *const files[] = { "/dev/shm", list_name, "/proc/self",
	"/dev/null" };
#define INSIDE 2
static int fds[nitems(files) + 1]; /* and none */
static struct fh_keys keys;
static struct exports *ex;
static struct seal_export seals[2];

static void
remove_list(void)
{
	(void)unlink(list_name);
}

static void
set_up(void)
{
	static const uint8_t key[FH_KEY_SIZE] = "tern";
	static const struct exports_hooks quiet;
	struct mountd_handles m;
	size_t i;

	if (close(mkstemp(list_name)) == -1)
		err(1, "%s", list_name);
	(void)atexit(remove_list);
	fh_keys_derive(&keys, key);
	ex = exports_parse(EXPORTS, strlen(EXPORTS), &quiet);
	for (i = 0; i < nitems(files); i++)
		fds[i] = open(files[i], O_PATH | O_CLOEXEC);
	fds[i] = -1;
	for (i = 0; i < nitems(seals); i++)
		seal_root(&seals[i], &m, &ex->list[i], fds[0], &keys);
}

static void
ask_seal(const struct mountd_seal *ask, size_t file)
{
	const struct export *e = exports_find_id(ex, ask->export_id);
	const struct seal_export *s = e == NULL ? NULL : &seals[e - ex->list];
	struct mountd_sealed answer = seal_descriptor(s, ask, fds[file], &keys);
	struct fh_plain plain;

	if (!answer.good)
		return;
	if (e == NULL || file >= INSIDE ||
	    !fh_check_worker(&answer.fh, e->path, &keys.worker, &plain) ||
	    plain.export_id != e->id)
		abort();
}

/* As on_listed() of the parent, on a list that has the entry; then the file. */
static void
note(struct mountd_listed *m)
{
	static const struct mount_entry *rows[2];
	struct mount_list *list = mount_list_new(), *again = mount_list_new();

	m->path[sizeof(m->path) - 1] = '\0';
	(void)mount_list_add(list, &m->host, m->path);
	if (!m->added && m->all)
		(void)mount_list_remove_all(list, &m->host);
	else if (!m->added)
		(void)mount_list_remove(list, &m->host, m->path);
	if (list_file_write(list, list_name) == -1)
		abort();
	list_file_read(again, list_name);
	if (mount_list_rows(again, NULL, rows, nitems(rows)) >
	    mount_list_rows(list, NULL, rows, nitems(rows)))
		abort();
	mount_list_free(list);
	mount_list_free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	union {
		struct mountd_seal ask;
		struct mountd_listed listed;
	} m;

	if (ex == NULL)
		set_up();
	if (len == 0)
		return 0;
	memset(&m, 0, sizeof(m));
	memcpy(&m, data + 1, len - 1 < sizeof(m) ? len - 1 : sizeof(m));
	if ((data[0] & SEAL) != 0)
		ask_seal(&m.ask, data[0] % nitems(fds));
	else
		note(&m.listed);
	return 0;
}
