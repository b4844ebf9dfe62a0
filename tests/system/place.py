#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Keeps one worker busy, for 27-place.t.

    place.py SECONDS

Makes connections to nfsd and keeps SIX that one worker has. Sends NULL calls
over all of them, many at once, until another worker has some, for so many
seconds at most. Every call must be answered once, in its order. Prints how many
moved.
"""
import collections
import re
import socket
import subprocess
import sys
import time

import nfs
import rpc
from rpc import u32

SIX = 6
BATCH = 128  # calls of a connection at once
CALLS = b"".join(
    rpc.record(u32(xid, 0, 2, nfs.NFS, 3, 0, 0, 0, 0, 0))
    for xid in range(BATCH))
ANSWERS = b"".join(
    rpc.record(u32(xid, 1, 0, 0, 0, 0)) for xid in range(BATCH))


def owners():
    """The worker of each connection, by the port of its client."""
    out = subprocess.run(["ss", "-Htnp", "sport", "=", f":{nfs.PORT}"],
                         stdout=subprocess.PIPE, check=True, text=True).stdout
    found = {}
    for line in out.splitlines():
        pids = re.findall(r"pid=(\d+)", line)
        if pids:
            found[int(line.split()[4].rsplit(":", 1)[1])] = pids[-1]
    return found


def connect():
    """Connections that one worker has."""
    made = [socket.create_connection(("127.0.0.1", nfs.PORT))
            for _ in range(2 * SIX)]
    for s in made:
        s.settimeout(20)
        s.sendall(CALLS)
        receive(s)
    have = owners()
    first = collections.Counter(have.values()).most_common(1)[0][0]
    chosen = [s for s in made if have[s.getsockname()[1]] == first][:SIX]
    for s in made:
        if s not in chosen:
            s.close()
    return chosen, first


def receive(s):
    got = b""
    while len(got) < len(ANSWERS):
        more = s.recv(len(ANSWERS) - len(got))
        if not more:
            sys.exit("a connection was closed")
        got += more
    if got != ANSWERS:
        sys.exit("a reply is wrong")


def main():
    end = time.monotonic() + float(sys.argv[1])
    conns, first = connect()
    for s in conns:
        s.sendall(CALLS)
    moved = 0
    while moved == 0 and time.monotonic() < end:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            for s in conns:
                receive(s)
                s.sendall(CALLS)
        have = owners()
        moved = sum(have.get(s.getsockname()[1]) != first for s in conns)
    for s in conns:
        receive(s)
    print("moved", moved)


if __name__ == "__main__":
    main()
