/* SPDX-License-Identifier: ISC */
/*
 * An NFS server in one process on a scratch directory. Tables, door and broker
 * are nfsd's own; only the separate processes are missing. The directory holds:
 *
 *   hello   0644 "hello, tern\n"        link    -> hello
 *   sub/    a, b, c of one byte         empty/  nothing
 *   fifo    0600                        big     5 GiB, a hole
 *   large   20000 times "x"             secret  0600
 *   locked/ 0700                        open/   01777
 *   mine    0644, of user 1000 (when run by root)
 *
 * The export is 127.0.0.0/8(rw,insecure,no_root_squash). Words of setup: ro,
 * secure, async; users: needs to run as root, since it acts as several; disk:
 * not in memory. A second export (other) is empty; a third (player) speaks
 * UTF-16LE and folds names.
 * Runs in: tests.
 */
#ifndef NFS_FIXTURE_H
#define NFS_FIXTURE_H

#include "nfsd/ops/ops.h"
#include "rpc/server.h"

struct nfs_fixture;

/* Returns NULL if the setup is impossible here (users, but not root). */
struct nfs_fixture *nfs_fixture_new(const char *setup);
void nfs_fixture_free(struct nfs_fixture *);
struct rpc_server *nfs_fixture_server(struct nfs_fixture *);
/* The exported directory itself. */
const char *nfs_fixture_path(const struct nfs_fixture *);
int nfs_fixture_dir(const struct nfs_fixture *);
/*
 * The handle by a name: root, other, player (root of that export), playempty
 * (a directory in it), gone (of a removed file), forged (root with a bit
 * changed), file (hello), or a name in the directory.
 */
struct fh nfs_fixture_handle(struct nfs_fixture *, const char *name);

/* The number of listings that were answered from memory so far. */
uint64_t nfs_fixture_recalled(struct nfs_fixture *);

/*
 * Calls a procedure of the server as uid with these arguments. The cursor
 * covers the results and is valid until the next call. It has failed if there
 * are no results.
 */
struct xdr_in nfs_fixture_call(struct nfs_fixture *, uint32_t vers,
    uint32_t proc, uint32_t uid, const void *args, size_t len);

#endif
