/* SPDX-License-Identifier: ISC */
/*
 * A server that registers as mountd and nfsd do, until a signal ends it:
 *
 *	registrant SOCKET PROGRAM VERSION ADDRESS:PORT ...
 *
 * registers the version on UDP and TCP at each address. The registration logs
 * "registered" to standard error. SIGTERM unregisters first.
 * Runs in: test program.
 */
#include <err.h>
#include <signal.h>
#include <stdlib.h>

#include <event2/event.h>

#include "base/log.h"
#include "process/register.h"

static struct event_base *base;

static void
on_farewell(void *arg)
{
	(void)arg;
	(void)event_base_loopbreak(base);
}

static void
on_term(evutil_socket_t signo, short what, void *arg)
{
	(void)signo;
	(void)what;
	register_stop(arg, on_farewell, NULL);
}

static uint32_t
number(const char *text)
{
	const char *wrong;
	long long n = strtonum(text, 0, UINT32_MAX, &wrong);

	if (wrong != NULL)
		errx(1, "%s: %s", text, wrong);
	return (uint32_t)n;
}

int
main(int argc, char *argv[])
{
	struct registration *r;
	struct event *term;
	struct addr at;
	int i;

	if (argc < 5)
		errx(1,
		    "usage: registrant socket program version address:port ...");
	log_init("registrant");
	base = event_base_new();
	r = register_new(base, argv[1]);
	for (i = 4; i < argc; i++) {
		if (!addr_parse(&at, argv[i]))
			errx(1, "%s: not an address", argv[i]);
		if (!register_add(r, number(argv[2]), number(argv[3]), true,
			&at) ||
		    !register_add(r, number(argv[2]), number(argv[3]), false,
			&at))
			errx(1, "%s: cannot add", argv[i]);
	}
	term = evsignal_new(base, SIGTERM, on_term, r);
	(void)event_add(term, NULL);
	register_start(r);
	(void)event_base_dispatch(base);
	event_free(term);
	register_free(r);
	event_base_free(base);
	return 0;
}
