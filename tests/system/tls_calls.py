#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Calls inside and around TLS, for 70-tls.t.

    tls_calls.py DIRECTORY all | works | off | killed PID | serial | revoked |
                 late | crowd | kernel

DIRECTORY has ca/ and export/. all prints a status and what was tried, one line
for each.
"""
import os
import signal
import socket
import ssl
import sys

import mount
import nfs
import rpc
import tls

NULL = (tls.NFS, 3, 0)
KERNEL = False  # has it the keys?


def cert(name):
    return tls.context(f"{T}/ca/{name}.pem")


def null(c):
    return c.rpc(rpc.call(*NULL)).accept == 0


def works(name="laptop.example.org"):
    with tls.connect(cert(name)) as c:
        return null(c)


def off():
    c, reply = tls.ask()
    return reply.accept == 0 and reply.verf == b"" and null(c)


def killed(pid):
    """TLS connections end with their role, plain ones go on."""
    plain = rpc.tcp(2049)
    with tls.connect() as c:
        if not null(c) or not null(plain):
            return False
        os.kill(int(pid), signal.SIGKILL)
        return c.is_closed(20) and null(plain)


def read_all(client, fh, size):
    out = b""
    while len(out) < size:
        data = client.read(fh, len(out), 1 << 20).bytes
        if not data:
            break
        out += data
    return out


def read_together(client, fh, want):
    """Asks for more than any buffer holds before it reads a reply."""
    size = 65536
    places = dict(enumerate([*range(0, len(want), size)] * 4))
    calls = [client.message("READ", rpc.opaque(fh) + rpc.u64(at) +
                            rpc.u32(size), xid=xid)
             for xid, at in places.items()]
    for reply in client.transport.together(calls):
        at = places.pop(reply.xid)
        data = want[at:at + size]
        if not reply.data.rstrip(b"\0").endswith(data.rstrip(b"\0")):
            return False
    return not places


def checks():
    c, reply = tls.ask()
    yield reply.verf == tls.TOKEN and reply.accept == 0, \
        "the probe is answered with STARTTLS"
    c.close()
    with tls.connect(tls.context(ca=f"{T}/ca/ca.pem")) as c:
        yield c.tls.version() == "TLSv1.3", "TLS 1.3"
        yield c.tls.selected_alpn_protocol() == "sunrpc", "ALPN sunrpc"
        yield null(c), "a call without certificate"
        reply = c.rpc(tls.probe())
        yield (reply.stat, reply.why) == (1, 1), \
            "a probe inside TLS: AUTH_BADCRED"
        yield null(c), "and the connection goes on"
    with tls.connect(tls.context(alpn=())) as c:
        yield null(c), "no ALPN"
    for name in "laptop.example.org", "rpc-only", "any-usage":
        with tls.connect(cert(name)) as c:
            yield null(c), f"certificate: {name}"
    for name, alert in (("expired", "expired"), ("early", "bad_certificate"),
                        ("revoked", "revoked"),
                        ("wrong-usage", "unsupported_certificate"),
                        ("stranger", "unknown_ca")):
        got = tls.refused(cert(name)) or "nothing"
        yield alert in got.replace(" ", "_"), \
            f"certificate {name}: alert {alert} ({got})"
    yield "protocol_version" in (tls.refused(tls.context(
        most=ssl.TLSVersion.TLSv1_2)) or "").replace(" ", "_"), \
        "TLS 1.2 alone: alert protocol_version"
    yield "no_application_protocol" in (tls.refused(
        tls.context(alpn=("h2",))) or "").replace(" ", "_"), \
        "other ALPN: alert no_application_protocol"
    yield from data()
    yield from around()


def data():
    """Large replies, records of one byte, key update, half-close."""
    root = mount.root(f"{T}/export")
    with open(f"{T}/export/large", "rb") as f:
        want = f.read()
    with tls.connect() as c:
        client = nfs.Nfs3(c, strict=True)
        fh = client.lookup(root, "large").fh
        yield read_all(client, fh, len(want)) == want, "READ of 3 MB"
        yield read_together(client, fh, want), "12 MB of replies at once"
        c.send_bytewise(rpc.record(rpc.call(*NULL)))
        yield c.receive().accept == 0, "a call in records of one byte"
        calls = [rpc.call(*NULL) for _ in range(500)]
        yield len(c.together(calls)) == 500, "500 calls at once"
        if KERNEL:  # there close_notify is the end at once
            c.close_notify()
            yield c.is_closed(60), "close_notify ends the connection"
            return
        c.send_call(rpc.call(*NULL))
        c.close_notify()
        yield c.receive().accept == 0, "a reply after close_notify"
        yield c.is_closed(20), "then the server closes"


def around():
    """The probe in other places."""
    with rpc.tcp(2049) as c:
        plain = [rpc.call(*NULL) for _ in range(3)]
        c.send(b"".join(map(rpc.record, plain + [tls.probe()])))
        replies = [c.receive() for _ in range(4)]
        yield [r.verf for r in replies] == [b"", b"", b"", tls.TOKEN], \
            "plain calls are answered before the probe"
        s = tls.Secure(c.sock, tls.context()).handshake()
        yield null(s), "and TLS begins"
    with rpc.tcp(2049) as c:
        reply = c.rpc(tls.probe(proc=1))
        yield (reply.stat, reply.why) == (1, 1), \
            "AUTH_TLS on another procedure: AUTH_BADCRED"
        reply = c.rpc(tls.probe(verf=rpc.u32(1, 0)))
        yield (reply.stat, reply.why) == (1, 3), "a verifier: AUTH_BADVERF"
        reply = c.rpc(tls.probe(cred=rpc.u32(7, 4, 0)))
        yield (reply.stat, reply.why) == (1, 1), "a body: AUTH_BADCRED"
        yield null(c), "the connection goes on"
        reply = c.rpc(tls.probe(vers=9))
        yield reply.verf == tls.TOKEN and reply.accept == 2, \
            "a version that is not served: the error, and the token"
        yield null(tls.Secure(c.sock, tls.context()).handshake()), \
            "and TLS begins"
    with rpc.udp(2049) as c:
        reply = c.rpc(tls.probe())
        yield reply.accept == 0 and reply.verf == b"", "over UDP: no token"
    for name, port in ("mountd", 20048), ("portmapd", 111):
        prog, vers = {20048: (100005, 3), 111: (100000, 2)}[port]
        with rpc.tcp(port) as c:
            reply = c.rpc(tls.probe(prog, vers))
            yield reply.accept == 0 and reply.verf == b"", \
                f"{name}: an ordinary answer"


def serial():
    """Prints the serial number of the server's certificate."""
    ctx = tls.context(ca=f"{T}/ca/ca.pem")
    with tls.connect(ctx) as c:
        print(c.tls.getpeercert()["serialNumber"])
    return True


def revoked():
    """Waits until the first of two connections is ended by the server."""
    with tls.connect(cert("laptop.example.org")) as c, \
            tls.connect(cert("other.example.org")) as other, \
            tls.connect() as none:
        if not (null(c) and null(other) and null(none)):
            return False
        print("open", flush=True)
        return c.is_closed(60) and null(other) and null(none)


def distrusted():
    """Waits until the only connection with a certificate is ended."""
    with tls.connect(cert("other.example.org")) as c, tls.connect() as none:
        if not (null(c) and null(none)):
            return False
        print("open", flush=True)
        return c.is_closed(60) and null(none)


def late():
    """A handshake that began before its certificate was revoked."""
    c, _ = tls.ask()
    half = tls.Secure(c.sock, cert("late.example.org"))
    try:
        half.tls.do_handshake()
    except ssl.SSLWantReadError:
        half.flush()
    half.fill()
    with tls.connect(cert("done.example.org")) as done:
        print("open", flush=True)
        if not done.is_closed(60):
            return False
    try:
        half.handshake()
        return not null(half)
    except (rpc.Closed, ssl.SSLError):
        return True


def crowd():
    """Clients that ask for TLS and then send nothing."""
    silent = [tls.ask(source=("127.0.0.9", 0))[0] for _ in range(9)]
    if not works("other.example.org"):
        return False
    return all(c.is_closed(30) for c in silent)


def kernel():
    """The same where the kernel has the keys."""
    global KERNEL
    KERNEL = True
    for c in tls.context(), cert("laptop.example.org"):
        with tls.connect(c) as c:
            print(0 if null(c) else 1, f"a call, {c.tls.cipher()[0]}")
    with tls.connect() as c:
        null(c)
        c.sock.shutdown(socket.SHUT_WR)
        try:
            c.receive()
            end = "data"
        except rpc.Closed:
            end = "close_notify" if c.notified else "end"
        print(0 if end == "close_notify" else 1, f"the server says: {end}")
    return print_all()


def print_all():
    for good, what in checks():
        print(0 if good else 1, what, flush=True)
    return True


WORDS = {"all": print_all, "works": works, "off": off, "killed": killed,
         "serial": serial, "revoked": revoked, "late": late, "crowd": crowd,
         "kernel": kernel, "distrusted": distrusted}


def main(word, *rest):
    try:
        return not WORDS[word](*rest)
    except (OSError, rpc.Closed, rpc.Failed) as e:
        print(1, type(e).__name__, e)
        return 1


if __name__ == "__main__":
    T = sys.argv[1]
    sys.exit(main(*sys.argv[2:]))
