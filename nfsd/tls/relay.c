/* SPDX-License-Identifier: ISC */
/*
 * Moves bytes between client and worker. All sessions share the buffers. A
 * session owns memory only for bytes that one side has not taken yet, and then
 * reads no more for that side. Bytes that OpenSSL has read but not returned
 * raise no event, so what has arrived is decrypted to its end. A read that
 * returns less than it could tells that nothing is left, without another call.
 * Runs in: nfsd tls.
 */
#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>

#include "base/clock.h"
#include "base/util.h"
#include "nfsd/tls/session.h"

#define TURNS	      8 /* then other sessions run */
#define SHAKE_MAX     (128 * 1024) /* bytes of a handshake */
#define READ_MAX      (256 * 1024) /* bytes of a client; then others run */
#define UPDATES_MAX   64 /* KeyUpdates among them; each costs 10 us */
#define SHORT	      4096 /* bytes moved at once when much is kept */
#define CLOSE_SECONDS 10 /* for a client to read the last bytes */

static void
bytes_clear(struct tls_session *s, struct tls_bytes *b)
{
	s->server->kept -= b->len;
	free(b->buf);
	memset(b, 0, sizeof(*b));
}

/* Appends. Returns false if there is no memory. */
static bool
bytes_add(struct tls_session *s, struct tls_bytes *b, const uint8_t *data,
    size_t len)
{
	uint8_t *buf = realloc(b->buf, b->len + len);

	if (buf == NULL)
		return false;
	b->buf = buf;
	memcpy(buf + b->len, data, len);
	b->len += len;
	s->server->kept += len;
	return true;
}

/* Sends what waits. Returns false if the socket is broken. */
static bool
bytes_send(struct tls_session *s, struct tls_bytes *b, int fd)
{
	ssize_t n;

	if (b->buf == NULL)
		return true;
	n = send(fd, b->buf + b->at, b->len - b->at,
	    MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n == -1)
		return errno == EAGAIN || errno == EINTR;
	b->at += (size_t)n;
	if (b->at == b->len)
		bytes_clear(s, b);
	return true;
}

/* Sends data and keeps the rest. Nothing may be waiting. */
static bool
send_or_keep(struct tls_session *s, struct tls_bytes *b, int fd,
    const uint8_t *data, size_t len)
{
	ssize_t n = send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n == -1 && errno != EAGAIN && errno != EINTR)
		return false;
	if (n == -1)
		n = 0;
	return (size_t)n == len || bytes_add(s, b, data + n, len - (size_t)n);
}

/* OpenSSL writes: collected, and sent by tls_relay_flush(). */
static int
bio_write(BIO *bio, const char *data, int len)
{
	struct tls_session *s = BIO_get_data(bio);
	struct tls_server *server = s->server;
	const uint8_t *bytes = (const uint8_t *)data;
	size_t n = len < 0 ? 0 : (size_t)len;

	BIO_clear_retry_flags(bio);
	/* Answers to KeyUpdates of a client that reads nothing. */
	if (s->wire.buf != NULL)
		return n <= 2 * TLS_WIRE - s->wire.len &&
			bytes_add(s, &s->wire, bytes, n) ?
		    len :
		    -1;
	if (n > sizeof(server->wire) - server->wire_len)
		return -1; /* more than one turn can make */
	memcpy(server->wire + server->wire_len, bytes, n);
	server->wire_len += n;
	return len;
}

/* OpenSSL reads. */
static int
bio_read(BIO *bio, char *data, int len)
{
	struct tls_session *s = BIO_get_data(bio);
	size_t *budget = &s->server->budget;
	ssize_t n;

	BIO_clear_retry_flags(bio);
	if (len <= 0 || s->updates > UPDATES_MAX ||
	    (s->state == TLS_SHAKING && s->shaken > SHAKE_MAX))
		return -1;
	if (s->state != TLS_SHAKING && (*budget == 0 || s->drained)) {
		BIO_set_retry_read(bio);
		return -1;
	}
	n = recv(s->net, data, (size_t)len, MSG_DONTWAIT);
	s->drained = n < len;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(bio);
	if (n > 0) {
		s->shaken += (size_t)n;
		*budget -= (size_t)n < *budget ? (size_t)n : *budget;
	}
	return (int)n;
}

static long
bio_ctrl(BIO *bio UNUSED, int cmd, long num UNUSED, void *ptr UNUSED)
{
	return cmd == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD *
tls_relay_bio(void)
{
	BIO_METHOD *m =
	    BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tern");

	if (m != NULL &&
	    (BIO_meth_set_write(m, bio_write) != 1 ||
		BIO_meth_set_read(m, bio_read) != 1 ||
		BIO_meth_set_ctrl(m, bio_ctrl) != 1)) {
		BIO_meth_free(m);
		m = NULL;
	}
	return m;
}

bool
tls_relay_flush(struct tls_session *s)
{
	struct tls_server *server = s->server;
	size_t len = server->wire_len;

	server->wire_len = 0;
	if (s->wire.buf != NULL)
		return bytes_send(s, &s->wire, s->net);
	return len == 0 || send_or_keep(s, &s->wire, s->net, server->wire, len);
}

/* How much may be moved at once? */
static size_t
portion(const struct tls_server *server)
{
	return server->kept < TLS_KEPT_MAX ? TLS_PLAIN : SHORT;
}

/*
 * Decrypts what the client has sent, and gives it to the worker. Sets s->in if
 * there may be more. Returns false if the session must end.
 */
static bool
run_in(struct tls_session *s)
{
	struct tls_server *server = s->server;
	size_t len = 0, room = portion(server);
	int n = 1, error = SSL_ERROR_NONE;

	s->in = false;
	if (!bytes_send(s, &s->plain, s->pair))
		return false;
	if (s->plain.buf != NULL || s->half_closed)
		return true;
	ERR_clear_error();
	while (len < room && n > 0) {
		n = SSL_read(s->ssl, server->plain + len, (int)(room - len));
		if (n > 0)
			len += (size_t)n;
		else
			error = SSL_get_error(s->ssl, n);
	}
	s->in = len == room || server->budget == 0;
	if (!tls_relay_flush(s) ||
	    (len > 0 &&
		!send_or_keep(s, &s->plain, s->pair, server->plain, len)))
		return false;
	s->half_closed = error == SSL_ERROR_ZERO_RETURN;
	return error == SSL_ERROR_NONE || error == SSL_ERROR_WANT_READ ||
	    error == SSL_ERROR_ZERO_RETURN;
}

/* Tells the worker that the client sends no more. Its replies still go out. */
static void
pass_half_close(struct tls_session *s)
{
	if (s->half_closed && s->plain.buf == NULL)
		(void)shutdown(s->pair, SHUT_WR);
}

/* The same for what the worker has written; sets s->out. */
static bool
run_out(struct tls_session *s)
{
	struct tls_server *server = s->server;
	size_t room = portion(server);
	ssize_t n;

	s->out = false;
	if (!bytes_send(s, &s->wire, s->net))
		return false;
	if (s->wire.buf != NULL)
		return true;
	n = recv(s->pair, server->plain, room, MSG_DONTWAIT);
	if (n == -1)
		return errno == EAGAIN || errno == EINTR;
	ERR_clear_error();
	if (n == 0) {
		s->state = TLS_CLOSING;
		(void)SSL_shutdown(s->ssl);
		return tls_relay_flush(s);
	}
	s->out = (size_t)n == room;
	/* The collecting buffer takes all of it: a short write is an error. */
	for (size_t at = 0; at < (size_t)n;) {
		int w = SSL_write(s->ssl, server->plain + at,
		    (int)((size_t)n - at));

		if (w <= 0)
			return false;
		at += (size_t)w;
	}
	return tls_relay_flush(s);
}

static bool
want(struct event *ev, bool yes)
{
	if (yes && !event_pending(ev, EV_READ | EV_WRITE, NULL))
		return event_add(ev, NULL) == 0;
	if (!yes)
		(void)event_del(ev);
	return true;
}

/* Only the last bytes for the client are left. Returns false if none are. */
static bool
run_closing(struct tls_session *s)
{
	const struct timeval patience = { .tv_sec = CLOSE_SECONDS };
	uint64_t now = clock_coarse_ms();

	if (s->close_by == 0)
		s->close_by = now + CLOSE_SECONDS * 1000;
	if (now > s->close_by || !bytes_send(s, &s->wire, s->net) ||
	    s->wire.buf == NULL)
		return false;
	(void)event_del(&s->net_in);
	(void)event_del(&s->pair_in);
	(void)event_del(&s->pair_out);
	return event_add(&s->net_out, &patience) == 0;
}

bool
tls_relay_run(struct tls_session *s)
{
	int turn;

	s->server->budget = READ_MAX;
	s->updates = 0;
	s->drained = false;
	for (turn = 0;
	     turn < TURNS && (s->in || s->out) && s->state == TLS_RELAYED;
	     turn++)
		if ((s->in && !run_in(s)) || (s->out && !run_out(s)))
			return false;
	if (s->state == TLS_CLOSING)
		return run_closing(s);
	pass_half_close(s);
	/* Other sessions first; then it goes on without an event. */
	if (s->in || s->out)
		event_active(&s->net_in, 0, 1);
	return want(&s->net_in, s->plain.buf == NULL && !s->half_closed) &&
	    want(&s->pair_out, s->plain.buf != NULL) &&
	    want(&s->pair_in, s->wire.buf == NULL) &&
	    want(&s->net_out, s->wire.buf != NULL);
}

void
tls_relay_clear(struct tls_session *s)
{
	bytes_clear(s, &s->plain);
	bytes_clear(s, &s->wire);
}
