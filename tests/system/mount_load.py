#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Calls MNT of MOUNT 3 many times.

    mount_load.py times ADDRESS PORT PATH...    300 times each over UDP; prints
            the results of each, and "close" if no median time is three times
            another
    mount_load.py burst ADDRESS PORT DIRECTORY  3000 times DIRECTORY/1 to /300
            over one TCP connection, fifty at once, until all are answered
"""
import sys
import time

from mount import MNT, MOUNT
from rpc import call, opaque, tcp, udp


def mnt(path):
    return call(MOUNT, 3, MNT, opaque(path))


def times(address, port, *paths):
    medians = []
    with udp(int(port), address, timeout=5) as t:
        for path in paths:
            took = []
            for _ in range(300):
                start = time.perf_counter()
                reply = t.rpc(mnt(path))
                took.append(time.perf_counter() - start)
            medians.append(sorted(took)[150])
            print(reply.rest.hex(), end=" ")
    print("close" if max(medians) < 3 * min(medians) else medians)


def burst(address, port, directory):
    with tcp(int(port), address, timeout=20) as t:
        for _ in t.pipeline((mnt(f"{directory}/{i % 300 + 1}")
                             for i in range(3000)), batch=50):
            pass


if __name__ == "__main__":
    {"times": times, "burst": burst}[sys.argv[1]](*sys.argv[2:])
