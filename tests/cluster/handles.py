#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Files that one head makes are used at the other at once.

handles.py HOST-A HOST-B ROOT ROUNDS prints what went wrong and how long the
other head took. Its status has bit WRONG if a file was not found, or had old
data for longer than SEEN seconds, and bit SLOW if more than one of ten calls
that found a file of some kind took longer than FOUND seconds.
"""
import sys
import time

import nfs
from rpc import TRANSPORTS

WRONG, SLOW = 2, 4
FOUND = 0.01
SEEN = 5
# A read also waits until the other head has let go of what it wrote.
FINDS = ("file", "directory", "link")


def client(host):
    return nfs.Nfs3(TRANSPORTS["tcp"](2049, host=host, timeout=60), 0, 0)


def patient(call):
    """Waits as a client does. Returns reply, statuses, seconds."""
    seen, began = [], time.monotonic()
    while time.monotonic() < began + 60:
        reply = call()
        seen.append(reply.status())
        if reply.status() != nfs.JUKEBOX:
            break
        time.sleep(0.1)
    return reply, seen, time.monotonic() - began


def seen(user, file, want):
    """How long the other head still has the old data."""
    began = time.monotonic()
    while time.monotonic() < began + SEEN:
        reply = user.read(file, 0, len(want))
        if reply.status() == nfs.OK and reply.bytes == want:
            return time.monotonic() - began
        time.sleep(0.001)
    return None


def one_round(maker, user, root, n, times):
    wrong = []

    def use(what, call):
        reply, seen, took = patient(call)
        times.setdefault(what, []).append(took)
        bad = [s for s in seen if s != nfs.OK]
        if bad:
            wrong.append((what, [nfs.STATUS_NAMES.get(s, s) for s in bad]))
        return reply
    name = b"%d-%d" % (n, time.time_ns())
    top = maker.mkdir(root, name, 0o777).fh
    file = maker.create(top, b"file").fh
    maker.write(file, 0, b"x" * 100)
    below = maker.mkdir(top, b"below", 0o777).fh
    link = maker.symlink(below, b"link", b"target").fh
    deep = maker.create(below, b"deep").fh
    use("file", lambda: user.getattr(deep))
    use("directory", lambda: user.getattr(below))
    use("list", lambda: user.readdir(below))
    use("read", lambda: user.read(file, 0, 100))
    maker.write(file, 0, b"y" * 100)
    times.setdefault("overwritten", []).append(
        seen(user, file, b"y" * 100) or SEEN)
    if times["overwritten"][-1] == SEEN:
        wrong.append(("overwritten", ["OLD DATA"]))
    use("link", lambda: user.readlink(link))
    use("create", lambda: user.create(below, b"new"))
    use("lookup", lambda: user.lookup(top, b"file"))
    # Replaced at once, as editors do.
    user.create(top, b"tmp")
    user.rename(top, b"tmp", top, b"file")
    use("replaced", lambda: user.lookup(top, b"file"))
    use("hard link", lambda: user.link(deep, top, b"hard"))
    maker.rename(root, name, root, b"m" + name)
    use("moved", lambda: user.getattr(below))
    use("moved file", lambda: user.getattr(deep))
    return wrong


def main():
    a, b = client(sys.argv[1]), client(sys.argv[2])
    root, rounds = bytes.fromhex(sys.argv[3]), int(sys.argv[4])
    times, failed, slow = {}, 0, 0
    for n in range(rounds):
        maker, user = (a, b) if n % 2 == 0 else (b, a)
        for what, statuses in one_round(maker, user, root, n, times):
            print("wrong:", what, statuses)
            failed += any(s != "JUKEBOX" for s in statuses)
    for what, took in times.items():
        took.sort()
        half, most = took[len(took) // 2], took[len(took) * 9 // 10]
        print(f"{what}: {len(took)} times, p50 {half * 1e3:.1f} ms, "
              f"p90 {most * 1e3:.1f} ms, max {took[-1] * 1e3:.1f} ms")
        slow += what in FINDS and most > FOUND
    sys.exit((WRONG if failed else 0) | (SLOW if slow else 0))


if __name__ == "__main__":
    main()
