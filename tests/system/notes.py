#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What nfsd remembers of files it does not keep open.

    notes.py EXPORT STATS-SOCKET

Lists EXPORT/many twice, with all that is open closed in between for the files
of EXPORT/others; then has files give their number to new ones. Says what is wrong
and exits with 1.
"""
import os
import re
import socket
import sys
import time

import nfs


def counted(stats, what):
    """How often handles were known (hits) or not (misses), when it is told."""
    name = r"^tern_nfsd_handle_cache_%s_total (\d+)" % what
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(stats)
        return int(re.search(name, s.makefile().read(), re.M).group(1))


def listing(client, fh):
    return {name.decode(): (fileid, handle)
            for name, fileid, handle in client.entries(fh)
            if name not in (b".", b"..")}


def wait_for(what):
    until = time.monotonic() + 10
    while not what():
        if time.monotonic() > until:
            return False
    return True


def replaced(path):
    """Makes path another file with the same number."""
    number = os.stat(path).st_ino
    for _ in range(1000):
        os.unlink(path)
        with open(path, "w"):
            pass
        if os.stat(path).st_ino == number:
            return
    raise nfs.Failed("%s: its number does not come again" % path)


def main(export, stats):
    client = nfs.Client()
    top = client.mnt(export)
    many = client.lookup(top, "many")
    others = client.lookup(top, "others")
    first = listing(client, many)
    # Statistics are told once a second: wait for what was just done.
    if not wait_for(lambda: counted(stats, "misses") >= len(first)):
        return "handles came from nowhere"
    for _, handle in listing(client, others).values():
        client.getattr(handle)
    wait_for(lambda: counted(stats, "misses") >= len(first) + 200)
    hits, misses = counted(stats, "hits"), counted(stats, "misses")
    if listing(client, many) != first:
        return "the second listing differs"
    if not wait_for(lambda: counted(stats, "hits") >= hits + len(first)):
        return "%d of %d were known" % (counted(stats, "hits") - hits,
                                        len(first))
    if counted(stats, "misses") > misses + 1:  # ".." was closed as well
        return "the broker was asked again"
    for i in range(0, 500, 50):
        replaced("%s/many/f%d" % (export, i))
    now = listing(client, many)
    for name, (fileid, handle) in now.items():
        if client.getattr(handle)["fileid"] != fileid:
            return "%s has the handle of another file" % name
        if fileid != first[name][0]:
            return "%s has another number" % name
        new = int(name[1:]) % 50 == 0
        if (handle != first[name][1]) != new:
            return "%s: %s handle" % (name, "the old" if new else "a new")
    for i in range(0, 500, 50):
        try:
            client.getattr(first["f%d" % i][1])
            return "f%d: the old handle is not stale" % i
        except nfs.Failed:
            pass
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
