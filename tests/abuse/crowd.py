#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Many connections from many addresses of the loopback network.

    crowd.py hold N         connects N times, one call on each, says "held",
                            and keeps them until its input ends
    crowd.py churn SECONDS  connects, calls, closes, again and again; says how
                            often, and the longest time one took
"""
import sys
import time

from nfs import NFS
from rpc import call, tcp

PORT, ADDRESSES = 2049, 200


def connect(number):
    return tcp(PORT, source=(f"127.1.{number % ADDRESSES}.1", 0), timeout=30)


def null(t):
    if t.rpc(call(NFS, 3, 0)).accept != 0:
        sys.exit("no answer")


def hold(count):
    held = [connect(i) for i in range(count)]
    for t in held:
        null(t)
    print("held", flush=True)
    sys.stdin.read()


def churn(seconds):
    end, count, longest = time.monotonic() + seconds, 0, 0.0
    while (start := time.monotonic()) < end:
        with connect(count) as t:
            null(t)
        count += 1
        longest = max(longest, time.monotonic() - start)
    print(f"{count} connections, {count / seconds:.0f} a second, "
          f"longest {longest * 1000:.0f} ms")


if __name__ == "__main__":
    {"hold": hold, "churn": churn}[sys.argv[1]](int(sys.argv[2]))
