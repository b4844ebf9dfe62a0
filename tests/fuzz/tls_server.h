/* SPDX-License-Identifier: ISC */
/*
 * A tls role without its process, and the worker that it answers. No client of a
 * fuzzer can finish a handshake: worker_hears() says so.
 * Runs in: fuzzers, and the replay of their corpora; test_tls_relay.c.
 */
#ifndef FUZZ_TLS_SERVER_H
#define FUZZ_TLS_SERVER_H

#include <sys/mman.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/ipc.h"
#include "nfsd/tls/session.h"

/* A key and a certificate that signs itself, as files. */
static inline void
make_files(int fds[TLS_FILES])
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	BIO *cert_text = BIO_new(BIO_s_mem()), *key_text = BIO_new(BIO_s_mem());
	X509 *cert = X509_new();
	char *text;
	long n;

	(void)X509_set_version(cert, 2);
	(void)ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
	(void)X509_gmtime_adj(X509_getm_notBefore(cert), 0);
	(void)X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
	(void)X509_set_pubkey(cert, key);
	if (X509_sign(cert, key, EVP_sha256()) == 0 ||
	    PEM_write_bio_X509(cert_text, cert) != 1 ||
	    PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL,
		NULL) != 1)
		abort();
	fds[TLS_CERT] = fds[TLS_CA] = memfd_create("cert", MFD_CLOEXEC);
	fds[TLS_KEY] = memfd_create("key", MFD_CLOEXEC);
	fds[TLS_CRL] = -1;
	n = BIO_get_mem_data(cert_text, &text);
	if (write(fds[TLS_CERT], text, (size_t)n) != n)
		abort();
	n = BIO_get_mem_data(key_text, &text);
	if (write(fds[TLS_KEY], text, (size_t)n) != n)
		abort();
	BIO_free(cert_text);
	BIO_free(key_text);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static inline struct tls_server *
make_server(struct event_base *base, bool kernel)
{
	struct tls_server *server = tls_server_new(base, kernel);
	struct tls_context context;
	int fds[TLS_FILES];

	make_files(fds);
	if (tls_context_load(&context, fds) != NULL)
		abort();
	tls_server_use(server, &context);
	close(fds[TLS_CERT]);
	close(fds[TLS_KEY]);
	return server;
}

struct fuzz_worker {
	struct event_base *base;
	struct tls_server *server;
	int channel[2]; /* of the role, of the worker */
	unsigned int begun, verdicts;
};

static inline void
worker_connect(struct fuzz_worker *w)
{
	if (ipc_pair(w->channel) == -1)
		abort();
	(void)fcntl(w->channel[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(w->channel[1], F_SETFL, O_NONBLOCK);
	tls_server_connect(w->server, w->channel[0]);
}

static inline void
worker_says(struct fuzz_worker *w, uint32_t type, const void *data, size_t len,
    const int *fds, size_t nfds)
{
	const char *why;

	if (ipc_send(w->channel[1], type, data, len, fds, nfds) != -1 &&
	    ipc_serve(w->channel[0], &tls_server_messages, w->server, &why) ==
		1 &&
	    type == TLS_BEGIN)
		w->begun++;
}

/* Hands over a connection whose client sends the bytes. Returns the client. */
static inline int
worker_begins(struct fuzz_worker *w, uint64_t id, const uint8_t *data,
    size_t len)
{
	const struct tls_connection m = { .id = id };
	int net[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, net) == -1)
		abort();
	worker_says(w, TLS_BEGIN, &m, sizeof(m), &net[0], 1);
	close(net[0]);
	(void)!send(net[1], data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	return net[1];
}

/* Runs the role. It makes no session, and one verdict for each connection. */
static inline void
worker_hears(struct fuzz_worker *w)
{
	struct tls_verdict v;
	uint32_t type;
	int fd;
	size_t nfds = 1;

	(void)event_base_loop(w->base, EVLOOP_NONBLOCK);
	while (ipc_receive(w->channel[1], &type, &v, sizeof(v), &fd, &nfds) !=
	    -1) {
		if (type != TLS_VERDICT || v.failure == TLS_DONE || nfds != 0 ||
		    ++w->verdicts > w->begun)
			abort();
		nfds = 1;
	}
}

/* Nothing may be left. */
static inline void
worker_ends(struct fuzz_worker *w)
{
	tls_server_connect(w->server, -1);
	if (!LIST_EMPTY(&w->server->all) || w->server->kept != 0)
		abort();
	close(w->channel[1]);
}

#endif
