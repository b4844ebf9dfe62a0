/* SPDX-License-Identifier: ISC */
/*
 * memscan PID KEYFILE: prints which secrets are in a process's memory: "key"
 * (the file's bytes), "broker" and "worker" (the keys derived from it). A
 * compromised role can reveal all of its memory, so it must not hold keys that
 * it does not need.
 *
 * memscan PID HEX...: prints those that are in memory, in this order of bytes or
 * the other: libraries keep large numbers in words of the machine.
 * Runs in: tests only, as root.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "handle/fhandle.h"

#define CHUNK (1 << 20)

struct pattern {
	const char *name;
	const uint8_t *bytes;
	size_t len;
	bool found;
};

/* Searches one mapping; chunks overlap by the longest pattern. */
static void
scan(int mem, unsigned long from, unsigned long to, struct pattern *p,
    size_t np)
{
	static uint8_t buf[CHUNK];
	unsigned long at;
	ssize_t n;
	size_t i;

	for (at = from; at < to; at += CHUNK - 64) {
		n = pread(mem, buf, to - at < CHUNK ? to - at : CHUNK,
		    (off_t)at);
		if (n <= 0)
			return;
		for (i = 0; i < np; i++)
			if (memmem(buf, (size_t)n, p[i].bytes, p[i].len) !=
			    NULL)
				p[i].found = true;
		if (to - at <= CHUNK)
			return;
	}
}

static void
scan_all(const char *pid, struct pattern *p, size_t np)
{
	char path[64], line[512], mode[8];
	unsigned long from, to;
	FILE *maps;
	int mem;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
	maps = fopen(path, "re");
	(void)snprintf(path, sizeof(path), "/proc/%.20s/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	if (maps == NULL || mem == -1)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), maps) != NULL)
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 &&
		    mode[0] == 'r')
			scan(mem, from, to, p, np);
	(void)fclose(maps);
	close(mem);
}

#define HEX_MAX 64

/* Reads hexadecimal digits; reversed: the last byte comes first. */
static size_t
unhex(uint8_t out[HEX_MAX], const char *text, bool reversed)
{
	size_t n = strlen(text) / 2, i;
	unsigned int byte;

	if (n == 0 || n > HEX_MAX)
		errx(1, "%s: not a secret", text);
	for (i = 0; i < n; i++) {
		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			errx(1, "%s: not hexadecimal", text);
		out[reversed ? n - 1 - i : i] = (uint8_t)byte;
	}
	return n;
}

static int
scan_hex(const char *pid, char *texts[], int n)
{
	uint8_t bytes[2][HEX_MAX];
	size_t len;
	int i;

	for (i = 0; i < n; i++) {
		len = unhex(bytes[0], texts[i], false);
		(void)unhex(bytes[1], texts[i], true);
		struct pattern p[] = { { texts[i], bytes[0], len, false },
			{ texts[i], bytes[1], len, false } };

		scan_all(pid, p, nitems(p));
		if (p[0].found || p[1].found)
			(void)puts(texts[i]);
	}
	return 0;
}

int
main(int argc, char *argv[])
{
	uint8_t key[FH_KEY_SIZE];
	struct fh_keys keys;
	size_t i;
	int fd;

	if (argc < 3)
		errx(1, "usage: memscan pid keyfile | hex...");
	if (strchr(argv[2], '/') == NULL)
		return scan_hex(argv[1], argv + 2, argc - 2);
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd == -1 || read(fd, key, sizeof(key)) != (ssize_t)sizeof(key))
		err(1, "%s", argv[2]);
	fh_keys_derive(&keys, key);
	struct pattern p[] = {
		{ "key", key, sizeof(key), false },
		{ "broker", keys.broker.bytes, FH_SUBKEY, false },
		{ "worker", keys.worker.bytes, FH_SUBKEY, false },
	};
	scan_all(argv[1], p, nitems(p));
	for (i = 0; i < nitems(p); i++)
		if (p[i].found)
			(void)puts(p[i].name);
	return 0;
}
