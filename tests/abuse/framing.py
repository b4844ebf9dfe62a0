# SPDX-License-Identifier: ISC
"""RPC records, headers, credentials and arguments."""
import os
import random
import socket
import struct
import time

import valid_calls
from harness import FILES, case
from mount import MOUNT
from nfs import NFS, OK, UNCHECKED, sattr3
from pmap import PMAP
from process import eventually
from rpc import (AUTH_SYS, NOBODY, Closed, Reply, auth_sys, call, opaque,
                 record, u32, u64)

MAXIMA = {NFS: (1 << 20) + 4096, MOUNT: 8192, PMAP: 2048}
VERSIONS = {NFS: 3, MOUNT: 3, PMAP: 2}
PROGRAMS = (NFS, MOUNT, PMAP)


@case(1, "a record longer than the longest call is closed at its header",
      remote=True)
def record_too_long(w):
    for prog in PROGRAMS:
        with w.tcp(prog) as t:
            t.send(u32(0x80000000 | (2 * MAXIMA[prog] + 65536)))
            w.true(t.is_closed(), f"program {prog} keeps the connection")


@case(2, "1,000 connections announce 2 GiB: closed, no memory")
def announce_much(w):
    before = w.snapshot()[1]
    for _ in range(1000):
        with w.tcp() as t:
            t.send(u32(0xFFFFFFFF) + b"abcd")
            w.true(t.is_closed(), "connection kept")
    w.true(w.snapshot()[1] - before < 1000, "memory grew")


@case(3, "endless empty fragments are closed", remote=True)
def empty_fragments(w):
    with w.tcp() as t:
        try:
            for _ in range(200):
                t.send(u32(0) * 1000)
        except Closed:
            return
        w.true(t.is_closed(), "connection kept")


@case(4, "one-byte fragments: a call is answered, 400,000 are closed",
      remote=True)
def tiny_fragments(w):
    message = call(NFS, 3, 0)
    with w.tcp() as t:
        t.send(b"".join(record(message[i:i + 1], i + 1 == len(message))
                        for i in range(len(message))))
        w.equal(t.receive().accept, 0, "NULL in one-byte fragments")
    with w.tcp() as t:
        try:
            for _ in range(400):
                t.send(record(b"x", False) * 1000)
        except Closed:
            return
        w.true(t.is_closed(), "connection kept")


@case(5, "a record header byte by byte is answered", remote=True)
def split_header(w):
    for prog in PROGRAMS:
        with w.tcp(prog) as t:
            for byte in record(call(prog, VERSIONS[prog], 0)):
                t.send(bytes([byte]))
            w.equal(t.receive().accept, 0, "NULL")


@case(6, "an unfinished record is closed when it passes the maximum",
      remote=True)
def endless_record(w):
    with w.tcp() as t:
        try:
            for _ in range(64):
                t.send(record(bytes(65536), False))
        except Closed:
            return
        w.true(t.is_closed(), "connection kept")


@case(7, "10,000 calls in one burst are all answered", remote=True)
def burst(w):
    with w.tcp(timeout=20) as t:
        for i in range(10):
            t.send(b"".join(record(call(NFS, 3, 0, xid=i * 1000 + j))
                            for j in range(1000)))
        seen = {t.receive().xid for _ in range(10000)}
    w.equal(len(seen), 10000, "answers")


@case(8, "a client that never reads its 1 MiB READs is held and dropped",
      long=True, grows=True)
def never_reads(w):
    c = w.nfs3()
    fh = c.lookup(w.root(), "big").fh
    t = w.tcp()
    t.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    message = record(c.message("READ", opaque(fh) + u64(0) + u32(1 << 20)))
    before = w.snapshot()[1]
    t.sock.settimeout(1)
    sent = 0
    try:
        while sent < 5000:
            t.send(message)
            sent += 1
    except (socket.timeout, Closed):
        pass
    # -o queue-max is 1 MiB. On a busy machine READs are left to file threads.
    # 8 MiB and one more reply are awaited then, and 8 buffers are kept.
    grown = w.snapshot()[1] - before
    w.true(grown < (1 + 9 + 8 + 4) * 1024, f"the output grew by {grown} KiB")
    w.true(sent < 100000, "server never stopped reading")
    t.sock.setblocking(True)
    end = time.monotonic() + 120
    gone = False
    while not gone and time.monotonic() < end:
        time.sleep(0.5)
        gone = tcp_gone(t.sock)
    t.close()
    w.true(gone, "not dropped after the stall time")
    w.true(eventually(lambda: w.snapshot()[1] - before < (8 + 4) * 1024),
           "its memory is kept")


def tcp_gone(sock):
    """The kernel's word that the other side has ended the connection."""
    state = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[0]
    return state not in (1,)


@case(9, "half-close after the call: the reply still comes", remote=True)
def half_close(w):
    for prog in PROGRAMS:
        with w.tcp(prog) as t:
            t.send(record(call(prog, VERSIONS[prog], 0)))
            t.sock.shutdown(socket.SHUT_WR)
            w.equal(t.receive().accept, 0, f"program {prog}")


@case(10, "RPC version 3, a REPLY, and every cut of the header", remote=True)
def bad_headers(w):
    good = call(NFS, 3, 0)
    with w.tcp() as t:
        reply = t.rpc(call(NFS, 3, 0, rpcvers=3))
        w.equal((reply.stat, reply.reject), (1, 0), "RPC_MISMATCH")
        w.equal(reply.data[16:24], u32(2, 2), "versions 2..2")
    with w.udp() as t:
        t.send(call(NFS, 3, 0, mtype=1))
        w.equal(t.receive_raw(), None, "a REPLY was answered")
    for n in range(40):
        with w.udp() as t:
            t.send(good[:n])
            data = t.receive_raw(0.02)
            w.true(data is None or len(data) <= max(n, 24),
                   f"cut at {n} gave {data!r}")
        with w.tcp() as t:
            w.refused(lambda t=t, n=n: t.rpc(good[:n]), f"cut at {n}")


@case(11, "credential and verifier lengths 401, 4,096, 2^32-1", remote=True)
def long_credentials(w):
    for length in (401, 4096, 0xFFFFFFFF):
        body = bytes(min(length, 5000) + 3 & ~3)
        for cred, verf in ((u32(AUTH_SYS, length) + body, NOBODY),
                           (NOBODY, u32(0, length) + body)):
            with w.tcp() as t:
                w.refused(lambda t=t, c=cred, v=verf: t.rpc(
                    call(NFS, 3, 0, cred=c, verf=v)), f"length {length}")


@case(12, "AUTH_SYS: long name, 17 groups, wrong body length: BADCRED",
      remote=True)
def bad_auth_sys(w):
    fh = opaque(w.root())
    head, tail = u32(1), u32(1001, 1001)
    bodies = {
        "name 256": head + opaque(b"n" * 256) + tail + u32(0),
        "17 groups": head + opaque(b"n") + tail + u32(17, *range(17)),
        "2^32-1 groups": head + opaque(b"n") + tail + u32(0xFFFFFFFF),
        "body too short": head + opaque(b"n") + u32(1001),
        "body too long": head + opaque(b"n") + tail + u32(0) + u32(7),
        "name past the body": head + u32(200) + b"abcd",
    }
    for what, body in bodies.items():
        with w.tcp() as t:
            reply = t.rpc(call(NFS, 3, 1, fh,
                               cred=u32(AUTH_SYS) + opaque(body)))
            w.equal((reply.stat, reply.reject, reply.why), (1, 1, 1), what)


@case(13, "other flavours are refused or anonymous, never root", remote=FILES)
def flavours(w):
    c = w.nfs3()
    for flavour in (0, 2, 3, 6, 0xFFFFFFFF):
        cred = u32(flavour, 0)
        reply = c.call("CREATE", opaque(w.root()) + opaque(f"fl{flavour}") +
                       u32(UNCHECKED) + sattr3(), cred=cred)
        if reply.stat == 1:
            w.equal(reply.reject, 1, f"flavour {flavour}")
            continue
        w.equal(reply.status(), OK, f"flavour {flavour}")
        owner = os.stat(f"{w.dir}/rw/fl{flavour}").st_uid
        w.equal(owner, 65534, f"owner with flavour {flavour}")
        os.unlink(f"{w.dir}/rw/fl{flavour}")


@case(14, "unknown programs, versions and procedures", remote=True)
def unknown(w):
    bounds = {NFS: (2, 3), MOUNT: (1, 3), PMAP: (2, 4)}
    for prog in PROGRAMS:
        with w.tcp(prog) as t:
            for other in (0, 1, 100228, 0xFFFFFFFF):
                w.equal(t.rpc(call(other, 1, 0)).accept, 1, "PROG_UNAVAIL")
            for vers in (0, 9, 0xFFFFFFFF):
                reply = t.rpc(call(prog, vers, 0))
                w.equal(reply.accept, 2, "PROG_MISMATCH")
                w.equal(reply.rest[:8], u32(*bounds[prog]), "bounds")
            for proc in (99, 0x7FFFFFFF, 0xFFFFFFFF):
                w.equal(t.rpc(call(prog, VERSIONS[prog], proc)).accept, 3,
                        "PROC_UNAVAIL")


@case(15, "arguments cut at every byte, every procedure: GARBAGE_ARGS")
def cut_arguments(w):
    for prog, vers, proc, args in valid_calls.every(w):
        with w.tcp(prog) as t:
            for n in range(0, len(args), 1 if len(args) < 200 else 7):
                reply = t.rpc(call(prog, vers, proc, args[:n],
                                   auth_sys(1001, 1001)))
                w.equal((reply.stat, reply.accept), (0, 4),
                        f"{prog} v{vers} {proc} cut at {n} of {len(args)}")


@case(16, "trailing garbage does not touch the reply", grows=True,
      remote=FILES)
def trailing(w):
    garbage = os.urandom((1 << 20) - 4096)
    for _ in range(12):  # each worker keeps the buffers that it needed once
        read_and_more(w, garbage)
    before = w.snapshot()
    for _ in range(12):
        read_and_more(w, garbage)
    sent = 12 * len(garbage) // 1024  # a worker or thread may be new to it
    w.true(w.remote or eventually(
        lambda: w.snapshot()[1] - before[1] < sent / 2), "memory grew")
    with w.tcp(MOUNT) as t:
        w.equal(t.rpc(call(MOUNT, 3, 0, bytes(4096))).accept, 0, "MOUNT NULL")


def read_and_more(w, garbage):
    c = w.nfs3()
    fh = c.lookup(w.root(), "big").fh
    reply = c.call("READ", opaque(fh) + u64(0) + u32(65536) + garbage)
    w.equal(reply.status(), OK, "READ with trailing garbage")
    w.equal(len(reply.rest), 4 + 88 + 12 + 65536, "length of the reply")
    c.close()


@case(17, "dirty padding is skipped, our own is zero, booleans are 0 or 1",
      remote=FILES)
def padding(w):
    c = w.nfs3()
    reply = c.call("LOOKUP", opaque(w.root()) + opaque("f", fill=b"\xff"))
    w.equal(reply.status(), OK, "dirty padding")
    reply = c.readlink(c.lookup(w.root(), "link").fh)
    w.equal(reply.rest[-4:], b"t\0\0\0", "our padding")
    reply = c.call("SETATTR", opaque(w.root()) + u32(2) + u32(0) * 6)
    w.equal(reply.accept, 4, "boolean 2")


@case(18, "odd datagrams: dropped, or an answer no larger", remote=True)
def odd_datagrams(w):
    good = call(NFS, 3, 0)
    for data in (b"", b"x", bytes(65507), record(good), good[:39]):
        with w.udp() as t:
            t.send(data)
            got = t.receive_raw(0.05)
            w.true(got is None or len(got) <= max(len(data), 24),
                   f"{len(data)} bytes gave {got and len(got)}")


def forged(w, port, prog):
    """The ports of the datagrams that come back to a forged source port."""
    message = call(prog, VERSIONS[prog], 0)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW,
                       socket.IPPROTO_UDP) as s:
        s.bind(("127.0.0.99", 0))
        s.settimeout(0.1)
        s.sendto(struct.pack(">HHHH", port, w.ports[prog], 8 + len(message),
                             0) + message, (w.host, 0))
        found = []
        try:
            while True:  # past the header of IP
                found.append(struct.unpack(">HH", s.recv(2048)[20:24]))
        except socket.timeout:
            pass
    return [to for source, to in found if source == w.ports[prog]]


@case(19, "reflection: one reply at most, none to a REPLY")
def reflection(w):
    for port in (0, 7, 19, 53, 111, 2049):
        for prog in PROGRAMS:
            back = forged(w, port, prog)
            w.among(back, ([], [port]), f"datagrams to port {port}")
            w.true(port != 0 or not back, "an answer to port 0")
    for port in (7, 19, 53, 2049 + 1):
        with w.udp(source=("127.0.0.9", port)) as t:
            t.send(call(NFS, 3, 0))
            first = t.receive_raw()
            if first:
                w.equal(Reply(first).mtype, 1, "reply")
                t.send(first)
                w.equal(t.receive_raw(0.1), None, "answer to our reply")


@case(20, "random bytes into every port", remote=True)
def noise(w):
    rng = random.Random(20)
    end = time.monotonic() + (10 * w.seconds if w.long else 3)
    while time.monotonic() < end:
        for prog in PROGRAMS:
            data = rng.randbytes(rng.randrange(1, 3000))
            with w.udp(prog) as t:
                t.send(data)
            with w.tcp(prog) as t:
                try:
                    t.send(data)
                    t.send(record(data))
                except Closed:
                    pass


@case(21, "a valid call with each byte changed: no crash, no damage",
      grows=True)
def mutations(w):
    rng = random.Random(21)
    step = 1 if w.long else 5
    for prog, vers, proc, args in valid_calls.every(w, harmless=True):
        message = call(prog, vers, proc, args, auth_sys(1001, 1001), xid=7)
        with w.udp(prog, timeout=0.01) as t:
            for at in range(0, min(len(message), 400), step):
                bad = bytearray(message)
                bad[at] ^= rng.randrange(1, 256)
                t.send(bytes(bad))
            t.receive_raw(0.01)
