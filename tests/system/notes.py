#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What nfsd remembers of files it does not keep open.

    notes.py STATS-SOCKET known|unknown|replaced|snapshot EXPORT

EXPORT has a directory of many files and one of others, which are asked for to
have all of the many closed; snapshot makes one of the many, twice. Says what is wrong and
exits with 1.
"""
import os
import re
import socket
import subprocess
import sys
import time

import nfs


def counted(what):
    """As nfsd told it last: it does so once a second."""
    name = r"^tern_nfsd_%s_total (\d+)" % what
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(sys.argv[1])
        return int(re.search(name, s.makefile().read(), re.M).group(1))


def listing(client, fh):
    return {name.decode(): (fileid, handle)
            for name, fileid, handle in client.entries(fh)
            if name not in (b".", b"..")}


def told(client, top):
    """How many handles were known and how many not, until now."""
    before = counted("descriptor_cache_hits")
    for _ in range(500):
        client.getattr(top)  # one more hit: when it is told, all before are
        if counted("descriptor_cache_hits") > before:
            break
        time.sleep(0.02)
    else:
        sys.exit("nothing was told")
    return counted("handle_cache_hits"), counted("handle_cache_misses")


def close_all(client, top):
    """Has all that was open closed for other files."""
    for _, handle in listing(client, client.lookup(top, "others")).values():
        client.getattr(handle)


def known(client, top, _):
    many = client.lookup(top, "many")
    first = listing(client, many)
    close_all(client, top)
    hits, misses = told(client, top)
    if misses < len(first) + 200:
        return "handles came from nowhere"
    if listing(client, many) != first:
        return "the second listing differs"
    now = told(client, top)
    if now[0] != hits + len(first):
        return "%d of %d were known" % (now[0] - hits, len(first))
    if now[1] > misses + 1:  # ".." was closed as well
        return "the broker was asked again"
    return None


def unknown(client, top, _):
    many = client.lookup(top, "many")
    first = listing(client, many)
    close_all(client, top)
    hits = told(client, top)[0]
    if listing(client, many) != first:
        return "the second listing differs"
    now = told(client, top)[0]
    return None if now == hits else "%d were known" % (now - hits)


def replace(path):
    """Makes path another file with the same number."""
    number = os.stat(path).st_ino
    for _ in range(1000):
        os.unlink(path)
        with open(path, "w"):
            pass
        if os.stat(path).st_ino == number:
            return
    sys.exit("%s: its number does not come again" % path)


def replaced(client, top, export):
    many = client.lookup(top, "many")
    first = listing(client, many)
    close_all(client, top)
    for i in range(0, 500, 50):
        replace("%s/many/f%d" % (export, i))
    for name, (fileid, handle) in listing(client, many).items():
        new = int(name[1:]) % 50 == 0
        if fileid != first[name][0]:
            return "%s has another number" % name
        if (handle != first[name][1]) != new:
            return "%s: %s handle" % (name, "the old" if new else "a new")
        if client.getattr(handle)["fileid"] != fileid:
            return "%s has the handle of another file" % name
    for i in range(0, 500, 50):
        try:
            client.getattr(first["f%d" % i][1])
            return "f%d: the old handle is not stale" % i
        except nfs.Failed:
            pass
    return None


def btrfs(*args):
    subprocess.run(("btrfs", "-q", "subvolume") + args, check=True,
                   stdout=subprocess.DEVNULL, timeout=60)


def snapshot(client, top, export):
    path = export + "/snap"
    btrfs("snapshot", export + "/many", path)
    listing(client, client.lookup(top, "snap"))
    device = os.stat(path).st_dev
    close_all(client, top)
    btrfs("delete", "-c", path)
    btrfs("sync", export)
    with open(export + "/many/f1", "w") as f:
        f.write("new\n")
    btrfs("snapshot", export + "/many", path)
    if os.stat(path).st_dev != device:
        return "it has another device: nothing is tested"
    snap = client.lookup(top, "snap")
    for i in range(500):
        data = client.read(client.lookup(snap, "f%d" % i), 0, 100)
        if data != (b"new\n" if i == 1 else b"%d\n" % i):
            return "f%d: %r" % (i, data)
    return None


if __name__ == "__main__":
    one = nfs.Client()
    try:
        sys.exit(globals()[sys.argv[2]](one, one.mnt(sys.argv[3]), sys.argv[3]))
    except nfs.Failed as e:
        sys.exit(str(e))
