/* SPDX-License-Identifier: ISC */
/*
 * Every errno has a status, every status has a version 2 code of RFC 1094, and
 * seconds do not wrap.
 * Runs in: test program.
 */
#include <errno.h>

#include "base/util.h"
#include "nfsd/wire/nfs.h"
#include "tap.h"

/* RFC 1094, 2.3.1. */
static const int legal2[] = { 0, 1, 2, 5, 6, 13, 17, 19, 20, 21, 27, 28, 30, 63,
	66, 69, 70, 99 };
/* RFC 1813, 2.6. */
static const int legal3[] = { 0, 1, 2, 5, 6, 13, 17, 18, 19, 20, 21, 22, 27, 28,
	30, 31, 63, 66, 69, 70, 71, 10001, 10002, 10003, 10004, 10005, 10006,
	10007, 10008 };

static bool
has(const int *list, size_t n, int value)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return false;
}

static void
test_errno(void)
{
	bool all3 = true, all2 = true;
	int e;

	for (e = 1; e < 4096; e++) {
		all3 &= has(legal3, nitems(legal3), nfs_status(e));
		all2 &= has(legal2, nitems(legal2), nfs2_status(nfs_status(e)));
	}
	ok(all3, "every errno has a status of RFC 1813");
	ok(all2, "every errno has a status of RFC 1094");
	cmp_ok(nfs_status(EUCLEAN), "==", NFSERR_IO, "an unknown errno is IO");
	cmp_ok(nfs_status(EDQUOT), "==", NFSERR_DQUOT, "EDQUOT is DQUOT");
	cmp_ok(nfs_status(ENOTEMPTY), "==", NFSERR_NOTEMPTY,
	    "ENOTEMPTY is NOTEMPTY");
	cmp_ok(nfs_status(EMFILE), "==", NFSERR_JUKEBOX,
	    "a lack of descriptors is temporary");
}

static void
test_fold(void)
{
	bool all = true;
	size_t i;

	for (i = 0; i < nitems(legal3); i++)
		all &= has(legal2, nitems(legal2),
		    nfs2_status((enum nfsstat)legal3[i]));
	ok(all, "every status folds to a legal version 2 code");
	for (i = 0, all = true; i < nitems(legal2); i++)
		all &= (int)nfs2_status((enum nfsstat)legal2[i]) == legal2[i];
	ok(all, "a status that version 2 has is unchanged");
	cmp_ok(nfs2_status(NFSERR_BADHANDLE), "==", NFSERR_STALE,
	    "BADHANDLE is STALE in version 2");
	cmp_ok(nfs2_status(NFS_DEFERRED), "==", NFSERR_IO,
	    "the internal status is never sent");
}

static void
test_seconds(void)
{
	struct timespec before = { -1, 0 }, end = { UINT32_MAX, 0 },
			after = { (time_t)UINT32_MAX + 1, 0 };

	cmp_ok(nfs_seconds(&before), "==", 0, "a time before 1970 becomes 0");
	cmp_ok(nfs_seconds(&end), "==", UINT32_MAX,
	    "the last second of 32 bits is kept");
	cmp_ok(nfs_seconds(&after), "==", UINT32_MAX,
	    "a later time becomes that second");
}

int
main(void)
{
	plan(NO_PLAN);
	test_errno();
	test_fold();
	test_seconds();
	done_testing();
}
