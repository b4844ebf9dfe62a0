#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Known calls, and what nfsd -S says of them.

    live.py load EXPORT         a fixed number of calls, from 127.0.0.1
    live.py busy EXPORT SECONDS [FROM]
                                so many calls as there is time for, prints them
    live.py hold EXPORT [FROM]  a connection that waits until it is ended
    live.py judge < JSON        are the counters of load there, and exact?
    live.py pace CALLS < JSON   have the intervals so many calls, all together?

Prints what is wrong and exits with 1.
"""
import json
import sys
import time

import mount
import nfs
from nfs import ACCES, NOENT, PORT, Nfs2
from rpc import Closed, udp

NAME = b"a \xc3\xa9\x1b[31m\xff"  # UTF-8, a sequence for terminals, neither
GETATTR, READ, WRITE, MISSING = 300, 40, 25, 7
SIZE = 8192


def load(export):
    c, top = nfs.connect(uid=1001, gid=1001), mount.root(export)
    fh = c.create(top, NAME).fh
    for _ in range(WRITE):
        c.write(fh, 0, bytes(SIZE))
    for _ in range(READ):
        c.read(fh, 0, SIZE)
    for _ in range(GETATTR):
        c.getattr(top)
    c.strict = False
    for _ in range(MISSING):
        if c.lookup(top, "missing").status() != NOENT:
            return "a missing file is there"
    with udp(PORT) as t:
        Nfs2(t).call("GETATTR", top)
    return None


def busy(export, seconds, source="127.0.0.1"):
    c = nfs.connect(uid=1001, gid=1001, source=(source, 0))
    top = mount.root(export)
    end, n = time.monotonic() + float(seconds), 0
    try:
        while time.monotonic() < end:
            c.getattr(top)
            n += 1
    except Closed:
        pass
    print(n)


def hold(export, source="127.0.0.1"):
    c = nfs.connect(timeout=60, source=(source, 0))
    c.getattr(mount.root(export))
    print("holds", flush=True)
    try:
        c.transport.receive()
    except Closed:
        return None
    return "it was not ended"


def row_of(rows, **key):
    found = [r for r in rows if all(r.get(k) == v for k, v in key.items())]
    if len(found) != 1:
        sys.exit(f"{len(found)} rows for {key}: {rows}")
    return found[0]


def once(pairs):
    """The members of an object, each of which it has once."""
    if len(dict(pairs)) != len(pairs):
        sys.exit(f"a name is there twice: {[name for name, _ in pairs]}")
    return dict(pairs)


def judge():
    top = sys.argv[2]
    seen = json.load(sys.stdin, object_pairs_hook=once)
    calls = {"GETATTR": GETATTR, "READ": READ, "WRITE": WRITE, "CREATE": 1,
             "LOOKUP": MISSING}
    for name, n in calls.items():
        row = row_of(seen["procedures"], version=3, procedure=name)
        if row["calls"] != n:
            return f"{name}: {row}"
    want = {"calls": sum(calls.values()) + 1, "errors": MISSING,
            "read_bytes": READ * SIZE, "written_bytes": WRITE * SIZE,
            "refused": 0, "versions": [2, 3], "transports": ["udp", "tcp"]}
    for row in (row_of(seen["exports"], export=top),
                row_of(seen["clients"], export=top, client="127.0.0.1")):
        for key, value in want.items():
            if row[key] != value:
                return f"{key} is {row[key]}, not {value}: {row}"
        if not 0 < row["p50_us"] <= row["p99_us"] or row["since_s"] > 600:
            return f"times: {row}"
    return None


def pace(calls):
    lines = [json.loads(x) for x in sys.stdin]
    rows = [r for x in lines[1:] for r in x["exports"]]
    got = sum(round(x["interval_s"] * r["calls_per_s"]) for x in lines[1:]
              for r in x["exports"])
    if got != int(calls):
        return f"{got} calls instead of {calls}: {rows}"
    return None


if __name__ == "__main__":
    what = sys.argv[1]
    arguments = [] if what == "judge" else sys.argv[2:]
    sys.exit(globals()[what](*arguments))
