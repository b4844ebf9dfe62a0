/* SPDX-License-Identifier: ISC */
/*
 * The verbs every main() uses, in the order it uses them. What differs
 * between the daemons is data: struct daemon_spec, a role table (role.h) and
 * policies (sandbox.h).
 *
 *	log_init("nfsd");
 *	role_dispatch(argc, argv, roles, nitems(roles)); (a role ends there)
 *	daemon_options(&d, &spec, argc, argv);
 *	load_exports(...);
 *	if (d.check_only)
 *		return 0;
 *	daemon_identity(&d);
 *	listen_all(&sockets, &d, "nfs 2,3", true);
 *	daemon_detach(&d);
 *	base = daemon_events();
 *	role_start(base, &broker_spec); role_start(base, &worker_spec);
 *	daemon_signals(base, &signals);
 *	daemon_ready(base, &d); (when every role is ready)
 *	event_base_dispatch(base);
 *
 * and a role, or a daemon of one process:
 *
 *	jail_enter(fd); sandbox_begin(&box, &policy, strict);
 *	daemon_drop(uid, gid); sandbox_enter(&box);
 *	start threads; sandbox_seal(&box); event_base_dispatch(base);
 *
 * Runs in: the first process of each daemon; drop and signals in all.
 */
#ifndef PROCESS_DAEMON_H
#define PROCESS_DAEMON_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/util.h"

#define DAEMON_LISTEN_MAX 64

struct event_base;

struct daemon_listen {
	struct addr at; /* port 0: -p, or the kernel chooses */
	bool any; /* wildcard of that family */
};

/* The flags all three share; each daemon embeds it in its own struct. */
struct daemon {
	const char *name; /* "nfsd" */
	const char *user; /* -u */
	const char *socket; /* -s */
	const char *exports_file; /* -f */
	const char *key_file; /* -k */
	bool foreground; /* -d */
	bool check_only; /* -n */
	bool no_register; /* -R */
	bool strict; /* -o strict */
	int verbose; /* -v */
	uint16_t port; /* -p */
	struct daemon_listen listens[DAEMON_LISTEN_MAX]; /* -a */
	size_t nlistens;
	char **operands; /* what stands behind the options */
	int noperands;
	bool rootless; /* started by a plain user */
	uid_t uid; /* what to run as: daemon_identity() */
	gid_t gid;
};

/*
 * Fills rootless, uid and gid from -u. Fatal with the useradd and
 * systemd-sysusers commands when the user does not exist.
 */
void daemon_identity(struct daemon *);

/*
 * Unless -d: goes to the background and logs to syslog; the process that was
 * started waits for daemon_ready() and exits 0, or 1 when it never comes.
 */
void daemon_detach(const struct daemon *);
/* Did daemon_detach() go to the background? (the roles then log to syslog) */
bool daemon_is_detached(void);
/* Serving: tells the starter and systemd, keeps systemd's watchdog fed. */
void daemon_ready(struct event_base *, const struct daemon *);
/* An event loop by epoll(7), which the filters permit; else it is the end. */
struct event_base *daemon_events(void);
/* To user and group, no other groups; fatal unless there is no way back. */
void daemon_drop(uid_t, gid_t);
/* Kills a process of ours that has become uid, also without CAP_KILL. */
void daemon_kill(pid_t, uid_t uid);

/* NULL: the signal is ignored. Called from the event loop. */
struct daemon_signals {
	void (*stop)(void *arg); /* SIGTERM, SIGINT */
	void (*reload)(void *arg); /* SIGHUP; ends in daemon_reloaded() */
	void (*stats)(void *arg); /* SIGUSR1 */
	void *arg;
};
/* signals is borrowed for good; SIGPIPE is ignored. */
void daemon_signals(struct event_base *, const struct daemon_signals *);
/*
 * What SIGHUP asked for has been done, or refused: tells systemd, which was told
 * RELOADING=1 before the callback was called. At once or later.
 */
void daemon_reloaded(void);
/* Raises the soft limit of open descriptors to the hard one; returns it. */
size_t daemon_raise_files(void);

#endif
