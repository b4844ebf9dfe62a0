/* SPDX-License-Identifier: ISC */
/*
 * NLM versions 1, 3 and 4: one row per procedure. A _MSG row has an empty reply;
 * its result is sent as a call to the client's own NLM. These rows do not use the
 * reply cache, so that a repeated call gets its result again.
 * Runs in: nfsd nlm, tests.
 */
#include "base/util.h"
#include "nfsd/nlm/nlm_xdr.h"
#include "rpc/server.h"

/* clang-format off */
static const struct rpc_proc nlm1[NLM1_PROCS] = {
	[NLMPROC_NULL]        = { "NULL",        rpc_get_void,    rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_TEST]        = { "TEST",        nlm1_get_test,   nlm_test,        nlm1_put_test,  0 },
	[NLMPROC_LOCK]        = { "LOCK",        nlm1_get_lock,   nlm_lock,        nlm1_put_res,   RPC_CACHED },
	[NLMPROC_CANCEL]      = { "CANCEL",      nlm1_get_cancel, nlm_cancel,      nlm1_put_res,   RPC_CACHED },
	[NLMPROC_UNLOCK]      = { "UNLOCK",      nlm1_get_unlock, nlm_unlock,      nlm1_put_res,   RPC_CACHED },
	[NLMPROC_GRANTED]     = { "GRANTED",     nlm1_get_test,   nlm_granted,     nlm1_put_res,   0 },
	[NLMPROC_TEST_MSG]    = { "TEST_MSG",    nlm1_get_test,   nlm_test,        rpc_put_void,   NLM_MSG },
	[NLMPROC_LOCK_MSG]    = { "LOCK_MSG",    nlm1_get_lock,   nlm_lock,        rpc_put_void,   NLM_MSG },
	[NLMPROC_CANCEL_MSG]  = { "CANCEL_MSG",  nlm1_get_cancel, nlm_cancel,      rpc_put_void,   NLM_MSG },
	[NLMPROC_UNLOCK_MSG]  = { "UNLOCK_MSG",  nlm1_get_unlock, nlm_unlock,      rpc_put_void,   NLM_MSG },
	[NLMPROC_GRANTED_MSG] = { "GRANTED_MSG", nlm1_get_test,   nlm_granted,     rpc_put_void,   0 },
	[NLMPROC_TEST_RES]    = { "TEST_RES",    nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_LOCK_RES]    = { "LOCK_RES",    nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_CANCEL_RES]  = { "CANCEL_RES",  nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_UNLOCK_RES]  = { "UNLOCK_RES",  nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_GRANTED_RES] = { "GRANTED_RES", nlm_get_res,     nlm_granted_res, rpc_put_void,   0 },
};

static const struct rpc_proc nlm3[NLM3_PROCS] = {
	[NLMPROC_NULL]        = { "NULL",        rpc_get_void,    rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_TEST]        = { "TEST",        nlm1_get_test,   nlm_test,        nlm1_put_test,  0 },
	[NLMPROC_LOCK]        = { "LOCK",        nlm1_get_lock,   nlm_lock,        nlm1_put_res,   RPC_CACHED },
	[NLMPROC_CANCEL]      = { "CANCEL",      nlm1_get_cancel, nlm_cancel,      nlm1_put_res,   RPC_CACHED },
	[NLMPROC_UNLOCK]      = { "UNLOCK",      nlm1_get_unlock, nlm_unlock,      nlm1_put_res,   RPC_CACHED },
	[NLMPROC_GRANTED]     = { "GRANTED",     nlm1_get_test,   nlm_granted,     nlm1_put_res,   0 },
	[NLMPROC_TEST_MSG]    = { "TEST_MSG",    nlm1_get_test,   nlm_test,        rpc_put_void,   NLM_MSG },
	[NLMPROC_LOCK_MSG]    = { "LOCK_MSG",    nlm1_get_lock,   nlm_lock,        rpc_put_void,   NLM_MSG },
	[NLMPROC_CANCEL_MSG]  = { "CANCEL_MSG",  nlm1_get_cancel, nlm_cancel,      rpc_put_void,   NLM_MSG },
	[NLMPROC_UNLOCK_MSG]  = { "UNLOCK_MSG",  nlm1_get_unlock, nlm_unlock,      rpc_put_void,   NLM_MSG },
	[NLMPROC_GRANTED_MSG] = { "GRANTED_MSG", nlm1_get_test,   nlm_granted,     rpc_put_void,   0 },
	[NLMPROC_TEST_RES]    = { "TEST_RES",    nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_LOCK_RES]    = { "LOCK_RES",    nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_CANCEL_RES]  = { "CANCEL_RES",  nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_UNLOCK_RES]  = { "UNLOCK_RES",  nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_GRANTED_RES] = { "GRANTED_RES", nlm_get_res,     nlm_granted_res, rpc_put_void,   0 },
	[NLMPROC_SHARE]       = { "SHARE",       nlm_get_share,   nlm_share,       nlm1_put_share, RPC_CACHED },
	[NLMPROC_UNSHARE]     = { "UNSHARE",     nlm_get_share,   nlm_unshare,     nlm1_put_share, RPC_CACHED },
	[NLMPROC_NM_LOCK]     = { "NM_LOCK",     nlm1_get_lock,   nlm_nm_lock,     nlm1_put_res,   RPC_CACHED },
	[NLMPROC_FREE_ALL]    = { "FREE_ALL",    nlm_get_notify,  nlm_free,        rpc_put_void,   0 },
};

static const struct rpc_proc nlm4[NLM4_PROCS] = {
	[NLMPROC_NULL]        = { "NULL",        rpc_get_void,    rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_TEST]        = { "TEST",        nlm4_get_test,   nlm_test,        nlm4_put_test,  0 },
	[NLMPROC_LOCK]        = { "LOCK",        nlm4_get_lock,   nlm_lock,        nlm4_put_res,   RPC_CACHED },
	[NLMPROC_CANCEL]      = { "CANCEL",      nlm4_get_cancel, nlm_cancel,      nlm4_put_res,   RPC_CACHED },
	[NLMPROC_UNLOCK]      = { "UNLOCK",      nlm4_get_unlock, nlm_unlock,      nlm4_put_res,   RPC_CACHED },
	[NLMPROC_GRANTED]     = { "GRANTED",     nlm4_get_test,   nlm_granted,     nlm4_put_res,   0 },
	[NLMPROC_TEST_MSG]    = { "TEST_MSG",    nlm4_get_test,   nlm_test,        rpc_put_void,   NLM_MSG },
	[NLMPROC_LOCK_MSG]    = { "LOCK_MSG",    nlm4_get_lock,   nlm_lock,        rpc_put_void,   NLM_MSG },
	[NLMPROC_CANCEL_MSG]  = { "CANCEL_MSG",  nlm4_get_cancel, nlm_cancel,      rpc_put_void,   NLM_MSG },
	[NLMPROC_UNLOCK_MSG]  = { "UNLOCK_MSG",  nlm4_get_unlock, nlm_unlock,      rpc_put_void,   NLM_MSG },
	[NLMPROC_GRANTED_MSG] = { "GRANTED_MSG", nlm4_get_test,   nlm_granted,     rpc_put_void,   0 },
	[NLMPROC_TEST_RES]    = { "TEST_RES",    nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_LOCK_RES]    = { "LOCK_RES",    nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_CANCEL_RES]  = { "CANCEL_RES",  nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_UNLOCK_RES]  = { "UNLOCK_RES",  nlm_get_res,     rpc_run_void,    rpc_put_void,   0 },
	[NLMPROC_GRANTED_RES] = { "GRANTED_RES", nlm_get_res,     nlm_granted_res, rpc_put_void,   0 },
	[NLMPROC_SHARE]       = { "SHARE",       nlm_get_share,   nlm_share,       nlm4_put_share, RPC_CACHED },
	[NLMPROC_UNSHARE]     = { "UNSHARE",     nlm_get_share,   nlm_unshare,     nlm4_put_share, RPC_CACHED },
	[NLMPROC_NM_LOCK]     = { "NM_LOCK",     nlm4_get_lock,   nlm_nm_lock,     nlm4_put_res,   RPC_CACHED },
	[NLMPROC_FREE_ALL]    = { "FREE_ALL",    nlm_get_notify,  nlm_free,        rpc_put_void,   0 },
};

static const struct rpc_vers versions[] = {
	{ 1, NLM1_PROCS, nlm1 },
	{ 3, NLM3_PROCS, nlm3 },
	{ 4, NLM4_PROCS, nlm4 },
};
/* clang-format on */

const struct rpc_prog nlm_program = {
	.name = "nlm",
	.prog = NLM_PROGRAM,
	.nvers = nitems(versions),
	.vers = versions,
};
