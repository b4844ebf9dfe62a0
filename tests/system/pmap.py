#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Asks a portmapper things no decent client asks. One command per run:

    pmap.py COMMAND ARGUMENT...

Prints what it measured; exits 0 when all went as it must. Only for addresses
of the test's own namespaces. PMAP_AS names the user to become first, PMAP_PORT
the port to ask. Runs in: the tests.
"""
import os
import pwd
import random
import signal
import socket
import struct
import sys
import time

PROG = 100000
NPROCS = {2: 6, 3: 9, 4: 13}
GARBAGE, PROC_UNAVAIL, SUCCESS = 4, 3, 0
PORT = int(os.environ.get("PMAP_PORT", "111"))


def u32(*numbers):
    return struct.pack(">%dI" % len(numbers), *numbers)


def text(value):
    value = value.encode()
    return u32(len(value)) + value + b"\0" * (-len(value) % 4)


def call(vers, proc, args=b"", xid=7):
    return u32(xid, 0, 2, PROG, vers, proc, 0, 0, 0, 0) + args


def rpcb(prog, vers, netid, uaddr):
    return u32(prog, vers) + text(netid) + text(uaddr) + text("owner")


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def udp(address, message, wait=2.0, sock=None, port=None):
    """The reply, or None."""
    s = sock or socket.socket(family(address), socket.SOCK_DGRAM)
    s.settimeout(wait)
    s.sendto(message, (address, port or PORT))
    try:
        return s.recv(65536)
    except socket.timeout:
        return None


class Stream:
    """A connection that speaks records: TCP, or a unix socket by path."""

    def __init__(self, where, low_port=False):
        if where.startswith("/"):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(where)
        else:
            self.sock = socket.socket(family(where))
            if low_port:
                self.bind_low(where)
            self.sock.connect((where, PORT))
        self.sock.settimeout(5)

    def bind_low(self, where):
        own = "::" if ":" in where else "0.0.0.0"
        for port in range(1023, 600, -1):
            try:
                return self.sock.bind((own, port))
            except OSError:
                continue

    def take(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def send(self, message):
        self.sock.sendall(u32(0x80000000 | len(message)) + message)

    def reply(self):
        mark = struct.unpack(">I", self.take(4))[0]
        assert mark & 0x80000000, "more than one fragment"
        return self.take(mark & 0x7FFFFFFF)

    def ask(self, message):
        self.send(message)
        return self.reply()


def accept_stat(reply):
    """The accept status, or None when the call was denied."""
    kind, stat = struct.unpack(">II", reply[4:12])
    if kind != 1 or stat != 0:
        return None
    return struct.unpack(">I", reply[20:24])[0]


def getport(address, prog, vers, prot=17):
    reply = udp(address, call(2, 3, u32(prog, vers, prot, 0)))
    return 0 if reply is None else struct.unpack(">I", reply[24:28])[0]


def set_call(prog, vers, netid="udp", uaddr="0.0.0.0.8.1", proc=1):
    return call(4, proc, rpcb(prog, vers, netid, uaddr))


def is_true(reply):
    return accept_stat(reply) == SUCCESS and reply[24:28] == u32(1)


# ---- commands ------------------------------------------------------------


def cmd_ratio(address):
    """Every procedure over UDP: how much longer is the reply?"""
    worst = 0.0
    mixed = [b"", u32(100003, 3, 17, 0), rpcb(100003, 3, "udp", ""),
             u32(100003, 3, 0, 0), text("1.2.3.4.5.6"), u32(16, 16) + b"\2" * 16]
    for vers, n in NPROCS.items():
        for proc in range(n + 1):
            for args in mixed:
                message = call(vers, proc, args)
                reply = udp(address, message)
                if reply is None:
                    print("version %d procedure %d: no answer" % (vers, proc))
                    return False
                worst = max(worst, len(reply) / len(message))
                if proc == 4 and accept_stat(reply) is not None:
                    print("DUMP of version %d answered over UDP" % vers)
                    return False
    print("worst ratio %.2f" % worst)
    return worst <= 1.5


def cmd_callit(address, prog, vers):
    """NULL is answered, anything else refused, nothing hangs."""
    prog, vers = int(prog), int(vers)
    for version, proc in ((2, 5), (3, 5), (4, 5), (4, 10)):
        good = udp(address, call(version, proc, u32(prog, vers, 0, 0)))
        bad = udp(address, call(version, proc, u32(prog, vers, 1, 0)))
        none = udp(address, call(version, proc, u32(4711, 1, 0, 0)))
        if (accept_stat(good), accept_stat(bad), accept_stat(none)) != (
                SUCCESS, PROC_UNAVAIL, PROC_UNAVAIL):
            return False
    return True


def cmd_set_net(address):
    """SET and UNSET by UDP and TCP, from a port below 1024 where possible."""
    messages = [call(2, 1, u32(100003, 4, 17, 900)),
                call(2, 2, u32(100003, 3, 17, 0))]
    for v in (3, 4):
        messages += [call(v, 1, rpcb(100003, 4, "udp", "0.0.0.0.3.132")),
                     call(v, 2, rpcb(100003, 3, "", ""))]
    stream = Stream(address, low_port=True)
    for message in messages:
        for reply in (udp(address, message), stream.ask(message)):
            if accept_stat(reply) != SUCCESS or is_true(reply):
                return False
    return True


def cmd_set(path, prog, vers, netid="udp", uaddr="0.0.0.0.8.1"):
    """One SET by a unix socket; prints true or false."""
    print("true" if is_true(Stream(path).ask(
        set_call(int(prog), int(vers), netid, uaddr))) else "false")
    return True


def cmd_unset(path, prog, vers):
    """One UNSET by a unix socket; prints true or false."""
    print("true" if is_true(Stream(path).ask(
        set_call(int(prog), int(vers), "", "", proc=2))) else "false")
    return True


def cmd_strings(address):
    """Lengths that lie, 2000 times (rpcbomb)."""
    stream = Stream(address)
    for i in range(2000):
        length = (100000000, 0xFFFFFFFF, 0xFFFFFFFD, 1025)[i % 4]
        args = u32(100003, 3) + u32(length)
        if i % 3:
            args = u32(100003, 3) + text("udp") + u32(length)
        message = call(3 + i % 2, 3, args)
        reply = stream.ask(message) if i % 5 else udp(address, message)
        if accept_stat(reply) != GARBAGE:
            return False
    return True


def cmd_malformed(address):
    """GETADDR with netids and addresses that are none: the empty answer."""
    for netid, uaddr in (("tcp", "1.2.3"), ("xyz", ""), ("tcp", "%s%n"),
                         ("tcp6", "fe80::1%lo.0.111"), ("tcp", "a" * 1000),
                         ("tcp", "1.2.3.4.5.6.7"), ("tcp", "::1.999.1"),
                         ("\1\2", "\x7f"), ("t" * 1000, "")):
        for vers in (3, 4):
            reply = udp(address, call(vers, 3, rpcb(100000, 2, netid, uaddr)))
            if accept_stat(reply) != SUCCESS or reply[24:] != u32(0):
                print(netid, uaddr)
                return False
    return True


def cmd_many(path, count):
    """So many registrations; prints how many were taken."""
    stream = Stream(path)
    taken, batch = 0, 500
    for start in range(0, int(count), batch):
        for i in range(start, start + batch):
            stream.send(set_call(300000 + i, 1))
        taken += sum(is_true(stream.reply()) for _ in range(batch))
    print(taken)
    return True


def cmd_kill(pid, address, prog, vers):
    """kill -9: prints after how many milliseconds the entry is gone."""
    assert getport(address, int(prog), int(vers)) != 0
    os.kill(int(pid), signal.SIGKILL)
    start = time.monotonic()
    while getport(address, int(prog), int(vers)) != 0:
        if time.monotonic() - start > 5:
            break
    took = (time.monotonic() - start) * 1000
    print("%.1f ms" % took)
    return took < 100


def cmd_back(address, prog, vers):
    """Prints after how many milliseconds the entry is there."""
    start = time.monotonic()
    while getport(address, int(prog), int(vers)) == 0:
        if time.monotonic() - start > 5:
            return False
        time.sleep(0.002)
    took = (time.monotonic() - start) * 1000
    print("%.1f ms" % took)
    return took < 1000


def cmd_source(address, port="0"):
    """Does the reply come from the address and port that were asked?"""
    port = int(port) or PORT
    sock = socket.socket(family(address), socket.SOCK_DGRAM)
    sock.settimeout(2)
    sock.sendto(call(2, 0), (address, port))
    source = sock.recvfrom(100)[1]
    reply = udp(address, call(3, 3, rpcb(100000, 3, "", "")), port=port)
    length = struct.unpack(">I", reply[24:28])[0]
    told = reply[28:28 + length].decode()
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
        sock.sendto(call(2, 0), (address, PORT))
    try:
        while sock.recv(100):
            got += 1
    except socket.timeout:
        pass
    seconds = int(time.monotonic() - start) + 2
    print("%d of %d answered" % (got, sent))
    return 0 < got <= int(limit) * seconds


def spoofed(source, target):
    """An IPv4 datagram with a GETPORT; checksums are the kernel's business."""
    data = call(2, 3, u32(100000, 2, 17, 0))
    head = struct.pack(">HHHH", random.randrange(1024, 65535), PORT,
                       8 + len(data), 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, 17, 0, source,
                     socket.inet_aton(target))
    return ip + head + data


def cmd_flood(address, seconds):
    """GETPORTs from 1000 sources as fast as it goes; prints the rate."""
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
    print("%d calls a second" % (sent / (time.monotonic() - start)))
    return True


def cmd_latency(address, seconds):
    """TCP queries (connection and GETPORT): nine of ten within 50 ms, the
    tenth may have met a busy test machine."""
    end = time.monotonic() + float(seconds)
    took = []
    while time.monotonic() < end:
        start = time.monotonic()
        stream = Stream(address)
        stream.ask(call(2, 3, u32(100000, 2, 17, 0)))
        stream.sock.close()
        took.append((time.monotonic() - start) * 1000)
        time.sleep(0.01)
    took.sort()
    tenth = took[len(took) * 9 // 10]
    print("%d queries, nine of ten within %.1f ms, slowest %.1f ms" % (
        len(took), tenth, took[-1]))
    return tenth < 50


def cmd_hold(path, count):
    """So many idle connections, until standard input ends."""
    held = []
    for _ in range(int(count)):
        try:
            held.append(Stream(path))
        except OSError:
            break
    print(len(held), flush=True)
    sys.stdin.read()
    return True


def main():
    command = globals().get("cmd_" + sys.argv[1].replace("-", "_"))
    if command is None:
        sys.exit("pmap.py: unknown command " + sys.argv[1])
    if "PMAP_AS" in os.environ:
        user = pwd.getpwnam(os.environ["PMAP_AS"])
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
    return 0 if command(*sys.argv[2:]) else 1


sys.exit(main())
