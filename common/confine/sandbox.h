/* SPDX-License-Identifier: ISC */
/*
 * Applies a policy to a process. A policy is data beside the role that uses
 * it; every system call has its reason. Three steps, because some things need
 * root, some must come before threads and the filter must come last:
 *
 *	sandbox_begin	own network namespace; capabilities survive the drop
 *	daemon_drop	user and group
 *	sandbox_enter	bounding set, capabilities, locked securebits,
 *			no_new_privs, not dumpable, MDWE, rlimits, Landlock
 *	(threads)
 *	sandbox_seal	seccomp, for all threads; the line at start
 *
 * A call that is not in the tables kills the process; the kernel log shows its
 * number (ausyscall(8) its name), and strace -f of the role the same.
 * Runs in: every role and portmapd.
 */
#ifndef CONFINE_SANDBOX_H
#define CONFINE_SANDBOX_H

#include <sys/resource.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SANDBOX_CALLS_MAX 160

/* One permitted system call. rare: not seen in every run (tests/system). */
struct sandbox_call {
	int nr; /* SYS_... */
	bool rare;
	const char *why;
};

/* When a permitted call is refused after all: the process is killed. */
enum sandbox_test { SANDBOX_BELOW, SANDBOX_ABOVE, SANDBOX_HAS, SANDBOX_NOT };

struct sandbox_rule {
	int nr;
	unsigned int arg; /* 0-5, compared in full: 64 bits */
	enum sandbox_test test; /* HAS: any bit of value set */
	uint64_t value;
	const char *why;
};

struct sandbox_limit {
	int what; /* RLIMIT_... */
	rlim_t value; /* soft and hard; never raised above the present one */
	const char *why;
};

struct sandbox_policy {
	const char *role; /* "worker" */
	/* Added to the base list that every process needs; sorted by name. */
	const struct sandbox_call *calls;
	size_t ncalls;
	bool serves; /* and what our transports need */
	const struct sandbox_rule *rules;
	size_t nrules;
	bool dies_with_parent; /* every role; not a daemon of one process */
	const struct sandbox_limit *limits;
	size_t nlimits;
	const int *caps; /* CAP_...; what is kept */
	size_t ncaps;
	/* Capabilities over files follow the file system user id: present
	 * while it is 0, gone while it is not (nfsd's root mode). */
	bool caps_follow_fsuid;
	/* Landlock: everything is refused except below these. Rights are
	 * SANDBOX_FILES_*. paths are descriptors; none: no file at all. */
	bool no_landlock; /* nfsd broker: it breaks open_by_handle_at */
	uint64_t file_rights;
	const int *paths;
	size_t npaths;
};

#define SANDBOX_FILES_READ  0x1u /* open for reading, list */
#define SANDBOX_FILES_WRITE 0x2u /* write, make, remove, link, rename */
#define SANDBOX_FILES_NODES 0x4u /* device nodes */

/* Progress and result; no pointers into it are kept. */
struct sandbox {
	const struct sandbox_policy *policy;
	bool strict;
	char mounts[32];
	char root[128];
	uint64_t caps; /* bit per CAP_...; what was kept */
	int landlock; /* ABI, 0: not in force */
	size_t calls;
	/* "closed": empty, our own; "loopback": what the service manager gave
	 * has nothing else; "filtered": no call to open a socket */
	const char *network;
	char missing[512]; /* "; "-separated */
};

/* For a parent, which keeps its rights: it holds the handle key, so no other
 * process may look into it, and no core file either. */
void sandbox_hide_memory(void);
/* Call as root (or what there is), before daemon_drop() but after entering a
 * jail, which may bring a user namespace. */
void sandbox_begin(struct sandbox *, const struct sandbox_policy *,
    bool strict);
/* For the line at start: from struct jail_view. */
void sandbox_set_root(struct sandbox *, const char *mounts, const char *root);
void sandbox_enter(struct sandbox *);
/*
 * Loads the filters and writes "sandbox: mounts=private chroot=/srv/x
 * caps=setuid,setgid landlock=7 seccomp=54 net=closed", and one warning with
 * what is missing; fatal if something is and strict was asked for.
 */
void sandbox_seal(struct sandbox *);
/* What every process is allowed beside its policy. */
const struct sandbox_call *sandbox_base(size_t *n);

#endif
