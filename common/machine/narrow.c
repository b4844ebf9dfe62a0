/* SPDX-License-Identifier: ISC */
/*
 * Calls of libevent that take a time, for 32-bit machines. Only this file is
 * compiled with the platform's own struct timeval (etc/build.mk).
 * Runs in: every process, on 32-bit machines.
 */
#include <sys/time.h>

#include <limits.h>
#include <stdint.h>

#include <event2/event.h>

#if __SIZEOF_LONG__ == 4
/* struct timeval of all other files. */
struct wide_timeval {
	int64_t sec;
	int64_t usec;
};

int event_add_wide(struct event *, const struct wide_timeval *);
int event_base_loopexit_wide(struct event_base *, const struct wide_timeval *);

static const struct timeval *
narrow(const struct wide_timeval *wide, struct timeval *tv)
{
	if (wide == NULL)
		return NULL;
	tv->tv_sec = wide->sec > INT_MAX ? INT_MAX : (int)wide->sec;
	tv->tv_usec = (int)wide->usec;
	return tv;
}

int
event_add_wide(struct event *ev, const struct wide_timeval *in)
{
	struct timeval tv;

	return event_add(ev, narrow(in, &tv));
}

int
event_base_loopexit_wide(struct event_base *base, const struct wide_timeval *in)
{
	struct timeval tv;

	return event_base_loopexit(base, narrow(in, &tv));
}
#endif
