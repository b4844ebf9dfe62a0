/* SPDX-License-Identifier: ISC */
/*
 * A question to the running nfsd: see ask.h.
 * Runs in: nfsd -S and its like.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "nfsd/command/ask.h"
#include "nfsd/control.h"

#define HEAD_MAX 64 /* "error 8388608" and the line end */

/* Returns a connection, or -1 after one line that says why there is none. */
static int
reach(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd;

	if (strlcpy(at.sun_path, path, sizeof(at.sun_path)) >=
	    sizeof(at.sun_path)) {
		log_warnx("%s: too long for a socket", path);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd != -1 &&
	    connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	if (errno == EACCES)
		log_warnx("%s: only root and the group of -o admin-group may "
			  "ask",
		    path);
	else
		log_warn("%s: no answer (is nfsd running?)", path);
	if (fd != -1)
		close(fd);
	return -1;
}

/*
 * Reads to the end of the connection, into at most size bytes. Returns how many,
 * or -1.
 */
static ssize_t
receive(int fd, char *text, size_t size, unsigned int seconds)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;
	ssize_t n;

	while (len < size) {
		if (poll(&p, 1, (int)seconds * 1000) != 1) {
			errno = ETIMEDOUT;
			return -1;
		}
		n = read(fd, text + len, size - len);
		/* An nfsd that refuses does not read the request. */
		if (n == 0 || (n == -1 && errno == ECONNRESET && len > 0))
			break;
		if (n == -1)
			return -1;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/*
 * Removes the first line, "ok LENGTH" or "error LENGTH". Returns false after one
 * line that says what is wrong.
 */
static bool
unpack(const char *path, char *text, size_t len)
{
	bool good = strncmp(text, "ok ", 3) == 0;
	char *line = strchr(text, '\n');
	size_t rest = line == NULL ? 0 : len - (size_t)(line + 1 - text);

	if (line == NULL || (!good && strncmp(text, "error ", 6) != 0) ||
	    strtoull(strchr(text, ' '), NULL, 10) != rest) {
		log_warnx("%s: the answer is not complete", path);
		return false;
	}
	memmove(text, line + 1, rest + 1);
	if (good)
		return true;
	text[strcspn(text, "\n")] = '\0';
	log_warnx("%s", text);
	return false;
}

char *
ask(const char *path, const char *request)
{
	return ask_for(path, request, CONTROL_SECONDS);
}

char *
ask_for(const char *path, const char *request, unsigned int seconds)
{
	const size_t size = CONTROL_ANSWER_MAX + HEAD_MAX;
	char line[CONTROL_REQUEST_MAX + 2];
	char *text;
	ssize_t len = -1;
	int fd, n;

	n = snprintf(line, sizeof(line), "%s\n", request);
	fd = reach(path);
	if (fd == -1)
		return NULL;
	text = malloc(size + 1);
	if (text == NULL)
		fatal("answer");
	if (send(fd, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line),
		MSG_NOSIGNAL) != -1 ||
	    errno == EPIPE)
		len = receive(fd, text, size, seconds);
	if (len == -1)
		log_warn("%s: no answer", path);
	close(fd);
	if (len != -1) {
		text[len] = '\0';
		if (unpack(path, text, (size_t)len))
			return text;
	}
	free(text);
	return NULL;
}
