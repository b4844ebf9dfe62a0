/* SPDX-License-Identifier: ISC */
/*
 * How the descriptors of a worker are divided.
 * Runs in: nfsd parent, nfsd worker.
 */
#include "base/log.h"
#include "nfsd/roles/descriptors.h"

#define SPARE_MAX 2048 /* at most: for neither files nor connections */

size_t
descriptors_usable(size_t limit)
{
	return limit - (limit / 4 < SPARE_MAX ? limit / 4 : SPARE_MAX);
}

void
descriptors_warn(size_t limit, size_t files)
{
	if (descriptors_usable(limit) < files)
		log_warnx("a process may have %zu descriptors: each worker "
			  "keeps fewer than %zu files open, and opens the "
			  "others anew for each call (raise LimitNOFILE= of "
			  "the unit, or ulimit -Hn; -o files= asks for fewer)",
		    limit, files);
}
