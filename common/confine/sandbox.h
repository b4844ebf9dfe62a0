/* SPDX-License-Identifier: ISC */
/*
 * Applies a policy to a process. A policy is a table beside the role that uses
 * it and gives a reason for every system call. There are three steps: some
 * layers need root, some must come before threads, the filter comes last.
 *
 *	sandbox_begin	new network namespace; capabilities survive the drop
 *	daemon_drop	user and group
 *	sandbox_enter	bounding set, capabilities, locked securebits,
 *			no_new_privs, not dumpable, MDWE, rlimits, Landlock
 *	(threads)
 *	sandbox_seal	seccomp, for all threads; the log line at start
 *
 * A call that is not in the tables kills the process. The kernel log then shows
 * its number, ausyscall(8) gives the name; strace -f of the role shows it too.
 * Runs in: every role and portmapd.
 */
#ifndef CONFINE_SANDBOX_H
#define CONFINE_SANDBOX_H

#include <sys/resource.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SANDBOX_CALLS_MAX 160

/* One permitted system call. rare: not made in every run (tests/system). */
struct sandbox_call {
	int nr; /* SYS_... */
	bool rare;
	const char *why;
};

/* A permitted call kills the process if its argument passes this test. */
enum sandbox_test { SANDBOX_BELOW, SANDBOX_ABOVE, SANDBOX_HAS, SANDBOX_NOT };

struct sandbox_rule {
	int nr;
	unsigned int arg; /* 0-5, compared in 64 bits */
	enum sandbox_test test; /* HAS: any bit of value is set */
	uint64_t value;
	const char *why;
};

/*
 * One permitted use of a call that does many things. A call with choices is
 * permitted only as one of them.
 */
struct sandbox_choice {
	int nr;
	struct {
		unsigned int arg; /* 0-5; 64 bits of it: */
		uint64_t ignore; /* bits that may be either */
		uint64_t value; /* the others */
	} is[2]; /* the second may be SANDBOX_ALONE */
	const char *why;
};

#define SANDBOX_ALONE                                                          \
	{                                                                      \
		0, UINT64_MAX, 0                                               \
	} /* ignores every bit */

struct sandbox_limit {
	int what; /* RLIMIT_... */
	rlim_t value; /* soft and hard; never above the current hard limit */
	const char *why;
};

struct sandbox_policy {
	const char *role; /* "worker" */
	/* Permitted besides the base list; sorted by name. */
	const struct sandbox_call *calls;
	size_t ncalls;
	bool serves; /* permits the calls of the transports too */
	const struct sandbox_rule *rules;
	size_t nrules;
	const struct sandbox_choice *choices;
	size_t nchoices;
	bool dies_with_parent; /* every role; not a daemon of one process */
	const struct sandbox_limit *limits;
	size_t nlimits;
	const int *caps; /* CAP_...; those that are kept */
	size_t ncaps;
	/* Capabilities over files are effective while the filesystem user id
	 * is 0 (nfsd's root mode). */
	bool caps_follow_fsuid;
	/* The resolver: keeps the network and sees the machine's files as its
	 * user does, by Landlock only those below paths. A call that is not
	 * listed fails with EPERM, since the machine's NSS modules make it. */
	bool resolves;
	uint16_t tcp_port; /* it may connect to this one only; 0: to any */
	bool no_landlock; /* nfsd broker: it breaks open_by_handle_at */
	/* Landlock permits these SANDBOX_FILES_* below these descriptors and
	 * refuses all other access to files. */
	uint64_t file_rights;
	const int *paths;
	size_t npaths;
};

#define SANDBOX_FILES_READ  0x1u /* open for reading, list */
#define SANDBOX_FILES_WRITE 0x2u /* write, make, remove, link, rename */
#define SANDBOX_FILES_NODES 0x4u /* device nodes */

/* Progress and result. The caller owns it; no pointer into it is kept. */
struct sandbox {
	const struct sandbox_policy *policy;
	bool strict;
	char mounts[32];
	char root[128];
	uint64_t caps; /* bit per CAP_...; those that were kept */
	int landlock; /* ABI; 0: not active */
	size_t calls;
	/* "open": the machine's; "closed": a new, empty namespace; "loopback": the given namespace
	 * has only loopback; "filtered": only seccomp forbids new sockets */
	const char *network;
	char missing[512]; /* "; "-separated */
};

/*
 * Denies other processes the memory of a parent and forbids core files, because
 * the parent holds the handle key. The parent keeps its other rights.
 */
void sandbox_hide_memory(void);
/*
 * To be called with all privileges: before daemon_drop(), but after entering a
 * jail, which may enter a user namespace.
 */
void sandbox_begin(struct sandbox *, const struct sandbox_policy *,
    bool strict);
/* Sets what the log line at start says; from struct jail_view. */
void sandbox_set_root(struct sandbox *, const char *mounts, const char *root);
void sandbox_enter(struct sandbox *);
/*
 * Loads the filters and logs "sandbox: mounts=private chroot=/srv/x
 * caps=setuid,setgid landlock=7 seccomp=54 net=closed". If a layer is missing,
 * it logs a warning; with strict it is fatal.
 */
void sandbox_seal(struct sandbox *);
/* The calls that every process may make besides its policy's. */
const struct sandbox_call *sandbox_base(size_t *n);

#endif
