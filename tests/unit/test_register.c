/* SPDX-License-Identifier: ISC */
/*
 * Registration with portmapd's own tables on a unix socket, and with servers
 * that vanish, refuse, hang or answer wrongly. Links: portmapd
 * Runs in: test program.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <netinet/in.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/util.h"
#include "portmapd/pmap.h"
#include "process/register.h"
#include "slack.h"
#include "transport/transport.h"
#include "tap.h"

#define NFS	  100003u
#define TURNS_MIN 20

static struct event_base *base;
static struct portmap pm;
static struct rpc_server *server;
static struct rpc_streams *streams;
static struct rpc_tcp *tcp;
static char dir[] = "/tmp/test-register.XXXXXX";
static char path[64];
static unsigned int farewells;

static double
now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int
listen_here(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd;

	(void)unlink(path);
	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1 || bind(fd, (struct sockaddr *)&un, sizeof(un)) == -1 ||
	    listen(fd, 16) == -1)
		err(1, "%s", path);
	return fd;
}

static void
on_closed(void *arg UNUSED, uint64_t id)
{
	(void)pmap_map_drop(pm.map, id);
}

/* Serves portmapd's tables on a unix socket. */
static void
server_start(enum pmap_socket via)
{
	server = pmap_server_new(&pm, via);
	streams = rpc_streams_new(base);
	tcp = rpc_tcp_new(streams, server, listen_here(), &rpc_limits_default,
	    via == SOCKET_REGISTER ? on_closed : NULL, NULL);
}

static void
server_stop(void)
{
	rpc_tcp_free(tcp);
	rpc_streams_free(streams);
	rpc_server_free(server);
	(void)unlink(path);
	pmap_map_free(pm.map);
	pm.map = pmap_map_new();
}

static struct registration *
new_client(uint16_t port)
{
	struct registration *r = register_new(base, path);
	struct addr at;

	(void)addr_parse(&at, "0.0.0.0");
	at.port = port;
	(void)register_add(r, NFS, 2, true, &at);
	(void)register_add(r, NFS, 3, true, &at);
	(void)register_add(r, NFS, 3, false, &at);
	return r;
}

/* Runs the loop until the client is (not) registered. False after some seconds. */
static bool
wait_done(const struct registration *r, bool done)
{
	double end = now() + 3 * TEST_SLACK;

	while (register_is_done(r) != done) {
		if (now() > end)
			return false;
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
		(void)usleep(500);
	}
	return true;
}

/* At least TURNS_MIN turns: the process may get no CPU for all of the time. */
static void
turn_for(double seconds)
{
	double end = now() + seconds;
	int turns;

	for (turns = 0; turns < TURNS_MIN || now() < end; turns++) {
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
		(void)usleep(500);
	}
}

static void
on_farewell(void *arg UNUSED)
{
	farewells++;
}

static bool
wait_farewell(struct registration *r)
{
	double end = now() + 3 * TEST_SLACK;
	unsigned int before = farewells;

	register_stop(r, on_farewell, NULL);
	while (farewells == before && now() < end) {
		(void)event_base_loop(base, EVLOOP_NONBLOCK);
		(void)usleep(500);
	}
	register_free(r);
	return farewells == before + 1;
}

static void
test_restart(void)
{
	struct registration *r = new_client(2049);
	double start;

	register_start(r);
	turn_for(0.05);
	ok(!register_is_done(r), "waits while there is no portmapper");
	server_start(SOCKET_REGISTER);
	start = now();
	ok(wait_done(r, true), "registers when the portmapper starts");
	cmp_ok((now() - start) * 1000, "<", 1000 * TEST_SLACK,
	    "within a second");
	cmp_ok(pmap_map_count(pm.map), "==", 3, "everything");
	turn_for(1.1);
	server_stop();
	ok(wait_done(r, false), "notices that the portmapper has ended");
	server_start(SOCKET_REGISTER);
	start = now();
	ok(wait_done(r, true), "registers again after its restart");
	cmp_ok((now() - start) * 1000, "<", 1000 * TEST_SLACK,
	    "within a second");
	ok(wait_farewell(r), "unregisters at its end");
	cmp_ok(pmap_map_count(pm.map), "==", 0, "the table is empty then");
	server_stop();
}

static void
test_refused(void)
{
	struct registration *first = new_client(2049);
	struct registration *second = new_client(2050);

	server_start(SOCKET_REGISTER);
	register_start(first);
	ok(wait_done(first, true), "the first server is registered");
	register_start(second);
	turn_for(0.2);
	ok(!register_is_done(second), "a second server is refused meanwhile");
	ok(register_is_done(first), "the first server stays registered");
	cmp_ok(pmap_map_count(pm.map), "==", 3,
	    "the table has the first server's entries only");
	register_free(first);
	ok(wait_done(second, true),
	    "the second registers when the first has ended");
	register_free(second);
	turn_for(0.05);
	cmp_ok(pmap_map_count(pm.map), "==", 0,
	    "the end of the connection removes its entries");
	server_stop();
}

/* rpcbind keeps entries, so those of a killed predecessor are replaced. */
static void
test_lasting(void)
{
	struct registration *r = new_client(2049);

	server_start(SOCKET_COMPAT);
	register_start(r);
	ok(wait_done(r, true),
	    "registers with a portmapper that behaves like rpcbind");
	register_free(r);
	turn_for(0.05);
	cmp_ok(pmap_map_count(pm.map), "==", 3,
	    "entries outlast the connection");
	r = new_client(2050);
	register_start(r);
	ok(wait_done(r, true),
	    "the next server replaces entries of a killed one");
	cmp_ok(pmap_map_next(pm.map, NULL)->svc.at.at.port, "==", 2050,
	    "the entries have its own port");
	ok(wait_farewell(r), "unregisters at its end");
	cmp_ok(pmap_map_count(pm.map), "==", 0, "that removes its entries");
	server_stop();
}

/* A socket that is bound, as of a server that lives. */
static int
living(struct addr *at)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd == -1 || bind(fd, (struct sockaddr *)&in, len) == -1 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) == -1)
		err(1, "socket");
	(void)addr_parse(at, "0.0.0.0");
	at->port = ntohs(in.sin_port);
	return fd;
}

/* Services that belong together leave the entry of a server that lives. */
static void
test_together(void)
{
	struct registration *holder, *r;
	struct addr at;
	int fd = living(&at);

	server_start(SOCKET_COMPAT);
	holder = register_new(base, path);
	(void)register_add(holder, NFS, 3, true, &at);
	register_start(holder);
	ok(wait_done(holder, true), "a server has one of three entries");
	r = new_client(2049);
	register_together(r, "test");
	register_start(r);
	turn_for(0.2);
	ok(!register_is_done(r), "one that needs all three is refused");
	cmp_ok(pmap_map_count(pm.map), "==", 1, "and keeps none");
	cmp_ok(pmap_map_next(pm.map, NULL)->svc.at.at.port, "==", at.port,
	    "nor takes the other's");
	ok(wait_farewell(holder), "the other unregisters");
	ok(wait_done(r, true), "then all three are registered");
	register_free(r);
	turn_for(0.05);
	cmp_ok(pmap_map_count(pm.map), "==", 3, "its entries outlast it");
	close(fd);
	r = new_client(at.port);
	register_together(r, "test");
	register_start(r);
	ok(wait_done(r, true), "entries without a server are replaced");
	cmp_ok(pmap_map_next(pm.map, NULL)->svc.at.at.port, "==", at.port,
	    "the entries have the new port");
	ok(wait_farewell(r), "it ends");
	server_stop();
}

static void
test_early_end(void)
{
	struct registration *r = new_client(2049);

	register_start(r);
	ok(wait_farewell(r), "ends while it waits for a portmapper");
	r = new_client(2049);
	server_start(SOCKET_REGISTER);
	register_start(r);
	ok(wait_farewell(r), "ends while its first call is pending");
	turn_for(0.05);
	cmp_ok(pmap_map_count(pm.map), "==", 0, "leaves no entries");
	server_stop();
	register_free(NULL);
}

/* Servers that answer every call with the same wrong bytes. */
static void
test_liars(void)
{
	static const struct {
		const char *what;
		size_t len;
		uint8_t bytes[40];
	} lies[] = {
		{ "nothing at all", 0, { 0 } },
		{ "a record of 2 GiB", 8, { 0xff, 0xff, 0xff, 0xff, 1 } },
		{ "a record that never ends", 4, { 0, 0, 0, 4 } },
		{ "an empty record", 4, { 0x80 } },
		{ "another xid", 32,
		    { 0x80, 0, 0, 28, 9, 9, 9, 9, 0, 0, 0, 1, [31] = 1 } },
		{ "a call", 8, { 0x80, 0, 0, 4, 0, 0, 0, 1 } },
	};
	struct registration *r;
	size_t i;
	int fd, conn;

	for (i = 0; i < nitems(lies); i++) {
		fd = listen_here();
		r = new_client(2049);
		register_start(r);
		turn_for(0.02);
		conn = accept(fd, NULL, NULL);
		if (conn != -1 && lies[i].len != 0)
			(void)!send(conn, lies[i].bytes, lies[i].len,
			    MSG_NOSIGNAL);
		turn_for(0.05);
		ok(!register_is_done(r), "does not accept %s as a reply",
		    lies[i].what);
		ok(wait_farewell(r), "ends in time");
		close(conn);
		close(fd);
	}
	(void)unlink(path);
}

static void
test_limit(void)
{
	struct registration *r = register_new(base, path);
	struct addr at;
	size_t n = 0;

	(void)addr_parse(&at, "[::1]:2049");
	while (n < 100000 && register_add(r, NFS, (uint32_t)n, true, &at))
		n++;
	cmp_ok(n, "==", REGISTER_SERVICES_MAX,
	    "the number of services is bounded");
	at.family = AF_UNIX;
	ok(!register_add(r, NFS, 1, true, &at),
	    "only internet addresses are accepted");
	register_free(r);
}

int
main(void)
{
	plan(NO_PLAN);
	if (mkdtemp(dir) == NULL)
		err(1, "%s", dir);
	(void)snprintf(path, sizeof(path), "%s/socket", dir);
	base = event_base_new();
	pm.map = pmap_map_new();
	policy_init(&pm.policy);
	policy_set_master(&pm.policy, getuid());
	test_restart();
	test_refused();
	test_lasting();
	test_together();
	test_early_end();
	test_liars();
	test_limit();
	pmap_map_free(pm.map);
	event_base_free(base);
	(void)rmdir(dir);
	done_testing();
}
