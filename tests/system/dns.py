#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A name server for tests that can be told to misbehave.

    dns.py ADDRESS FILE

FILE has a line "name A|AAAA address" for each record, and "name MODE" for a
name that is answered wrongly: hang (no answer), junk (random bytes), long (a
datagram of 4,000 bytes), loop (a compression pointer to itself), lie (an
answer of 5 bytes for an address), cut (truncated: ask by TCP). It is read again
for every question. Serves UDP and TCP.
Runs in: the tests.
"""
import os
import socket
import struct
import sys
import threading

TYPES = {1: "A", 28: "AAAA"}


def read(path):
    records, modes = [], {}
    for line in open(path, encoding="ascii"):
        words = line.split()
        if len(words) == 3:
            records.append(words)
        elif len(words) == 2:
            modes[words[0]] = words[1]
    return records, modes


def question(q):
    """The name and the type asked for, and the end of the question."""
    at, labels = 12, []
    while q[at]:
        labels.append(q[at + 1:at + 1 + q[at]].decode("ascii"))
        at += 1 + q[at]
    kind, = struct.unpack(">H", q[at + 1:at + 3])
    return ".".join(labels).lower(), TYPES.get(kind), at + 5


def record(data, kind):
    return struct.pack(">HHHIH", 0xc00c, kind, 1, 1, len(data)) + data


def answer(q, path, tcp):
    """The reply, or None."""
    name, kind, end = question(q)
    records, modes = read(path)
    mode = modes.get(name)
    number = {v: k for k, v in TYPES.items()}.get(kind, 1)
    answers = []
    if mode == "hang":
        return None
    if mode == "junk":
        return q[:2] + os.urandom(300)
    if mode == "long":
        answers = [record(os.urandom(60), number)] * 50
    if mode == "loop":
        return q[:2] + struct.pack(">HHHHH", 0x8180, 1, 1, 0, 0) + q[12:end] + \
            b"\xc0" + bytes([end]) + \
            struct.pack(">HHIH", number, 1, 1, 4) + b"\1\2\3\4"
    if mode == "lie":
        answers = [record(b"\x0a\0\0\1\0", number)]
    for who, what, address in records:
        if who == name and what == kind:
            family = socket.AF_INET if what == "A" else socket.AF_INET6
            answers.append(record(socket.inet_pton(family, address), number))
    known = answers or mode or any(who == name for who, _, _ in records)
    flags = 0x8180 | (0 if known else 3)
    if mode == "cut" and not tcp:
        flags, answers = flags | 0x200, []
    return q[:2] + struct.pack(">HHHHH", flags, 1, len(answers), 0, 0) + \
        q[12:end] + b"".join(answers)


def serve_tcp(listener, path):
    while True:
        c, _ = listener.accept()
        with c:
            try:
                while True:
                    size = c.recv(2, socket.MSG_WAITALL)
                    q = c.recv(struct.unpack(">H", size)[0],
                               socket.MSG_WAITALL)
                    a = answer(q, path, True)
                    if a:
                        c.sendall(struct.pack(">H", len(a)) + a)
            except (OSError, struct.error, IndexError):
                pass


def main(address, path):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    udp = socket.socket(family, socket.SOCK_DGRAM)
    udp.bind((address, 53))
    tcp = socket.socket(family)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind((address, 53))
    tcp.listen(16)
    threading.Thread(target=serve_tcp, args=(tcp, path), daemon=True).start()
    while True:
        q, peer = udp.recvfrom(4096)
        try:
            a = answer(q, path, False)
        except IndexError:
            continue
        if a:
            udp.sendto(a, peer)


if __name__ == "__main__":
    main(*sys.argv[1:])
