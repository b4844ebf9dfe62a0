/* SPDX-License-Identifier: ISC */
/*
 * sd_notify(3) without the library: one connected datagram socket.
 * Runs in: the first process of each daemon.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/notify.h"

/* Reads the watchdog's interval, unless it is for another process. */
static void
read_watchdog(struct notify *n)
{
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");

	if (usec == NULL)
		return;
	if (pid == NULL || strtoll(pid, NULL, 10) == (long long)getpid())
		n->watchdog_usec = strtoull(usec, NULL, 10);
}

void
notify_init(struct notify *n)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path != NULL ? strlen(path) : 0;

	*n = (struct notify){ .fd = -1 };
	read_watchdog(n);
	if (len > 1 && len < sizeof(sun.sun_path) &&
	    (path[0] == '/' || path[0] == '@')) {
		memcpy(sun.sun_path, path, len);
		if (path[0] == '@') /* an abstract socket */
			sun.sun_path[0] = '\0';
		n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (n->fd != -1 &&
		    connect(n->fd, (struct sockaddr *)&sun,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			    len)) == -1) {
			close(n->fd);
			n->fd = -1;
		}
	}
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
}

/* Sends a message. Failure is ignored: the daemon serves without a manager. */
static void
tell(const struct notify *n, const char *text)
{
	if (n->fd != -1)
		(void)!write(n->fd, text, strlen(text));
}

void
notify_ready(const struct notify *n)
{
	tell(n, "READY=1");
}

/* Type=notify-reload compares this time with the time of its signal. */
void
notify_reloading(const struct notify *n)
{
	char text[96];

	(void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%ju",
	    (uintmax_t)(clock_ns() / 1000));
	tell(n, text);
}

void
notify_stopping(const struct notify *n)
{
	tell(n, "STOPPING=1");
}

void
notify_watchdog(const struct notify *n)
{
	tell(n, "WATCHDOG=1");
}

uint64_t
notify_watchdog_usec(const struct notify *n)
{
	/* half of the interval, as sd_watchdog_enabled(3) advises */
	return n->watchdog_usec / 2;
}
