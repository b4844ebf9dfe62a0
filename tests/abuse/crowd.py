#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Many connections from many addresses of the loopback network.

    crowd.py hold N         connects N times, one call on each, says "held",
                            and keeps them until its input ends
    crowd.py churn SECONDS  connects, calls, closes, again and again; says how
                            often, and the longest time one took
"""
import socket
import sys
import time

from wire import NFS, call, record

PORT, ADDRESSES = 2049, 200


def connect(number):
    s = socket.socket()
    s.settimeout(30)
    s.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
    s.bind((f"127.1.{number % ADDRESSES}.1", 0))
    s.connect(("127.0.0.1", PORT))
    return s


def null(s):
    s.sendall(record(call(NFS, 3, 0)))
    if len(s.recv(64)) != 28:
        sys.exit("no answer")


def hold(count):
    held = [connect(i) for i in range(count)]
    for s in held:
        null(s)
    print("held", flush=True)
    sys.stdin.read()


def churn(seconds):
    end, count, longest = time.monotonic() + seconds, 0, 0.0
    while (start := time.monotonic()) < end:
        with connect(count) as s:
            null(s)
        count += 1
        longest = max(longest, time.monotonic() - start)
    print(f"{count} connections, {count / seconds:.0f} a second, "
          f"longest {longest * 1000:.0f} ms")


{"hold": hold, "churn": churn}[sys.argv[1]](int(sys.argv[2]))
