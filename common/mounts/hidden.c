/* SPDX-License-Identifier: ISC */
/*
 * systemd keeps the /tmp of a unit that runs in a directory of the real one. No
 * user but root can make one that belongs to root.
 * Runs in: mountd -n, nfsd -n.
 */
#include <sys/stat.h>

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "mounts/hidden.h"

/* Is the path below this /tmp, and missing in that of mountd's unit? */
static bool
is_hidden(const char *tmp, const char *path)
{
	char pattern[96], there[PATH_MAX + 160];
	size_t len = strlen(tmp), i;
	struct stat st;
	glob_t found;
	bool hidden = false;

	if (strncmp(path, tmp, len) != 0 || path[len] != '/')
		return false;
	(void)snprintf(pattern, sizeof(pattern),
	    "%s/systemd-private-*-tern-mountd.service-*", tmp);
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return false;
	for (i = 0; i < found.gl_pathc && !hidden; i++) {
		(void)snprintf(there, sizeof(there), "%.150s/tmp%s",
		    found.gl_pathv[i], path + len);
		hidden = lstat(found.gl_pathv[i], &st) == 0 && st.st_uid == 0 &&
		    stat(there, &st) == -1 && errno == ENOENT;
	}
	globfree(&found);
	return hidden;
}

bool
hidden_from_units(const char *path)
{
	static const char *const private[] = { "/tmp", "/var/tmp" };
	struct stat st;
	size_t i;

	if (stat(path, &st) == -1)
		return false;
	for (i = 0; i < nitems(private); i++)
		if (is_hidden(private[i], path))
			return true;
	return false;
}
