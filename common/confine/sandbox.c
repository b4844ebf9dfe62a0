/* SPDX-License-Identifier: ISC */
/*
 * The order of the sandbox's layers, and the log line that names the active
 * ones. With strict, a missing layer is fatal; otherwise the log names it.
 * Runs in: every role and portmapd.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/sandbox_parts.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE		 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

static const struct sandbox_limit base_limits[] = {
	{ RLIMIT_CORE, 0, "memory holds clients' data" },
	{ RLIMIT_MEMLOCK, 0, "no memory is locked" },
	{ RLIMIT_MSGQUEUE, 0, "no message queues" },
};

void
sandbox_set_root(struct sandbox *box, const char *mounts, const char *root)
{
	(void)snprintf(box->mounts, sizeof(box->mounts), "%s", mounts);
	(void)snprintf(box->root, sizeof(box->root), "%s", root);
}

/* Is loopback the only interface, as with systemd's PrivateNetwork=? */
static bool
network_is_empty(void)
{
	char line[512];
	unsigned int n = 0;
	FILE *f = fopen("/proc/self/net/dev", "re");

	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strchr(line, ':') != NULL && strstr(line, "lo:") == NULL)
			n++;
	(void)fclose(f);
	return n == 0;
}

void
sandbox_begin(struct sandbox *box, const struct sandbox_policy *policy,
    bool strict)
{
	int error;

	*box = (struct sandbox){ .policy = policy, .strict = strict };
	sandbox_set_root(box, "shared", "none");
	if (policy->resolves)
		box->network = "open";
	else if (unshare(CLONE_NEWNET) == 0)
		box->network = "closed";
	else {
		error = errno;
		box->network = network_is_empty() ? "loopback" : "filtered";
		if (strcmp(box->network, "filtered") == 0)
			sandbox_missing(box, "network namespace",
			    strerror(error));
	}
	sandbox_caps_begin(box);
}

static void
set_limits(const struct sandbox_limit *limits, size_t n)
{
	struct rlimit now;
	size_t i;

	for (i = 0; i < n; i++) {
		if (getrlimit((__rlimit_resource_t)limits[i].what, &now) == -1)
			fatal("rlimit %d", limits[i].what);
		if (limits[i].value < now.rlim_max)
			now.rlim_max = limits[i].value;
		now.rlim_cur = now.rlim_max;
		if (setrlimit((__rlimit_resource_t)limits[i].what, &now) == -1)
			fatal("rlimit %d", limits[i].what);
	}
}

void
sandbox_hide_memory(void)
{
	set_limits(base_limits, 1); /* RLIMIT_CORE */
	/* a plain user's /proc/self would then belong to root */
	if (!SANDBOX_SANITIZER && geteuid() == 0 &&
	    (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1))
		fatal("prctl");
}

/* Sets the attributes of the process, in any order. */
static void
harden_process(const struct sandbox *box)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		fatal("sandbox: no_new_privs");
	if (!SANDBOX_SANITIZER && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("sandbox: dumpable");
	/* Linux 6.3 has it. On Debian 12's 6.1 the filter alone refuses it. */
	if (!SANDBOX_SANITIZER)
		(void)prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0);
	/* a change of user clears it, so it comes after that */
	if (box->policy->dies_with_parent &&
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		fatal("sandbox: pdeathsig");
}

void
sandbox_enter(struct sandbox *box)
{
	const struct sandbox_policy *policy = box->policy;

	sandbox_caps_enter(box);
	harden_process(box);
	set_limits(base_limits, nitems(base_limits));
	set_limits(policy->limits, policy->nlimits);
	sandbox_landlock_enter(box);
}

static void
log_line(const struct sandbox *box)
{
	char caps[160], landlock[16];

	if (box->policy->no_landlock)
		(void)snprintf(landlock, sizeof(landlock), "unused");
	else
		(void)snprintf(landlock, sizeof(landlock), "%d", box->landlock);
	log_info("sandbox: mounts=%s chroot=%s caps=%s landlock=%s seccomp=%zu "
		 "net=%s",
	    box->mounts, box->root, sandbox_caps_text(box, caps, sizeof(caps)),
	    landlock, box->calls, box->network);
}

/* A process that cannot open files needs neither mounts nor chroot. */
static bool
opens_files(const struct sandbox_policy *policy)
{
	size_t i;

	for (i = 0; i < policy->ncalls; i++)
		if (policy->calls[i].nr == SYS_openat ||
		    policy->calls[i].nr == SYS_openat2)
			return true;
	return false;
}

void
sandbox_seal(struct sandbox *box)
{
	if (opens_files(box->policy) && !box->policy->resolves) {
		if (strcmp(box->mounts, "shared") == 0)
			sandbox_missing(box, "private mounts",
			    "not allowed here");
		if (strcmp(box->root, "none") == 0)
			sandbox_missing(box, "chroot", "not allowed here");
	}
	if (box->missing[0] != '\0' && box->strict)
		fatalx("sandbox: missing %s: not starting, as -o strict was "
		       "given",
		    box->missing);
	sandbox_seccomp_seal(box);
	log_line(box);
	if (box->missing[0] != '\0')
		log_warnx("sandbox: missing %s", box->missing);
}
