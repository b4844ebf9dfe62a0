/* SPDX-License-Identifier: ISC */
/*
 * Moves bytes between client and worker. All sessions share the buffers. A
 * session owns memory only for a record that has not arrived whole, and for
 * bytes that one side has not taken yet, and then reads no more for that side. A
 * read that returns less than it could tells that nothing is left, without
 * another call.
 * Runs in: nfsd tls.
 */
#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "nfsd/tls/session.h"

#define TURNS	      2 /* of TLS_PLAIN bytes each way; then other sessions run */
#define SHAKE_MAX     (128 * 1024) /* bytes of a handshake */
#define IDLE_MAX      64 /* records without data in a row; a KeyUpdate costs 10 us */
#define SHORT	      4096 /* bytes moved at once when much is kept */
#define CLOSE_SECONDS 30 /* for a client to read the rest: 650 KiB at most */

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

/* OpenSSL writes its part of the handshake: sent by tls_relay_flush(). */
static int
bio_write(BIO *bio, const char *data, int len)
{
	const struct tls_session *s = BIO_get_data(bio);
	struct tls_server *server = s->server;
	size_t n = len < 0 ? 0 : (size_t)len;

	BIO_clear_retry_flags(bio);
	if (n > sizeof(server->wire) - server->wire_len)
		return -1; /* more than a handshake can be */
	memcpy(server->wire + server->wire_len, data, n);
	server->wire_len += n;
	return len;
}

/* OpenSSL reads that of the client. */
static int
bio_read(BIO *bio, char *data, int len)
{
	struct tls_session *s = BIO_get_data(bio);
	ssize_t n;

	BIO_clear_retry_flags(bio);
	if (len <= 0 || s->shaken > SHAKE_MAX)
		return -1;
	n = recv(s->net, data, (size_t)len, MSG_DONTWAIT);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(bio);
	if (n > 0)
		s->shaken += (size_t)n;
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
	if (s->wire.buf == NULL)
		return len == 0 ||
		    send_or_keep(s, &s->wire, s->net, server->wire, len);
	/* Answers to KeyUpdates of a client that reads nothing. */
	if (len > 0 &&
	    (len > 2 * TLS_WIRE - s->wire.len ||
		!bytes_add(s, &s->wire, server->wire, len)))
		return false;
	return bytes_send(s, &s->wire, s->net);
}

/* Returns where the next record for the client goes. */
static uint8_t *
wire_end(const struct tls_session *s)
{
	return s->server->wire + s->server->wire_len;
}

/* Counts the bytes of a record put there. Returns false if there are none. */
static bool
wire_add(struct tls_session *s, size_t n)
{
	s->server->wire_len += n;
	return n > 0;
}

/* The last record. Without it the session ends all the same. */
static void
wire_alert(struct tls_session *s, enum tls_alert alert)
{
	(void)wire_add(s,
	    tls_record_put_alert(&s->records, alert, wire_end(s)));
}

/*
 * Decrypts the records that have arrived whole, and keeps the rest. Sets the
 * bytes for the worker. Returns false if the session must end after them.
 */
static bool
decrypt(struct tls_session *s, size_t have, size_t *len)
{
	struct tls_server *server = s->server;
	size_t at = 0, taken, got;
	enum tls_got what;

	while ((what = tls_record_get(&s->records, server->in + at, have - at,
		    server->plain + *len, &taken, &got)) != TLS_GOT_PART) {
		at += taken;
		*len += got;
		s->idle = got > 0 ? 0 : s->idle + 1;
		if (got > 0)
			continue;
		if (what == TLS_GOT_CLOSE) {
			s->half_closed = true;
			return true;
		}
		if (what == TLS_GOT_BAD) {
			wire_alert(s, s->records.alert);
			return false;
		}
		if (s->idle > IDLE_MAX) {
			wire_alert(s, TLS_ALERT_UNEXPECTED_MESSAGE);
			return false;
		}
		if (what == TLS_GOT_UPDATE_ASKED &&
		    !wire_add(s,
			tls_record_put_update(&s->records, wire_end(s))))
			return false;
	}
	return at == have || bytes_add(s, &s->part, server->in + at, have - at);
}

/*
 * Decrypts what the client has sent, and gives it to the worker. Sets s->in if
 * there may be more. Returns false if the session must end.
 */
static bool
run_in(struct tls_session *s)
{
	struct tls_server *server = s->server;
	size_t part = s->part.len, len = 0,
	       room = server->kept < TLS_KEPT_MAX ? TLS_PLAIN : TLS_RECORD_MAX;
	ssize_t n;
	bool good;

	s->in = false;
	if (!bytes_send(s, &s->plain, s->pair))
		return false;
	if (s->plain.buf != NULL || s->half_closed)
		return true;
	n = recv(s->net, server->in + part, room - part, MSG_DONTWAIT);
	if (n == -1)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false; /* without close_notify */
	s->in = (size_t)n == room - part;
	if (part > 0)
		memcpy(server->in, s->part.buf, part);
	bytes_clear(s, &s->part);
	good = decrypt(s, part + (size_t)n, &len);
	return tls_relay_flush(s) &&
	    (len == 0 ||
		send_or_keep(s, &s->plain, s->pair, server->plain, len)) &&
	    good;
}

/* Tells the worker that the client sends no more. Its replies still go out. */
static void
pass_half_close(struct tls_session *s)
{
	if (s->half_closed && s->plain.buf == NULL)
		(void)shutdown(s->pair, SHUT_WR);
}

/* Encrypts bytes for the client. Returns false if that cannot be. */
static bool
encrypt(struct tls_session *s, const uint8_t *data, size_t n)
{
	size_t at, len;

	for (at = 0; at < n; at += len) {
		len = n - at;
		if (len > s->records.most)
			len = s->records.most;
		if (!wire_add(s,
			tls_record_put(&s->records, TLS_TYPE_DATA, data + at,
			    len, wire_end(s))))
			return false;
	}
	return true;
}

/*
 * Encrypts what the worker has written, and sends it. Sets s->out. With a key that
 * is worn the session ends, as if the client had closed: clients with kernel TLS
 * take no new key, but all connect again.
 */
static bool
run_out(struct tls_session *s)
{
	struct tls_server *server = s->server;
	size_t room = server->kept < TLS_KEPT_MAX ? TLS_PLAIN : SHORT;
	ssize_t n;

	s->out = false;
	if (!bytes_send(s, &s->wire, s->net))
		return false;
	if (s->wire.buf != NULL)
		return true;
	n = recv(s->pair, server->plain, room, MSG_DONTWAIT);
	if (n == -1 && errno != ECONNRESET)
		return errno == EAGAIN || errno == EINTR;
	if (n <= 0) { /* reset: it had not read all */
		s->state = TLS_CLOSING;
		wire_alert(s, TLS_ALERT_CLOSE_NOTIFY);
		return tls_relay_flush(s);
	}
	s->out = (size_t)n == room;
	if (!encrypt(s, server->plain, (size_t)n))
		return false;
	if (tls_records_worn(&s->records))
		s->half_closed = true;
	return tls_relay_flush(s);
}

static bool
want(struct event *ev, bool yes)
{
	bool waits = event_pending(ev, EV_READ | EV_WRITE, NULL) != 0;

	if (yes == waits)
		return true;
	return (yes ? event_add(ev, NULL) : event_del(ev)) == 0;
}

/* The client must read now, before the end if there is one. */
static bool
want_reader(struct tls_session *s)
{
	const struct timeval patience = { .tv_sec = CLOSE_SECONDS };

	if (s->close_by == 0 || s->wire.buf == NULL)
		return want(&s->net_out, s->wire.buf != NULL);
	return clock_coarse_ms() <= s->close_by &&
	    event_add(&s->net_out, &patience) == 0;
}

static void
set_end(struct tls_session *s)
{
	if (s->close_by == 0)
		s->close_by = clock_coarse_ms() + CLOSE_SECONDS * 1000;
}

/* Only the last bytes for the client are left. Returns false if none are. */
static bool
run_closing(struct tls_session *s)
{
	set_end(s);
	if (!bytes_send(s, &s->wire, s->net) || s->wire.buf == NULL)
		return false;
	(void)event_del(&s->net_in);
	(void)event_del(&s->pair_in);
	(void)event_del(&s->pair_out);
	return want_reader(s);
}

bool
tls_relay_run(struct tls_session *s)
{
	int turn;

	for (turn = 0;
	     turn < TURNS && (s->in || s->out) && s->state == TLS_RELAYED;
	     turn++)
		if ((s->in && !run_in(s)) || (s->out && !run_out(s)))
			return false;
	if (s->state == TLS_CLOSING)
		return run_closing(s);
	pass_half_close(s);
	/* What is left is in a socket, whose event comes after those of others. */
	return want(&s->net_in, s->plain.buf == NULL && !s->half_closed) &&
	    want(&s->pair_out, s->plain.buf != NULL) &&
	    want(&s->pair_in, s->wire.buf == NULL) && want_reader(s);
}

bool
tls_relay_end(struct tls_session *s)
{
	set_end(s);
	return tls_relay_run(s);
}

void
tls_relay_clear(struct tls_session *s)
{
	bytes_clear(s, &s->part);
	bytes_clear(s, &s->plain);
	bytes_clear(s, &s->wire);
}
