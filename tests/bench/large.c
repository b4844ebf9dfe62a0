/* SPDX-License-Identifier: ISC */
/*
 * What a large READ costs in a bare loop, in CPU of the sender: the data copied
 * into the reply and sent, or moved from the page cache to the socket through a
 * pipe.
 *
 *	large FILE
 *
 * FILE has 8 MiB or more. The third way also asks for one byte of each page
 * without waiting, since splice(2) itself waits for a page that is not in memory.
 * Runs in: by hand.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"

#define HEAD  132 /* record mark, RPC and NFS before the data */
#define CALL  100
#define FLUSH ((size_t)256 * 1024) /* as RPC_CONN_FLUSH */
#define PAGE  4096
#define TOTAL ((size_t)1 << 30) /* bytes of one measurement */

static int file, sock, in_pipe, out_pipe;
static off_t size;
static uint8_t *out;
static size_t out_len;

static void
send_all(int flags)
{
	if (out_len > 0 && send(sock, out, out_len, flags) != (ssize_t)out_len)
		err(1, "send");
	out_len = 0;
}

/* Reads data that is in memory. Reads it again if another program dropped it. */
static void
get(uint8_t *to, size_t len, off_t at)
{
	struct iovec iov = { to, len };

	if (preadv2(file, &iov, 1, at, RWF_NOWAIT) != (ssize_t)len &&
	    pread(file, to, len, at) != (ssize_t)len)
		err(1, "read");
}

static void
reply_copied(size_t len, off_t at, bool last)
{
	get(out + out_len + HEAD, len, at);
	out_len += HEAD + len;
	if (last || out_len >= FLUSH)
		send_all(0);
}

/* The pipe has the data before the header tells how much it is. */
static void
reply_moved(size_t len, off_t at, bool last)
{
	size_t done;
	ssize_t n;

	for (done = 0; done < len; done += (size_t)n) {
		n = splice(file, &at, in_pipe, NULL, len - done,
		    SPLICE_F_NONBLOCK);
		if (n <= 0)
			err(1, "splice from the file");
	}
	out_len = HEAD;
	send_all(MSG_MORE);
	for (done = 0; done < len; done += (size_t)n) {
		n = splice(out_pipe, NULL, sock, NULL, len - done,
		    last ? 0 : SPLICE_F_MORE);
		if (n <= 0)
			err(1, "splice to the socket");
	}
}

static void
reply_asked(size_t len, off_t at, bool last)
{
	uint8_t byte;
	size_t i;

	for (i = 0; i < len; i += PAGE)
		get(&byte, 1, at + (off_t)i);
	reply_moved(len, at, last);
}

/* Asks for batches of reads and drops the data. */
static _Noreturn void
client(const struct sockaddr_in *to, size_t len, size_t batches, size_t batch)
{
	static uint8_t buf[1024 * 1024];
	size_t left;
	ssize_t n;
	int s = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(s, (const struct sockaddr *)to, sizeof(*to)) == -1)
		err(1, "connect");
	for (; batches > 0; batches--) {
		if (send(s, buf, batch * CALL, 0) == -1)
			err(1, "send");
		for (left = batch * (len + HEAD); left > 0; left -= (size_t)n) {
			n = recv(s, buf,
			    left < sizeof(buf) ? left : sizeof(buf), MSG_TRUNC);
			if (n <= 0)
				errx(1, "no reply");
		}
	}
	_exit(0);
}

static double
cpu_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Answers reads at random offsets. Returns CPU for each. */
static double
answer(void (*reply)(size_t, off_t, bool), size_t len, size_t batches,
    size_t batch)
{
	uint8_t calls[16 * CALL];
	double since = cpu_us();
	struct stat st;
	off_t at;
	size_t i, n;

	for (n = 0; n < batches; n++) {
		if (recv(sock, calls, batch * CALL, MSG_WAITALL) <= 0)
			err(1, "no call");
		for (i = 0; i < batch; i++) {
			if (fstat(file, &st) == -1)
				err(1, "fstat");
			at = random() % (size / (off_t)len) * (off_t)len;
			reply(len, at, i + 1 == batch);
		}
	}
	return (cpu_us() - since) / (double)(batches * batch);
}

static double
measure(void (*reply)(size_t, off_t, bool), size_t len)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t alen = sizeof(at);
	size_t batch = len < FLUSH ? FLUSH / len : 1;
	int on = 1, status, s = socket(AF_INET, SOCK_STREAM, 0);
	double us;
	pid_t pid;

	if (bind(s, (struct sockaddr *)&at, alen) == -1 || listen(s, 1) == -1 ||
	    getsockname(s, (struct sockaddr *)&at, &alen) == -1 ||
	    (pid = fork()) == -1)
		err(1, "client");
	if (pid == 0)
		client(&at, len, TOTAL / len / batch, batch);
	sock = accept4(s, NULL, NULL, SOCK_CLOEXEC);
	(void)setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	us = answer(reply, len, TOTAL / len / batch, batch);
	close(sock);
	close(s);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		errx(1, "the client failed");
	return us;
}

int
main(int argc, char *argv[])
{
	static const size_t sizes[] = { 32 << 10, 64 << 10, 128 << 10,
		256 << 10, 512 << 10, 1 << 20 };
	struct stat st;
	int ends[2];
	size_t i;

	if (argc != 2)
		errx(2, "usage: large FILE");
	file = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (file == -1 || fstat(file, &st) == -1 || st.st_size < 8 << 20)
		errx(1, "%s: no file of 8 MiB", argv[1]);
	size = st.st_size;
	out = calloc(1, 2 * FLUSH + HEAD + (1 << 20));
	if (out == NULL || pipe2(ends, O_CLOEXEC) == -1 ||
	    fcntl(ends[0], F_SETPIPE_SZ, 1 << 20) == -1)
		err(1, "pipe of 1 MiB");
	out_pipe = ends[0];
	in_pipe = ends[1];
	for (off_t at = 0; at < size; at += (off_t)FLUSH)
		if (pread(file, out, FLUSH, at) == -1)
			err(1, "%s", argv[1]);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	printf("bytes    copied us  moved us  moved, each page asked for us\n");
	for (i = 0; i < nitems(sizes); i++)
		printf("%-8zu %-10.1f %-9.1f %.1f\n", sizes[i],
		    measure(reply_copied, sizes[i]),
		    measure(reply_moved, sizes[i]),
		    measure(reply_asked, sizes[i]));
	return 0;
}
