/* SPDX-License-Identifier: ISC */
/*
 * Unused processors: see nfsd/place/unused.h. A time that waits for a disk is
 * unused too.
 * Runs in: nfsd parent.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "nfsd/place/unused.h"

bool
unused_parse(const char *text, bool (*counts)(unsigned int), uint64_t tick_ns,
    uint64_t *idle_ns)
{
	unsigned long long idle, wait;
	unsigned int number;
	const char *line;
	bool any = false;

	*idle_ns = 0;
	for (line = text; line != NULL; line = strchr(line, '\n')) {
		line += line[0] == '\n';
		if (strncmp(line, "cpu", 3) != 0)
			break;
		if (line[3] == ' ') /* the sum of all */
			continue;
		if (sscanf(line, "cpu%u %*u %*u %*u %llu %llu", &number, &idle,
			&wait) != 3 ||
		    !counts(number))
			continue;
		*idle_ns += (idle + wait) * tick_ns;
		any = true;
	}
	return any;
}

static bool
may_run_on(unsigned int number)
{
	cpu_set_t set;

	return number < CPU_SETSIZE &&
	    sched_getaffinity(0, sizeof(set), &set) == 0 &&
	    CPU_ISSET(number, &set);
}

bool
unused_read(uint64_t *idle_ns)
{
	static char text[UNUSED_TEXT_MAX];
	uint64_t tick_ns =
	    UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	ssize_t n;
	int fd;

	fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return unused_parse(text, may_run_on, tick_ns, idle_ns);
}

unsigned int
unused_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ?
	    (unsigned int)CPU_COUNT(&set) :
	    1;
}
