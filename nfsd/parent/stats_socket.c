/* SPDX-License-Identifier: ISC */
/*
 * Statistics in the parent. A reader gets the text in one send, as far as the
 * kernel accepts it at once. A reader can therefore never block the parent.
 * Runs in: nfsd parent.
 */
#include <sys/socket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/shm.h"
#include "base/util.h"
#include "nfsd/parent/stats_socket.h"
#include "process/listen.h"

/* Appends when the files of TLS end. */
static size_t
add_ends(const struct parent_stats *s, size_t len)
{
	static const char *const names[NFSD_TLS_ENDS] = { "certificate",
		"client_ca", "crl" };
	size_t i;
	int n;

	for (i = 0; s->tls_ends != NULL && i < NFSD_TLS_ENDS; i++) {
		if (s->tls_ends[i] == 0)
			continue;
		n = snprintf(s->text + len, STATS_TEXT_MAX - len,
		    "# HELP tern_nfsd_tls_%s_expires_seconds when it ends, in "
		    "seconds since 1970\n"
		    "# TYPE tern_nfsd_tls_%s_expires_seconds gauge\n"
		    "tern_nfsd_tls_%s_expires_seconds %lld\n",
		    names[i], names[i], names[i], (long long)s->tls_ends[i]);
		if (n > 0 && (size_t)n < STATS_TEXT_MAX - len)
			len += (size_t)n;
	}
	return len;
}

static void
tell(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct parent_stats *s = arg;
	int size = STATS_TEXT_MAX;
	int peer = accept4((int)fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	size_t len;

	if (peer == -1)
		return;
	(void)setsockopt(peer, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	len = stats_text(s->workers, s->n, s->text, STATS_TEXT_MAX);
	len = add_ends(s, len);
	if (send(peer, s->text, len, MSG_NOSIGNAL | MSG_DONTWAIT) == -1)
		log_debug("statistics: a reader closed its connection");
	close(peer);
}

/*
 * Can the socket be made? A rootless nfsd may lack the directory; it then
 * serves without the socket.
 */
static bool
has_place(const char *path)
{
	char dir[256];
	char *slash;

	if (strlcpy(dir, path, sizeof(dir)) >= sizeof(dir))
		return false;
	slash = strrchr(dir, '/');
	if (slash == NULL)
		return true;
	*slash = '\0';
	return access(*dir == '\0' ? "/" : dir, W_OK) == 0;
}

static void
open_socket(struct parent_stats *s, struct event_base *base,
    const struct nfsd *n)
{
	s->socket = -1;
	if (n->d.rootless && !has_place(n->stats_socket)) {
		log_info("statistics: no socket: %s cannot be made; "
			 "-o stats=path names another",
		    n->stats_socket);
		return;
	}
	s->path = n->stats_socket;
	s->socket = listen_unix(s->path, 0666);
	s->on_connect =
	    event_new(base, s->socket, EV_READ | EV_PERSIST, tell, s);
	if (s->on_connect == NULL || event_add(s->on_connect, NULL) == -1)
		fatalx("event: out of memory");
}

void
parent_stats_start(struct parent_stats *s, struct event_base *base,
    const struct nfsd *n)
{
	unsigned int i;

	s->n = n->setup.workers;
	for (i = 0; i < s->n; i++) {
		s->fds[i] = shm_new(sizeof(struct stats));
		if (s->fds[i] == -1 ||
		    (s->workers[i] = shm_map(s->fds[i], sizeof(struct stats),
			 false)) == NULL)
			fatal("statistics");
	}
	s->text = malloc(STATS_TEXT_MAX);
	if (s->text == NULL)
		fatal("statistics");
	open_socket(s, base, n);
}

void
parent_stats_stop(struct parent_stats *s)
{
	if (s->on_connect != NULL)
		event_free(s->on_connect);
	if (s->socket != -1) {
		close(s->socket);
		(void)unlink(s->path);
	}
	free(s->text);
}

int
parent_stats_fd(const struct parent_stats *s, unsigned int worker)
{
	return s->fds[worker];
}

void
parent_stats_log(const struct parent_stats *s)
{
	stats_log(s->workers, s->n);
}
