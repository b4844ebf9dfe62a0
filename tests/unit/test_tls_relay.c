/* SPDX-License-Identifier: ISC */
/*
 * The relay between a client, which is OpenSSL, and a worker, which is this
 * test. Nothing here depends on time: the client's bytes go into the socket when
 * the test says so, and the role runs between them.
 * Links: nfsd
 * Runs in: tests.
 */
#include <sys/ioctl.h>

#include <string.h>

#include <openssl/err.h>

#include "../fuzz/tls_server.h"
#include "tap.h"

#define SHARE (2 * TLS_PLAIN) /* bytes of one client before others run */
#define IDLE  64 /* records without data in a row */

static struct fuzz_worker w;
static struct tls_server *servers[2]; /* relay, kernel TLS */
static SSL_CTX *ctx;
static SSL *client;
static BIO *in, *out; /* of the client, in memory */
static int net, pair; /* the client's socket, the worker's */
static uint8_t data[1024 * 1024], got[sizeof(data)];

static void
run(void)
{
	(void)event_base_loop(w.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* Gives the server what the client has made. Returns the bytes it took. */
static size_t
push(void)
{
	char *bytes;
	long n = BIO_get_mem_data(out, &bytes);
	ssize_t sent = send(net, bytes, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);

	(void)BIO_reset(out);
	return sent == -1 ? 0 : (size_t)sent;
}

/* Gives the client what the server has sent. */
static void
pull(void)
{
	ssize_t n = recv(net, got, sizeof(got), MSG_DONTWAIT);

	if (n > 0 && BIO_write(in, got, (int)n) != (int)n)
		BAIL_OUT("no memory");
}

static bool
take_verdict(struct tls_verdict *v, size_t nfds)
{
	uint32_t type;
	size_t most = 1;

	return ipc_receive(w.channel[1], &type, v, sizeof(*v), &pair, &most) !=
	    -1 &&
	    type == TLS_VERDICT && most == nfds;
}

/* Makes a handshake. With fragment the client asks for short records. */
static void
shake(uint8_t fragment)
{
	const int most = 512 * 1024;
	int i;

	client = SSL_new(ctx);
	in = BIO_new(BIO_s_mem());
	out = BIO_new(BIO_s_mem());
	SSL_set_bio(client, in, out);
	SSL_set_connect_state(client);
	if (SSL_set_tlsext_max_fragment_length(client, fragment) != 1)
		BAIL_OUT("no short records");
	worker_connect(&w);
	net = worker_begins(&w, 1, NULL, 0);
	(void)setsockopt(net, SOL_SOCKET, SO_SNDBUF, &most, sizeof(most));
	for (i = 0; i < 4; i++) {
		(void)SSL_do_handshake(client);
		(void)push();
		run();
		pull();
	}
	if (!SSL_is_init_finished(client))
		BAIL_OUT("no handshake");
}

static void
begin(uint8_t fragment)
{
	struct tls_verdict v;

	shake(fragment);
	if (!take_verdict(&v, 1) || v.failure != TLS_DONE)
		BAIL_OUT("no session");
}

static struct tls_session *
session(void)
{
	return LIST_FIRST(&w.server->all);
}

static void
finish(void)
{
	worker_ends(&w); /* aborts if memory is left */
	SSL_free(client);
	close(net);
	close(pair);
	ERR_clear_error();
}

/* Reads what the server sends, to its end. Returns the bytes of data. */
static size_t
read_all(void)
{
	size_t sum = 0;
	int n, empty = 0;

	while (empty < 3) {
		run();
		pull();
		n = SSL_read(client, got, (int)sizeof(got));
		empty = n > 0 ? 0 : empty + 1;
		if (n > 0 &&
		    (sum + (size_t)n > sizeof(data) ||
			memcmp(got, data + sum, (size_t)n) != 0))
			return SIZE_MAX;
		sum += n > 0 ? (size_t)n : 0;
	}
	return sum;
}

static size_t
worker_writes(size_t from, size_t len)
{
	ssize_t n = send(pair, data + from, len, MSG_NOSIGNAL | MSG_DONTWAIT);

	return n == -1 ? 0 : (size_t)n;
}

static bool
worker_reads(const void *want, size_t len)
{
	return recv(pair, got, sizeof(got), MSG_DONTWAIT) == (ssize_t)len &&
	    memcmp(got, want, len) == 0;
}

/* The client has more to send than its share. */
static void
test_share(void)
{
	int moved = 0;
	size_t sent = 0, n;

	begin(TLSEXT_max_fragment_length_DISABLED);
	do {
		(void)SSL_write(client, data, TLS_RECORD_PLAIN);
		n = push();
		sent += n;
	} while (n > TLS_RECORD_PLAIN);
	run();
	(void)ioctl(pair, FIONREAD, &moved);
	ok(sent > SHARE + TLS_RECORD_MAX && moved > 0 && moved <= SHARE,
	    "one client moves no more than its share before others run");
	finish();
}

/* More than the client has room for. Returns the bytes. */
static size_t
worker_fills(void)
{
	size_t sum = 0, n;

	do {
		n = worker_writes(sum, sizeof(data) / 2 - sum);
		sum += n;
		run();
	} while (n > 0);
	return sum;
}

static bool
server_said_goodbye(void)
{
	int n = SSL_read(client, got, sizeof(got));

	return n <= 0 && SSL_get_error(client, n) == SSL_ERROR_ZERO_RETURN;
}

/* Its records were made with the old key, and the answer is behind them. */
static void
test_update_behind_replies(void)
{
	size_t sum;

	begin(TLSEXT_max_fragment_length_DISABLED);
	sum = worker_fills();
	ok(session()->wire.buf != NULL, "replies wait for the client");
	(void)SSL_key_update(client, SSL_KEY_UPDATE_REQUESTED);
	(void)SSL_write(client, "call", 4);
	(void)push();
	run();
	ok(worker_reads("call", 4), "a KeyUpdate and a call pass meanwhile");
	ok(read_all() == sum, "the replies are whole, up to the new key");
	memmove(data, data + 1, sizeof(data) - 1); /* another pattern */
	(void)worker_writes(0, 100);
	ok(read_all() == 100, "and behind it");
	finish();
}

static void
update(int type)
{
	if (SSL_key_update(client, type) != 1 || SSL_do_handshake(client) != 1)
		BAIL_OUT("no KeyUpdate");
}

/* All at once, so that one read has them. */
static bool
survives(int updates)
{
	bool lives;
	int i;

	begin(TLSEXT_max_fragment_length_DISABLED);
	for (i = 0; i < updates; i++)
		update(SSL_KEY_UPDATE_REQUESTED);
	(void)SSL_write(client, "call", 4);
	(void)push();
	run();
	lives = session() != NULL && worker_reads("call", 4);
	(void)worker_writes(0, 100);
	lives = lives && read_all() == 100;
	finish();
	return lives;
}

static void
test_flood(void)
{
	int i;

	begin(TLSEXT_max_fragment_length_DISABLED);
	for (i = 0; i <= IDLE; i++)
		update(SSL_KEY_UPDATE_NOT_REQUESTED);
	(void)push();
	run();
	pull();
	ERR_clear_error();
	ok(session() == NULL && SSL_read(client, got, sizeof(got)) <= 0 &&
		ERR_GET_REASON(ERR_peek_error()) ==
		    SSL_R_SSLV3_ALERT_UNEXPECTED_MESSAGE,
	    "and the client is told why");
	finish();
}

/* Each in a read of its own. */
static void
test_slow_flood(void)
{
	int i;

	begin(TLSEXT_max_fragment_length_DISABLED);
	for (i = 0; i < 3 * IDLE && session() != NULL; i++) {
		update(SSL_KEY_UPDATE_NOT_REQUESTED);
		if (i < 2 * IDLE)
			(void)SSL_write(client, "call", 4);
		(void)push();
		run();
	}
	ok(i == 3 * IDLE, "KeyUpdates beside calls have no limit");
	update(SSL_KEY_UPDATE_NOT_REQUESTED);
	(void)push();
	run();
	ok(session() == NULL, "those without calls do, whenever they come");
	finish();
}

/* The worker closes while the client reads nothing. */
static void
test_unread(void)
{
	const struct tls_connection ended = { .id = 1 };
	size_t sum;

	begin(TLSEXT_max_fragment_length_DISABLED);
	sum = worker_fills();
	ok(event_pending(&session()->net_out, EV_TIMEOUT, NULL) == 0,
	    "a client may be slow");
	close(pair);
	worker_says(&w, TLS_ENDED, &ended, sizeof(ended), NULL, 0);
	ok(event_pending(&session()->net_out, EV_TIMEOUT, NULL) != 0,
	    "but not for ever, once the worker has closed");
	ok(read_all() == sum && server_said_goodbye() && session() == NULL,
	    "until then it gets all that was written");
	pair = -1;
	finish();
}

/* A worker that hangs up leaves what the client has sent behind. */
static void
test_unread_calls(void)
{
	begin(TLSEXT_max_fragment_length_DISABLED);
	(void)SSL_write(client, "call", 4);
	(void)push();
	run();
	(void)worker_writes(0, 100);
	close(pair);
	pair = -1;
	ok(read_all() == 100 && server_said_goodbye(),
	    "a worker that has not read all closes in good order too");
	finish();
}

/* A key that has made enough records (RFC 8446, 5.5). */
static void
test_worn_key(void)
{
	begin(TLSEXT_max_fragment_length_DISABLED);
	session()->records.lasts = 3;
	(void)worker_writes(0, 2 * TLS_RECORD_PLAIN);
	ok(read_all() == 2 * TLS_RECORD_PLAIN && !session()->half_closed,
	    "a key is used");
	(void)SSL_write(client, "call", 4);
	(void)push();
	run();
	memmove(data, data + 1, sizeof(data) - 1);
	(void)worker_writes(0, 100);
	ok(read_all() == 100 && worker_reads("call", 4) &&
		recv(pair, got, 1, MSG_DONTWAIT) == 0,
	    "when it has made enough records, no more calls come");
	memmove(data, data + 1, sizeof(data) - 1);
	(void)worker_writes(0, 50);
	close(pair);
	pair = -1;
	ok(read_all() == 50 && server_said_goodbye(),
	    "those that came are answered, then the session ends");
	finish();
}

static void
test_short_records(void)
{
	begin(TLSEXT_max_fragment_length_512);
	ok(worker_writes(0, 100000) == 100000 && read_all() == 100000,
	    "a client that asks for short records gets short ones");
	finish();
}

/* The kernel would send longer ones. */
static void
test_short_in_kernel(void)
{
	struct tls_verdict v;

	w.server = servers[1];
	shake(TLSEXT_max_fragment_length_4096);
	ok(take_verdict(&v, 0) && v.failure == TLS_BAD_HERE,
	    "with kernel TLS there is no such session");
	is(v.why, "kernel TLS: the client wants short records", "and why");
	pair = -1;
	finish();
	w.server = servers[0];
}

/* A call, and one that was changed on the way. */
static void
test_altered(void)
{
	char *bytes;
	long n;

	begin(TLSEXT_max_fragment_length_DISABLED);
	(void)SSL_write(client, "good", 4);
	(void)SSL_write(client, "evil", 4);
	n = BIO_get_mem_data(out, &bytes);
	bytes[n - 1] ^= 1;
	(void)push();
	run();
	ok(session() == NULL && worker_reads("good", 4),
	    "an altered record ends the session; the worker has what was before");
	pull();
	ERR_clear_error();
	ok(SSL_read(client, got, sizeof(got)) <= 0 &&
		ERR_GET_REASON(ERR_peek_error()) ==
		    SSL_R_SSLV3_ALERT_BAD_RECORD_MAC,
	    "the client is told why");
	finish();
}

int
main(void)
{
	size_t i;

	plan(NO_PLAN);
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i ^ i >> 8 ^ i >> 16);
	ctx = SSL_CTX_new(TLS_client_method());
	w.base = event_base_new();
	if (ctx == NULL || w.base == NULL)
		BAIL_OUT("no memory");
	servers[0] = make_server(w.base, false);
	servers[1] = make_server(w.base, true);
	w.server = servers[0];
	test_share();
	test_update_behind_replies();
	ok(survives(IDLE), "%d KeyUpdates in one read are answered", IDLE);
	ok(!survives(IDLE + 1), "one more ends the session");
	test_flood();
	test_slow_flood();
	test_unread();
	test_unread_calls();
	test_worn_key();
	test_short_records();
	test_short_in_kernel();
	test_altered();
	SSL_CTX_free(ctx);
	done_testing();
}
