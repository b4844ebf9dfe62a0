/* SPDX-License-Identifier: ISC */
/*
 * Setup and exports from the parent. The parent is trusted, so a message that
 * makes no sense is a bug and ends the process.
 * Runs in: nfsd broker, nfsd worker.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "exports/load.h"
#include "nfsd/roles/intake.h"

void
intake_setup(void *intake, struct ipc_message *m)
{
	struct intake *in = intake;

	memcpy(&in->setup, m->data, sizeof(in->setup));
	in->has_setup = true;
}

void
intake_exports(void *intake, struct ipc_message *m)
{
	struct intake *in = intake;
	size_t i;

	if (in->next != NULL)
		fatalx("parent: exports twice");
	in->next = exports_unpack(m->fds[0]);
	if (in->next == NULL)
		fatalx("parent: exports that cannot be read");
	for (i = 0; i < EXPORTS_MAX; i++)
		in->roots[i] = -1;
	in->nsubs = 0;
}

void
intake_root(void *intake, struct ipc_message *m)
{
	struct intake *in = intake;
	struct nfsd_roots roots;
	uint32_t i;

	memcpy(&roots, m->data, sizeof(roots));
	if (in->next == NULL || roots.n != m->nfds || roots.n > NFSD_ROOTS)
		fatalx("parent: roots without exports");
	for (i = 0; i < roots.n; i++) {
		if (roots.index[i] >= in->next->n ||
		    in->roots[roots.index[i]] != -1)
			fatalx("parent: a root without export");
		in->roots[roots.index[i]] = m->fds[i];
		m->fds[i] = -1;
	}
}

void
intake_submount(void *intake, struct ipc_message *m)
{
	struct intake *in = intake;
	struct submount *sub;

	if (in->next == NULL || in->nsubs == SUBMOUNTS_MAX)
		fatalx("parent: a submount without export");
	sub = &in->subs[in->nsubs];
	memcpy(sub, m->data, sizeof(*sub));
	sub->path[EXPORTS_PATH_MAX] = '\0';
	if (sub->index >= in->next->n)
		fatalx("parent: a submount without export");
	sub->root = m->fds[0];
	m->fds[0] = -1;
	in->nsubs++;
}

void
intake_serve(void *intake, struct ipc_message *m UNUSED)
{
	struct intake *in = intake;
	struct served_exports *x;

	if (in->next == NULL)
		fatalx("parent: nothing to serve");
	x = served_new(in->next, in->roots, in->subs, in->nsubs, in->probe);
	if (x == NULL)
		fatal("exports");
	in->next = NULL;
	in->serve(x);
}

void
intake_listen(struct intake *in, int channel, const struct ipc_table *messages)
{
	const char *why = NULL;
	int r = ipc_serve(channel, messages, in, &why);

	if (r == -1 && why != NULL)
		fatalx("parent: %s", why);
	if (r == 0 || (r == -1 && errno != EAGAIN))
		exit(0); /* without a parent there is nothing to live for */
}
