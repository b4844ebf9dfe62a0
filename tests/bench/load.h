/* SPDX-License-Identifier: ISC */
/*
 * A closed-loop load generator for NFS versions 2 and 3, and NLM 4. Each connection has
 * requests outstanding, and each reply is followed by the next request at once.
 * Only a reply of the right shape and status counts as work.
 * Runs in: make bench, the instruction guard, the load tests.
 */
#ifndef LOAD_H
#define LOAD_H

#include <sys/socket.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/types.h>

#include "rpc/xdr.h"

#define LOAD_SLOTS_MAX	 64
#define LOAD_CONNS_MAX	 20000
#define LOAD_FILES	 10000
#define LOAD_SOME	 1000 /* files of the workloads that need not all */
#define LOAD_DIRS	 16 /* work directories: one per connection */
#define LOAD_FH_MAX	 64
#define LOAD_BIG_SIZE	 (256u << 20)
#define LOAD_WRITE_SPAN	 (8u << 20) /* each slot writes a file cyclically */
#define LOAD_REPLY_WHOLE (160 * 1024)
#define LOAD_RANGES	 10000 /* that a slot locks, then unlocks */
#define LOAD_REPLY_HEAD	 256 /* enough to judge any reply but a listing */

struct load_fh {
	uint32_t len;
	uint8_t bytes[LOAD_FH_MAX];
};

enum load_op {
	LOAD_NULL,
	LOAD_GETATTR,
	LOAD_SETATTR,
	LOAD_LOOKUP,
	LOAD_ACCESS,
	LOAD_READ,
	LOAD_WRITE,
	LOAD_CREATE,
	LOAD_REMOVE,
	LOAD_RENAME,
	LOAD_LIST,
	LOAD_FSSTAT,
	LOAD_COMMIT,
	LOAD_LOCK, /* from here on NLM */
	LOAD_UNLOCK,
	LOAD_OPS
};

/* An outstanding request, and the state of its slot. */
struct load_slot {
	enum load_op op;
	bool busy;
	uint32_t xid;
	uint64_t sent_ns;
	const struct load_fh *fh;
	char name[32];
	char to[32]; /* RENAME */
	uint64_t offset;
	uint32_t count;
	uint32_t stable;
	uint32_t turn; /* the workload's own step */
	uint32_t number; /* of this slot on its connection */
	uint32_t owner; /* of a lock */
	struct load_fh made; /* from CREATE */
	bool exists; /* mix: the file it makes and removes */
	uint64_t cookie; /* LIST: where to go on */
	uint8_t cookieverf[8];
};

/* How connections are encrypted. */
enum load_tls { LOAD_PLAIN, LOAD_STARTTLS, LOAD_TUNNEL };

/* A run and its results. */
struct load {
	struct sockaddr_storage to;
	socklen_t to_len;
	uint32_t vers;
	bool udp;
	enum load_tls tls;
	bool verify; /* compare what is read */
	unsigned int conns, depth;
	unsigned int active; /* connections that work; the others are idle */
	unsigned int sources; /* number of loopback addresses to come from */
	const struct load_work *work;
	uint64_t state; /* of the random numbers */
	unsigned int nfiles; /* small files in the tree */
	/* the tree */
	struct load_fh root, big, dir, hundred, *files;
	struct load_fh work_dir[LOAD_DIRS];
	struct load_fh work_file[LOAD_DIRS][LOAD_SLOTS_MAX];
	/* the results */
	uint64_t ops, units, bytes, errors, retrans;
	char first_error[160];
	struct load_times *times;
	double elapsed;
	void (*started)(struct load *); /* called when counting begins */
};

/* The encoder and the judge of an operation. */
struct load_op_row {
	const char *name;
	int proc3, proc2; /* -1: not in this version */
	void (*put)(struct xdr_out *, const struct load *,
	    const struct load_slot *);
	/*
	 * Returns the units of work, or -1 if the reply behind its status is
	 * wrong.
	 */
	int64_t (*judge)(struct load *, struct load_slot *, struct xdr_in *,
	    size_t whole);
};
extern const struct load_op_row load_ops[LOAD_OPS];
/* Does the operation go to the lock manager? */
bool load_is_lock(enum load_op);

struct load_work {
	const char *name; /* as in the tables */
	unsigned int needs; /* LOAD_NEEDS_* */
	uint32_t size; /* of a transfer */
	/* Chooses the slot's next request. conn: number of the connection. */
	void (*next)(struct load *, unsigned int conn, struct load_slot *);
	const char *what; /* one line for -l */
};
#define LOAD_NEEDS_FILES 0x1u
#define LOAD_NEEDS_WORK	 0x2u
#define LOAD_NEEDS_WHOLE 0x4u /* the judge needs the whole reply */
#define LOAD_NEEDS_LOCKS 0x8u /* it goes to the lock manager */
#define LOAD_NEEDS_SOME	 0x10u /* the first LOAD_SOME files */

const struct load_work *load_work_find(const char *name);
void load_work_list(void);
uint32_t load_random(struct load *, uint32_t below);

/* Encodes the slot's request with its RPC header. Returns the length. */
size_t load_encode(const struct load *, const struct load_slot *, uint8_t *,
    size_t cap);
/* Counts one reply or its error. len bytes of whole were kept. */
void load_judge(struct load *, struct load_slot *, const uint8_t *, size_t len,
    size_t whole);
void load_failed(struct load *, const struct load_slot *, const char *why);

/* Makes the tree below dir on the local filesystem. 0 or -1 with a message. */
int load_tree_make(const char *dir, unsigned int files);
/* Byte at this offset of the large file. */
uint8_t load_tree_byte(uint64_t offset);
/* Mounts export (through mountport) and looks up what the workload needs. */
int load_tree_find(struct load *, const char *export, uint16_t mountport);

/* Runs for that time, after a warm-up that is not counted. 0 or -1. */
int load_run(struct load *, double warm_seconds, double seconds);

/* Begins TLS on a connection. Ends the program if that fails. */
SSL *load_tls_open(const struct load *, int fd);
/* As send(2) and recv(2), without waiting. */
ssize_t load_tls_send(SSL *, const void *, size_t);
ssize_t load_tls_recv(SSL *, void *, size_t);
/* Makes connections one after the other. 0 or -1. */
int load_tls_handshakes(struct load *, double seconds);

/* Latencies, in logarithmic buckets of about 1.5 %. */
struct load_times *load_times_new(void);
void load_times_clear(struct load_times *);
void load_times_add(struct load_times *, uint64_t ns);
double load_times_us(const struct load_times *, double part);

/* CPU time in ns and resident KiB of a process and its descendants. */
struct load_usage {
	uint64_t cpu_ns;
	uint64_t rss_kib;
	unsigned int processes;
};
struct load_usage load_usage_of(const int *pids, size_t n);
/* CPU time in ns of everything but this process, on a machine with one CPU. */
uint64_t load_others_ns(void);
uint64_t load_own_ns(void);
uint64_t load_now_ns(void);

#endif
