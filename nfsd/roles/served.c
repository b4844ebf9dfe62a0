/* SPDX-License-Identifier: ISC */
/*
 * The export list of a role. It receives descriptors of roots and never opens a
 * path outside of them.
 * Runs in: nfsd worker, nfsd broker.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "exports/id.h"
#include "nfsd/roles/served.h"

/*
 * Returns the fsid that clients see. It survives restarts. Servers with the
 * same fsid= return the same.
 */
static uint64_t
fsid_of(const struct export *conf)
{
	const uint64_t ours = 0x7465726e00000000; /* "tern" */

	return conf->has_fsid ? conf->fsid : ours | conf->id;
}

static void
fill(struct served_export *e, const struct export *conf,
    const struct fh_root *root)
{
	unsigned int traits = fstype_find(root->fs.magic)->traits;
	size_t i;

	e->conf = conf;
	e->path = conf->path;
	e->id = conf->id;
	e->fsid = fsid_of(conf);
	e->crossmnt = exports_crossmnt(conf);
	for (i = 0; i < conf->nclients; i++) {
		e->writable = e->writable || conf->clients[i].options.rw;
		e->unjudged_locks =
		    e->unjudged_locks || conf->clients[i].options.no_auth_nlm;
	}
	e->root = root->fd;
	if (e->root == -1)
		return;
	e->fs = root->fs;
	e->dev = root->dev;
	e->ino = root->ino;
	e->mount_id = root->mount_id;
	e->own_mount = root->own_mount;
	memcpy(e->plain, root->plain, sizeof(e->plain));
	e->local_metadata = (traits & FSTYPE_LOCAL_METADATA) != 0;
	e->ino_btime_unique = (traits & FSTYPE_INO_BTIME_UNIQUE) != 0;
	e->ino_ambiguous = (traits & FSTYPE_INO_AMBIGUOUS) != 0;
	e->names_atomic = (traits & FSTYPE_NAMES_ATOMIC) != 0;
	e->link_by_name = (traits & FSTYPE_LINK_BY_NAME) != 0;
}

struct served_export *
served_listed(const struct served_exports *x, uint16_t id)
{
	const struct export *conf = exports_find_id(x->conf, id);
	size_t i;

	if (conf != NULL)
		return &x->list[conf - x->conf->list];
	for (i = x->conf->n; i < x->n; i++)
		if (x->list[i].id == id)
			return &x->list[i];
	return NULL;
}

/* Adds a submount. If there is no memory, clients cannot enter it. */
static void
add_submount(struct served_exports *x, const struct submount *sub)
{
	struct served_export *e = &x->list[x->n], *outer = &x->list[sub->index];
	char *path = strdup(sub->path);

	if (path == NULL) {
		close(sub->root.fd);
		return;
	}
	fill(e, outer->conf, &sub->root);
	e->outer = outer;
	outer->slow_inside = outer->slow_inside || !e->local_metadata;
	e->own_path = path;
	e->path = path;
	e->id = sub->id;
	/* Differs from the fsid of every export: those begin with "tern". */
	e->fsid = 0x7375620000000000 | sub->id; /* "sub" */
	x->n++;
}

void
served_clear(struct served_exports *x)
{
	size_t i;

	for (i = 0; i < x->n; i++) {
		if (x->list[i].root != -1)
			close(x->list[i].root);
		free(x->list[i].inner);
		free(x->list[i].file_text);
		free(x->list[i].own_path);
	}
	free(x->list);
}

/* Fills in the exports inside e. Returns false if there is no memory. */
static bool
find_inner(struct served_exports *x, struct served_export *e)
{
	char text[EXPORTS_FILE_TEXT];
	size_t i, n = 0;

	for (i = 0; i < x->conf->n; i++)
		n += exports_is_below(x->list[i].path, e->path);
	if (n == 0)
		return true;
	e->inner = calloc(n, sizeof(*e->inner));
	for (i = 0; e->inner != NULL && i < x->conf->n; i++)
		if (exports_is_below(x->list[i].path, e->path)) {
			e->inner[e->ninner++] = &x->list[i];
			e->slow_inside = e->slow_inside ||
			    (x->list[i].root != -1 &&
				!x->list[i].local_metadata);
		}
	if (exports_file_text(x->conf, e->path, text))
		e->file_text = strdup(text);
	return e->inner != NULL && e->file_text != NULL;
}

/* Frees a list that was not finished; descriptors and conf stay. */
static void
served_disown(struct served_exports *x)
{
	size_t i;

	for (i = 0; i < x->n; i++) {
		free(x->list[i].inner);
		free(x->list[i].file_text);
		free(x->list[i].own_path);
	}
	free(x->list);
	free(x);
}

struct served_exports *
served_new(struct exports *conf, const struct fh_root *roots,
    const struct submount *subs, size_t nsubs)
{
	struct served_exports *x = active_list_new(conf, served_clear);
	size_t i;

	if (x == NULL)
		return NULL;
	x->list = calloc(conf->n + nsubs + 1, sizeof(*x->list));
	if (x->list == NULL) {
		free(x);
		return NULL;
	}
	x->n = conf->n;
	for (i = 0; i < conf->n; i++)
		fill(&x->list[i], &conf->list[i], &roots[i]);
	for (i = 0; i < nsubs; i++)
		add_submount(x, &subs[i]);
	for (i = 0; i < x->n; i++) {
		if (!find_inner(x, &x->list[i])) {
			served_disown(x);
			return NULL;
		}
	}
	return x;
}

struct served_export *
served_find(const struct served_exports *x, uint16_t id)
{
	struct served_export *e = served_listed(x, id);

	if (e != NULL && e->root != -1)
		return e;
	errno = e == NULL ? ESTALE : EAGAIN;
	return NULL;
}

bool
served_check_tag(const struct served_export *e, const struct fh *fh,
    const struct fh_subkey *key, struct fh_plain *plain, const char **text)
{
	*text = e->path;
	if (fh_check_worker(fh, e->path, key, plain))
		return true;
	*text = e->file_text;
	return e->file_text != NULL &&
	    fh_check_worker(fh, e->file_text, key, plain);
}

struct served_export *
served_find_inner(const struct served_export *e, dev_t dev, ino_t ino)
{
	size_t i;

	for (i = 0; i < e->ninner; i++)
		if (e->inner[i]->root != -1 && e->inner[i]->ino == ino &&
		    e->inner[i]->dev == dev)
			return e->inner[i];
	return NULL;
}

struct served_export *
served_find_root(const struct served_exports *x, uint64_t mount_id, dev_t dev,
    ino_t ino)
{
	struct served_export *e;
	size_t i;

	for (i = 0; i < x->n; i++) {
		e = &x->list[i];
		if (e->root != -1 && e->ino == ino && e->dev == dev &&
		    e->mount_id == mount_id)
			return e;
	}
	return NULL;
}

/* Can a caller of the client have this id without being squashed? */
static bool
brings(const struct export_options *o, const struct id_map *map,
    uint32_t number)
{
	return !o->all_squash && (number != 0 || o->no_root_squash) &&
	    id_map_yields(map, number);
}

bool
served_allows_user(const struct served_export *e, uint32_t uid)
{
	const struct export_options *o;
	size_t i;

	for (i = 0; i < e->conf->nclients; i++) {
		o = &e->conf->clients[i].options;
		if (uid == o->anonuid || brings(o, &o->uids, uid))
			return true;
	}
	return false;
}

bool
served_allows_group(const struct served_export *e, uint32_t gid)
{
	const struct export_options *o;
	size_t i;

	for (i = 0; i < e->conf->nclients; i++) {
		o = &e->conf->clients[i].options;
		if (gid == o->anongid || brings(o, &o->gids, gid))
			return true;
	}
	return false;
}
