/* SPDX-License-Identifier: ISC */
/*
 * Reloads while a file thread works. The event loop takes old lists from idle
 * threads; here it believes that the thread has been idle for long, as after
 * the process was stopped. Under a sanitizer no freed list may be read.
 * Links: nfsd
 * Runs in: tests.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "door_call.h"
#include "nfsd/ops/ops.h"
#include "nfsd/ops/ops_util.h"
#include "tap.h"

#define OPTIONS "rw,no_root_squash,readsize=4096"
#define CALLS	20000
#define RELOADS 1000000 /* at most */

static struct door_call c;
static _Atomic bool stop;
static _Atomic unsigned int calls, wrong;

static bool
try_open(struct call_ctx *ctx)
{
	struct door_obj obj;

	if (door_open(ctx, &c.root, DOOR_DIR, &obj) != NFS_OK)
		return false;
	door_close(&obj);
	return true;
}

static bool
try_fsinfo(struct call_ctx *ctx)
{
	static struct call_args args;
	static struct call_res res;

	args.object = c.root;
	memset(&res, 0, sizeof(res));
	op_fsinfo(ctx, &args, &res);
	return res.status == NFS_OK && res.fsinfo.rtmax == 4096;
}

static void *
work(void *arg)
{
	bool (*once)(struct call_ctx *);
	struct rpc_call call = c.call;
	struct call_ctx ctx = c.ctx;

	memcpy(&once, arg, sizeof(once));
	ctx.call = &call;
	ctx.thread = door_thread(c.door, 1);
	while (!atomic_load(&stop)) {
		if (!once(&ctx))
			atomic_fetch_add(&wrong, 1);
		atomic_fetch_add(&calls, 1);
	}
	return NULL;
}

static void
reload_during(bool (*once)(struct call_ctx *), const char *what)
{
	pthread_t thread;
	int i;

	atomic_store(&stop, false);
	atomic_store(&calls, 0);
	atomic_store(&wrong, 0);
	door_call_init(&c, OPTIONS);
	c.ctx.limits = &nfs3_limits;
	c.call.room_len = 65536;
	if (pthread_create(&thread, NULL, work, &once) != 0)
		BAIL_OUT("no thread");
	for (i = 0; i < RELOADS && atomic_load(&calls) < CALLS; i++) {
		door_call_reload(&c, OPTIONS);
		door_release_idle(c.door);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	cmp_ok(calls, ">", 0, "%s: the thread worked", what);
	cmp_ok(wrong, "==", 0, "%s: no call failed", what);
	door_call_clear(&c);
}

int
main(void)
{
	reload_during(try_open, "open");
	reload_during(try_fsinfo, "fsinfo");
	done_testing();
}
