#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes calls of one client wait, and counts what another one gets meanwhile.

    loop_waits.py GOOD BAD NFSD

GOOD and BAD are exports on different filesystems; NFSD is the parent's pid.
Each kind of wait lasts until this program ends it. So the order of events
decides, never the speed of the machine: all calls of the other client must be
answered while the first client still waits. The times are printed.
"""
import os
import select
import signal
import subprocess
import sys
import time

import mount
import nfs
import process
from nfs import FILE_SYNC, UNSTABLE, sattr3, write_args
from rpc import opaque, u32, u64

ROUNDS = 150  # calls of each kind that the other client makes
FILES = 60  # more than the worker keeps open
GOAL_MS = 20


def report(good, text):
    print(("ok " if good else "not ok ") + text, flush=True)
    return good


class Waiting:
    """Calls of one client, whose answers are read later."""

    def __init__(self):
        self.client = nfs.connect(timeout=60)
        self.sent = 0

    def send(self, calls):
        self.sent = len(calls)
        for name, args in calls:
            self.client.transport.send_call(self.client.message(name, args))

    def has_answer(self):
        return bool(select.select([self.client.transport.sock], [], [], 0)[0])

    def statuses(self):
        """The statuses of all answers, in whatever order they come."""
        found = []
        for _ in range(self.sent):
            found.append(self.client.transport.receive().status())
        self.client.close()
        return found


def serve_other(other, fh):
    """Returns the slowest and the 99th percentile of all calls, in ms."""
    times = []
    for _ in range(ROUNDS):
        for ask in (other.null, lambda: other.getattr(fh)):
            start = time.monotonic()
            ask()
            times.append((time.monotonic() - start) * 1000)
    times.sort()
    return times[-1], times[len(times) * 99 // 100]


def wait_and_serve(what, calls, fh, begin, end, wanted=nfs.OK):
    """The first client's calls wait from begin() to end()."""
    first, other = Waiting(), nfs.connect(timeout=20)
    other.getattr(fh)
    begin()
    try:
        first.send(calls)
        try:
            worst, p99 = serve_other(other, fh)
            served = True
        except OSError:
            served = False
        waits = not first.has_answer()
    finally:
        end()
    report(served, f"{what}: another client is served")
    report(waits, f"{what}: ... while every call still waits")
    if served:
        print(f"{2 * ROUNDS} calls: 99 % within {p99:.1f} ms (goal: "
              f"{GOAL_MS}), all within {worst:.1f} ms")
    bad = [s for s in first.statuses() if s != wanted]
    report(not bad, f"{what}: ... and all are answered in the end {bad or ''}")
    other.close()


def changes(c, root, files):
    """One call of every kind that changes something."""
    def in_root(name):
        return opaque(root) + opaque(name)
    f = files["f0"]
    return [
        ("WRITE", write_args(f, 0, b"x" * 4096, UNSTABLE)),
        ("WRITE", write_args(f, 4096, b"x" * 4096, FILE_SYNC)),
        ("SETATTR", opaque(f) + sattr3(mode=0o600) + u32(0)),
        ("SETATTR", opaque(f) + sattr3(size=1) + u32(0)),
        ("CREATE", in_root("new") + u32(nfs.UNCHECKED) + sattr3(mode=0o644)),
        ("MKDIR", in_root("newdir") + sattr3(mode=0o755)),
        ("SYMLINK", in_root("newlink") + sattr3() + opaque("target")),
        ("MKNOD", in_root("fifo") + u32(nfs.FIFO) + sattr3(mode=0o644)),
        ("REMOVE", in_root("f1")),
        ("RMDIR", in_root("dir")),
        ("RENAME", in_root("f2") + in_root("f3")),
        ("LINK", opaque(files["f4"]) + in_root("hard")),
    ]


def frozen(c, good, bad, path):
    root, files = bad

    def freeze():
        subprocess.run(["fsfreeze", "-f", path], check=True)

    def thaw():
        subprocess.run(["fsfreeze", "-u", path], check=True)

    wait_and_serve("frozen filesystem", changes(c, root, files), good, freeze,
                   thaw)


def broker_of(nfsd):
    """The pid of nfsd's broker."""
    for pid in process.descendants(nfsd):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
                if "broker" in f.read():
                    return pid
        except OSError:
            continue  # it has ended meanwhile
    raise LookupError("no broker")


def questions(c, root, files):
    """Calls that need the broker: of files that the worker has closed, and of
    names that it does not know."""
    calls = []
    for i in range(10, 20):
        fh = opaque(files[f"f{i}"])
        calls += [("GETATTR", fh), ("READ", fh + u64(0) + u32(4)),
                  ("LOOKUP", opaque(root) + opaque(f"unknown{i}"))]
    calls += [("READDIRPLUS", opaque(files["listed"]) + bytes(16) +
               u32(4096, 16384)),
              ("CREATE", opaque(root) + opaque("other") +
               u32(nfs.UNCHECKED) + sattr3(mode=0o644))]
    return calls


def broker(c, good, bad, nfsd):
    """The broker waits, as it does for a disk."""
    pid = broker_of(nfsd)
    wait_and_serve("waiting broker", questions(c, *bad), good,
                   lambda: os.kill(pid, signal.SIGSTOP),
                   lambda: os.kill(pid, signal.SIGCONT))


def main(good_path, bad_path, nfsd):
    good = mount.root(good_path)
    root = mount.root(bad_path)
    c = nfs.connect(timeout=30)
    files = {}
    c.mkdir(root, "dir")
    for i in range(FILES):
        files[f"f{i}"] = c.create(root, f"f{i}").fh
    files["listed"] = c.mkdir(root, "listed").fh
    for i in range(10, 20):
        for name in f"unknown{i}", f"listed/{i}":
            with open(f"{bad_path}/{name}", "w", encoding="ascii"):
                pass
    for fh in files.values():  # the last ones stay open in the worker
        c.getattr(fh)
    bad = root, files
    frozen(c, good, bad, bad_path)
    broker(c, good, bad, int(nfsd))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
