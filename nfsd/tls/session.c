/* SPDX-License-Identifier: ISC */
/*
 * Handshakes and verdicts: see session.h. The worker keeps the time of a
 * handshake and says when it is over.
 * Runs in: nfsd tls.
 */
#include <sys/socket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include "base/log.h"
#include "base/util.h"
#include "nfsd/tls/certificate.h"
#include "nfsd/tls/session.h"

#define PAIR_ROOM (512 * 1024) /* bytes between role and worker */
#define DRAIN_MAX (256 * 1024) /* bytes read away before a refused one closes */

static void
session_free(struct tls_session *s)
{
	LIST_REMOVE(s, by_id);
	LIST_REMOVE(s, all);
	s->server->wire_len = 0; /* never for another client */
	(void)event_del(&s->net_in);
	(void)event_del(&s->net_out);
	if (s->pair != -1) {
		(void)event_del(&s->pair_in);
		(void)event_del(&s->pair_out);
		close(s->pair);
	}
	if (s->net != -1)
		close(s->net);
	SSL_free(s->ssl);
	X509_free(s->cert);
	sk_X509_pop_free(s->chain, X509_free);
	OPENSSL_cleanse(&s->secrets, sizeof(s->secrets));
	tls_records_clear(&s->records);
	tls_relay_clear(s);
	free(s);
}

static struct tls_session *
session_find(struct tls_server *server, uint64_t id)
{
	struct tls_session *s;

	LIST_FOREACH (s, &server->ids[id % TLS_SESSION_IDS], by_id)
		if (s->id == id)
			break;
	return s;
}

static void
send_verdict(struct tls_session *s, enum tls_failure failure, const char *why,
    int fd)
{
	struct tls_verdict v = { .id = s->id, .failure = failure };

	(void)snprintf(v.why, sizeof(v.why), "%s", why);
	v.identity.security = s->cert == NULL ? PEER_TLS : PEER_MTLS;
	if (s->cert != NULL)
		tls_certificate_read(&v.identity, s->cert);
	if (ipc_send(s->server->channel, TLS_VERDICT, &v, sizeof(v), &fd,
		fd == -1 ? 0 : 1) == -1)
		log_debug("worker: cannot be told of a handshake");
}

/*
 * A client that is refused after its own last message has begun to send calls.
 * Unread, they would make close(2) reset the connection, and the alert would be
 * lost.
 */
static void
drain(struct tls_session *s)
{
	size_t left = DRAIN_MAX;
	ssize_t n;

	do {
		n = recv(s->net, s->server->plain, sizeof(s->server->plain),
		    MSG_DONTWAIT);
		left -= n > 0 ? (size_t)n : 0;
	} while (n > 0 && left >= sizeof(s->server->plain));
}

static void
session_fail(struct tls_session *s, enum tls_failure failure, const char *why)
{
	(void)tls_relay_flush(s); /* the alert */
	drain(s);
	send_verdict(s, failure, why, -1);
	session_free(s);
}

/* Finds out why OpenSSL gave up. */
static void
session_explain(struct tls_session *s, int error)
{
	unsigned long code = ERR_peek_last_error();
	int reason =
	    ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;

	if (s->cert_error != NULL)
		session_fail(s, TLS_BAD_CERTIFICATE, s->cert_error);
	else if (error == SSL_ERROR_SYSCALL ||
	    reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		session_fail(s, TLS_BAD_PEER,
		    "the client has closed the connection");
	else if (reason >= SSL_AD_REASON_OFFSET)
		session_fail(s, TLS_BAD_PEER, tls_error("alert"));
	else
		session_fail(s, TLS_BAD_PROTOCOL, tls_error("no TLS"));
}

/* Only the direction that can move is run. */
static void
relay_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct tls_session *s = arg;
	short in = (int)fd == s->net ? EV_READ : EV_WRITE;

	s->in = s->in || (what & in) != 0;
	s->out = s->out || (what & (EV_READ | EV_WRITE) & ~in) != 0;
	if ((what & EV_TIMEOUT) != 0 || !tls_relay_run(s))
		session_free(s);
}

static void
watch(struct tls_session *s, struct event *ev, int fd, short what,
    event_callback_fn run)
{
	(void)event_assign(ev, s->server->base, fd, what | EV_PERSIST, run, s);
}

/* The handshake is over: only the keys and the certificate are kept. */
static void
forget_handshake(struct tls_session *s)
{
	OPENSSL_cleanse(&s->secrets, sizeof(s->secrets));
	(void)event_del(&s->net_in);
	(void)event_del(&s->net_out);
	SSL_free(s->ssl);
	s->ssl = NULL;
}

/* OpenSSL agrees if a client asks for shorter records (RFC 6066, 4). */
static size_t
longest_content(const struct tls_session *s)
{
	uint8_t mode =
	    SSL_SESSION_get_max_fragment_length(SSL_get_session(s->ssl));

	return mode >= TLSEXT_max_fragment_length_512 &&
		mode <= TLSEXT_max_fragment_length_4096 ?
	    (size_t)256 << mode :
	    TLS_RECORD_PLAIN;
}

/*
 * The worker gets one end of a socket pair, and the session relays. What
 * its room does not take of a reply, the worker must keep and copy.
 */
static void
begin_relay(struct tls_session *s, uint16_t suite)
{
	const int most = PAIR_ROOM;
	int pair[2];

	if (!tls_records_init(&s->records, suite, &s->secrets)) {
		session_fail(s, TLS_BAD_HERE, "no keys for this cipher");
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		pair) == -1) {
		session_fail(s, TLS_BAD_HERE, "no socket pair");
		return;
	}
	s->records.most = longest_content(s);
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
	(void)setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
	forget_handshake(s);
	s->state = TLS_RELAYED;
	s->pair = pair[0];
	watch(s, &s->net_in, s->net, EV_READ, relay_on_event);
	watch(s, &s->net_out, s->net, EV_WRITE, relay_on_event);
	watch(s, &s->pair_in, s->pair, EV_READ, relay_on_event);
	watch(s, &s->pair_out, s->pair, EV_WRITE, relay_on_event);
	send_verdict(s, TLS_DONE, "", pair[1]);
	close(pair[1]);
	if (!tls_relay_run(s))
		session_free(s);
}

/* The kernel gets the keys. Only the certificate is kept here. */
static void
begin_kernel(struct tls_session *s, uint16_t suite)
{
	const char *why;

	if (s->wire.buf != NULL)
		why = "kernel TLS: the client does not read";
	else if (longest_content(s) < TLS_RECORD_PLAIN)
		why = "kernel TLS: the client wants short records";
	else
		why = tls_kernel_install(s->net, suite, &s->secrets);
	if (why != NULL) {
		session_fail(s, TLS_BAD_HERE, why);
		return;
	}
	forget_handshake(s);
	send_verdict(s, TLS_DONE, "", -1);
	close(s->net);
	s->net = -1;
	s->state = TLS_IN_KERNEL;
	if (s->cert == NULL) /* there is nothing to verify again */
		session_free(s);
}

/* The kernel or the relay begins with record 0, both ways. */
static void
begin_session(struct tls_session *s)
{
	uint16_t suite =
	    (uint16_t)SSL_CIPHER_get_id(SSL_get_current_cipher(s->ssl));

	if (SSL_has_pending(s->ssl))
		session_fail(s, TLS_BAD_HERE,
		    "the handshake left bytes behind");
	else if (s->server->kernel)
		begin_kernel(s, suite);
	else
		begin_relay(s, suite);
}

/* The files have changed since it began: they judge the certificate too. */
static bool
is_refused_now(struct tls_session *s)
{
	const char *why = NULL;

	if (s->cert != NULL &&
	    SSL_get_SSL_CTX(s->ssl) != s->server->context.ctx)
		why =
		    tls_context_verify(&s->server->context, s->cert, s->chain);
	if (why != NULL)
		session_fail(s, TLS_BAD_CERTIFICATE, why);
	return why != NULL;
}

static void
on_handshake(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct tls_session *s = arg;
	int n, error;

	ERR_clear_error();
	n = SSL_do_handshake(s->ssl);
	error = n == 1 ? SSL_ERROR_NONE : SSL_get_error(s->ssl, n);
	if (error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ) {
		session_explain(s, error);
		return;
	}
	if (!tls_relay_flush(s)) {
		session_fail(s, TLS_BAD_PEER,
		    "the client has closed the connection");
		return;
	}
	if (s->wire.buf != NULL)
		(void)event_add(&s->net_out, NULL);
	else
		(void)event_del(&s->net_out);
	if (error == SSL_ERROR_WANT_READ)
		return;
	if (!is_refused_now(s))
		begin_session(s);
}

/* Remembers the certificate, to be verified again, and what is wrong with it. */
static int
on_verify(X509_STORE_CTX *x, void *arg UNUSED)
{
	SSL *ssl =
	    X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls_session *s = SSL_get_app_data(ssl);
	X509 *cert = X509_STORE_CTX_get0_cert(x);

	if (s->cert == NULL && X509_up_ref(cert) == 1) {
		s->cert = cert;
		s->chain = X509_chain_up_ref(X509_STORE_CTX_get0_untrusted(x));
	}
	s->cert_error = tls_context_check(x);
	return s->cert_error == NULL;
}

static void
on_secret(const SSL *ssl, const char *line)
{
	struct tls_session *s = SSL_get_app_data(ssl);

	tls_secrets_note(&s->secrets, line);
}

static bool
session_prepare(struct tls_session *s)
{
	BIO *bio = BIO_new(s->server->bio);

	s->ssl = SSL_new(s->server->context.ctx);
	if (s->ssl == NULL || bio == NULL) {
		BIO_free(bio);
		return false;
	}
	BIO_set_data(bio, s);
	BIO_set_init(bio, 1);
	SSL_set_bio(s->ssl, bio, bio);
	SSL_set_accept_state(s->ssl);
	SSL_set_read_ahead(s->ssl, 0); /* what follows is not for OpenSSL */
	(void)SSL_set_app_data(s->ssl, s);
	return true;
}

/* Begins a handshake. Takes over fd. */
static void
session_begin(struct tls_server *server, uint64_t id, int fd)
{
	struct tls_session *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		close(fd); /* the worker's time ends it */
		return;
	}
	s->server = server;
	s->id = id;
	s->net = fd;
	s->pair = -1;
	LIST_INSERT_HEAD(&server->ids[id % TLS_SESSION_IDS], s, by_id);
	LIST_INSERT_HEAD(&server->all, s, all);
	watch(s, &s->net_in, fd, EV_READ, on_handshake);
	watch(s, &s->net_out, fd, EV_WRITE, on_handshake);
	if (server->context.ctx == NULL)
		session_fail(s, TLS_BAD_HERE, "no certificate is loaded");
	else if (!session_prepare(s) || event_add(&s->net_in, NULL) == -1)
		session_fail(s, TLS_BAD_HERE, "out of memory");
}

static void
on_begin(void *arg, struct ipc_message *m)
{
	struct tls_connection in;

	memcpy(&in, m->data, sizeof(in));
	session_begin(arg, in.id, m->fds[0]);
	m->fds[0] = -1;
}

/* The worker has closed this connection. */
static void
on_ended(void *arg, struct ipc_message *m)
{
	struct tls_connection in;
	struct tls_session *s;

	memcpy(&in, m->data, sizeof(in));
	s = session_find(arg, in.id);
	/* A relayed one has time for its last bytes. */
	if (s != NULL && (s->pair == -1 || !tls_relay_end(s)))
		session_free(s);
}

/* clang-format off */
static const struct ipc_row rows[TLS_MESSAGES] = {
	[TLS_BEGIN] = { "begin", sizeof(struct tls_connection), sizeof(struct tls_connection), 1, 1, on_begin },
	[TLS_ENDED] = { "ended", sizeof(struct tls_connection), sizeof(struct tls_connection), 0, 0, on_ended },
};
/* clang-format on */

const struct ipc_table tls_server_messages = { rows, nitems(rows) };

void
tls_server_connect(struct tls_server *server, int channel)
{
	while (!LIST_EMPTY(&server->all))
		session_free(LIST_FIRST(&server->all));
	if (server->channel != -1)
		close(server->channel);
	server->channel = channel;
}

/* Ends the connections whose certificate the new files refuse. */
static void
verify_again(struct tls_server *server)
{
	struct tls_session *s, *next;
	struct tls_revoked m;
	const char *why;

	for (s = LIST_FIRST(&server->all); s != NULL; s = next) {
		next = LIST_NEXT(s, all);
		if (s->cert == NULL || s->state == TLS_SHAKING)
			continue;
		why = tls_context_verify(&server->context, s->cert, s->chain);
		if (why == NULL)
			continue;
		m = (struct tls_revoked){ .id = s->id };
		(void)snprintf(m.why, sizeof(m.why), "%s", why);
		(void)ipc_send(server->channel, TLS_REVOKED, &m, sizeof(m),
		    NULL, 0);
		session_free(s);
	}
}

void
tls_server_use(struct tls_server *server, struct tls_context *context)
{
	tls_context_clear(&server->context);
	server->context = *context;
	memset(context, 0, sizeof(*context));
	if (server->context.store != NULL)
		SSL_CTX_set_cert_verify_callback(server->context.ctx, on_verify,
		    NULL);
	SSL_CTX_set_keylog_callback(server->context.ctx, on_secret);
	if (server->kernel)
		/* tls_kernel_works() has tried this cipher and no other. */
		(void)SSL_CTX_set_ciphersuites(server->context.ctx,
		    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384");
	verify_again(server);
}

struct tls_server *
tls_server_new(struct event_base *base, bool kernel)
{
	struct tls_server *server = calloc(1, sizeof(*server));

	if (server == NULL || (server->bio = tls_relay_bio()) == NULL)
		fatalx("TLS: out of memory");
	server->base = base;
	server->kernel = kernel;
	server->channel = -1;
	return server;
}
