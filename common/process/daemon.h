/* SPDX-License-Identifier: ISC */
/*
 * The verbs of starting and ending, in the order each daemon uses them. What
 * differs between the daemons is data: struct daemon_spec (options.h), roles
 * (role.h) and policies (sandbox.h). main() of mountd and nfsd:
 *
 *	log_init("nfsd");
 *	role_dispatch(argc, argv, roles, nitems(roles)); (a role ends there)
 *	daemon_options(&d, &spec, argc, argv);
 *	daemon_identity(&d);
 *
 * then the parent:
 *
 *	config_load(&file, d.exports_file, false);
 *	listen_all(&sockets, &d, "nfs 2,3", true);
 *	daemon_detach(&d);
 *	base = daemon_events();
 *	child = role_start(base, &d, &role_spec); (for each role)
 *	daemon_signals(base, &d, &signals);
 *	event_base_dispatch(base);
 *	daemon_ready(base, &d); (in the loop, when every role serves)
 *
 * and a role; portmapd, a daemon of one process, does both:
 *
 *	jail_enter(&view, fd);
 *	sandbox_begin(&box, &policy, strict);
 *	daemon_drop(uid, gid);
 *	sandbox_enter(&box);
 *	start threads; sandbox_seal(&box);
 *	event_base_dispatch(base);
 *
 * Runs in: the first process of each daemon; drop and events in all.
 */
#ifndef PROCESS_DAEMON_H
#define PROCESS_DAEMON_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/util.h"
#include "process/notify.h"

#define DAEMON_LISTEN_MAX 64
#define DAEMON_EVENTS_MAX 8 /* signals and the watchdog */

struct event;
struct event_base;

struct daemon_listen {
	struct addr at; /* port 0: -p, or the kernel chooses */
	bool any; /* wildcard of that family */
};

/* NULL: the signal is ignored. Called from the event loop. */
struct daemon_signals {
	void (*stop)(void *arg); /* SIGTERM, SIGINT */
	void (*reload)(void *arg); /* SIGHUP; ends in daemon_reloaded() */
	void (*stats)(void *arg); /* SIGUSR1 */
	void *arg;
};

/* What all three share; each daemon embeds it in its own struct. */
struct daemon {
	/* From the command line: daemon_options(). */
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
	/* daemon_identity() */
	bool rootless; /* started by a plain user */
	uid_t uid; /* what to run as */
	gid_t gid;
	/* daemon_detach() */
	bool detached; /* in the background: it and its roles use syslog */
	int starter; /* to the process that waits for us; -1: none does */
	struct notify notify;
	/* daemon_signals(), daemon_ready() */
	struct daemon_signals signals;
	struct event *events[DAEMON_EVENTS_MAX];
	size_t nevents;
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
void daemon_detach(struct daemon *);
/* Serving: tells the starter and systemd, keeps systemd's watchdog fed. */
void daemon_ready(struct event_base *, struct daemon *);
/* An event loop by epoll(7), which the filters permit; else it is the end. */
struct event_base *daemon_events(void);
/* To user and group, no other groups; fatal unless there is no way back. */
void daemon_drop(uid_t, gid_t);
/* Kills a process of ours that has become uid, also without CAP_KILL. */
void daemon_kill(pid_t, uid_t uid);

/* The daemon is borrowed for good; SIGPIPE is ignored. */
void daemon_signals(struct event_base *, struct daemon *,
    const struct daemon_signals *);
/*
 * What SIGHUP asked for has been done, or refused: tells systemd, which was told
 * RELOADING=1 before the callback was called. At once or later.
 */
void daemon_reloaded(const struct daemon *);
/* Raises the soft limit of open descriptors to the hard one; returns it. */
size_t daemon_raise_files(void);

#endif
