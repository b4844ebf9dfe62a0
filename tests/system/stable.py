#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Stable writes, and the proof that they were.

    stable.py load PATH       makes calls; prints one line for each stable
                              reply: xid, system call, file, offset
    stable.py judge TRACE     reads those lines, and strace's of nfsd
    stable.py fsync PATH      the next fsync fails: is the client told?
    stable.py pwritev2 PATH   the same for a stable write
"""
import re
import struct
import sys

import nfs

CLIENTS, FILES, ROUNDS, BLOCK = 4, 8, 25, 4096
UNSTABLE, DATA_SYNC, FILE_SYNC = 0, 1, 2


# ---- load

def write3(fh, offset, stable):
    return 3, 7, nfs.opaque(fh) + struct.pack(">QII", offset, 8, stable) + \
        nfs.opaque(b"abcdefgh")


def write2(fh, offset):
    return 2, 8, fh + struct.pack(">III", 0, offset, 0) + \
        nfs.opaque(b"abcdefgh")


def send(c, call):
    """Without waiting for the reply; the xid."""
    vers, proc, body = call
    msg = c.message(100003, vers, proc, body)
    c.sock.sendall(struct.pack(">I", 0x80000000 | len(msg)) + msg)
    return c.xid


def replies(c, n):
    """{xid: cursor at the status}"""
    found = {}
    for _ in range(n):
        size = struct.unpack(">I", c.exactly(4))[0] & 0x7FFFFFFF
        r = nfs.Reply(c.exactly(size))
        xid = r.u32()
        r.fixed(20)
        found[xid] = r
    return found


def load_one(c, number, root):
    """Sends everything, then reads all replies; the stable ones."""
    want, sent = [], 0
    for i in range(FILES):
        name = f"f{number}.{i}"
        fh = c.create(root, name, 0o644)
        for k in range(ROUNDS):
            at = k * 3 * BLOCK
            for how, call in ((None, write3(fh, at, UNSTABLE)),
                              ("pwritev2", write3(fh, at, DATA_SYNC)),
                              ("pwritev2", write3(fh, at + BLOCK, FILE_SYNC)),
                              ("pwritev2", write2(fh, at + 2 * BLOCK)),
                              ("fsync", (3, 21, nfs.opaque(fh) + bytes(12)))):
                xid = send(c, call)
                sent += 1
                if how:
                    offset = struct.unpack(
                        ">Q", call[2][36:44])[0] if call[0] == 3 else \
                        at + 2 * BLOCK
                    want.append((xid, how, name,
                                 -1 if how == "fsync" else offset))
        got = replies(c, sent)
        sent = 0
        for r in got.values():
            status = r.u32()
            if status:
                raise nfs.Failed(nfs.ERRORS.get(status, str(status)))
    return want


def load(path):
    root = nfs.Client(uid=1000, gid=1000).mnt(path)
    for number in range(CLIENTS):
        c = nfs.Client(uid=1000, gid=1000)
        c.xid = number << 24
        c.connect()
        for line in load_one(c, number, root):
            print(*line)


# ---- judge

LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(\(| resumed>)(.*)$")
HEX = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def records(data):
    """Transaction ids of the replies in what was sent."""
    while len(data) >= 8:
        mark, xid = struct.unpack(">II", data[:8])
        yield xid
        data = data[4 + (mark & 0x7FFFFFFF):]


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
                # a reply counts from when its sending begins
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
        # each call is used once: a commit cannot lean on an earlier one
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
    """Told over several connections, so by several workers, in calls that
    need not what fails."""
    found = set()
    for _ in range(8):
        c = nfs.Client(uid=1000, gid=1000)
        if failing == "fsync":
            c.write(fh, 0, b"x", UNSTABLE)
        else:
            c.commit(fh)
        found.add(c.verifier)
    return found


def fails(call, path):
    c = nfs.Client(uid=1000, gid=1000)
    fh = c.create(c.mnt(path), "failing", 0o644)
    before = verifiers(fh, call)
    try:
        if call == "fsync":
            c.commit(fh)
        else:
            c.write(fh, 0, b"y", FILE_SYNC)
        print("success was reported")
        return 1
    except nfs.Failed as e:
        if str(e) != "IO":
            print(e)
            return 1
    after = verifiers(fh, call)
    print(before, after)
    return 0 if len(before) == len(after) == 1 and before != after else 1


def main():
    what, where = sys.argv[1:3]
    if what == "load":
        return load(where)
    if what == "judge":
        return judge(where)
    return fails(what, where)


sys.exit(main())
