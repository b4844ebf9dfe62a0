/* SPDX-License-Identifier: ISC */
/*
 * Connections of the load generator inside TLS: after STARTTLS (RFC 9289), or
 * at once for a tunnel such as stunnel. The server's certificate is not checked.
 * Runs in: the load generator.
 */
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "load.h"

/* A NULL call with the credential AUTH_TLS, and the start of its answer. */
static const uint8_t probe[44] = { 0x80, 0, 0, 40, 't', 'e', 'r',
	'n', [15] = 2, [17] = 1, 0x86, 0xa3, [23] = 3, [31] = 7 };
#define ANSWER 36

static SSL_CTX *
context(void)
{
	static SSL_CTX *ctx;

	if (ctx != NULL)
		return ctx;
	ctx = SSL_CTX_new(TLS_client_method());
	if (ctx == NULL ||
	    SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) != 1)
		errx(1, "OpenSSL");
	SSL_CTX_set_mode(ctx,
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return ctx;
}

static bool
ask(int fd)
{
	uint8_t answer[ANSWER];

	return send(fd, probe, sizeof(probe), MSG_NOSIGNAL) == sizeof(probe) &&
	    recv(fd, answer, sizeof(answer), MSG_WAITALL) == sizeof(answer) &&
	    memcmp(answer + 24, "STARTTLS", 8) == 0;
}

SSL *
load_tls_open(const struct load *l, int fd)
{
	SSL *ssl = SSL_new(context());

	if (ssl == NULL || SSL_set_fd(ssl, fd) != 1)
		errx(1, "OpenSSL");
	if (l->tls == LOAD_STARTTLS && !ask(fd))
		errx(1, "no STARTTLS");
	if (SSL_connect(ssl) != 1)
		errx(1, "no handshake");
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	return ssl;
}

/* Sets errno as send(2) and recv(2) do. */
static ssize_t
result(SSL *ssl, int n)
{
	int error = n > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl, n);

	if (n > 0)
		return n;
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ?
	    EAGAIN :
	    EPROTO;
	return -1;
}

ssize_t
load_tls_send(SSL *ssl, const void *data, size_t len)
{
	return result(ssl, SSL_write(ssl, data, (int)len));
}

ssize_t
load_tls_recv(SSL *ssl, void *data, size_t len)
{
	return result(ssl, SSL_read(ssl, data, (int)len));
}

int
load_tls_handshakes(struct load *l, double seconds)
{
	uint64_t start = load_now_ns(), now, began;
	SSL *ssl;
	int fd;

	if (l->started != NULL)
		l->started(l);
	while ((began = load_now_ns()) - start < (uint64_t)(seconds * 1e9)) {
		fd = socket(l->to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd == -1 ||
		    connect(fd, (const struct sockaddr *)&l->to, l->to_len) ==
			-1)
			return -1;
		ssl = load_tls_open(l, fd);
		now = load_now_ns();
		load_times_add(l->times, now - began);
		l->ops++;
		l->units++;
		(void)SSL_shutdown(ssl);
		SSL_free(ssl);
		close(fd);
	}
	l->elapsed = (double)(load_now_ns() - start) / 1e9;
	return 0;
}
