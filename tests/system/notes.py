#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Checks nfsd's cached handles of files that it does not keep open.

    notes.py CONTROL-SOCKET known|unknown|replaced|snapshot EXPORT

EXPORT has a directory "many" and a directory "others". Calls to the others make
nfsd close all of the many. snapshot makes snapshots of the many, deletes them
and makes new ones. Prints what is wrong and exits with 1.
"""
import os
import re
import subprocess
import sys
import time

import control
import mount
import nfs
from rpc import Failed

SNAPSHOTS = 8


def counted(what):
    """A counter of nfsd, which updates it once a second."""
    name = rf"^tern_nfsd_{what}_total (\d+)"
    text = control.ask(sys.argv[1], "stats")
    return int(re.search(name, text, re.M).group(1))


def listing(client, fh):
    return {e.name.decode(): (e.fileid, e.fh) for e in client.entries(fh)
            if e.name not in (b".", b"..")}


def told(client, top):
    """The current numbers of hits and misses of the handle cache."""
    before = counted("descriptor_cache_hits")
    for _ in range(500):
        client.getattr(top)  # one more hit: once it is counted, all before are
        if counted("descriptor_cache_hits") > before:
            break
        time.sleep(0.02)
    else:
        sys.exit("the counters do not change")
    return counted("handle_cache_hits"), counted("handle_cache_misses")


def close_all(client, top):
    """Makes nfsd close all open files for others."""
    for _, handle in listing(client, client.lookup(top, "others").fh).values():
        client.getattr(handle)


def known(client, top, _):
    many = client.lookup(top, "many").fh
    first = listing(client, many)
    close_all(client, top)
    hits, misses = told(client, top)
    if misses < len(first) + 200:
        return "too few misses for so many new handles"
    if listing(client, many) != first:
        return "the second listing differs"
    now = told(client, top)
    if now[0] != hits + len(first):
        return f"{now[0] - hits} of {len(first)} were hits"
    if now[1] > misses + 1:  # ".." was closed as well
        return "the broker was asked again"
    return None


def unknown(client, top, _):
    many = client.lookup(top, "many").fh
    first = listing(client, many)
    close_all(client, top)
    hits = told(client, top)[0]
    if listing(client, many) != first:
        return "the second listing differs"
    now = told(client, top)[0]
    return None if now == hits else f"{now - hits} were hits"


def replace(path):
    """Makes path another file with the same inode number."""
    number = os.stat(path).st_ino
    for _ in range(1000):
        os.unlink(path)
        with open(path, "w", encoding="ascii"):
            pass
        if os.stat(path).st_ino == number:
            return
    sys.exit(f"{path}: its inode number is not reused")


def replaced(client, top, export):
    many = client.lookup(top, "many").fh
    first = listing(client, many)
    close_all(client, top)
    for i in range(0, 500, 50):
        replace(f"{export}/many/f{i}")
    for name, (fileid, handle) in listing(client, many).items():
        new = int(name[1:]) % 50 == 0
        if fileid != first[name][0]:
            return f"{name} has another inode number"
        if (handle != first[name][1]) != new:
            return f"{name}: {'the old' if new else 'a new'} handle"
        if client.getattr(handle).attr.fileid != fileid:
            return f"{name} has the handle of another file"
    for i in range(0, 500, 50):
        try:
            client.getattr(first[f"f{i}"][1])
            return f"f{i}: the old handle is not stale"
        except Failed:
            pass
    return None


def btrfs(*args):
    subprocess.run(("btrfs", "-q", "subvolume") + args, check=True,
                   stdout=subprocess.DEVNULL, timeout=60)


def snapshots(client, top, export, seen):
    """Makes SNAPSHOTS snapshots and lets nfsd learn their handles. Returns the
    name of one whose device number is in seen. Adds those of the others."""
    for i in range(SNAPSHOTS):
        name = f"snap{i}"
        btrfs("snapshot", export + "/many", f"{export}/{name}")
        device = os.stat(f"{export}/{name}").st_dev
        if device in seen:
            return name
        seen.add(device)
        listing(client, client.lookup(top, name).fh)
    close_all(client, top)
    return None


def again(client, top, export):
    """Returns the name of a snapshot with the device number of a deleted one,
    whose handles nfsd has given out. The kernel gives the lowest free number
    to every mount and subvolume of the machine: other tests take some."""
    seen = set()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        name = snapshots(client, top, export, seen)
        if name:
            return name
        btrfs("delete", "-c", *(f"{export}/snap{i}" for i in range(SNAPSHOTS)))
        btrfs("sync", export)
        with open(export + "/many/f1", "w", encoding="ascii") as f:
            f.write("new\n")
    return None


def snapshot(client, top, export):
    name = again(client, top, export)
    if not name:
        return "no device number was used again: nothing is tested"
    snap = client.lookup(top, name).fh
    for i in range(500):
        data = client.read(client.lookup(snap, f"f{i}").fh, 0, 100).bytes
        if data != (b"new\n" if i == 1 else b"%d\n" % i):
            return f"f{i}: {data!r}"
    return None


if __name__ == "__main__":
    path = sys.argv[3]
    try:
        sys.exit(globals()[sys.argv[2]](nfs.connect(), mount.root(path), path))
    except Failed as e:
        sys.exit(str(e))
