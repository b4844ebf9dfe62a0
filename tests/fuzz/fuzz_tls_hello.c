/* SPDX-License-Identifier: ISC */
/*
 * Any bytes of a client through the tls role, in place of a handshake. There is
 * one verdict for them at most, and it never says that there is a session.
 * Links: nfsd
 * Runs in: fuzzers, and the replay of their corpora.
 */
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

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* A key and a certificate that signs itself, as files. */
static void
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

static struct tls_server *
make_server(struct event_base *base)
{
	struct tls_server *server = tls_server_new(base, false);
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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct event_base *base;
	static struct tls_server *server;
	struct tls_verdict verdict;
	int net[2], channel[2];
	uint32_t type;

	if (base == NULL) {
		base = event_base_new();
		server = make_server(base);
	}
	if (len > 65536 || ipc_pair(channel) == -1 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, net) == -1)
		return 0;
	(void)fcntl(channel[1], F_SETFL, O_NONBLOCK);
	tls_server_connect(server, channel[0]);
	tls_server_begin(server, 7, net[0]);
	if (send(net[1], data, len, MSG_NOSIGNAL | MSG_DONTWAIT) == -1)
		len = 0;
	(void)shutdown(net[1], SHUT_WR);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	while (ipc_receive(channel[1], &type, &verdict, sizeof(verdict), NULL,
		   NULL) != -1)
		if (type != TLS_VERDICT || verdict.failure == TLS_DONE ||
		    verdict.id != 7)
			abort();
	tls_server_connect(server, -1);
	close(channel[1]);
	close(net[1]);
	return 0;
}
