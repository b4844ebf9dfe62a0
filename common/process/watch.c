/* SPDX-License-Identifier: ISC */
/*
 * Asks the roles, judges their silence, and feeds the watchdog or not.
 * Runs in: mountd parent, nfsd parent.
 */
#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "process/daemon.h"
#include "process/reload.h"
#include "process/role_exports.h"
#include "process/watch.h"

/* Is the role alive, or only hung by a filesystem? Kills it otherwise. */
static bool
is_well(const struct watch *w, struct role_child *role)
{
	struct role_silence s = role_silence(role);

	if (s.ms < w->every_ms)
		return true;
	if (s.stopped) {
		role_restart(role, "something stopped it (SIGSTOP)");
		return false;
	}
	if (s.ms < (uint64_t)w->every_ms * WATCH_SPINS)
		return true;
	if (s.cpu_ms > w->every_ms) {
		role_restart(role, "it answers no question and uses the CPU");
		return false;
	}
	if (log_permit("silent role", (uint64_t)role_pid(role)))
		log_warnx("%s: pid %d has answered no question for %llu "
			  "seconds: waiting (does a filesystem hang?)",
		    role_name(role), (int)role_pid(role),
		    (unsigned long long)s.ms / 1000);
	return true;
}

/* Judges the role and asks it again. */
static bool
look_after(const struct watch *w, struct role_child *role)
{
	bool well = is_well(w, role);

	role_ping(role, ROLE_PING);
	return well;
}

static void
watch_run(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct watch *w = arg;
	bool well = true;
	size_t i;

	for (i = 0; i < w->all->n; i++)
		well = look_after(w, w->all->roles[i]) && well;
	for (i = 0; i < w->nothers; i++)
		well = look_after(w, w->others[i]) && well;
	w->d->unwell = !well;
}

void
watch_init(struct watch *w, struct event_base *base, struct daemon *d,
    const struct reload *all)
{
	uint64_t ms = notify_watchdog_usec(&d->notify) * 2 / WATCH_SHARE / 1000;
	struct timeval every;

	if (ms == 0 || ms > WATCH_MS)
		ms = WATCH_MS;
	if (ms < WATCH_MS_MIN)
		ms = WATCH_MS_MIN;
	*w = (struct watch){ .d = d, .all = all, .every_ms = (unsigned int)ms };
	every.tv_sec = (time_t)(ms / 1000);
	every.tv_usec = (suseconds_t)(ms % 1000) * 1000;
	w->timer = event_new(base, -1, EV_PERSIST, watch_run, w);
	if (w->timer == NULL || event_add(w->timer, &every) == -1)
		fatalx("timer: out of memory");
}

void
watch_free(struct watch *w)
{
	if (w->timer != NULL)
		event_free(w->timer);
	w->timer = NULL;
}

void
watch_add(struct watch *w, struct role_child *role)
{
	if (w->nothers == nitems(w->others))
		fatalx("more than %zu other roles", nitems(w->others));
	w->others[w->nothers++] = role;
}
