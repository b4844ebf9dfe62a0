#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Files and connections share the descriptors of a worker of nfsd.

    descriptors.py EXPORT WORKER-PID LIMIT FILES CONNECTIONS

The worker may have LIMIT descriptors. Looks FILES up, so that each stays open.
Then opens CONNECTIONS, all but ten of them after the worker has used all
descriptors. Prints what went wrong.
"""
import resource
import sys

import mount
import nfs
from process import eventually, highest_descriptor, links, set_limit


def open_files(pid):
    """The number of descriptors, and of those that are not sockets."""
    found = links(pid)
    return len(found), sum(not n.startswith("socket:") for n in found)


def connect(count):
    """Opens connections, which the worker has then accepted."""
    made = []
    for _ in range(count):
        made.append(nfs.connect())
        made[-1].null()
    return made


def main(path, pid, limit, files, connections):
    top, base = mount.root(path), open_files(pid)
    first = nfs.connect()
    for i in range(files):
        first.lookup(top, f"f{i}")
    kept = open_files(pid)[1] - base[1]
    if kept <= limit // 2 + 10:
        print(f"{kept} of {files} files are open")
    held = connect(10)
    most = base[0] + limit - limit // 4
    if not eventually(lambda: open_files(pid)[0] <= most, 10):
        print(f"{open_files(pid)[0]} descriptors of {limit} are in use")
    set_limit(pid, resource.RLIMIT_NOFILE, highest_descriptor(pid) + 1, limit)
    # Free descriptors below the highest are used before files are closed.
    before = open_files(pid)[1]
    held += connect(connections - len(held))
    if open_files(pid)[1] >= before:
        print("no file was closed")
    for c in held + [first]:
        c.null()  # raises if its connection was closed
    set_limit(pid, resource.RLIMIT_NOFILE)
    first.lookup(top, "f0")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
