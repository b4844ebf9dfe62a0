/* SPDX-License-Identifier: ISC */
/*
 * Loads the NSS modules that lookups of hosts use. The C library finds a module
 * that is loaded already and opens no file for it, so the role can be sealed
 * against new code before its first lookup.
 * Runs in: mountd resolver, nfsd resolver.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "resolve/resolve.h"

/* Services that need no TCP but that of DNS. */
static const char *const plain[] = { "files", "dns", "myhostname", "mymachines",
	"resolve", "sss", "compat", "mdns", "mdns4", "mdns6", "mdns_minimal",
	"mdns4_minimal", "mdns6_minimal" };

static bool
is_plain(const char *service)
{
	size_t i;

	for (i = 0; i < nitems(plain); i++)
		if (strcmp(plain[i], service) == 0)
			return true;
	return false;
}

static void
load_module(const char *service)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "libnss_%.32s.so.2", service);
	/* Those of the C library itself are no files; others may be missing. */
	(void)dlopen(name, RTLD_NOW | RTLD_GLOBAL);
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
			load_module(word);
			all = all && is_plain(word);
		}
		if (strchr(word, ']') != NULL)
			action = false;
	}
	return all;
}

bool
resolve_load_modules(void)
{
	static const char key[] = "hosts:";
	FILE *f = fopen("/etc/nsswitch.conf", "re");
	char line[1024], *at;
	bool all = true;

	if (f == NULL)
		return true; /* the C library's default: files and DNS */
	while (fgets(line, sizeof(line), f) != NULL) {
		at = line + strspn(line, " \t");
		if (strncmp(at, key, sizeof(key) - 1) == 0)
			all = load_line(at + sizeof(key) - 1) && all;
	}
	(void)fclose(f);
	return all;
}
