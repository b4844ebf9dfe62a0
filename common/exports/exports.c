/* SPDX-License-Identifier: ISC */
/*
 * Searches an export list: which export, which path.
 * Pure: a list never changes after exports_parse() has built it.
 * Runs in: mountd (all roles), nfsd (all roles), tests, fuzzers.
 */
#include <stdlib.h>
#include <string.h>

#include "exports/client.h"

static void
client_free(struct export_client *c)
{
	size_t i;

	free(c->text);
	for (i = 0; i < c->naliases; i++)
		free(c->aliases[i]);
}

void
exports_free(struct exports *ex)
{
	struct exports_source *source;
	size_t i, j;

	if (ex == NULL)
		return;
	for (i = 0; i < ex->n; i++) {
		for (j = 0; j < ex->list[i].nclients; j++)
			client_free(&ex->list[i].clients[j]);
		free(ex->list[i].clients);
		free(ex->list[i].path);
	}
	while ((source = ex->sources) != NULL) {
		ex->sources = source->next;
		free(source);
	}
	free(ex->list);
	free(ex->by_id);
	free(ex->users);
	free(ex);
}

const struct export *
exports_find_id(const struct exports *ex, uint16_t id)
{
	size_t low = 0, high = ex->n, mid;
	const struct export *e;

	while (low < high) {
		mid = low + (high - low) / 2;
		e = &ex->list[ex->by_id[mid]];
		if (e->id == id)
			return e;
		if (e->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

const struct export *
exports_find_path(const struct exports *ex, const char *path)
{
	size_t low = 0, high = ex->n, mid;
	int order;

	while (low < high) {
		mid = low + (high - low) / 2;
		order = strcmp(ex->list[mid].path, path);
		if (order == 0)
			return &ex->list[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/*
 * If path is name or lies below it, returns the length of that part of path,
 * including the slash after it. Returns 0 otherwise. A slash at the end of name
 * is ignored.
 */
static size_t
covers(const char *name, const char *path)
{
	size_t len = strlen(name);

	while (len > 0 && name[len - 1] == '/')
		len--;
	if (strncmp(name, path, len) != 0)
		return 0;
	if (path[len] == '\0')
		return len;
	return path[len] == '/' ? len + 1 : 0;
}

const struct export *
exports_find_above(const struct exports *ex, const char *path)
{
	const struct export *best = NULL;
	size_t i, len, most = 0;

	for (i = 0; i < ex->n; i++) {
		len = covers(ex->list[i].path, path);
		if (len > most) {
			most = len;
			best = &ex->list[i];
		}
	}
	return best;
}

bool
exports_clean_path(const char *path, size_t len, char out[EXPORTS_PATH_MAX + 1])
{
	char clean[EXPORTS_PATH_MAX + 1];
	size_t n = 0, i = 0, start;

	if (len == 0 || path[0] != '/' || memchr(path, '\0', len) != NULL)
		return false;
	while (i < len) {
		while (i < len && path[i] == '/')
			i++;
		start = i;
		while (i < len && path[i] != '/')
			i++;
		if (i == start || (i - start == 1 && path[start] == '.'))
			continue;
		if (i - start == 2 && memcmp(path + start, "..", 2) == 0)
			return false;
		if (i - start >= EXPORTS_PATH_MAX - n)
			return false;
		clean[n++] = '/';
		memcpy(clean + n, path + start, i - start);
		n += i - start;
	}
	if (n == 0)
		clean[n++] = '/';
	memcpy(out, clean, n);
	out[n] = '\0';
	return true;
}

bool
exports_speaks(const struct export *e, enum export_names names)
{
	size_t i;

	for (i = 0; i < e->nclients; i++)
		if (e->clients[i].options.names == names)
			return true;
	return false;
}

bool
exports_crossmnt(const struct export *e)
{
	size_t i;

	for (i = 0; i < e->nclients; i++)
		if (e->clients[i].options.crossmnt)
			return true;
	return false;
}

struct exports_place
exports_place(const struct exports *ex, const char *path,
    const struct addr *host, const struct peer_identity *id,
    enum export_names names)
{
	struct exports_place at = { 0 };
	const struct export_client *c;
	size_t i, j, len, most = 0;

	at.export = exports_find_above(ex, path);
	if (at.export != NULL) {
		most = covers(at.export->path, path);
		at.client = exports_client(at.export, host, id, names);
	}
	for (i = 0; i < ex->n; i++) {
		c = exports_client(&ex->list[i], host, id, names);
		for (j = 0; c != NULL && j < c->naliases; j++) {
			len = covers(c->aliases[j], path);
			if (len < most || len == 0 ||
			    (len == most && at.alias != NULL))
				continue;
			most = len;
			at.export = &ex->list[i];
			at.client = c;
			at.alias = c->aliases[j];
		}
	}
	at.below = path + most;
	return at;
}
