/* SPDX-License-Identifier: ISC */
/*
 * Replays a corpus through a fuzz target without a fuzzer: linked to
 * fuzz_<target>.c it feeds every file of tests/fuzz/corpus/<target>/, and of
 * folders given as arguments, to LLVMFuzzerTestOneInput. One TAP line per
 * target; prove reports a crash.
 * Runs in: test program, in the top folder of the sources.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define INPUT_MAX (4U << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The input has memory of its exact size, so that ASan sees every overrun. */
static void
replay_file(const char *path)
{
	static uint8_t whole[INPUT_MAX];
	uint8_t *data;
	size_t len;
	FILE *f;

	f = fopen(path, "r");
	if (f == NULL)
		BAIL_OUT("cannot read %s", path);
	len = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	data = malloc(len == 0 ? 1 : len);
	if (data == NULL)
		BAIL_OUT("no memory for %s", path);
	memcpy(data, whole, len);
	LLVMFuzzerTestOneInput(data, len);
	free(data);
}

static unsigned int
replay_folder(const char *folder)
{
	char path[4096];
	struct dirent *entry;
	unsigned int n = 0;
	DIR *dir;

	dir = opendir(folder);
	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		replay_file(path);
		n++;
	}
	closedir(dir);
	return n;
}

int
main(int argc, char *argv[])
{
	char folder[256];
	const char *name;
	unsigned int n;
	int i;

	plan(2);
	name = strrchr(argv[0], '/');
	name = name == NULL ? argv[0] : name + 1;
	if (strncmp(name, "fuzz_", 5) == 0)
		name += 5;
	snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%s", name);
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	pass("%s: empty input", name);
	n = replay_folder(folder);
	for (i = 1; i < argc; i++)
		n += replay_folder(argv[i]);
	ok(n > 0, "%s: %u inputs replayed", name, n);
	done_testing();
}
