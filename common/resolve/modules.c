/* SPDX-License-Identifier: ISC */
/*
 * Loads the NSS modules that lookups use. The C library finds a module that is
 * loaded already and opens no file for it, so the role can be sealed against new
 * code before its first lookup.
 * Runs in: mountd resolver, nfsd resolver.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "resolve/resolve.h"

/* Services that need no TCP but that of DNS. */
static const char *const plain[] = { "files", "dns", "myhostname", "mymachines",
	"resolve", "sss", "systemd", "compat", "mdns", "mdns4", "mdns6",
	"mdns_minimal", "mdns4_minimal", "mdns6_minimal" };

static bool
is_plain(const char *service)
{
	size_t i;

	for (i = 0; i < nitems(plain); i++)
		if (strcmp(plain[i], service) == 0)
			return true;
	return false;
}

/* Returns false: the module is missing, or part of the C library. */
static bool
load_module(const char *service)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "libnss_%.32s.so.2", service);
	return dlopen(name, RTLD_NOW | RTLD_GLOBAL) != NULL;
}

/* Loads the services of one line, "dns [!UNAVAIL=return] files". */
static bool
load_line(char *line)
{
	char *word, *save = NULL;
	bool all = true, action = false;

	for (word = strtok_r(line, " \t\n", &save);
	     word != NULL && *word != '#';
	     word = strtok_r(NULL, " \t\n", &save)) {
		action = action || *word == '[';
		if (!action) {
			all = (!load_module(word) || is_plain(word)) && all;
		}
		if (strchr(word, ']') != NULL)
			action = false;
	}
	return all;
}

bool
resolve_load_modules(bool users)
{
	static const char *const keys[] = {
		"hosts:", "netgroup:", "passwd:", "group:", "initgroups:"
	};
	size_t n = users ? nitems(keys) : 2;
	FILE *f = fopen("/etc/nsswitch.conf", "re");
	char line[1024], *at;
	bool all = true;
	size_t i;

	if (f == NULL)
		return true; /* the C library's default: files and DNS */
	while (fgets(line, sizeof(line), f) != NULL) {
		at = line + strspn(line, " \t");
		for (i = 0; i < n; i++)
			if (strncmp(at, keys[i], strlen(keys[i])) == 0)
				all = load_line(at + strlen(keys[i])) && all;
	}
	(void)fclose(f);
	return all;
}
