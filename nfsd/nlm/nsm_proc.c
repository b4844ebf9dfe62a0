/* SPDX-License-Identifier: ISC */
/*
 * NSM version 1: one row per procedure. Tern monitors its own clients alone, and
 * never pretends a crash.
 * Runs in: nfsd nlm, tests.
 */
#include "base/util.h"
#include "nfsd/nlm/nlm_xdr.h"
#include "rpc/server.h"

/* clang-format off */
static const struct rpc_proc nsm1[NSM1_PROCS] = {
	[NSMPROC_NULL]       = { "NULL",       rpc_get_void,      rpc_run_void, rpc_put_void,     0 },
	[NSMPROC_STAT]       = { "STAT",       nsm_get_name,      nsm_stat,     nsm_put_stat_res, 0 },
	[NSMPROC_MON]        = { "MON",        nsm_get_mon,       nsm_mon,      nsm_put_stat_res, 0 },
	[NSMPROC_UNMON]      = { "UNMON",      nsm_get_unmon,     nsm_refuse,   rpc_put_void,     0 },
	[NSMPROC_UNMON_ALL]  = { "UNMON_ALL",  nsm_get_unmon_all, nsm_refuse,   rpc_put_void,     0 },
	[NSMPROC_SIMU_CRASH] = { "SIMU_CRASH", rpc_get_void,      nsm_refuse,   rpc_put_void,     0 },
	[NSMPROC_NOTIFY]     = { "NOTIFY",     nlm_get_notify,    nlm_free,     rpc_put_void,     0 },
};

static const struct rpc_vers versions[] = {
	{ NSM_VERSION, NSM1_PROCS, nsm1 },
};
/* clang-format on */

const struct rpc_prog nsm_program = {
	.name = "nsm",
	.prog = NSM_PROGRAM,
	.nvers = nitems(versions),
	.vers = versions,
};
