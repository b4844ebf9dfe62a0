/* SPDX-License-Identifier: ISC */
/*
 * The parent's side of TLS: starts a tls role for each worker, opens certificate,
 * key, CA and CRL for it, and connects it with its worker. The parent reads
 * nothing of these files itself. It watches them, so that a renewed certificate
 * needs no signal, and warns before one ends.
 * Runs in: nfsd parent.
 */
#ifndef PARENT_TLS_H
#define PARENT_TLS_H

#include <sys/stat.h>

#include "nfsd/nfsd.h"

#define PARENT_TLS_FILES 4 /* certificate, key, client CA, CRL */

struct event;
struct event_base;
struct reload;

/* What changes when a file is replaced or rewritten. */
struct parent_tls_mark {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
};

struct parent_tls {
	const struct nfsd *n;
	bool on;
	uid_t uid; /* of the roles */
	gid_t gid;
	bool serving; /* every role has loaded the files once */
	struct role_spec specs[NFSD_WORKERS_MAX];
	struct role_child *roles[NFSD_WORKERS_MAX];
	bool loaded[NFSD_WORKERS_MAX];
	struct parent_tls_mark sent[PARENT_TLS_FILES], seen[PARENT_TLS_FILES];
	struct event *on_watch;
	int64_t ends[NFSD_TLS_ENDS]; /* see struct nfsd_tls_loaded */
	int warned[NFSD_TLS_ENDS]; /* days of the last warning */
	bool rejudge; /* the last files have another CA or CRL */
	struct proven *proven; /* identities that count without a connection */
	char told[320]; /* the mistake that was logged for the last files */
	/* Returns the worker of this number; NULL: none. */
	struct role_child *(*worker)(void *arg, unsigned int);
	void (*changed)(void *arg); /* a role may have become current */
	void *arg;
};

/*
 * Is TLS configured, and does the kernel have it? Fatal if -o tls=kernel was
 * given and it has not, or if the user of the roles does not exist.
 */
void parent_tls_prepare(struct parent_tls *, struct nfsd *);
void parent_tls_start(struct parent_tls *, struct event_base *,
    struct reload *);
/* Passes the files again. */
void parent_tls_reload(struct parent_tls *);
/* A worker has started: connects it with its role. */
void parent_tls_connect(struct parent_tls *, unsigned int worker);
/* A worker says that its role breaks the rules. */
void parent_tls_accuse(struct parent_tls *, unsigned int worker);
void parent_tls_stop(struct parent_tls *);
void parent_tls_free(struct parent_tls *);
/* nfsd -n: returns false and logs if a file is wrong. */
bool parent_tls_check(const struct nfsd *);

#endif
