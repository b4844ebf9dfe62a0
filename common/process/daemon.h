/* SPDX-License-Identifier: ISC */
/*
 * The steps of starting and ending, in the order of their use. The daemons
 * differ in data: struct daemon_spec (options.h), roles (role.h) and policies
 * (sandbox.h). main() of mountd and nfsd:
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

#define DAEMON_SOCKET	  "/run/tern/portmap.sock" /* of portmapd */
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

/* The state that all daemons have; each embeds it in its own struct. */
struct daemon {
	/* From the command line: daemon_options(). */
	const char *name; /* "nfsd" */
	const char *user; /* -u */
	const char *socket; /* -s; NULL: not given */
	const char *exports_file; /* -f */
	const char *key_file; /* -k */
	bool foreground; /* -d */
	bool check_only; /* -n */
	bool no_register; /* -R */
	bool strict; /* -o strict */
	int verbose; /* -v */
	uint16_t port; /* -p */
	const char *port_option; /* "-p", for messages about the port */
	struct daemon_listen listens[DAEMON_LISTEN_MAX]; /* -a */
	size_t nlistens;
	char **operands; /* the arguments after the options */
	int noperands;
	/* daemon_identity() */
	bool rootless; /* started by a plain user */
	uid_t uid; /* to run as */
	gid_t gid;
	/* daemon_detach() */
	bool detached; /* in the background: it and its roles use syslog */
	int starter; /* pipe to the process that waits for readiness, or -1 */
	struct notify notify;
	/* daemon_signals(), daemon_ready() */
	struct daemon_signals signals;
	struct event *events[DAEMON_EVENTS_MAX];
	size_t nevents;
	bool unwell; /* watch.h: the watchdog gets nothing to eat */
};

/*
 * Fills in rootless, uid and gid from -u. Fatal if the user does not exist; the
 * message names the commands that make it.
 */
void daemon_identity(struct daemon *);

/*
 * The same for a role that has a user of its own: that of the daemon if a plain
 * user has started it.
 */
void daemon_role_user(const struct daemon *, const char *user, uid_t *,
    gid_t *);

/*
 * Without -d: goes to the background and logs to syslog. The first process then
 * waits for daemon_ready() and exits 0, or 1 if the daemon fails before.
 */
void daemon_detach(struct daemon *);
/* Tells the first process and systemd that the daemon serves. Then feeds
 * systemd's watchdog. */
void daemon_ready(struct event_base *, struct daemon *);
/* Returns an event loop by epoll(7). Fatal if there is none: the filters permit
 * no other. */
struct event_base *daemon_events(void);
/* Changes to user and group, without other groups, for good. Fatal on error. */
void daemon_drop(uid_t, gid_t);
/* Kills a child that has become uid, even without CAP_KILL. */
void daemon_kill(pid_t, uid_t uid);

/* Watches the signals and ignores SIGPIPE. The daemon must outlive the loop. */
void daemon_signals(struct event_base *, struct daemon *,
    const struct daemon_signals *);
/*
 * Tells systemd that a reload has ended, with or without success. systemd gets
 * RELOADING=1 before the reload callback runs. May be called later than that.
 */
void daemon_reloaded(const struct daemon *);
/* Raises the soft limit of descriptors to the hard limit and returns it. */
size_t daemon_raise_files(void);

#endif
