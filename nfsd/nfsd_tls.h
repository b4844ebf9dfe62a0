/* SPDX-License-Identifier: ISC */
/*
 * What the parent tells its tls roles and learns from them; and what TLS may
 * cost. See nfsd.h for the messages.
 * Runs in: nfsd parent, nfsd tls, nfsd worker.
 */
#ifndef NFSD_TLS_H
#define NFSD_TLS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

/* What TLS may cost; for each worker. */
struct nfsd_tls_limits {
	unsigned int handshakes; /* at once */
	unsigned int per_host; /* at once, of one client */
	unsigned int per_second; /* of one client */
	unsigned int seconds; /* for one */
	bool kernel; /* the kernel has the keys; else the tls role relays */
};

/* What makes and reads the records of TLS: -o tls=. */
enum nfsd_tls_form {
	NFSD_TLS_ANY,
	NFSD_TLS_KERNEL,
	NFSD_TLS_RELAY,
	NFSD_TLS_OFF
};

/* ROLE_SETUP of a tls role. It gets no other key than that of TLS. */
struct nfsd_tls_setup {
	uid_t uid;
	gid_t gid;
	bool strict;
	bool rootless;
	bool kernel; /* else it relays */
};

/* Certificate and key, then those of the others that are there. */
struct nfsd_tls_files {
	bool has_files; /* else one cannot be opened, and none is passed */
	bool has_ca, has_crl;
};

#define NFSD_TLS_ENDS 3 /* certificate, client CA, CRL */

struct nfsd_tls_loaded {
	char why[160]; /* empty: they are in use; else what is wrong */
	int64_t ends[NFSD_TLS_ENDS]; /* seconds since 1970; 0: none */
};

#endif
