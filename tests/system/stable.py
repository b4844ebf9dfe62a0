#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Stable writes, and the proof that they are stable.

    stable.py load PATH       makes calls; prints one line for each stable
                              reply: xid, system call, file, offset
    stable.py judge TRACE     reads those lines, and strace's of nfsd
    stable.py fsync PATH      the next fsync fails: does the client learn it?
    stable.py pwritev2 PATH   the same for a stable write
"""
import itertools
import re
import sys

import mount
import nfs
from nfs import DATA_SYNC, FILE_SYNC, UNSTABLE, write_args
from rpc import LAST, Cursor, Failed, opaque, u32

CLIENTS, FILES, ROUNDS, BLOCK, DATA = 4, 8, 25, 4096, b"abcdefgh"
CALLER = 1000, 1000


# ---- load

def calls(c, fh, xids, name):
    """(message, what its reply needs) for all calls to one file. A reply needs
    (xid, system call, file, offset), or None if it promises nothing."""
    c2 = nfs.Nfs2(None, *CALLER)
    for k in range(ROUNDS):
        at = k * 3 * BLOCK
        for client, proc, args, how, offset in (
                (c, "WRITE", write_args(fh, at, DATA, UNSTABLE), None, 0),
                (c, "WRITE", write_args(fh, at, DATA, DATA_SYNC),
                 "pwritev2", at),
                (c, "WRITE", write_args(fh, at + BLOCK, DATA, FILE_SYNC),
                 "pwritev2", at + BLOCK),
                (c2, "WRITE", fh + u32(0, at + 2 * BLOCK, 0) + opaque(DATA),
                 "pwritev2", at + 2 * BLOCK),
                (c, "COMMIT", opaque(fh) + bytes(12), "fsync", -1)):
            xid = next(xids)
            yield (client.message(proc, args, xid=xid),
                   how and (xid, how, name, offset))


def load(path):
    root = mount.root(path)
    for number in range(CLIENTS):
        c, xids = nfs.connect(*CALLER), itertools.count(number << 24)
        for i in range(FILES):
            name = f"f{number}.{i}"
            fh = c.create(root, name).fh
            messages, needs = zip(*calls(c, fh, xids, name))
            for reply in c.transport.together(messages):
                reply.need(nfs.STATUS_NAMES)
            for need in filter(None, needs):
                print(*need)


# ---- judge

LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(\(| resumed>)(.*)$")
HEX = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def records(data):
    """Transaction ids of the replies in the sent data."""
    while len(data) >= 8:
        mark, xid = Cursor(data).take("II")
        yield xid
        data = data[4 + (mark & ~LAST):]


def events(trace):
    """("done", call, file, offset) and ("reply", xid), in order."""
    open_calls = {}
    for line in open(trace, encoding="ascii", errors="replace"):
        m = LINE.match(line)
        if not m:
            continue
        tid, call, kind, rest = m.groups()
        if kind == "(":
            if call.startswith("send"):
                # a reply counts from the start of its sending
                data = b"".join(bytes.fromhex(h.replace("\\x", ""))
                                for h in HEX.findall(rest))
                for xid in records(data):
                    yield ("reply", xid)
            open_calls[tid] = rest
        if rest.endswith("<unfinished ...>"):
            continue
        m = re.search(r"= (-?\d+)", rest)
        if call in ("fsync", "pwritev2") and m and int(m[1]) >= 0:
            whole = open_calls[tid]
            name = re.match(r"\d+<([^>]*)>", whole)[1]
            name = bytes.fromhex(name.replace("\\x", "")).decode() \
                if name.startswith("\\x") else name
            offset = -1
            if call == "pwritev2":
                m = re.search(r"\], 1, (\d+), (RWF_D?SYNC)", whole)
                if not m:
                    continue
                offset = int(m[1])
            yield ("done", call, name.rsplit("/", 1)[1], offset)


def judge(trace):
    want = {}
    for line in sys.stdin:
        xid, call, name, offset = line.split()
        want[int(xid)] = (call, name, int(offset))
    done, bad = {}, 0
    total = len(want)
    for event in events(trace):
        if event[0] == "done":
            done[event[1:]] = done.get(event[1:], 0) + 1
            continue
        need = want.pop(event[1], None)
        if need is None:
            continue
        # each call is used once: a commit cannot rely on an earlier one
        if done.get(need, 0) == 0:
            bad += 1
            print(f"reply {event[1]:#x} was sent before {need} returned")
        else:
            done[need] -= 1
    for xid, need in want.items():
        print(f"no reply {xid:#x} in the trace for {need}")
    print(f"each of {total} stable replies was sent after its sync returned")
    return 1 if bad or want or not total else 0


# ---- failing

def verifiers(fh, failing):
    """The verifiers of several connections, so of several workers, from calls
    that do not need the failing system call."""
    found = set()
    for _ in range(8):
        c = nfs.connect(*CALLER)
        reply = c.write(fh, 0, b"x", UNSTABLE) if failing == "fsync" else \
            c.commit(fh)
        found.add(reply.verf3)
        c.close()
    return found


def fails(call, path):
    c = nfs.connect(*CALLER)
    fh = c.create(mount.root(path), "failing").fh
    before = verifiers(fh, call)
    try:
        if call == "fsync":
            c.commit(fh)
        else:
            c.write(fh, 0, b"y", FILE_SYNC)
        print("success was reported")
        return 1
    except Failed as e:
        if str(e) != "IO":
            print(e)
            return 1
    after = verifiers(fh, call)
    print(before, after)
    return 0 if len(before) == len(after) == 1 and before != after else 1


def main(what, where):
    if what == "load":
        return load(where)
    if what == "judge":
        return judge(where)
    return fails(what, where)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
