/* SPDX-License-Identifier: ISC */
/*
 * Vectors of NLM and NSM. Links: nfsd
 * nlm_fixture.h has the words of setup. The result of a _MSG call is sent apart
 * and is no part of its reply.
 * Runs in: tests.
 */
#include "base/log.h"
#include "base/util.h"
#include "nlm_fixture.h"
#include "replay.h"

int
main(void)
{
	static const struct rpc_prog *const progs[] = { &nlm_program,
		&nsm_program };
	static const struct replay_fixture fixture = { .progs = progs,
		.nprogs = nitems(progs),
		.begin = nlm_fixture_begin,
		.end = nlm_fixture_end };

	log_init("replay_nlm");
	return replay_main(&fixture);
}
