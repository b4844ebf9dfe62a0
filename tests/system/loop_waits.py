#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes calls of one client wait, and counts what another one gets meanwhile.

    loop_waits.py GOOD BAD DEAD MOOD NFSD

GOOD, BAD and DEAD are exports on different filesystems. The disk of DEAD
answers nothing while the file MOOD is there, and nothing of it is in memory
yet. NFSD is the parent's pid.
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


def wait_and_serve(what, calls, fh, begin, end, wanted=(nfs.OK,)):
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
    bad = [s for s in first.statuses() if s not in wanted]
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


def stop(pid):
    """Stops a process; returns when each of its threads has stopped."""
    def is_stopped():
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii") as f:
                if f.read().rpartition(") ")[2][0] != "T":
                    return False
        return True

    os.kill(pid, signal.SIGSTOP)
    if not process.eventually(is_stopped):
        raise TimeoutError("it does not stop")


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
                   lambda: stop(pid),
                   lambda: os.kill(pid, signal.SIGCONT))


def dead_disk(c, good, dead_path, mood):
    """A disk that does not answer: names, entries and targets that are not in
    memory, on handles that are. The names lie far from each other, so that no
    read brings the next one."""
    root = mount.root(dead_path)
    dirs = [c.lookup(root, f"dir{i}").fh for i in range(3)]
    link = c.lookup(root, "link").fh
    other = nfs.connect(uid=1001, gid=1001, timeout=30)
    used = other.lookup(root, "used").fh
    calls = [("LOOKUP", opaque(root) + opaque(f"far{i * 40}"))
             for i in range(1, 10)]
    calls += [
        ("LOOKUP", opaque(dirs[0]) + opaque("in")),
        ("LOOKUP", opaque(dirs[0]) + opaque("none")),
        ("READDIR", opaque(dirs[1]) + bytes(16) + u32(4096)),
        ("READDIRPLUS", opaque(dirs[2]) + bytes(16) + u32(4096, 16384)),
        ("READLINK", opaque(link))]

    def hang():
        with open(mood, "w", encoding="ascii"):
            pass

    def go_on():
        # What was used lately is in memory, and is served meanwhile.
        same = other.lookup(root, "used")
        report(same.status() == nfs.OK and same.fh == used,
               "dead disk: what is in memory is served")
        os.unlink(mood)

    wait_and_serve("dead disk", calls, good, hang, go_on,
                   (nfs.OK, nfs.NOENT))
    other.close()


def main(good_path, bad_path, dead_path, mood, nfsd):
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
    dead_disk(c, good, dead_path, mood)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
