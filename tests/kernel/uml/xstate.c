/* SPDX-License-Identifier: ISC */
/*
 * user-mode-linux of Linux 6.1 keeps 2,696 bytes of floating point state for a
 * process. A processor with larger registers (AMX) has more, and the host's
 * kernel accepts only all of it: the guest's first process would die. This
 * ptrace(2) replaces the C library's and adds the missing zeros.
 * Runs in: user-mode-linux, by LD_PRELOAD.
 */
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

long
ptrace(enum __ptrace_request request, ...)
{
	static unsigned char all[1 << 16]; /* larger than any state */
	struct iovec whole = { all, sizeof(all) };
	long (*next)(enum __ptrace_request, ...);
	const struct iovec *some;
	void *where, *data;
	va_list ap;
	pid_t pid;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	where = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);

	if (request == PTRACE_SETREGSET && (uintptr_t)where == NT_X86_XSTATE) {
		some = data;
		memset(all, 0, sizeof(all));
		memcpy(all, some->iov_base, some->iov_len);
		data = &whole;
	}
	*(void **)&next = dlsym(RTLD_NEXT, "ptrace");
	return next(request, pid, where, data);
}
