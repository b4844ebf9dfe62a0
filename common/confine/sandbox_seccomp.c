/* SPDX-License-Identifier: ISC */
/*
 * Two filters; both kill the process. The first forbids arguments of permitted
 * calls. It compares 64 bits: a 32-bit comparison would pass 2^32, which the
 * kernel truncates to uid 0. The second forbids every call that is not listed.
 * It checks no arguments, so the kernel caches its answers in a bitmap.
 * Runs in: every role and portmapd.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <seccomp.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/sandbox_parts.h"

/* clang-format off */
/* Sorted by name. rare: not made in every run (tests/system). */
static const struct sandbox_call base_calls[] = {
	{ SYS_brk, true, "malloc: grow the heap" },
	{ SYS_clock_gettime, true, "clock, if the vdso has none" },
	{ SYS_close, false, "close a descriptor" },
	{ SYS_epoll_ctl, false, "event loop" },
	{ SYS_epoll_pwait, true, "event loop (the name on arm64)" },
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, false, "event loop" },
#endif
	{ SYS_exit_group, false, "exit" },
	{ SYS_fcntl, true, "event loop: flags of a new descriptor" },
	{ SYS_futex, true, "locks inside the libraries" },
	{ SYS_getpid, true, "syslog line; abort" },
	{ SYS_getrandom, true, "random numbers of libc" },
	{ SYS_gettid, true, "abort" },
	{ SYS_madvise, true, "malloc: give memory back" },
	{ SYS_mmap, true, "malloc: large blocks" },
	{ SYS_mprotect, true, "malloc: grow an arena" },
	{ SYS_mremap, true, "malloc: large realloc" },
	{ SYS_munmap, true, "malloc: free large blocks" },
	{ SYS_read, false, "eventfd, signal pipe, streams" },
	{ SYS_restart_syscall, true, "continue a call after a stop signal" },
	{ SYS_rt_sigaction, true, "abort; signals at exit" },
	{ SYS_rt_sigprocmask, true, "abort; signals" },
	{ SYS_rt_sigreturn, true, "return from a signal handler" },
	{ SYS_sched_getaffinity, true, "malloc: number of its arenas" },
	{ SYS_sendto, true, "log line to syslog" },
	{ SYS_tgkill, true, "abort" },
	{ SYS_write, true, "log line, eventfd, service manager" },
	{ SYS_writev, true, "log line" },
};

/* The calls of rpc/udp.c, rpc/tcp.c and rpc/conn.c after their set-up. */
static const struct sandbox_call transport_calls[] = {
	{ SYS_accept4, false, "accept a connection" },
	{ SYS_getsockname, false, "the local address of a connection" },
	{ SYS_readv, false, "read records" },
	{ SYS_recvmmsg, false, "read datagrams" },
	{ SYS_sendmmsg, false, "answer datagrams" },
	{ SYS_sendmsg, true, "answer a record in two pieces" },
	{ SYS_sendto, false, "answer a record" },
	{ SYS_setsockopt, false, "options of a new connection" },
};

static const struct sandbox_rule base_rules[] = {
	{ SYS_mmap, 2, SANDBOX_HAS, PROT_EXEC, "no new code" },
	{ SYS_mprotect, 2, SANDBOX_HAS, PROT_EXEC, "no new code" },
};
/* clang-format on */

const struct sandbox_call *
sandbox_base(size_t *n)
{
	*n = nitems(base_calls);
	return base_calls;
}

static scmp_filter_ctx
new_filter(uint32_t otherwise)
{
	scmp_filter_ctx f = seccomp_init(otherwise);

	if (f == NULL)
		fatalx("seccomp: out of memory");
	if (seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1) != 0 ||
	    seccomp_attr_set(f, SCMP_FLTATR_CTL_NNP, 0) != 0 ||
	    seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2) != 0 ||
	    seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH,
		SCMP_ACT_KILL_PROCESS) != 0)
		fatalx("seccomp: libseccomp is older than 2.5");
	return f;
}

static void
add_denial(scmp_filter_ctx f, const struct sandbox_rule *rule, uint64_t bit)
{
	static const enum scmp_compare compare[] = {
		[SANDBOX_BELOW] = SCMP_CMP_LT,
		[SANDBOX_ABOVE] = SCMP_CMP_GT,
		[SANDBOX_HAS] = SCMP_CMP_MASKED_EQ,
		[SANDBOX_NOT] = SCMP_CMP_NE,
	};
	/* MASKED_EQ: mask and value are the same bit */
	struct scmp_arg_cmp cmp = { .arg = rule->arg,
		.op = compare[rule->test],
		.datum_a = bit,
		.datum_b = bit };
	int error;

	if (rule->test == SANDBOX_BELOW && bit == 0)
		return; /* no argument is below 0 */
	error = seccomp_rule_add_exact_array(f, SCMP_ACT_KILL_PROCESS, rule->nr,
	    1, &cmp);
	if (error != 0) {
		errno = -error;
		fatal("seccomp: cannot restrict system call %d", rule->nr);
	}
}

static void
add_rules(scmp_filter_ctx f, const struct sandbox_rule *rules, size_t n)
{
	uint64_t bit;
	size_t i;

	for (i = 0; i < n; i++) {
		if (rules[i].test != SANDBOX_HAS) {
			add_denial(f, &rules[i], rules[i].value);
			continue;
		}
		for (bit = 1; bit != 0; bit <<= 1)
			if ((rules[i].value & bit) != 0)
				add_denial(f, &rules[i], bit);
	}
}

/* The calls of all tables of one process; the tables may overlap. */
struct list {
	int seen[SANDBOX_CALLS_MAX];
	size_t n;
};

static bool
is_new(struct list *list, int nr)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		if (list->seen[i] == nr)
			return false;
	if (list->n == nitems(list->seen))
		fatalx("seccomp: more than SANDBOX_CALLS_MAX system calls");
	list->seen[list->n++] = nr;
	return true;
}

static void
add_calls(scmp_filter_ctx f, struct list *list, const struct sandbox_call *c,
    size_t n)
{
	size_t i;
	int error;

	for (i = 0; i < n; i++) {
		if (!is_new(list, c[i].nr))
			continue;
		error = seccomp_rule_add(f, SCMP_ACT_ALLOW, c[i].nr, 0);
		if (error != 0) {
			errno = -error;
			fatal("seccomp: cannot permit system call %d", c[i].nr);
		}
	}
}

static void
load(scmp_filter_ctx f)
{
	int error = seccomp_load(f);

	if (error != 0) {
		errno = -error;
		fatal("seccomp: cannot load the filter");
	}
	seccomp_release(f);
}

void
sandbox_seccomp_seal(struct sandbox *box)
{
	const struct sandbox_policy *policy = box->policy;
	struct sandbox_rule own = { SYS_tgkill, 0, SANDBOX_NOT, 0,
		"abort only this process" };
	struct list list = { .n = 0 };
	scmp_filter_ctx deny, allow;

	if (SANDBOX_SANITIZER) {
		log_info("sandbox: no seccomp in a sanitizer build");
		return;
	}
	deny = new_filter(SCMP_ACT_ALLOW);
	add_rules(deny, base_rules, nitems(base_rules));
	own.value = (uint64_t)getpid();
	add_rules(deny, &own, 1);
	add_rules(deny, policy->rules, policy->nrules);
	allow = new_filter(SCMP_ACT_KILL_PROCESS);
	add_calls(allow, &list, base_calls, nitems(base_calls));
	if (policy->serves)
		add_calls(allow, &list, transport_calls,
		    nitems(transport_calls));
	add_calls(allow, &list, policy->calls, policy->ncalls);
	box->calls = list.n;
	load(deny);
	load(allow);
}
