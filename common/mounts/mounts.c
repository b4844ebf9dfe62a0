/* SPDX-License-Identifier: ISC */
/*
 * See mounts.h.
 * Runs in: mountd parent, nfsd parent.
 */
#include <fcntl.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/util.h"
#include "confine/jail.h"
#include "mounts/mounts.h"

static void
run_in(struct mounts *m, const struct timeval *in)
{
	if (event_add(m->timer, in) == -1)
		fatalx("timer: out of memory");
}

static void
run_soon(struct mounts *m)
{
	const struct timeval soon = { .tv_usec = MOUNTS_DELAY_MS * 1000 };

	run_in(m, &soon);
}

static void
run_change(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	run_soon(arg);
}

static void
run_late_answer(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct mounts *m = arg;

	event_free(m->on_late);
	m->on_late = NULL;
	jail_late(m->jail);
	run_soon(m);
}

static void
run_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct mounts *m = arg;

	m->changed(m->arg);
}

void
mounts_wait_late(struct mounts *m)
{
	const struct timeval later = { .tv_sec = MOUNTS_SICK_S };

	if (m->on_late != NULL)
		event_free(m->on_late);
	m->on_late = NULL;
	if (jail_is_sick(m->jail))
		run_in(m, &later);
	if (jail_late_fd(m->jail) == -1)
		return;
	m->on_late = event_new(m->base, jail_late_fd(m->jail), EV_READ,
	    run_late_answer, m);
	if (m->on_late == NULL || event_add(m->on_late, NULL) == -1)
		fatalx("event: out of memory");
}

/*
 * The file is always readable. An edge is reported when it is added and each
 * time the kernel says that the mounts have changed.
 */
void
mounts_start(struct mounts *m, struct event_base *base, struct jail *jail,
    void (*changed)(void *arg), void *arg)
{
	*m = (struct mounts){
		.base = base, .jail = jail, .changed = changed, .arg = arg
	};
	m->timer = evtimer_new(base, run_timer, m);
	if (m->timer == NULL)
		fatalx("timer: out of memory");
	m->fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (m->fd != -1)
		m->on_change = event_new(base, m->fd,
		    EV_READ | EV_ET | EV_PERSIST, run_change, m);
	if (m->on_change == NULL || event_add(m->on_change, NULL) == -1)
		log_warn("mounts: the kernel does not tell of changes (reload "
			 "after each)");
	mounts_wait_late(m);
}

void
mounts_free(struct mounts *m)
{
	if (m->on_change != NULL)
		event_free(m->on_change);
	if (m->on_late != NULL)
		event_free(m->on_late);
	if (m->timer != NULL)
		event_free(m->timer);
	if (m->fd != -1)
		close(m->fd);
}
