/* SPDX-License-Identifier: ISC */
/*
 * tls_records PORT: sends what other clients of the tests cannot: records of one
 * byte, KeyUpdates, half of a record, a half-closed connection, early data. Prints
 * a line for each case: 0 or 1, and what was expected.
 * Runs in: tests/system/72-tls-records.t.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/clock.h"

#define CALL	     44 /* a NULL call with its mark */
#define REPLY	     28
#define FLOOD	     400 /* writes; the server ends it at the last or before */
#define FEW	     50 /* KeyUpdates in a write, which the server permits */
#define MANY	     100 /* which it does not */
#define NEIGHBOUR_MS 5000 /* a call beside the flood */

static uint16_t port;
static SSL_CTX *ctx;

/* The case, if any, did not end in time. */
static void
on_alarm(int sig)
{
	static const char text[] = "1 a case does not end\n";

	(void)sig;
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

/* A NULL call of NFS 3 with this flavor of credential. */
static void
make_call(uint8_t out[CALL], uint32_t xid, uint32_t flavor)
{
	const uint32_t words[CALL / 4] = { 0x80000000 | (CALL - 4), xid, 0, 2,
		100003, 3, 0, flavor, 0, 0, 0 };
	size_t i;

	for (i = 0; i < CALL / 4; i++) {
		uint32_t word = htonl(words[i]);

		memcpy(out + i * 4, &word, sizeof(word));
	}
}

static int
dial(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd == -1 || connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1)
		err(1, "connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* A connection that was promised TLS. */
static SSL *
promised(void)
{
	uint8_t call[CALL], answer[36];
	int fd = dial();
	SSL *ssl = SSL_new(ctx);

	make_call(call, 1, 7);
	if (send(fd, call, sizeof(call), 0) != CALL ||
	    recv(fd, answer, sizeof(answer), MSG_WAITALL) != sizeof(answer) ||
	    memcmp(answer + 24, "STARTTLS", 8) != 0)
		errx(1, "no STARTTLS");
	if (ssl == NULL || SSL_set_fd(ssl, fd) != 1)
		errx(1, "no memory");
	return ssl;
}

/* A connection inside TLS. */
static SSL *
secure(void)
{
	SSL *ssl = promised();

	if (SSL_connect(ssl) != 1)
		errx(1, "no TLS");
	return ssl;
}

static void
end(SSL *ssl)
{
	close(SSL_get_fd(ssl));
	SSL_free(ssl);
	ERR_clear_error();
}

static bool
send_call(SSL *ssl, uint32_t xid)
{
	uint8_t call[CALL];

	make_call(call, xid, 0);
	return SSL_write(ssl, call, sizeof(call)) == CALL;
}

static bool
has_reply(SSL *ssl, uint32_t xid)
{
	uint8_t reply[REPLY];
	size_t at = 0;
	uint32_t got;
	int n;

	while (at < sizeof(reply)) {
		n = SSL_read(ssl, reply + at, (int)(sizeof(reply) - at));
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	memcpy(&got, reply + 4, sizeof(got));
	return ntohl(got) == xid;
}

/* Does the server end the connection, and with which word? */
static int
ending(SSL *ssl)
{
	char byte;
	int n = SSL_read(ssl, &byte, 1);

	return n > 0 ? -1 : SSL_get_error(ssl, n);
}

static void
report(bool good, const char *what)
{
	printf("%d %s\n", !good, what);
	(void)fflush(stdout);
}

static void
case_one_byte(void)
{
	SSL *ssl = secure();
	uint8_t call[CALL];
	bool good = true;
	size_t i;

	make_call(call, 2, 0);
	for (i = 0; i < sizeof(call); i++)
		good = good && SSL_write(ssl, call + i, 1) == 1;
	report(good && has_reply(ssl, 2), "a call in records of one byte");
	end(ssl);
}

static void
case_update(void)
{
	static const int kinds[] = { SSL_KEY_UPDATE_NOT_REQUESTED,
		SSL_KEY_UPDATE_REQUESTED };
	SSL *ssl = secure();
	bool good = true;
	uint32_t i;

	for (i = 0; i < 40; i++)
		good = good && SSL_key_update(ssl, kinds[i % 2]) == 1 &&
		    send_call(ssl, 100 + i) && has_reply(ssl, 100 + i);
	report(good, "40 KeyUpdates of both kinds, a call after each");
	end(ssl);
}

/* So many at once that one read of the server gets them all. */
static bool
send_updates(SSL *ssl, int kind, int count)
{
	BIO *to = SSL_get_wbio(ssl);
	char *bytes;
	bool sent;
	long n;

	for (; count > 0; count--)
		if (SSL_key_update(ssl, kind) != 1 ||
		    SSL_do_handshake(ssl) != 1)
			errx(1, "no KeyUpdate");
	n = BIO_get_mem_data(to, &bytes);
	sent = send(SSL_get_rfd(ssl), bytes, (size_t)n, 0) == n;
	(void)BIO_reset(to);
	return sent;
}

/* Reads nothing until the last write. Exits when the server has closed. */
static void
flood(int kind)
{
	SSL *ssl = secure();
	char bytes[4096];
	uint32_t i;

	SSL_set0_wbio(ssl, BIO_new(BIO_s_mem()));
	for (i = 1; i < FLOOD && send_updates(ssl, kind, FEW); i++)
		;
	(void)send_updates(ssl, kind, MANY);
	while (recv(SSL_get_rfd(ssl), bytes, sizeof(bytes), 0) > 0)
		;
	_exit(0);
}

static void
case_flood(int kind, const char *what)
{
	SSL *ssl = secure();
	uint64_t began, longest = 0;
	bool good = true;
	int status = -1;
	uint32_t xid;
	pid_t child = fork();

	if (child == 0)
		flood(kind);
	for (xid = 1; waitpid(child, &status, WNOHANG) == 0; xid++) {
		began = clock_ms();
		good = good && send_call(ssl, xid) && has_reply(ssl, xid);
		if (clock_ms() - began > longest)
			longest = clock_ms() - began;
	}
	report(WIFEXITED(status) && WEXITSTATUS(status) == 0, what);
	report(good && send_call(ssl, xid) && has_reply(ssl, xid) &&
		longest < NEIGHBOUR_MS,
	    "and its neighbour is served meanwhile");
	end(ssl);
}

static void
case_half_close(void)
{
	SSL *ssl = secure();
	bool good = send_call(ssl, 3) && send_call(ssl, 4) &&
	    SSL_shutdown(ssl) == 0; /* close_notify is sent, none came yet */

	report(good && has_reply(ssl, 3) && has_reply(ssl, 4),
	    "calls before close_notify are answered after it");
	report(ending(ssl) == SSL_ERROR_ZERO_RETURN,
	    "then the server says close_notify too");
	end(ssl);
}

static void
case_server_closes(void)
{
	static const uint8_t mark[4] = { 0xff, 0xff, 0xff, 0xff };
	SSL *ssl = secure();

	report(SSL_write(ssl, mark, sizeof(mark)) == sizeof(mark) &&
		ending(ssl) == SSL_ERROR_ZERO_RETURN,
	    "a bad record mark: the server closes with close_notify");
	end(ssl);
}

/* Sends half of the record that holds a call, and then FIN. */
static void
case_truncated(void)
{
	SSL *ssl = secure();
	BIO *to = BIO_new(BIO_s_mem());
	uint8_t record[256], byte;
	int fd = SSL_get_fd(ssl), n;
	bool good;

	SSL_set0_wbio(ssl, to);
	good = send_call(ssl, 5);
	n = BIO_read(to, record, sizeof(record));
	good = good && n > CALL &&
	    send(fd, record, (size_t)n / 2, 0) == n / 2 &&
	    shutdown(fd, SHUT_WR) == 0;
	/* What comes is no data: an alert at most, then the end. */
	report(good && SSL_read(ssl, &byte, 1) <= 0,
	    "half a record and FIN: no answer, the connection ends");
	close(fd);
	SSL_free(ssl);
	ERR_clear_error();
}

/* A call in a record of TLS whose last byte was changed on the way. */
static void
case_altered(void)
{
	SSL *ssl = secure();
	BIO *to = BIO_new(BIO_s_mem());
	uint8_t record[256], byte;
	int fd = SSL_get_fd(ssl), n;
	bool good;

	SSL_set0_wbio(ssl, to);
	good = send_call(ssl, 6);
	n = BIO_read(to, record, sizeof(record));
	record[n > 0 ? n - 1 : 0] ^= 1;
	good = good && n > CALL && send(fd, record, (size_t)n, 0) == n;
	report(good && SSL_read(ssl, &byte, 1) <= 0,
	    "an altered record: no answer, the connection ends");
	close(fd);
	SSL_free(ssl);
	ERR_clear_error();
}

/* Pretends that an earlier session permits early data. */
static int
old_session(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *len,
    SSL_SESSION **out)
{
	static const unsigned char suite[] = { 0x13, 0x01 }, name[] = "old",
				   secret[32] = { 1 };
	SSL_SESSION *old = SSL_SESSION_new();

	(void)md;
	if (old == NULL ||
	    SSL_SESSION_set1_master_key(old, secret, sizeof(secret)) != 1 ||
	    SSL_SESSION_set_cipher(old, SSL_CIPHER_find(ssl, suite)) != 1 ||
	    SSL_SESSION_set_protocol_version(old, TLS1_3_VERSION) != 1 ||
	    SSL_SESSION_set_max_early_data(old, 16384) != 1)
		errx(1, "no session");
	*id = name;
	*len = sizeof(name) - 1;
	*out = old;
	return 1;
}

/* The first reply is that of the call after the handshake. */
static void
case_early(void)
{
	SSL *ssl = promised();
	uint8_t call[CALL];
	size_t n = 0;
	bool good;

	SSL_set_psk_use_session_callback(ssl, old_session);
	make_call(call, 7, 0);
	good = SSL_write_early_data(ssl, call, sizeof(call), &n) == 1 &&
	    n == CALL && SSL_connect(ssl) == 1;
	report(good &&
		SSL_get_early_data_status(ssl) == SSL_EARLY_DATA_REJECTED,
	    "early data is refused, as is the session that it claims");
	report(good && SSL_session_reused(ssl) == 0 && send_call(ssl, 8) &&
		has_reply(ssl, 8),
	    "a call in it is not done, one after the handshake is");
	end(ssl);
}

int
main(int argc, char *argv[])
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN },
			       late = { .sa_handler = on_alarm };
	const char *why = NULL;

	if (argc == 2)
		port = (uint16_t)strtonum(argv[1], 1, UINT16_MAX, &why);
	if (argc != 2 || why != NULL)
		errx(1, "usage: tls_records PORT");
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)sigaction(SIGALRM, &late, NULL);
	(void)alarm(120);
	ctx = SSL_CTX_new(TLS_client_method());
	if (ctx == NULL)
		errx(1, "no memory");
	case_one_byte();
	case_update();
	case_half_close();
	case_server_closes();
	case_truncated();
	case_altered();
	case_early();
	case_flood(SSL_KEY_UPDATE_NOT_REQUESTED,
	    "a flood of KeyUpdates ends the connection");
	case_flood(SSL_KEY_UPDATE_REQUESTED,
	    "a flood of KeyUpdates that ask for answers ends it too");
	return 0;
}
