/* SPDX-License-Identifier: ISC */
/*
 * Export ids for handles; no recipe may change.
 * Runs in: mountd parent, nfsd parent; exports_id() wherever exports are parsed.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "exports/exports.h"
#include "exports/id.h"

uint16_t
exports_id(const char *text)
{
	return (uint16_t)(hash_text(text) % UINT16_MAX + 1);
}

uint16_t
exports_id_inside(const char *path)
{
	static const struct hash_key key = { "tern submount" };
	uint64_t sum = hash_bytes(&key, path, strlen(path));
	const uint8_t *bytes = (const uint8_t *)&sum;
	uint16_t id = (uint16_t)(bytes[0] << 8 | bytes[1]);

	return id == 0 ? 1 : id;
}

bool
exports_is_below(const char *path, const char *above)
{
	size_t len = strcmp(above, "/") == 0 ? 0 : strlen(above);

	return strncmp(path, above, len) == 0 && path[len] == '/' &&
	    path[len + 1] != '\0';
}

bool
exports_file_text(const struct exports *ex, const char *path,
    char out[EXPORTS_FILE_TEXT])
{
	static const struct hash_key key = { "tern inner" };
	uint64_t sum = 0;
	size_t i;

	out[0] = '\0';
	for (i = 0; i < ex->n; i++)
		if (exports_is_below(ex->list[i].path, path))
			sum = hash_mix(sum ^
			    hash_bytes(&key, ex->list[i].path,
				strlen(ex->list[i].path)));
	if (sum == 0)
		return false;
	(void)snprintf(out, EXPORTS_FILE_TEXT, "%s\n%016llx", path,
	    (unsigned long long)sum);
	return true;
}

uint32_t
exports_id_uuid(const char *uuid)
{
	uint32_t h = 2166136261u;

	for (; *uuid != '\0'; uuid++) {
		if (*uuid == '-' || *uuid == ':')
			continue;
		h ^= (unsigned char)(*uuid >= 'A' && *uuid <= 'F' ?
			*uuid | 0x20 :
			*uuid);
		h *= 16777619u;
	}
	return h == 0 ? 1 : h;
}
