/* SPDX-License-Identifier: ISC */
/*
 * Every procedure of PORTMAP 2, RPCBIND 3 and 4 through the pipeline in memory,
 * by each of the three sockets: replies and refusals for each kind of caller.
 * Runs in: test program.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <netinet/in.h>

#include <string.h>

#include "base/util.h"
#include "portmapd/pmap.h"
#include "rpc/msg.h"
#include "rpc/server.h"
#include "tap.h"

#define NFS   100003u
#define MOUNT 100005u
#define USER  1000u

static struct portmap pm;
static struct rpc_server *servers[PMAP_SOCKETS];
static uint8_t request[PMAP_RECORD_MAX], reply[PMAP_REPLY_MAX];

/* The caller, and the outcome of the last call. */
static struct rpc_origin from;
static enum pmap_socket via;
static size_t request_len, reply_len;
static const char *failure; /* NULL: a result lies at `result` */
static struct xdr_in result;

static void
no_reply(const struct rpc_origin *o UNUSED, const uint8_t *r UNUSED,
    size_t len UNUSED)
{
}

/* Sets the caller of the next calls. */
static void
caller(enum pmap_socket d, enum rpc_transport_kind kind, const char *peer,
    const char *to)
{
	memset(&from, 0, sizeof(from));
	from.reply = no_reply;
	from.peer.kind = kind;
	from.peer.max_reply = sizeof(reply);
	via = d;
	if (kind == RPC_UNIX) {
		from.peer.from.family = from.peer.to.family = AF_UNIX;
		return;
	}
	(void)addr_parse(&from.peer.from, peer);
	(void)addr_parse(&from.peer.to, to);
}

static void
caller_local(enum pmap_socket d, uint32_t uid, uint64_t id)
{
	caller(d, RPC_UNIX, NULL, NULL);
	from.peer.uid = uid;
	from.peer.id = id;
}

static struct xdr_out
start(uint32_t vers, uint32_t proc)
{
	struct rpc_head head = { .xid = 1, .prog = PMAP_PROG };
	struct xdr_out x;

	head.vers = vers;
	head.proc = proc;
	xdr_out_init(&x, request, sizeof(request));
	rpc_put_call(&x, &head, NULL);
	return x;
}

static void
finish(const struct xdr_out *x)
{
	uint32_t xid;

	request_len = x->len;
	reply_len = 0;
	failure = "no answer";
	if (rpc_serve(servers[via], &from, request, request_len, reply,
		sizeof(reply), &reply_len) != RPC_ANSWERED)
		return;
	xdr_in_init(&result, reply, reply_len);
	failure = rpc_get_reply(&result, &xid);
}

static void
call_void(uint32_t vers, uint32_t proc)
{
	struct xdr_out x = start(vers, proc);

	finish(&x);
}

/* PORTMAP 2: a mapping in, a number or truth out. */
static uint32_t
call_mapping(uint32_t proc, uint32_t prog, uint32_t vers, uint32_t prot,
    uint32_t port)
{
	struct xdr_out x = start(2, proc);

	xdr_put_u32(&x, prog);
	xdr_put_u32(&x, vers);
	xdr_put_u32(&x, prot);
	xdr_put_u32(&x, port);
	finish(&x);
	return failure == NULL ? xdr_get_u32(&result) : UINT32_MAX;
}

static uint32_t
getport(uint32_t prog, uint32_t vers, uint32_t prot)
{
	return call_mapping(PMAPPROC_GETPORT, prog, vers, prot, 0);
}

/* RPCBIND: an rpcb in. */
static void
call_rpcb(uint32_t version, uint32_t proc, uint32_t prog, uint32_t vers,
    const char *netid, const char *uaddr)
{
	struct xdr_out x = start(version, proc);

	xdr_put_u32(&x, prog);
	xdr_put_u32(&x, vers);
	xdr_put_string(&x, netid);
	xdr_put_string(&x, uaddr);
	xdr_put_string(&x, "superuser"); /* ignored by portmapd */
	finish(&x);
}

static bool
set(uint32_t prog, uint32_t vers, const char *netid, const char *uaddr)
{
	call_rpcb(4, RPCBPROC_SET, prog, vers, netid, uaddr);
	return failure == NULL && xdr_get_bool(&result);
}

static bool
unset(uint32_t prog, uint32_t vers, const char *netid)
{
	call_rpcb(4, RPCBPROC_UNSET, prog, vers, netid, "");
	return failure == NULL && xdr_get_bool(&result);
}

/* The string result of the last call. */
static const char *
result_text(void)
{
	static char text[PMAP_STRING_MAX + 1];
	struct slice s;

	if (failure != NULL)
		return failure;
	s = xdr_get_opaque(&result, PMAP_STRING_MAX);
	memcpy(text, s.data, s.len);
	text[s.len] = '\0';
	return text;
}

static const char *
getaddr(uint32_t prog, uint32_t vers, const char *netid, const char *uaddr)
{
	call_rpcb(3, RPCBPROC_GETADDR, prog, vers, netid, uaddr);
	return result_text();
}

static void
callit(uint32_t version, uint32_t proc, uint32_t prog, uint32_t vers,
    uint32_t inner)
{
	struct xdr_out x = start(version, proc);

	xdr_put_u32(&x, prog);
	xdr_put_u32(&x, vers);
	xdr_put_u32(&x, inner);
	xdr_put_opaque(&x, "args", 4);
	finish(&x);
}

/* NFS 3 everywhere, NFS 2 on udp, MOUNT 3 on udp at one address. */
static void
fill(void)
{
	caller_local(SOCKET_REGISTER, 0, 1);
	ok(set(NFS, 3, "udp", "0.0.0.0.8.1"), "SET on udp");
	ok(set(NFS, 3, "tcp", "0.0.0.0.8.2"), "SET on tcp");
	ok(set(NFS, 3, "udp6", "::.8.3"), "SET on udp6");
	ok(set(NFS, 3, "tcp6", "::.8.4"), "SET on tcp6");
	ok(set(NFS, 2, "udp", "0.0.0.0.8.1"), "SET of a second version");
	ok(set(MOUNT, 3, "udp", "192.0.2.1.78.80"), "SET at one address");
	ok(set(MOUNT, 3, "local", "/run/mountd.sock"), "SET of a local socket");
}

static void
test_getport(void)
{
	caller(SOCKET_NET, RPC_UDP, "192.0.2.9:1023", "192.0.2.1:111");
	cmp_ok(getport(NFS, 3, IPPROTO_UDP), "==", 2049, "GETPORT udp");
	cmp_ok(getport(NFS, 3, IPPROTO_TCP), "==", 2050, "GETPORT tcp");
	cmp_ok(getport(NFS, 4, IPPROTO_TCP), "==", 0,
	    "GETPORT of a version that is not served is 0");
	cmp_ok(getport(NFS, 2, IPPROTO_TCP), "==", 0,
	    "GETPORT of a transport that is not served is 0");
	cmp_ok(getport(NFS, 0, IPPROTO_UDP), "==", 2049,
	    "GETPORT of version 0, a probe, finds any version");
	cmp_ok(getport(NFS, 3, 132), "==", 0, "GETPORT of another protocol");
	cmp_ok(getport(12345, 1, 17), "==", 0, "GETPORT of an unknown program");
	cmp_ok(getport(MOUNT, 3, 17), "==", 20048,
	    "GETPORT at the address that the service is bound to");
	caller(SOCKET_NET, RPC_UDP, "192.0.2.9:1023", "192.0.2.2:111");
	cmp_ok(getport(MOUNT, 3, 17), "==", 0, "GETPORT at another address");
	caller(SOCKET_NET, RPC_TCP, "[2001:db8::9]:1023", "[2001:db8::1]:111");
	cmp_ok(getport(NFS, 3, IPPROTO_UDP), "==", 2051,
	    "GETPORT over IPv6 gives the port on IPv6");
	caller_local(SOCKET_COMPAT, USER, 7);
	cmp_ok(getport(MOUNT, 3, 17), "==", 20048, "GETPORT by a local client");
}

static void
test_getaddr(void)
{
	caller(SOCKET_NET, RPC_UDP, "192.0.2.9:1023", "192.0.2.2:111");
	is(getaddr(NFS, 3, "udp", ""), "192.0.2.2.8.1",
	    "GETADDR gives the address that was asked");
	is(getaddr(NFS, 3, "tcp", "1.2.3.4.0.111"), "192.0.2.2.8.1",
	    "GETADDR goes by the transport that was used");
	is(getaddr(NFS, 9, "udp", ""), "192.0.2.2.8.1",
	    "GETADDR of another version still finds the program");
	call_rpcb(4, RPCBPROC_GETVERSADDR, NFS, 9, "udp", "");
	is(result_text(), "", "GETVERSADDR of another version does not");
	call_rpcb(4, RPCBPROC_GETVERSADDR, NFS, 2, "udp", "");
	is(result_text(), "192.0.2.2.8.1", "GETVERSADDR of a version served");
	is(getaddr(MOUNT, 3, "udp", ""), "192.0.2.1.78.80",
	    "GETADDR gives the address a service is bound to");
	is(getaddr(4711, 3, "udp", ""), "", "GETADDR of an unknown program");
	is(getaddr(NFS, 3, "quic", ""), "", "GETADDR with an unknown netid");
	is(getaddr(NFS, 3, "udp", "1.2.3"), "", "GETADDR with a bad address");
	is(getaddr(NFS, 3, "udp6", "fe80::1%2.0.111"), "",
	    "GETADDR with a zone in the address");
	caller(SOCKET_NET, RPC_TCP, "[2001:db8::9]:1023", "[2001:db8::1]:111");
	is(getaddr(NFS, 3, "tcp6", ""), "2001:db8::1.8.4", "GETADDR, IPv6");
	caller_local(SOCKET_COMPAT, USER, 7);
	is(getaddr(MOUNT, 3, "local", ""), "/run/mountd.sock",
	    "GETADDR by a local client finds a local socket");
	is(getaddr(NFS, 3, "tcp", ""), "127.0.0.1.8.2",
	    "GETADDR by a local client of another transport");
	is(getaddr(NFS, 3, "tcp6", ""), "::1.8.4",
	    "GETADDR by a local client of IPv6");
}

static void
test_lists(void)
{
	unsigned int n;

	caller(SOCKET_NET, RPC_TCP, "192.0.2.9:1023", "192.0.2.2:111");
	call_void(2, PMAPPROC_DUMP);
	for (n = 0; failure == NULL && xdr_get_bool(&result); n++)
		result.pos += 16, result.left -= 16;
	cmp_ok(n, "==", 4 + 6, "DUMP of version 2 lists what is on IPv4");
	ok(!result.failed && result.left == 0, "and no other entries");
	call_void(4, RPCBPROC_DUMP);
	for (n = 0; failure == NULL && xdr_get_bool(&result); n++) {
		result.pos += 8, result.left -= 8;
		(void)xdr_get_opaque(&result, 5); /* netid */
		(void)xdr_get_opaque(&result, UADDR_STRLEN);
		(void)xdr_get_opaque(&result, 9); /* owner */
	}
	cmp_ok(n, "==", 7 + 10, "DUMP of version 4 lists everything");
	ok(!result.failed && result.left == 0, "and no more");
	call_rpcb(4, RPCBPROC_GETADDRLIST, NFS, 3, "", "");
	for (n = 0; failure == NULL && xdr_get_bool(&result); n++) {
		is(result_text(), n == 0 ? "192.0.2.2.8.1" : "192.0.2.2.8.2",
		    "GETADDRLIST, address %u", n);
		is(result_text(), n == 0 ? "udp" : "tcp", "netid");
		cmp_ok(xdr_get_u32(&result), "==", n == 0 ? 1 : 3, "semantics");
		is(result_text(), "inet", "family");
		is(result_text(), n == 0 ? "udp" : "tcp", "protocol");
	}
	cmp_ok(n, "==", 2,
	    "GETADDRLIST leaves out addresses that the client cannot reach");
	call_void(4, RPCBPROC_GETSTAT);
	ok(failure == NULL && result.left > (size_t)(3 * 15 * 4), "GETSTAT");
}

static void
test_bulk(void)
{
	static const struct {
		uint32_t vers, proc;
		const char *name;
	} bulk[] = { { 2, PMAPPROC_DUMP, "DUMP 2" },
		{ 3, RPCBPROC_DUMP, "DUMP 3" }, { 4, RPCBPROC_DUMP, "DUMP 4" },
		{ 4, RPCBPROC_GETSTAT, "GETSTAT" } };
	size_t i;

	for (i = 0; i < nitems(bulk); i++) {
		caller(SOCKET_NET, RPC_UDP, "192.0.2.9:1023", "192.0.2.2:111");
		call_void(bulk[i].vers, bulk[i].proc);
		is(failure, "credential refused",
		    "%s over udp from another host is refused", bulk[i].name);
		cmp_ok(reply_len, "<=", request_len,
		    "the refusal is no longer than the call");
		caller(SOCKET_NET, RPC_UDP, "127.0.0.1:1023", "127.0.0.1:111");
		call_void(bulk[i].vers, bulk[i].proc);
		is(failure, NULL, "%s over udp from loopback is answered",
		    bulk[i].name);
	}
}

static void
test_set_by_network(void)
{
	static const char *const peers[] = { "192.0.2.9:1023", "127.0.0.1:1",
		"[::1]:1023" };
	size_t i, before = pmap_map_count(pm.map);

	for (i = 0; i < nitems(peers); i++) {
		caller(SOCKET_NET, i == 0 ? RPC_UDP : RPC_TCP, peers[i],
		    i == 2 ? "[::1]:111" : "127.0.0.1:111");
		ok(!set(NFS, 4, "udp", "0.0.0.0.8.1"), "SET by %s is refused",
		    peers[i]);
		ok(!unset(NFS, 3, ""), "UNSET by %s is refused", peers[i]);
		cmp_ok(call_mapping(PMAPPROC_SET, 999, 1, 17, 5), "==", 0,
		    "SET of version 2 by %s is refused", peers[i]);
		cmp_ok(call_mapping(PMAPPROC_UNSET, NFS, 3, 0, 0), "==", 0,
		    "UNSET of version 2 by %s is refused", peers[i]);
	}
	cmp_ok(pmap_map_count(pm.map), "==", before, "the table is unchanged");
}

static void
test_set_by_users(void)
{
	caller_local(SOCKET_REGISTER, USER, 20);
	ok(!set(300001, 1, "udp", "0.0.0.0.8.9"),
	    "SET by a user without a rule is refused");
	ok(set(300000, 1, "udp", "0.0.0.0.8.9"),
	    "SET by a user with a rule is granted");
	ok(!set(NFS, 4, "udp", "0.0.0.0.8.9"),
	    "SET of a program without a rule is refused");
	ok(!unset(NFS, 3, ""), "UNSET of a program without a rule is refused");
	caller_local(SOCKET_REGISTER, 0, 21);
	ok(!set(PMAP_PROG, 5, "udp", "0.0.0.0.0.111"),
	    "SET of portmapd's own program is refused");
	ok(!set(300002, 1, "udp6", "0.0.0.0.8.9"),
	    "an address that does not fit the netid");
	ok(!set(300002, 1, "", "0.0.0.0.8.9"), "no netid");
	ok(!set(300002, 1, "udp", ""), "no address");
	ok(!set(300002, 1, "udp", "0.0.0.0.0.0"), "port 0");
	ok(!set(300002, 1, "udp", "0.0.0.0.1.1.1"), "a bad address");
	ok(!set(NFS, 3, "udp", "0.0.0.0.9.9"),
	    "SET of a program that another connection holds is refused");
	cmp_ok(call_mapping(PMAPPROC_SET, 300003, 1, 17, 900), "==", 1,
	    "SET of version 2");
	cmp_ok(call_mapping(PMAPPROC_SET, 300003, 1, 17, 65536), "==", 0,
	    "with a port too large");
	cmp_ok(call_mapping(PMAPPROC_SET, 300003, 1, 99, 900), "==", 0,
	    "with an unknown protocol");
	cmp_ok(call_mapping(PMAPPROC_UNSET, 300003, 1, 0, 0), "==", 1,
	    "UNSET of version 2");
	ok(!unset(NFS, 3, ""),
	    "UNSET by root of another connection's entry is refused");
	caller_local(SOCKET_COMPAT, 0, 22);
	ok(set(300004, 1, "tcp", "0.0.0.0.8.9"), "SET of a lasting entry");
	ok(unset(300000, 1, "udp"), "UNSET by root through rpcbind's socket");
	caller_local(SOCKET_COMPAT, USER, 23);
	ok(set(300000, 1, "tcp", "0.0.0.0.8.9"),
	    "SET of a user's lasting entry");
	caller_local(SOCKET_COMPAT, USER, 24);
	ok(!unset(300004, 1, ""), "UNSET by a user of root's entry is refused");
	ok(unset(300000, 1, ""),
	    "UNSET by a user of its own entry, by another connection");
	caller_local(SOCKET_COMPAT, 0, 25);
	ok(unset(300004, 1, ""), "UNSET of a lasting entry");
}

static void
test_callit(void)
{
	size_t before = pmap_map_count(pm.map);

	caller(SOCKET_NET, RPC_UDP, "192.0.2.9:800", "192.0.2.2:111");
	callit(2, PMAPPROC_CALLIT, NFS, 3, 0);
	cmp_ok(failure == NULL ? xdr_get_u32(&result) : 0, "==", 2049,
	    "CALLIT of NULL gives the port");
	cmp_ok(xdr_get_u32(&result), "==", 0, "and an empty result");
	callit(3, RPCBPROC_CALLIT, NFS, 3, 0);
	is(result_text(), "192.0.2.2.8.1", "CALLIT 3 gives the address");
	callit(4, RPCBPROC_CALLIT, NFS, 3, 0);
	is(result_text(), "192.0.2.2.8.1", "BCAST too");
	callit(4, RPCBPROC_INDIRECT, NFS, 3, 0);
	is(result_text(), "192.0.2.2.8.1", "INDIRECT too");
	callit(2, PMAPPROC_CALLIT, NFS, 3, 1);
	is(failure, "procedure unavailable",
	    "CALLIT of any other procedure is refused");
	cmp_ok(reply_len, "==", RPC_REPLY_HEADER,
	    "the refusal is the shortest reply");
	callit(2, PMAPPROC_CALLIT, NFS, 4, 0);
	is(failure, "procedure unavailable",
	    "CALLIT of another version is refused");
	callit(4, RPCBPROC_INDIRECT, PMAP_PROG, 2, PMAPPROC_SET);
	is(failure, "procedure unavailable",
	    "INDIRECT of portmapd's own SET is refused");
	callit(3, RPCBPROC_CALLIT, MOUNT, 3, 0);
	is(failure, "procedure unavailable",
	    "CALLIT at an address without the service is refused");
	cmp_ok(pmap_map_count(pm.map), "==", before, "the table is unchanged");
}

static void
put_netbuf(struct xdr_out *x, const void *buf, size_t len)
{
	xdr_put_u32(x, (uint32_t)len);
	xdr_put_opaque(x, buf, len);
}

static void
test_translate(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons(2049) };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/x" };
	struct slice buf;
	struct xdr_out x;

	caller(SOCKET_NET, RPC_UDP, "192.0.2.9:800", "192.0.2.2:111");
	sin.sin_addr.s_addr = htonl(0xc0000207);
	x = start(3, RPCBPROC_UADDR2TADDR);
	xdr_put_string(&x, "192.0.2.7.8.1");
	finish(&x);
	cmp_ok(xdr_get_u32(&result), "==", sizeof(sin), "UADDR2TADDR: maxlen");
	buf = xdr_get_opaque(&result, 128);
	ok(buf.len == sizeof(sin) && memcmp(buf.data, &sin, 8) == 0,
	    "UADDR2TADDR gives a sockaddr");
	x = start(3, RPCBPROC_UADDR2TADDR);
	xdr_put_string(&x, "nonsense");
	finish(&x);
	cmp_ok(reply_len, "==", RPC_REPLY_HEADER + 8,
	    "UADDR2TADDR of nonsense");
	x = start(4, RPCBPROC_TADDR2UADDR);
	put_netbuf(&x, &sin, sizeof(sin));
	finish(&x);
	is(result_text(), "192.0.2.7.8.1", "TADDR2UADDR");
	x = start(4, RPCBPROC_TADDR2UADDR);
	put_netbuf(&x, &un, sizeof(un));
	finish(&x);
	is(result_text(), "/x", "TADDR2UADDR of a path");
	x = start(4, RPCBPROC_TADDR2UADDR);
	put_netbuf(&x, &sin, 1);
	finish(&x);
	is(result_text(), "", "TADDR2UADDR of one byte");
	call_void(4, RPCBPROC_GETTIME);
	ok(failure == NULL && xdr_get_u32(&result) > 1700000000u, "GETTIME");
}

/* Every procedure from another host, with the limit that the transport sets. */
static void
test_amplification(void)
{
	static const uint32_t nprocs[] = { PMAP2_PROCS, RPCB3_PROCS,
		RPCB4_PROCS };
	uint32_t v, p;
	struct xdr_out x;

	caller(SOCKET_NET, RPC_UDP, "[2001:db8:1:2:3:4:5:6]:800",
	    "[2001:db8:1111:2222:3333:4444:5555:6666]:111");
	for (v = 2; v <= 4; v++) {
		for (p = 0; p < nprocs[v - 2]; p++) {
			x = start(v, p);
			xdr_put_u32(&x, NFS);
			xdr_put_u32(&x, 3);
			xdr_put_u32(&x, 0);
			xdr_put_u32(&x, 0);
			xdr_put_u32(&x, 0);
			from.peer.max_reply = (uint32_t)(x.len * 3 / 2);
			finish(&x);
			ok(reply_len > 0 && reply_len * 2 <= request_len * 3,
			    "version %u procedure %u: %zu for %zu bytes", v, p,
			    reply_len, request_len);
		}
	}
}

/* A truncated call or one with a wrong length is refused. */
static void
test_garbage(void)
{
	static const uint32_t lengths[] = { PMAP_STRING_MAX + 1, 100000000,
		0xffffffff };
	struct xdr_out x;
	size_t i;
	unsigned int refused = 0;

	caller(SOCKET_NET, RPC_TCP, "192.0.2.9:800", "192.0.2.2:111");
	for (i = 0; i < nitems(lengths); i++) {
		x = start(4, RPCBPROC_GETADDR);
		xdr_put_u32(&x, NFS);
		xdr_put_u32(&x, 3);
		xdr_put_u32(&x, lengths[i]);
		finish(&x);
		is(failure, "arguments refused", "a string of %u bytes",
		    lengths[i]);
	}
	x = start(4, RPCBPROC_GETADDR);
	xdr_put_u32(&x, NFS);
	xdr_put_u32(&x, 3);
	xdr_put_string(&x, "udp");
	xdr_put_string(&x, "");
	xdr_put_string(&x, "");
	for (i = RPC_HEADER_MIN; i < x.len; i++) {
		struct xdr_out cut = x;

		cut.len = i;
		finish(&cut);
		refused += failure != NULL &&
		    strcmp(failure, "arguments refused") == 0;
	}
	cmp_ok(refused, "==", x.len - RPC_HEADER_MIN,
	    "GETADDR cut at any byte is refused");
}

int
main(void)
{
	struct addr any4, any6;
	enum pmap_socket d;

	plan(NO_PLAN);
	pm.map = pmap_map_new();
	policy_init(&pm.policy);
	is(policy_add(&pm.policy, "1000:300000"), NULL, "a rule for a user");
	for (d = 0; d < PMAP_SOCKETS; d++)
		servers[d] = pmap_server_new(&pm, d);
	(void)addr_parse(&any4, "0.0.0.0:111");
	(void)addr_parse(&any6, "[::]:111");
	pmap_serve_self(&pm, &any4, true);
	pmap_serve_self(&pm, &any4, false);
	pmap_serve_self(&pm, &any6, true);
	pmap_serve_self(&pm, &any6, false);
	pmap_map_drop(pm.map, 0);
	fill();
	test_getport();
	test_getaddr();
	test_lists();
	test_bulk();
	test_set_by_network();
	test_set_by_users();
	test_callit();
	test_translate();
	test_amplification();
	test_garbage();
	cmp_ok(pmap_map_drop(pm.map, 1), "==", 7, "a registrant's end");
	for (d = 0; d < PMAP_SOCKETS; d++)
		rpc_server_free(servers[d]);
	pmap_map_free(pm.map);
	done_testing();
}
