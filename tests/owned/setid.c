/* SPDX-License-Identifier: ISC */
/*
 * Tries to make a program that runs as another user when a local user starts it:
 * every call that takes a mode.
 * Runs in: children of each role, sealed as the role is.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "owned.h"

/* A file of its own. */
struct program {
	char name[32];
	int dir; /* of the export */
	long fd; /* -1: none was made */
};

static struct program
make_program(const struct owned *o, unsigned int mode)
{
	struct program p = { .fd = -1 };
	size_t i;

	(void)snprintf(p.name, sizeof(p.name), "owned-%ld",
	    syscall(SYS_getpid));
	for (i = 0; i < o->ndirs && p.fd == -1; i++) {
		p.dir = o->dirs[i];
		p.fd = syscall(SYS_openat, p.dir, p.name,
		    O_CREAT | O_EXCL | O_WRONLY, mode);
	}
	return p;
}

bool
setid_new(const struct owned *o)
{
	return make_program(o, 06755).fd != -1;
}

bool
setid_node(const struct owned *o)
{
	struct program p = make_program(o, 0755);

	p.name[0] = 'O'; /* another name */
	return p.fd != -1 &&
	    syscall(SYS_mknodat, p.dir, p.name, S_IFREG | 06755, 0) == 0;
}

bool
setid_fchmod(const struct owned *o)
{
	struct program p = make_program(o, 0755);

	return p.fd != -1 && syscall(SYS_fchmod, p.fd, 04755) == 0;
}

bool
setid_fchmod_group(const struct owned *o)
{
	struct program p = make_program(o, 0755);

	return p.fd != -1 && syscall(SYS_fchmod, p.fd, 02755) == 0;
}

bool
setid_fchmodat(const struct owned *o)
{
	struct program p = make_program(o, 0755);

	return p.fd != -1 && syscall(SYS_fchmodat, p.dir, p.name, 06755) == 0;
}

bool
setid_fchmodat2(const struct owned *o)
{
	struct program p = make_program(o, 0755);

	return p.fd != -1 &&
	    syscall(452 /* fchmodat2 */, p.fd, "", 06755, AT_EMPTY_PATH) == 0;
}

/* The upper half of a mode is not looked at by the kernel. */
bool
setid_wide(const struct owned *o)
{
	struct program p = make_program(o, 0755);

	return p.fd != -1 &&
	    syscall(SYS_fchmod, p.fd, (UINT64_C(1) << 32) + 06755) == 0;
}
