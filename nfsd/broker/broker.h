/* SPDX-License-Identifier: ISC */
/*
 * The broker opens sealed handles, seals descriptors, links a descriptor to
 * another name, sets set-id bits of directories, reads and sets ACLs, reads
 * quotas, and syncs files that no caller may open. The kernel or its filter does not let a worker do so.
 *
 * The broker does not trust a worker. It checks the tag again under a key that no
 * worker has. The export must exist, the user must be one that the export can
 * give a caller, and the flags of open(2) are the broker's own. The kernel decides
 * for that user, or for reading mode and ACL as the kernel would. Two exceptions
 * (RFC 1813, 4.4): the owner of a regular file may read and write it whatever its
 * mode, and execute permission includes reading.
 * Runs in: nfsd broker; in process for tests and fuzzers.
 */
#ifndef BROKER_H
#define BROKER_H

#include <stddef.h>

#include "base/ipc.h"
#include "handle/fhandle.h"
#include "nfsd/broker/proto.h"
#include "nfsd/roles/cred.h"
#include "nfsd/roles/served.h"

#define BROKER_BAD_MAX                                                         \
	16 /* forged handles after which a worker counts as compromised */

struct broker;
struct broker_channel;
struct broker_client;

/* Never NULL. The keys are copied. */
struct broker *broker_new(const struct fh_keys *, enum nfsd_mode);
void broker_free(struct broker *);
/* From now on questions may name groups of this table; NULL: none does. */
void broker_manage_groups(struct broker *, const struct groups_table *);
/* The process will be this user; it is the one of broker_new() otherwise. */
void broker_set_user(struct broker *, uid_t);
/* Swaps the exports in; takes over one use. */
void broker_set_exports(struct broker *, struct served_exports *);
/*
 * Finds out where the files of shared exports are that have no kernel handles,
 * so that the first clients need not wait. It may hang in a filesystem.
 */
void broker_prepare(struct broker *);

/*
 * The forged handles of one worker process, on all its channels together. The
 * last channel frees it. NULL: no memory.
 */
struct broker_tally;
struct broker_tally *broker_tally_new(unsigned int channels);
/*
 * State of one channel, for the thread that serves it. tally NULL: the channel
 * counts for itself. NULL: no memory.
 */
struct broker_channel *broker_channel_new(struct broker *,
    struct broker_tally *);
/*
 * The channel is the locks role's: it may ask for files to lock and for nothing
 * else. No other channel may.
 */
void broker_channel_lock_only(struct broker_channel *);
void broker_channel_free(struct broker_channel *);
/* An answer on its way to the worker. */
struct broker_reply {
	uint32_t type;
	size_t len; /* of the answer */
	int fd; /* -1: none; else the receiver closes it */
	union broker_answer answer;
};
/*
 * Answers one question; its descriptors stay the caller's. NULL, or how the
 * worker broke the rules: then there is no answer and the channel must end.
 */
const char *broker_answer(struct broker_channel *, struct ipc_message *,
    struct broker_reply *);
/* Serves a channel until it ends; NULL, or how the worker broke the rules. */
const char *broker_serve(struct broker_channel *, int fd);

/*
 * The asking side, judge/broker_client.c. It asks over a socket, or in a channel
 * of the same process (local). Never NULL; takes over fd or local.
 */
struct broker_client *broker_client_new(int fd, struct broker_channel *local);
void broker_client_free(struct broker_client *);
/* A new channel after the broker was restarted; from any thread. */
void broker_client_replace(struct broker_client *, int fd);
/* Waits for broker_client_replace() when the broker is gone; ms at most. */
bool broker_client_wait(struct broker_client *, unsigned int ms);
/*
 * A descriptor or -1 with errno: what the broker said; EPIPE: it is gone;
 * EMFILE: no room for a descriptor here.
 */
/* Writes the caller into a question. */
void broker_client_caller(struct broker_open *, const struct cred *);
int broker_client_open(struct broker_client *, const struct broker_open *,
    bool *both);
/*
 * 0 with n answers (one when n is 0) filled, or -1: EPIPE. names: n strings, or NULL.
 */
int broker_client_seal(struct broker_client *, const struct broker_seal *,
    const char *const *names, int *fds, struct broker_sealed *answer);

/* 0, or -1 with errno. */
int broker_client_sync(struct broker_client *, const struct broker_sync *);
int broker_client_chmod(struct broker_client *, const struct broker_chmod *);
int broker_client_get_acl(struct broker_client *, const struct broker_acl *,
    struct broker_got_acl *);
int broker_client_get_quota(struct broker_client *, const struct broker_quota *,
    struct broker_got_quota *);
int broker_client_set_acl(struct broker_client *, const struct broker_acl *,
    const struct broker_ace *);
/* 0, or -1 with errno. The question's name_len is filled in here. */
int broker_client_link(struct broker_client *, const struct broker_link *,
    const char *name);

#endif
