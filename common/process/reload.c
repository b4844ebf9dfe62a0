/* SPDX-License-Identifier: ISC */
/*
 * Waits until the roles serve the list they were sent.
 * Runs in: mountd parent, nfsd parent.
 */
#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "process/daemon.h"
#include "process/reload.h"
#include "process/role.h"

static void
run_late(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct reload *r = arg;
	size_t i;

	for (i = 0; i < r->n; i++)
		if (!role_is_current(r->roles[i]))
			log_warnx("%s: pid %d does not serve the new exports "
				  "after %d seconds: still waiting (does a "
				  "filesystem hang?)",
			    role_name(r->roles[i]), (int)role_pid(r->roles[i]),
			    RELOAD_SECONDS);
	r->late = true;
	daemon_reloaded(r->d);
}

void
reload_init(struct reload *r, struct event_base *base, const struct daemon *d)
{
	*r = (struct reload){ .d = d, .timer = evtimer_new(base, run_late, r) };
	if (r->timer == NULL)
		fatalx("timer: out of memory");
}

void
reload_free(struct reload *r)
{
	if (r->timer != NULL)
		event_free(r->timer);
	r->timer = NULL;
}

void
reload_add(struct reload *r, struct role_child *role)
{
	if (r->n == nitems(r->roles))
		fatalx("more than %zu roles", nitems(r->roles));
	r->roles[r->n++] = role;
}

void
reload_wait(struct reload *r)
{
	const struct timeval patience = { .tv_sec = RELOAD_SECONDS };

	r->late = false;
	if (event_add(r->timer, &patience) == -1)
		fatalx("timer: out of memory");
	(void)reload_check(r);
}

bool
reload_check(struct reload *r)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (!role_is_current(r->roles[i]))
			return false;
	if (r->late)
		log_info("exports: now every role serves the new list");
	r->late = false;
	if (event_pending(r->timer, EV_TIMEOUT, NULL)) {
		(void)event_del(r->timer);
		daemon_reloaded(r->d);
	}
	return true;
}
