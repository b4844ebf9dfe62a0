#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Calls to a portmapper that normal clients do not make. One command per run:

    pmap_call.py COMMAND ARGUMENT...

Prints its measurements, and exits 0 if all replies are right. Only for
addresses of the test's own namespaces. PMAP_AS names the user to become first,
PMAP_PORT the port to ask.
"""
import os
import pwd
import random
import signal
import socket
import struct
import sys
import time

import pmap
from nfs import NFS
from pmap import (CALLIT, DUMP, GETADDR, GETPORT, PMAP, PORT, SET, UDP, UNSET,
                  rpcb)
from process import become, patient
from rpc import Cursor, Reply, call, family, opaque, tcp, u32, udp, unix

NPROCS = {2: 6, 3: 9, 4: 13}
GARBAGE, PROC_UNAVAIL, SUCCESS = 4, 3, 0
RESERVED = range(1023, 600, -1)


def ask(address, message, port=PORT):
    """The reply to a datagram, or None."""
    with udp(port, address) as t:
        t.send(message)
        data = t.receive_raw(2)
    return Reply(data) if data else None


def getport(address, prog, vers):
    with udp(PORT, address) as t:
        return pmap.getport(t, int(prog), int(vers), UDP)


def set_call(prog, vers, netid="udp", uaddr="0.0.0.0.8.1", proc=SET):
    return call(PMAP, 4, proc, rpcb(int(prog), int(vers), netid, uaddr,
                                    "owner"))


def is_true(reply):
    return reply.status() == 1


# ---- commands


def cmd_ratio(address):
    """Calls every procedure over UDP: how much longer is the reply?"""
    worst = 0.0
    mixed = [b"", u32(NFS, 3, UDP, 0), rpcb(NFS, 3, "udp", owner="owner"),
             u32(NFS, 3, 0, 0), opaque("1.2.3.4.5.6"),
             u32(16, 16) + b"\2" * 16]
    for vers, n in NPROCS.items():
        for proc in range(n + 1):
            for args in mixed:
                message = call(PMAP, vers, proc, args)
                reply = ask(address, message)
                if reply is None:
                    print(f"version {vers} procedure {proc}: no answer")
                    return False
                worst = max(worst, len(reply.data) / len(message))
                if proc == DUMP and reply.stat == 0:
                    print(f"DUMP of version {vers} answered over UDP")
                    return False
    print(f"worst ratio {worst:.2f}")
    return worst <= 1.5


def cmd_callit(address, prog, vers):
    """NULL is answered, any other procedure is refused."""
    prog, vers = int(prog), int(vers)
    for version, proc in ((2, CALLIT), (3, CALLIT), (4, CALLIT), (4, 10)):
        for args, accept in ((u32(prog, vers, 0, 0), SUCCESS),
                             (u32(prog, vers, 1, 0), PROC_UNAVAIL),
                             (u32(4711, 1, 0, 0), PROC_UNAVAIL)):
            if ask(address, call(PMAP, version, proc, args)).accept != accept:
                return False
    return True


def cmd_set_net(address):
    """SET and UNSET by UDP and TCP, from a port below 1024 if permitted."""
    messages = [call(PMAP, 2, SET, u32(NFS, 4, UDP, 900)),
                call(PMAP, 2, UNSET, u32(NFS, 3, UDP, 0))]
    for v in (3, 4):
        messages += [call(PMAP, v, SET, rpcb(NFS, 4, "udp",
                                             "0.0.0.0.3.132", "owner")),
                     call(PMAP, v, UNSET, rpcb(NFS, 3, owner="owner"))]
    with tcp(PORT, address, source=("", RESERVED)) as stream:
        for message in messages:
            for reply in (ask(address, message), stream.rpc(message)):
                if reply.accept != SUCCESS or is_true(reply):
                    return False
    return True


def cmd_set(path, prog, vers, netid="udp", uaddr="0.0.0.0.8.1"):
    """One SET by a unix socket; prints true or false."""
    print("true" if is_true(unix(path).rpc(
        set_call(prog, vers, netid, uaddr))) else "false")
    return True


def cmd_unset(path, prog, vers):
    """One UNSET by a unix socket; prints true or false."""
    print("true" if is_true(unix(path).rpc(
        set_call(prog, vers, "", "", UNSET))) else "false")
    return True


def cmd_strings(address):
    """Sends 2000 strings with wrong lengths (rpcbomb)."""
    stream = tcp(PORT, address)
    for i in range(2000):
        length = (100000000, 0xFFFFFFFF, 0xFFFFFFFD, 1025)[i % 4]
        args = u32(NFS, 3) + (opaque("udp") if i % 3 else b"") + u32(length)
        message = call(PMAP, 3 + i % 2, GETADDR, args)
        reply = stream.rpc(message) if i % 5 else ask(address, message)
        if reply.accept != GARBAGE:
            return False
    return True


def cmd_malformed(address):
    """GETADDR with malformed netids and addresses gets an empty address."""
    for netid, uaddr in (("tcp", "1.2.3"), ("xyz", ""), ("tcp", "%s%n"),
                         ("tcp6", "fe80::1%lo.0.111"), ("tcp", "a" * 1000),
                         ("tcp", "1.2.3.4.5.6.7"), ("tcp", "::1.999.1"),
                         ("\1\2", "\x7f"), ("t" * 1000, "")):
        for vers in (3, 4):
            reply = ask(address, call(PMAP, vers, GETADDR, rpcb(
                PMAP, 2, netid, uaddr, "owner")))
            if reply.accept != SUCCESS or reply.rest != u32(0):
                print(netid, uaddr)
                return False
    return True


def cmd_many(path, count):
    """Registers count programs; prints how many were accepted."""
    print(sum(map(is_true, unix(path).pipeline((
        set_call(300000 + i, 1) for i in range(int(count))), batch=500))))
    return True


def cmd_kill(pid, address, prog, vers):
    """kill -9; prints the milliseconds until the entry is removed."""
    assert getport(address, prog, vers) != 0
    os.kill(int(pid), signal.SIGKILL)
    start = time.monotonic()
    while getport(address, prog, vers) != 0:
        if time.monotonic() - start > 5:
            break
    took = (time.monotonic() - start) * 1000
    print(f"{took:.1f} ms")
    return took < patient(100)


def is_there(address, prog, vers):
    """Is it registered? False if no portmapper answers."""
    try:
        return getport(address, prog, vers) != 0
    except OSError:
        return False


def cmd_back(address, prog, vers):
    """Prints the milliseconds until the entry exists."""
    start = time.monotonic()
    while not is_there(address, prog, vers):
        if time.monotonic() - start > 5:
            return False
        time.sleep(0.002)
    took = (time.monotonic() - start) * 1000
    print(f"{took:.1f} ms")
    return took < patient(1000)


def cmd_source(address, port="0"):
    """Does the reply come from the address and port that were asked?"""
    port = int(port) or PORT
    sock = socket.socket(family(address), socket.SOCK_DGRAM)
    sock.settimeout(2)
    sock.sendto(call(PMAP, 2, pmap.NULL), (address, port))
    source = sock.recvfrom(100)[1]
    reply = ask(address, call(PMAP, 3, GETADDR, rpcb(
        PMAP, 3, owner="owner")), port)
    told = Cursor(reply.rest).opaque().decode()
    print(source[0], source[1], told)
    return source[:2] == (address, port) and told.startswith(address + ".")


def cmd_rate(address, limit):
    """Many calls at once: no more than the limit are answered in a second."""
    sock = socket.socket(family(address), socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    start = time.monotonic()
    got, sent = 0, 3 * int(limit)
    sock.settimeout(0.3)
    for _ in range(sent):
        sock.sendto(call(PMAP, 2, pmap.NULL), (address, PORT))
    try:
        while sock.recv(100):
            got += 1
    except socket.timeout:
        pass
    seconds = int(time.monotonic() - start) + 2
    print(f"{got} of {sent} answered")
    return 0 < got <= int(limit) * seconds


def spoofed(source, target):
    """An IPv4 datagram with a GETPORT; the kernel adds checksums."""
    data = call(PMAP, 2, GETPORT, u32(PMAP, 2, UDP, 0))
    head = struct.pack(">HHHH", random.randrange(1024, 65535), PORT,
                       8 + len(data), 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, 17, 0, source,
                     socket.inet_aton(target))
    return ip + head + data


def cmd_flood(address, seconds):
    """Sends GETPORTs from 1000 sources without pause; prints the rate."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    net = socket.inet_aton(address)[:2]
    packets = [spoofed(net + bytes((2 + i // 250, 1 + i % 250)), address)
               for i in range(1000)]
    end = time.monotonic() + float(seconds)
    sent = 0
    start = time.monotonic()
    while time.monotonic() < end:
        for packet in packets:
            try:
                raw.sendto(packet, (address, 0))
                sent += 1
            except OSError:
                pass
    print(f"{sent / (time.monotonic() - start):.0f} calls a second")
    return True


def cmd_latency(address, seconds):
    """TCP queries (connection and GETPORT): nine of ten within 50 ms. The
    tenth may be slow on a busy test machine."""
    end = time.monotonic() + float(seconds)
    took = []
    while time.monotonic() < end:
        start = time.monotonic()
        with tcp(PORT, address) as t:
            pmap.getport(t, PMAP, 2, UDP)
        took.append((time.monotonic() - start) * 1000)
        time.sleep(0.01)
    took.sort()
    tenth = took[len(took) * 9 // 10]
    print(f"{len(took)} queries, nine of ten within {tenth:.1f} ms, "
          f"slowest {took[-1]:.1f} ms")
    return tenth < patient(50)


def cmd_hold(path, count):
    """Holds count idle connections until standard input ends."""
    held = []
    for _ in range(int(count)):
        try:
            held.append(unix(path))
        except OSError:
            break
    print(len(held), flush=True)
    sys.stdin.read()
    return True


def main():
    command = globals().get("cmd_" + sys.argv[1].replace("-", "_"))
    if command is None:
        sys.exit("pmap_call.py: unknown command " + sys.argv[1])
    if "PMAP_AS" in os.environ:
        user = pwd.getpwnam(os.environ["PMAP_AS"])
        become(user.pw_uid, user.pw_gid)
    return 0 if command(*sys.argv[2:]) else 1


if __name__ == "__main__":
    sys.exit(main())
