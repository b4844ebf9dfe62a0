# SPDX-License-Identifier: ISC
"""RPC with TLS: the way to it, handshakes, certificates, records."""
import os
import random
import select
import socket
import ssl
import struct
import subprocess
import threading

import tls
from exhaustion import raise_files
from harness import case
from nfs import Nfs3, sattr3
from process import eventually, links
from rpc import Closed, Reply, call, opaque, record, tcp, u32

NULL = (tls.NFS, 3, 0)


def cert(w, name):
    return tls.context(f"{w.dir}/ca/{name}.pem")


def works(w, ctx=None):
    with tls.connect(ctx or cert(w, "laptop")) as c:
        w.equal(c.rpc(call(*NULL)).accept, 0, "a call inside TLS")


def rest_of(sock, seconds=20):
    """What the server sends until it closes; None if it does not."""
    sock.settimeout(seconds)
    out = b""
    try:
        while data := sock.recv(65536):
            out += data
    except ConnectionError:
        pass
    except socket.timeout:
        return None
    return out


def is_plain_reply(data):
    """Does it contain the start of a record with an RPC reply?"""
    try:
        return len(data) > 8 and data[0] == 0x80 and \
            Reply(data[4:]).mtype == 1
    except (IndexError, ValueError, struct.error):
        return False


def never_plain(w, sock, what):
    """The server closes, and sends nothing but TLS before that."""
    data = rest_of(sock)
    w.true(data is not None, f"{what}: the connection stays open")
    w.true(not is_plain_reply(data), f"{what}: a reply in the clear")
    w.true(data == b"" or data[0] in (20, 21, 22), f"{what}: {data[:16]}")


@case(128, "garbage in place of a handshake: alert or end, no plain reply")
def garbage(w):
    rng = random.Random(1)
    for what, data in {
            "a plain call": record(call(*NULL)),
            "a second probe": record(tls.probe()),
            "HTTP": b"GET / HTTP/1.1\r\n\r\n",
            "SSL 2": bytes.fromhex("802e0100020015000000100100800700c0"),
            "an alert": bytes.fromhex("15030300020228"),
            "a record of 0 bytes": bytes.fromhex("1603010000") * 64,
            "a record too long": bytes.fromhex("160301ffff") + bytes(4096),
            "data at once": bytes.fromhex("1703030020") + bytes(32),
            "a handshake of 16 MB": bytes.fromhex("160301400001ffffff") +
            bytes(16380),
            "random bytes": rng.randbytes(5000)}.items():
        c, reply = tls.ask()
        w.equal(reply.verf, tls.TOKEN, "the probe")
        with c:
            try:
                c.send(data)
            except Closed:
                continue
            never_plain(w, c.sock, what)
    works(w)


@case(129, "bytes behind the probe are dropped, without an answer")
def early_bytes(w):
    for more in b"\x16", record(call(*NULL)), record(tls.probe()), b"\x80":
        with w.tcp() as c:
            c.send(record(tls.probe()) + more)
            w.equal(rest_of(c.sock), b"", f"behind the probe: {more[:8]}")
    works(w)


@case(130, "a probe inside TLS, over UDP, on another procedure")
def misplaced(w):
    with tls.connect() as c:
        reply = c.rpc(tls.probe())
        w.equal((reply.stat, reply.why), (1, 1), "inside TLS")
        w.equal(c.rpc(call(*NULL)).accept, 0, "the connection")
    for proc in 1, 6, 21, 99:
        with w.tcp() as c:
            reply = c.rpc(tls.probe(proc=proc))
            w.equal((reply.stat, reply.why), (1, 1), f"procedure {proc}")
            w.equal(c.rpc(call(*NULL)).accept, 0, "the connection")
    with w.udp() as c:
        reply = c.rpc(tls.probe())
        w.equal((reply.accept, reply.verf), (0, b""), "over UDP")


def client_hello():
    out = ssl.MemoryBIO()
    try:
        tls.context().wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


@case(131, "half a handshake and silence: ended when its time is over")
def silence(w):
    hello = client_hello()
    waiting = []
    for part in b"", hello[:1], hello[:5], hello[:-1], hello:
        c, _ = tls.ask()
        c.send(part)
        waiting.append((c, part))
    for c, part in waiting:
        with c:
            never_plain(w, c.sock, f"{len(part)} bytes of {len(hello)}")
    works(w)


@case(132, "every ClientHello with one bit changed: no plain reply")
def flipped(w):
    hello = client_hello()
    rng = random.Random(2)
    for i in range(400 if w.long else 60):
        bad = bytearray(hello)
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        # Of several hosts: one may begin 200 in a second with each worker.
        c, _ = tls.ask(source=(f"127.0.{i % 8}.8", 0))
        with c:
            c.send(bytes(bad))
            c.sock.shutdown(socket.SHUT_WR)
            never_plain(w, c.sock, "a changed bit")
    works(w)


@case(133, "TLS 1.2 alone, other ALPN: the alert that says so")
def old_or_other(w):
    for ctx, alert in (
            (tls.context(most=ssl.TLSVersion.TLSv1_2), "protocol version"),
            (tls.context(alpn=("h2", "http/1.1")), "application protocol")):
        got = tls.refused(ctx)
        w.true(got and alert in got.replace("_", " "), f"{alert}: {got}")
    works(w, tls.context(alpn=()))
    works(w, tls.context(alpn=("h2", "sunrpc")))


@case(134, "certificates that are expired, early, revoked, foreign, of other "
           "use: an alert, no call is answered")
def bad_certificates(w):
    for name, alert in (("expired", "expired"), ("early", "bad certificate"),
                        ("revoked", "revoked"), ("stranger", "unknown ca"),
                        ("usage", "unsupported certificate")):
        got = tls.refused(cert(w, name))
        w.true(got and alert in got.replace("_", " "), f"{name}: {got}")
    works(w)


@case(135, "a certificate of 16 kB, a chain of 20: served or refused, nothing "
           "else")
def large_certificates(w):
    for name in "large", "chain":
        got = tls.refused(cert(w, name))
        w.true(got is None or "alert" in got, f"{name}: {got}")
    w.true(tls.refused(cert(w, "chain")), "a chain of 20 is accepted")
    works(w)


HANDSHAKES = 512  # of a worker at once: -o tls-handshakes


def begin_and_stop(w, source):
    """A handshake that the client does not go on with."""
    c = tcp(w.ports[tls.NFS], source=(source, 0))
    c.send_call(tls.probe())
    w.equal(c.receive().verf, tls.TOKEN, f"the probe of {source}")
    c.send(client_hello())
    return c


def held_by_tls(w):
    """The most sockets that a tls role has."""
    return max(sum(link.startswith("socket:") for link in links(pid))
               for pid in w.roles("nfsd: tls"))


@case(136, "10,000 half-open handshakes: others get theirs", grows=True)
def half_open(w):
    count = 10000 if w.long else 1500
    w.true(raise_files() > count + 100, "too few descriptors here")
    before = w.snapshot()[1]
    held, most = [], 0
    # One host, then a dozen. The oldest ones give way.
    for i in range(count):
        source = "127.0.9.9" if i < 300 else f"127.0.{i % 12}.7"
        try:
            held.append(begin_and_stop(w, source))
        except Closed:
            w.true(i < 300, f"{source}: closed without an answer")
        if i % 250 == 249:
            works(w)
            most = max(most, held_by_tls(w))
    w.true(len(held) >= count - 300, f"only {len(held)} have begun")
    # A role holds those that its worker lets wait, and some channels.
    # How many wait at once depends on the speed of this client.
    w.among(most, range(16, HANDSHAKES + 9), "half-open at once")
    w.true(w.snapshot()[1] - before < 150 * 1024, "memory is not bounded")
    works(w)
    for c in held:
        with c:
            never_plain(w, c.sock, "a handshake that stops")
    works(w)


@case(137, "no ticket is given")
def no_tickets(w):
    with tls.connect() as c:
        w.equal(c.rpc(call(*NULL)).accept, 0, "a call")
        session = c.tls.session
        w.true(session is None or not session.has_ticket, "a ticket")


def read_some(w, stream, what):
    """The next bytes of a pipe, within a time."""
    ready = select.select([stream], [], [], 20)[0]
    data = os.read(stream.fileno(), 65536) if ready else b""
    w.true(data, what)
    return data


def create(w, c, name):
    return Nfs3(c).message("CREATE", opaque(w.root()) + opaque(name) +
                           u32(0) + sattr3(mode=0o644))


@case(138, "a record that is cut or spoiled: nothing of it is done")
def spoiled(w):
    for what, spoil in {
            "cut": lambda b: b[:-1],
            "a bit changed": lambda b: b[:-9] + bytes([b[-9] ^ 1]) + b[-8:],
            "repeated": lambda b: b + b}.items():
        name = f"spoiled-{what.replace(' ', '-')}"
        with tls.connect() as c:
            w.equal(c.rpc(call(*NULL)).accept, 0, "a call")
            c.tls.write(record(create(w, c, name)))
            c.sock.sendall(spoil(c.outgoing.read()))
            c.sock.shutdown(socket.SHUT_WR)
            w.true(rest_of(c.sock) is not None, f"{what}: stays open")
    works(w)
    made = f"{w.dir}/rw/spoiled-"
    w.true(eventually(lambda: os.path.exists(made + "repeated")),
           "the call in the first of two records is not done")
    os.unlink(made + "repeated")
    for what in "cut", "a-bit-changed":
        w.true(not os.path.exists(made + what), f"{what}: it is done")


@case(139, "100 clients read nothing of what they ask for: memory is bounded",
      grows=True)
def no_readers(w):
    before = w.snapshot()[1]
    fh = w.nfs3().lookup(w.root(), "big").fh
    held = []
    for _ in range(100):
        c = tls.connect()
        reads = [record(Nfs3(c).message(
            "READ", opaque(fh) + bytes(8) + u32(1 << 20))) for _ in range(40)]
        held.append(c)
        c.tls.write(b"".join(reads))
        c.sock.settimeout(0.2)
        try:
            c.flush()
        except (socket.timeout, Closed):
            pass
    w.answers_in(0.5)
    works(w)
    # They ask for 4 GB. A worker keeps twice -o unsent-max (64 MiB) before it
    # ends them at once, and 1 MiB for each of its file threads and spare
    # buffers. Its tls role keeps 64 MiB. There are two of each.
    grown = w.snapshot()[1] - before
    w.true(grown < 2 * (2 * 64 + 24 + 64 + 8) * 1024,
           f"memory is not bounded: {grown} KiB")
    for c in held:
        c.close()


@case(140, "50 key updates are obeyed")
def key_updates(w):
    """s_client sends a KeyUpdate for each line "K"; a proxy makes the probe."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def carry():
        inner, _ = listener.accept()
        outer, _ = tls.ask()
        pairs = {inner: outer.sock, outer.sock: inner}
        while True:
            for s in select.select(list(pairs), [], [], 30)[0]:
                data = s.recv(65536)
                if not data:
                    inner.close()
                    outer.close()
                    return
                pairs[s].sendall(data)
    carrier = threading.Thread(target=carry, daemon=True)
    carrier.start()
    with subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{port}",
             "-tls1_3", "-no_ign_eof"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as p:
        seen = b""
        while b"Verify return code" not in seen or b"---" not in \
                seen.split(b"Verify return code")[-1]:
            seen += read_some(w, p.stdout, f"no handshake: {seen[-200:]}")
        for _ in range(50):
            p.stdin.write(b"K\n")
            p.stdin.flush()
            while b"KEYUPDATE" not in read_some(w, p.stdout, "no key update"):
                pass
        answer = b""
        xid = 0x51525354
        p.stdin.write(record(call(*NULL, xid=xid)) + b"\n")
        p.stdin.flush()
        while u32(xid) not in answer:
            answer += read_some(w, p.stdout, "no reply after key updates")
        p.kill()
    listener.close()
    carrier.join(30)
    works(w)
