/* SPDX-License-Identifier: ISC */
/*
 * Arguments of every procedure of NFS version 3. The first byte chooses the
 * row, the rest is decoded. An accepted name must be a single component.
 * Links: nfsd
 * Runs in: fuzzer, test program.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsd/wire/nfs3_xdr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
check(const struct nfs_name *name)
{
	if (name->fault == NFS_OK &&
	    (name->str[0] == '\0' || strchr(name->str, '/') != NULL ||
		strlen(name->str) >= NFS_NAME_SIZE))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct rpc_proc *row;
	struct call_args args;
	struct xdr_in in;

	if (len == 0)
		return 0;
	row = &nfs3_procs[data[0] % NFSPROC3_COUNT];
	memset(&args, 0, sizeof(args));
	xdr_in_init(&in, data + 1, len - 1);
	row->get(&in, &args);
	if (in.failed)
		return 0;
	if (row->get == nfs3_get_place)
		check(&args.place.name);
	if (row->get == nfs3_get_rename) {
		check(&args.rename.from.name);
		check(&args.rename.to.name);
	}
	return 0;
}
