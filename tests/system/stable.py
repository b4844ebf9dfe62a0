#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Stable writes, and the proof that they are stable.

    stable.py load PATH       makes calls; prints one line for each stable
                              reply: xid, system call, file, offset
    stable.py judge TRACE     reads those lines, and strace's of nfsd
    stable.py names PATH...   changes names and attributes, one call at a time;
                              prints xid, change, sync, file for each sync that
                              a reply needs; "never" and the name of an export
                              whose options promise none
    stable.py judge-names TRACE
    stable.py crowd PATH      makes many files in one directory at once; prints
                              xid and name of each
    stable.py judge-crowd TRACE
    stable.py fsync PATH      the next fsync fails: does the client learn it?
    stable.py pwritev2 PATH   the same for a stable write
    stable.py mkdir PATH      the same for a name
"""
import itertools
import re
import sys
import zlib

import mount
import nfs
from nfs import DATA_SYNC, FILE_SYNC, UNSTABLE, write_args
from rpc import LAST, Cursor, Failed, opaque, u32

CLIENTS, FILES, ROUNDS, BLOCK, DATA = 4, 8, 25, 4096, b"abcdefgh"
CALLER = 1000, 1000
CROWD = 64


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


# ---- names

class Names:
    """Changes of names and attributes in one export. Every file has a name of
    its own, so that a line of the trace tells what was synced."""

    def __init__(self, path):
        self.path, self.top = path, path.rsplit("/", 1)[1]
        self.root = mount.root(path)
        self.c3 = nfs.connect(*CALLER)
        self.c2 = nfs.Nfs2(self.c3.transport, *CALLER)
        self.xids = itertools.count(zlib.crc32(path.encode()) & 0xFFFF0000)
        self.count = 0
        self.promised = self.top not in ("datasync", "async")
        if not self.promised:
            print("never", self.top)

    def name(self):
        self.count += 1
        return f"{self.top}.{self.count}"

    def call(self, client, proc, args, *needs):
        """needs: (change, sync, file), or ("none",): nothing is synced."""
        xid = next(self.xids)
        reply = client.call(proc, args, xid=xid)
        reply.need(nfs.STATUS_NAMES)
        for need in needs if self.promised else ():
            print(xid, *need)
        return reply

    def dir(self, mode=0o755):
        """A new directory: its handle and its name."""
        name = self.name()
        reply = self.call(self.c3, "MKDIR", opaque(self.root) + opaque(name) +
                          nfs.sattr3(mode=mode),
                          ("mkdirat", "fsync", self.top))
        return nfs.post_fh(reply.results()), name

    def file(self, fh, dirname):
        """A new file: its handle and its name."""
        name = self.name()
        reply = self.call(self.c3, "CREATE", opaque(fh) + opaque(name) +
                          u32(nfs.UNCHECKED) + nfs.sattr3(mode=0o644),
                          ("openat", "fsync", dirname))
        return nfs.post_fh(reply.results()), name

    def version3(self):
        c, sattr = self.c3, nfs.sattr3
        fh, d = self.dir()
        to, other = self.dir()
        f, name = self.file(fh, d)
        made = self.name()
        # its verifier lies in the times of the file
        self.call(c, "CREATE", opaque(fh) + opaque(made) +
                  u32(nfs.EXCLUSIVE) + b"verifier",
                  ("utimensat", "fsync", made), ("utimensat", "fsync", d))
        made = self.name()
        self.call(c, "CREATE", opaque(fh) + opaque(made) +
                  u32(nfs.GUARDED) + sattr(mode=0o600, size=4096),
                  ("ftruncate", "fsync", made), ("ftruncate", "fsync", d))
        self.call(c, "CREATE", opaque(fh) + opaque(name) +
                  u32(nfs.UNCHECKED) + sattr(size=0),
                  ("ftruncate", "fsync", name))
        made = self.name()
        reply = self.call(c, "SYMLINK", opaque(fh) + opaque(made) + sattr() +
                          opaque("target"), ("symlinkat", "fsync", d))
        link = nfs.post_fh(reply.results())
        self.call(c, "MKNOD", opaque(fh) + opaque(self.name()) +
                  u32(nfs.FIFO) + sattr(mode=0o644), ("mknodat", "fsync", d))
        self.call(c, "SETATTR", opaque(f) + sattr(mode=0o600) + u32(0),
                  ("fchmodat2", "fsync", name))
        self.call(c, "SETATTR", opaque(f) + sattr(size=100) + u32(0),
                  ("ftruncate", "fsync", name))
        self.call(c, "SETATTR", opaque(fh) + sattr(mtime="now") + u32(0),
                  ("utimensat", "fsync", d))
        # neither can be opened, so that the whole filesystem is synced
        self.call(c, "SETATTR", opaque(link) + sattr(mtime=(1, 2)) + u32(0),
                  ("utimensat", "syncfs", self.top))
        # every caller may set nothing
        self.call(c, "SETATTR", opaque(link) + sattr() + u32(0), ("none",))
        self.call(c, "LINK", opaque(f) + opaque(to) + opaque("second"),
                  ("linkat", "fsync", other))
        self.call(c, "RENAME", opaque(fh) + opaque(name) + opaque(to) +
                  opaque("moved"),
                  ("renameat", "fsync", other), ("renameat", "fsync", d))
        self.call(c, "RENAME", opaque(to) + opaque("moved") + opaque(to) +
                  opaque("again"), ("renameat", "fsync", other))
        self.call(c, "REMOVE", opaque(to) + opaque("again"),
                  ("unlinkat", "fsync", other))
        _, gone = self.dir()
        self.call(c, "RMDIR", opaque(self.root) + opaque(gone),
                  ("unlinkat", "fsync", self.top))

    def version2(self):
        c, sattr = self.c2, nfs.sattr2
        fh, d = self.dir()
        to, other = self.dir()
        name = self.name()
        f = self.call(c, "CREATE", fh + opaque(name) + sattr(mode=0o644),
                      ("openat", "fsync", d)).results().fixed(32)
        made = self.name()
        self.call(c, "MKDIR", fh + opaque(made) + sattr(mode=0o755),
                  ("mkdirat", "fsync", d))
        self.call(c, "SYMLINK", fh + opaque(self.name()) + opaque("target") +
                  sattr(), ("symlinkat", "fsync", d))
        self.call(c, "SETATTR", f + sattr(mode=0o600),
                  ("fchmodat2", "fsync", name))
        self.call(c, "LINK", f + to + opaque("second"),
                  ("linkat", "fsync", other))
        self.call(c, "RENAME", fh + opaque(name) + to + opaque("moved"),
                  ("renameat", "fsync", other), ("renameat", "fsync", d))
        self.call(c, "REMOVE", to + opaque("moved"),
                  ("unlinkat", "fsync", other))
        self.call(c, "RMDIR", fh + opaque(made), ("unlinkat", "fsync", d))

    def closed(self):
        """The caller may make names in a directory and not read it."""
        fh, d = self.dir(0o300)
        self.file(fh, d)
        f, name = self.file(fh, d)
        self.call(self.c3, "SETATTR", opaque(f) + nfs.sattr3(mode=0) + u32(0),
                  ("fchmodat2", "fsync", name))
        self.call(self.c3, "REMOVE", opaque(fh) + opaque(name),
                  ("unlinkat", "fsync", d))


def names(*paths):
    for path in paths:
        n = Names(path)
        n.version3()
        n.version2()
        n.closed()


# ---- judge

LINE = re.compile(r"^(\d+) +(?:<\.\.\. )?(\w+)(\(| resumed>)(.*)$")
HEX = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def records(data):
    """Transaction ids of the replies in the sent data."""
    while len(data) >= 8:
        mark, xid = Cursor(data).take("II")
        yield xid
        data = data[4 + (mark & ~LAST):]


def replies(rest):
    """Transaction ids in a send call; they count from its start."""
    data = b"".join(bytes.fromhex(h.replace("\\x", ""))
                    for h in HEX.findall(rest))
    return records(data)


def lines(trace):
    """(thread, system call, "(" or " resumed>", the rest of the line)."""
    for line in open(trace, encoding="ascii", errors="replace"):
        # as a strace that does not know it calls it; both rename
        m = LINE.match(line.replace("syscall_0x1c4", "fchmodat2")
                       .replace("renameat2", "renameat"))
        if m:
            yield m.groups()


def file_of(arguments):
    """The last component of what the first descriptor leads to."""
    name = re.match(r"\d+<([^>]*)>", arguments)[1]
    if name.startswith("\\x"):
        name = bytes.fromhex(name.replace("\\x", "")).decode()
    return name.rsplit("/", 1)[1]


def events(trace):
    """("done", call, file, offset) and ("reply", xid), in order."""
    open_calls = {}
    for tid, call, kind, rest in lines(trace):
        if kind == "(":
            if call.startswith("send"):
                for xid in replies(rest):
                    yield ("reply", xid)
            open_calls[tid] = rest
        if rest.endswith("<unfinished ...>"):
            continue
        m = re.search(r"= (-?\d+)", rest)
        if call in ("fsync", "pwritev2") and m and int(m[1]) >= 0:
            whole = open_calls[tid]
            offset = -1
            if call == "pwritev2":
                m = re.search(r"\], 1, (\d+), (RWF_D?SYNC)", whole)
                if not m:
                    continue
                offset = int(m[1])
            yield ("done", call, file_of(whole), offset)


CHANGES = {"ftruncate", "mkdirat", "symlinkat", "mknodat", "fchmodat2",
           "utimensat", "fchownat", "linkat", "renameat", "unlinkat"}


def name_events(trace):
    """("synced", change, call, file) and ("reply", xid), in order; change: the
    last one of all processes that had returned when the sync began."""
    started, change = {}, None
    for tid, call, kind, rest in lines(trace):
        if kind == "(":
            if call.startswith("send"):
                for xid in replies(rest):
                    yield ("reply", xid)
            started[tid] = rest, change
        if rest.endswith("<unfinished ...>"):
            continue
        m = re.search(r"= (-?\d+)", rest)
        if not m or int(m[1]) < 0:
            continue
        whole, before = started[tid]
        if call in ("fsync", "syncfs"):
            yield ("synced", before, call, file_of(whole))
        elif call in CHANGES or call == "openat" and "O_CREAT" in whole:
            change = call


def judge_names(trace):
    want, never = {}, set()
    for line in sys.stdin:
        xid, *need = line.split()
        if xid == "never":
            never.update(need)
        else:
            want.setdefault(int(xid), []).append(tuple(need))
    total, bad, since = len(want), 0, set()
    for event in name_events(trace):
        if event[0] == "synced":
            since.add(event[1:])
            if event[3].split(".")[0] in never:
                bad += 1
                print(f"{event[3]} was synced")
            continue
        needs = want.pop(event[1], None)
        if needs is None:  # a message to the broker
            continue
        for need in needs:
            if need == ("none",) and since:
                bad += 1
                print(f"before reply {event[1]:#x} there was {since}")
            if need not in since and need != ("none",):
                bad += 1
                print(f"reply {event[1]:#x} was sent without {need}, after "
                      f"{since}")
        # a sync counts for the next reply only: calls are made one by one
        since = set()
    for xid, needs in want.items():
        print(f"no reply {xid:#x} in the trace for {needs}")
    if never:
        print("no change was synced")
    else:
        print(f"each of {total} changes was synced before its reply")
    return 1 if bad or want or not total + len(never) else 0


def crowd(path):
    c, root = nfs.connect(*CALLER), mount.root(path)
    messages = []
    for xid in range(1, CROWD + 1):
        name = f"crowd.{xid}"
        messages.append(c.message(
            "CREATE", opaque(root) + opaque(name) + u32(nfs.UNCHECKED) +
            nfs.sattr3(mode=0o644), xid=xid))
        print(xid, name)
    for reply in c.transport.together(messages):
        reply.need(nfs.STATUS_NAMES)


def judge_crowd(trace):
    """Each reply was sent after a sync that began after its change. All of them
    shared few syncs."""
    names = dict(line.split()[::-1] for line in sys.stdin)
    made, synced, started = set(), set(), {}
    syncs = early = sent = 0
    for tid, call, kind, rest in lines(trace):
        if kind == "(":
            if call.startswith("send"):
                asked = set(map(str, replies(rest))) & set(names.values())
                sent += len(asked)
                early += len(asked - synced)
            started[tid] = rest, set(made)
        if rest.endswith("<unfinished ...>"):
            continue
        whole, before = started[tid]
        if call == "fsync":
            syncs += 1
            synced |= before
        elif call == "openat" and "O_CREAT" in whole:
            name = bytes.fromhex(
                HEX.search(whole.split(", ", 1)[1])[1].replace("\\x", ""))
            made.add(names.get(name.decode()))
    print(f"{sent} calls shared {syncs} syncs, and {early} replies came before "
          "theirs")
    return 1 if early or sent < CROWD or syncs * 10 > CROWD else 0


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
        reply = c.commit(fh) if failing == "pwritev2" else \
            c.write(fh, 0, b"x", UNSTABLE)
        found.add(reply.verf3)
        c.close()
    return found


def fails(call, path):
    c = nfs.connect(*CALLER)
    root = mount.root(path)
    fh = c.lookup(root, "failing").fh
    before = verifiers(fh, call)
    try:
        if call == "fsync":
            c.commit(fh)
        elif call == "mkdir":
            c.mkdir(root, "made")
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


def main(what, *where):
    run = {"load": load, "judge": judge, "names": names,
           "judge-names": judge_names, "crowd": crowd,
           "judge-crowd": judge_crowd}.get(what)
    return run(*where) if run else fails(what, *where)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
