/* SPDX-License-Identifier: ISC */
/*
 * Sends setup and exports from a parent to its roles, and receives them.
 * Runs in: mountd parent, nfsd parent (role_exports_send); their roles (the
 * rest).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "process/role_exports.h"

#define PART 32768 /* bytes of the packed file in one message */

_Static_assert(ROLE_ROOTS_MAX <= IPC_FDS_MAX, "one message carries them");

/* Sends the descriptors of the roots, ROLE_ROOTS_MAX in one message. */
static void
send_roots(struct role_child *child, const struct exports *ex,
    const struct jail *jail)
{
	static struct role_roots roots;
	const struct fh_root *root;
	int fds[ROLE_ROOTS_MAX];
	size_t i;

	roots.n = 0;
	for (i = 0; i < ex->n; i++) {
		root = jail_facts(jail, ex->list[i].path);
		if (root != NULL) {
			fds[roots.n] = root->fd;
			roots.root[roots.n] = *root;
			roots.index[roots.n++] = (uint32_t)i;
		}
		if (roots.n == ROLE_ROOTS_MAX ||
		    (i + 1 == ex->n && roots.n > 0)) {
			(void)role_send(child, ROLE_ROOTS, &roots,
			    sizeof(roots), fds, roots.n);
			roots.n = 0;
		}
	}
}

/* Sends what follows the packed file. */
static void
send_rest(struct role_child *child, const struct exports_file *file,
    const struct jail *jail, const struct submounts *subs)
{
	size_t i;

	send_roots(child, file->list, jail);
	for (i = 0; subs != NULL && i < subs->n; i++)
		(void)role_send(child, ROLE_SUBMOUNT, &subs->list[i],
		    sizeof(subs->list[i]), &subs->list[i].root.fd, 1);
	(void)role_send(child, ROLE_SERVE, NULL, 0, NULL, 0);
	role_owes(child);
}

void
role_exports_send(struct role_child *child, const struct exports_file *file,
    const struct jail *jail, const struct submounts *subs)
{
	(void)role_send(child, ROLE_EXPORTS, NULL, 0, &file->packed, 1);
	send_rest(child, file, jail, subs);
}

void
role_exports_send_parts(struct role_child *child,
    const struct exports_file *file, const struct jail *jail,
    const struct submounts *subs)
{
	size_t len, at, n;
	uint8_t *bytes = exports_packed_bytes(file->packed, &len);

	if (bytes == NULL)
		fatal("exports for %s", role_name(child));
	for (at = 0; at < len; at += n) {
		n = len - at < PART ? len - at : PART;
		(void)role_send(child, ROLE_PART, bytes + at, n, NULL, 0);
	}
	free(bytes);
	(void)role_send(child, ROLE_EXPORTS, NULL, 0, NULL, 0);
	send_rest(child, file, jail, subs);
}

void
role_exports_receive(struct role_exports *in, const struct ipc_table *messages)
{
	const char *why = NULL;
	int r = ipc_serve(in->channel, messages, in, &why);

	if (r == -1 && why != NULL)
		fatalx("parent: %s", why);
	if (r == 0 || (r == -1 && errno != EAGAIN))
		exit(0);
}

void *
role_exports_arg(void *arg)
{
	const struct role_exports *in = arg;

	return in->arg;
}

void
role_exports_setup(void *arg, struct ipc_message *m)
{
	struct role_exports *in = arg;

	memcpy(in->setup, m->data, m->len);
	in->has_setup = true;
}

void
role_exports_part(void *arg, struct ipc_message *m)
{
	struct role_list *next = &((struct role_exports *)arg)->next;

	next->parts = realloc(next->parts, next->parts_len + m->len);
	if (next->parts == NULL)
		fatal("exports");
	memcpy(next->parts + next->parts_len, m->data, m->len);
	next->parts_len += m->len;
}

void
role_exports_begin(void *arg, struct ipc_message *m)
{
	struct role_list *next = &((struct role_exports *)arg)->next;
	size_t i;

	if (next->conf != NULL)
		fatalx("parent: exports twice");
	next->conf = m->nfds == 1 ?
	    exports_unpack(m->fds[0]) :
	    exports_unpack_bytes(next->parts, next->parts_len);
	free(next->parts);
	next->parts = NULL;
	next->parts_len = 0;
	if (next->conf == NULL)
		fatalx("parent: exports that cannot be read");
	for (i = 0; i < EXPORTS_MAX; i++)
		next->roots[i].fd = -1;
	next->nsubs = 0;
}

void
role_exports_roots(void *arg, struct ipc_message *m)
{
	struct role_list *next = &((struct role_exports *)arg)->next;
	static struct role_roots roots;
	uint32_t i;

	memcpy(&roots, m->data, sizeof(roots));
	if (next->conf == NULL || roots.n != m->nfds ||
	    roots.n > ROLE_ROOTS_MAX)
		fatalx("parent: roots without exports");
	for (i = 0; i < roots.n; i++) {
		if (roots.index[i] >= next->conf->n ||
		    next->roots[roots.index[i]].fd != -1)
			fatalx("parent: a root without export");
		next->roots[roots.index[i]] = roots.root[i];
		next->roots[roots.index[i]].fd = m->fds[i];
		m->fds[i] = -1;
	}
}

void
role_exports_submount(void *arg, struct ipc_message *m)
{
	struct role_list *next = &((struct role_exports *)arg)->next;
	struct submount *sub;

	if (next->conf == NULL || next->nsubs == SUBMOUNTS_MAX)
		fatalx("parent: a submount without exports");
	sub = &next->subs[next->nsubs];
	memcpy(sub, m->data, sizeof(*sub));
	sub->path[EXPORTS_PATH_MAX] = '\0';
	if (sub->index >= next->conf->n)
		fatalx("parent: a submount without export");
	sub->root.fd = m->fds[0];
	m->fds[0] = -1;
	next->nsubs++;
}

void
role_exports_serve(void *arg, struct ipc_message *m UNUSED)
{
	struct role_exports *in = arg;

	if (in->next.conf == NULL)
		fatalx("parent: nothing to serve");
	in->serve(in->arg, &in->next);
	in->next.conf = NULL;
	if (ipc_send(in->channel, ROLE_SERVES, NULL, 0, NULL, 0) == -1)
		fatal("parent: cannot acknowledge the exports");
}

void
role_exports_ping(void *arg, struct ipc_message *m UNUSED)
{
	const struct role_exports *in = arg;

	role_pong(in->channel, ROLE_PONG);
}
