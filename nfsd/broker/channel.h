/* SPDX-License-Identifier: ISC */
/*
 * What the files of this folder share and nothing outside it sees: the state of
 * the broker and of one channel, and the work behind each question.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#ifndef BROKER_CHANNEL_H
#define BROKER_CHANNEL_H

#include <stdatomic.h>

#include "nfsd/broker/broker.h"
#include "nfsd/broker/inode_table.h"

struct broker {
	struct active active; /* the exports */
	struct fh_keys keys;
	enum nfsd_mode mode;
	const struct groups_table *groups; /* NULL: not managed here */
	uid_t self; /* the user that this process is */
};

struct broker_tally {
	_Atomic unsigned int channels; /* that count here */
	_Atomic unsigned int bad; /* forged handles so far */
};

struct broker_channel {
	struct broker *broker;
	struct broker_tally *tally;
	struct cred_acting acting;
	struct cred cred; /* scratch of act_as() */
	bool lock_only; /* it is the locks role's */
	bool started; /* acting belongs to the thread that serves */
	bool searches; /* closed directories do not stop us */
	/*
	 * Room for one question. Not thread-local: glibc touches such memory in
	 * every thread of every role.
	 */
	uint8_t *question;
	/* Of the question that is being answered. */
	struct served_exports *exports;
	struct broker_reply *reply;
};

/* A file by which it can be opened again with other flags. */
struct broker_source {
	struct served_export *export;
	struct fh_plain plain;
	struct inode_found found; /* not FH_KERNEL */
	int fd; /* O_PATH */
	bool no_file; /* its tag is good for a directory only */
};

/* tables.c. The table of an export, made when first used. NULL: no memory. */
struct inode_table *broker_table(struct served_export *);
/* The tables of this list will be freed with it. */
void broker_own_tables(struct served_exports *);

/*
 * open.c. Tag and export of a handle; fills all of the source but descriptors.
 * 0, or -1 with errno: ESTALE, EAGAIN, BROKER_FORGED.
 */
int broker_check_handle(struct broker_channel *, const struct fh *,
    struct broker_source *);
/*
 * The O_PATH descriptor of a file, found as the user of the question, or -1 with
 * errno. change: EROFS unless the export can be written. To be left in any case.
 */
int broker_enter(struct broker_channel *, const struct broker_open *,
    bool change, struct broker_source *);
/* Keeps errno. */
void broker_leave(struct broker_source *);
/* Opens it whatever its mode: nothing is handed out that the mode protects. */
int broker_reopen(const struct broker_source *, int flags);
/*
 * Root may change any file, and its set-group-ID bit stays although root is not
 * in the group. Lends root these rights for one call, or takes them back. Does
 * nothing for another caller. Keeps errno.
 */
void broker_lend_root(const struct broker_channel *, bool);
/* The descriptor a question asks for, or -1 with errno. */
int broker_open_file(struct broker_channel *, const struct broker_open *,
    uint32_t *both);
/* The functions below return 0, or -1 with errno. */
int broker_chmod_dir(struct broker_channel *, const struct broker_chmod *);
int broker_link_file(struct broker_channel *, const struct broker_link *,
    const char *name);
/* 0, or -1 with errno. */
int broker_sync_file(struct broker_channel *, const struct broker_sync *);

/* acl.c. The same. */
int broker_get_acl(struct broker_channel *, const struct broker_acl *,
    struct broker_got_acl *);
int broker_set_acl(struct broker_channel *, const struct broker_acl *,
    const struct broker_ace *);

/* quota.c. The same. */
int broker_get_quota(struct broker_channel *, const struct broker_quota *,
    struct broker_got_quota *);

/* inside.c. Opens a handle of the kernel on a mount; flags of open(2). */
int broker_open_kernel(const struct fh_plain *, int mount, int flags);
/* 0, or -1: ESTALE if a directory does not lie in its export. */
int broker_check_inside(const struct broker_source *);
/* Puts the inner exports that share the outer one's filesystem first. */
void broker_sort_inner(struct served_exports *);

/*
 * gfid.c. Opens a file by the gfid in its handle; flags of open(2). ESTALE if it
 * does not lie in its export.
 */
int broker_open_gfid(const struct broker_source *, int flags);
/* The gfid of what is open at fd and called name in a directory; 0 or -1. */
int broker_gfid_of(const struct served_export *, const struct gfid *dir, int fd,
    const char *name, struct gfid *);

/* seal.c. One component; ".." only to name what a directory lies in. */
bool broker_is_name(const char *);
/* The handle of an export's root. */
void broker_seal_root(struct broker_channel *, const struct broker_seal *,
    struct broker_sealed_one *);
/* Handles of n descriptors; false if the worker broke the rules. */
bool broker_seal_files(struct broker_channel *, const struct broker_seal *,
    const char *names, const int *fds, struct broker_sealed *);

#endif
