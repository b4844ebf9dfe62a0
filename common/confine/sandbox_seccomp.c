/* SPDX-License-Identifier: ISC */
/*
 * Two filters; both kill the process, the resolver's refuse. The first forbids arguments of permitted
 * calls. The second forbids every call that is not listed, and every use of a
 * call with choices that is not among them. Both compare 64 bits: a 32-bit
 * comparison would pass 2^32, which the kernel truncates to uid 0. The kernel
 * caches the answer for each call whose arguments no filter checks.
 * Runs in: every role and portmapd.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <unistd.h>

#include <seccomp.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/sandbox_parts.h"

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 0x08 /* since Linux 6.11 */
#endif

#define EXACTLY	     0 /* no bit is ignored */
#define FUTEX_FLAGS  (FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)
#define MAP_NO_FILE  (MAP_TYPE | MAP_ANONYMOUS)
#define FLAGS(exact) (~(uint64_t)(exact)) /* ignores the bits beyond these */

/*
 * Sorted by name. rare: not made in every run (tests/system). A row that says
 * "without vdso" is made in the run that has none.
 */
/* clang-format off */
static const struct sandbox_call base_calls[] = {
	{ SYS_brk, true, "malloc: grow the heap" },
	{ SYS_clock_gettime, true, "clock, without vdso" },
	{ SYS_close, false, "close a descriptor" },
	{ SYS_epoll_ctl, false, "event loop" },
	{ SYS_epoll_pwait, true, "event loop (the name on arm64)" },
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, false, "event loop" },
#endif
	{ SYS_exit_group, false, "exit" },
	{ SYS_fcntl, true, "spare descriptor; flags of a directory" },
	{ SYS_futex, true, "locks inside the libraries" },
#ifdef SYS_futex_time64
	{ SYS_futex_time64, true, "locks inside the libraries, until a time (32-bit machines)" },
#endif
	{ SYS_getpid, true, "syslog line; abort" },
	{ SYS_getrandom, true, "random numbers of libc" },
	{ SYS_gettid, true, "sign of life; abort" },
#ifdef SYS_gettimeofday
	{ SYS_gettimeofday, true, "event loop: wall clock, without vdso" },
#endif
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
#ifdef SYS_send
	{ SYS_send, true, "log line to syslog (the name on armhf)" },
#endif
	{ SYS_sendto, true, "log line to syslog" },
#ifdef SYS_sigreturn
	{ SYS_sigreturn, true, "return from a signal handler (armhf)" },
#endif
	{ SYS_tgkill, true, "abort" },
	{ SYS_write, true, "log line, eventfd, service manager" },
	{ SYS_writev, true, "log line" },
};

/* The calls of transport/udp.c, transport/tcp.c and transport/conn.c after their set-up. */
static const struct sandbox_call transport_calls[] = {
	{ SYS_accept4, false, "accept a connection" },
	{ SYS_getsockname, false, "the local address of a connection" },
	{ SYS_recvmmsg, false, "read datagrams" },
	{ SYS_recvmsg, false, "read records" },
	{ SYS_sendmmsg, false, "answer datagrams" },
	{ SYS_sendmsg, true, "answer a record in two pieces" },
	{ SYS_sendto, false, "answer a record" },
	{ SYS_setsockopt, false, "options of a new connection" },
};

static const struct sandbox_rule base_rules[] = {
	{ SYS_mmap, 2, SANDBOX_HAS, PROT_EXEC, "no new code" },
	{ SYS_mprotect, 2, SANDBOX_HAS, PROT_EXEC, "no new code" },
};

/* No owner or signal of a descriptor, no lease, no lock; no file in memory; no
 * memory shared with others; no lock with priorities. */
static const struct sandbox_choice base_choices[] = {
	{ SYS_fcntl,   {{ 1, EXACTLY, F_DUPFD_CLOEXEC }, SANDBOX_ALONE}, "spare descriptor" },
	{ SYS_fcntl,   {{ 1, EXACTLY, F_GETFL }, SANDBOX_ALONE}, "fdopendir" },
	{ SYS_fcntl,   {{ 1, EXACTLY, F_SETFD }, SANDBOX_ALONE}, "fdopendir" },
	{ SYS_futex,   {{ 1, FUTEX_FLAGS, FUTEX_WAIT }, SANDBOX_ALONE}, "wait" },
	{ SYS_futex,   {{ 1, FUTEX_FLAGS, FUTEX_WAIT_BITSET }, SANDBOX_ALONE}, "wait until a time" },
	{ SYS_futex,   {{ 1, FUTEX_FLAGS, FUTEX_WAKE }, SANDBOX_ALONE}, "wake" },
	{ SYS_futex,   {{ 1, FUTEX_FLAGS, FUTEX_REQUEUE }, SANDBOX_ALONE}, "condition variables of musl" },
#ifdef SYS_futex_time64
	{ SYS_futex_time64, {{ 1, FUTEX_FLAGS, FUTEX_WAIT }, SANDBOX_ALONE}, "wait (32-bit machines)" },
	{ SYS_futex_time64, {{ 1, FUTEX_FLAGS, FUTEX_WAIT_BITSET }, SANDBOX_ALONE}, "wait until a time (32-bit machines)" },
#endif
	{ SYS_madvise, {{ 2, EXACTLY, MADV_DONTNEED }, SANDBOX_ALONE}, "give memory back" },
	{ SYS_madvise, {{ 2, EXACTLY, MADV_HUGEPAGE }, SANDBOX_ALONE}, "glibc, if told to use huge pages" },
	{ SYS_mmap,    {{ 3, FLAGS(MAP_NO_FILE), MAP_PRIVATE | MAP_ANONYMOUS }, SANDBOX_ALONE}, "malloc" },
	{ SYS_mmap,    {{ 3, FLAGS(MAP_NO_FILE), MAP_DROPPABLE | MAP_ANONYMOUS }, SANDBOX_ALONE}, "random numbers of glibc 2.41" },
};

static const struct sandbox_choice transport_choices[] = {
	{ SYS_setsockopt, {{ 1, EXACTLY, IPPROTO_TCP }, { 2, EXACTLY, TCP_NODELAY }}, "answer at once" },
	{ SYS_setsockopt, {{ 1, EXACTLY, SOL_SOCKET }, { 2, EXACTLY, SO_KEEPALIVE }}, "notice a dead client" },
	{ SYS_setsockopt, {{ 1, EXACTLY, SOL_SOCKET }, { 2, EXACTLY, SO_LINGER }}, "abort connections to an address that left" },
	{ SYS_setsockopt, {{ 1, EXACTLY, SOL_SOCKET }, { 2, EXACTLY, SO_BINDTODEVICE }}, "and tell their clients nothing" },
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
add_denial(scmp_filter_ctx f, uint32_t refuse, const struct sandbox_rule *rule,
    uint64_t bit)
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
	error = seccomp_rule_add_exact_array(f, refuse, rule->nr, 1, &cmp);
	if (error != 0) {
		errno = -error;
		fatal("seccomp: cannot restrict system call %d", rule->nr);
	}
}

static void
add_rules(scmp_filter_ctx f, uint32_t refuse, const struct sandbox_rule *rules,
    size_t n)
{
	uint64_t bit;
	size_t i;

	for (i = 0; i < n; i++) {
		if (rules[i].test != SANDBOX_HAS) {
			add_denial(f, refuse, &rules[i], rules[i].value);
			continue;
		}
		for (bit = 1; bit != 0; bit <<= 1)
			if ((rules[i].value & bit) != 0)
				add_denial(f, refuse, &rules[i], bit);
	}
}

/* The calls of all tables of one process; the tables may overlap. */
struct list {
	int seen[SANDBOX_CALLS_MAX];
	size_t n;
	int chosen[SANDBOX_CALLS_MAX]; /* those that have choices */
	size_t nchosen;
};

static bool
contains(const int *list, size_t n, int nr)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (list[i] == nr)
			return true;
	return false;
}

static void
permit(scmp_filter_ctx f, int nr, const struct scmp_arg_cmp *when, size_t n)
{
	int error = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, nr,
	    (unsigned int)n, when);

	if (error != 0) {
		errno = -error;
		fatal("seccomp: cannot permit system call %d", nr);
	}
}

/* Adds the calls that have no choices; those were added before. */
static void
add_calls(scmp_filter_ctx f, struct list *list, const struct sandbox_call *c,
    size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (contains(list->seen, list->n, c[i].nr))
			continue;
		if (list->n == nitems(list->seen))
			fatalx("seccomp: more than SANDBOX_CALLS_MAX system "
			       "calls");
		list->seen[list->n++] = c[i].nr;
		if (!contains(list->chosen, list->nchosen, c[i].nr))
			permit(f, c[i].nr, NULL, 0);
	}
}

static void
add_choices(scmp_filter_ctx f, struct list *list,
    const struct sandbox_choice *c, size_t n)
{
	struct scmp_arg_cmp when[nitems(c->is)];
	size_t i, j, used;

	for (i = 0; i < n; i++) {
		if (list->nchosen == nitems(list->chosen))
			fatalx("seccomp: more than SANDBOX_CALLS_MAX choices");
		list->chosen[list->nchosen++] = c[i].nr;
		used = 0;
		for (j = 0; j < nitems(c->is); j++)
			if (c[i].is[j].ignore != UINT64_MAX)
				when[used++] = (struct scmp_arg_cmp){
					.arg = c[i].is[j].arg,
					.op = SCMP_CMP_MASKED_EQ,
					.datum_a = ~c[i].is[j].ignore,
					.datum_b = c[i].is[j].value,
				};
		permit(f, c[i].nr, when, used);
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
	struct list list = { .n = 0, .nchosen = 0 };
	uint32_t refuse =
	    policy->resolves ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS;
	scmp_filter_ctx deny, allow;

	if (SANDBOX_SANITIZER) {
		log_info("sandbox: no seccomp in a sanitizer build");
		return;
	}
	deny = new_filter(SCMP_ACT_ALLOW);
	add_rules(deny, refuse, base_rules, nitems(base_rules));
	own.value = (uint64_t)getpid();
	add_rules(deny, refuse, &own, 1);
	add_rules(deny, refuse, policy->rules, policy->nrules);
	allow = new_filter(refuse);
	add_choices(allow, &list, base_choices, nitems(base_choices));
	if (policy->serves)
		add_choices(allow, &list, transport_choices,
		    nitems(transport_choices));
	add_choices(allow, &list, policy->choices, policy->nchoices);
	add_calls(allow, &list, base_calls, nitems(base_calls));
	if (policy->serves)
		add_calls(allow, &list, transport_calls,
		    nitems(transport_calls));
	add_calls(allow, &list, policy->calls, policy->ncalls);
	box->calls = list.n;
	load(deny);
	load(allow);
}
