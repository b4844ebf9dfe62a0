/* SPDX-License-Identifier: ISC */
/*
 * What the caller may do with a file. The kernel decides, as the caller; for
 * execution, which it refuses on the noexec mounts of a worker, mode and ACL
 * do. An answer is remembered in the file's cache entry for the last callers,
 * until the ctime changes.
 * Runs in: nfsd worker (event loop and file threads).
 */
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "nfsd/door/ask.h"
#include "nfsd/door/state.h"
#include "nfsd/roles/acl.h"

bool
door_settled(const struct timespec *ctime)
{
	struct timespec now = clock_wall();

	return clock_settled(ctime, &now);
}

bool
rights_find(struct cache *cache, const struct cache_entry *entry,
    uint64_t caller, const struct timespec *ctime, int asked, int *granted)
{
	const struct grant *g;
	bool found = false;
	size_t i;

	cache_lock(cache);
	for (i = 0; i < CACHE_GRANTS && !found; i++) {
		g = &entry->grants[i];
		found = g->caller == caller && same_time(&g->ctime, ctime) &&
		    (g->asked & asked) == asked;
		if (found)
			*granted = g->granted & asked;
	}
	cache_unlock(cache);
	return found;
}

void
rights_add(struct cache *cache, struct cache_entry *entry, uint64_t caller,
    const struct timespec *ctime, int asked, int granted)
{
	struct grant *list = entry->grants, *g = list;

	cache_lock(cache);
	while (g < list + CACHE_GRANTS && g->caller != caller)
		g++;
	if (g == list + CACHE_GRANTS) { /* the oldest makes room */
		g = list;
		memmove(list + 1, list, (CACHE_GRANTS - 1) * sizeof(*g));
	}
	if (g->caller != caller || !same_time(&g->ctime, ctime))
		g->asked = g->granted = 0;
	g->caller = caller;
	g->ctime = *ctime;
	g->asked |= (uint8_t)asked;
	g->granted = (uint8_t)((g->granted & ~asked) | granted);
	cache_unlock(cache);
}

static bool
kernel_grants(int fd, int mode)
{
	return syscall(SYS_faccessat2, fd, "", mode,
		   AT_EMPTY_PATH | AT_EACCESS) == 0;
}

/*
 * May the caller execute the file? *sure is cleared if its ACL could not be
 * read and the answer is a guess.
 */
static bool
may_execute(struct call_ctx *ctx, const struct door_obj *obj, bool *sure)
{
	enum acl_answer may;
	int data;

	/* Without such a bit in the mode no entry of an ACL has it in effect. */
	if ((obj->st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0)
		return false;
	/* The kernel shows no ACL of an O_PATH descriptor. */
	data = door_data_fd(ctx, obj, CACHE_SLOT_READ);
	if (data == -1 && (errno == EACCES || errno == ESTALE))
		return false; /* execute permission would have opened it */
	if (ctx->call->deferred) {
		*sure = false;
		return false;
	}
	may = acl_permits(&ctx->thread->acting, data == -1 ? obj->fd : data,
	    &obj->st, X_OK);
	*sure = may != ACL_UNKNOWN;
	return may == ACL_YES ||
	    (may == ACL_UNKNOWN && kernel_grants(obj->fd, R_OK));
}

/* Which of the rights asked for the caller has. */
static int
rights(struct call_ctx *ctx, const struct door_obj *obj, int asked)
{
	static const int each[] = { R_OK, W_OK, X_OK };
	struct door_thread *t = ctx->thread;
	const uint64_t caller = cred_acting_key(&t->acting);
	bool sure = true, settled, has;
	struct door_use use;
	int granted = 0;
	size_t i;

	if (rights_find(t->door->cache, obj->entry, caller, &obj->st.st_ctim,
		asked, &granted))
		return granted;
	if (door_must_defer_cold(ctx, obj, DOOR_USE_RIGHTS, &use))
		return 0; /* the call is made again */
	settled =
	    door_settled(&obj->st.st_ctim); /* before the first question */
	for (i = 0; i < nitems(each); i++) {
		if ((asked & each[i]) == 0)
			continue;
		if (each[i] == X_OK && S_ISREG(obj->st.st_mode))
			has = may_execute(ctx, obj, &sure);
		else
			has = kernel_grants(obj->fd, each[i]);
		if (has)
			granted |= each[i];
	}
	if (sure)
		door_used(ctx, &use);
	if (sure && settled)
		rights_add(t->door->cache, obj->entry, caller, &obj->st.st_ctim,
		    asked, granted);
	return granted;
}

bool
door_may_use(struct call_ctx *ctx, const struct door_obj *obj,
    unsigned int want)
{
	int need = (want & DOOR_WRITE) != 0 ? W_OK : R_OK;

	if ((want & (DOOR_READ | DOOR_WRITE | DOOR_LIST)) == 0)
		return true;
	if ((want & DOOR_LIST) == 0 && obj->st.st_uid == ctx->uid)
		return true;
	if (rights(ctx, obj, need) == need)
		return true;
	return (want & (DOOR_READ | DOOR_WRITE)) == DOOR_READ &&
	    rights(ctx, obj, X_OK) == X_OK;
}

int
door_access(struct call_ctx *ctx, const struct door_obj *obj, int mode)
{
	if (!obj->options->rw)
		mode &= ~W_OK;
	return mode == 0 ? 0 : rights(ctx, obj, mode);
}
