#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Files and connections share the descriptors of a worker of nfsd.

    descriptors.py EXPORT WORKER-PID LIMIT FILES CONNECTIONS

The worker may have LIMIT descriptors. Looks FILES up, so that each stays open,
then opens CONNECTIONS, all but ten of them when the worker has no descriptor
left. Prints what went wrong.
"""
import os
import re
import resource
import sys
import time

import nfs


def open_files(pid):
    """Descriptors of a worker, and those of them that are not sockets."""
    links = []
    for n in os.listdir("/proc/%d/fd" % pid):
        try:
            links.append(os.readlink("/proc/%d/fd/%s" % (pid, n)))
        except FileNotFoundError:
            pass  # closed since
    return len(links), sum(not n.startswith("socket:") for n in links)


def set_limit(pid, soft, hard):
    """As its own user: root need not be allowed to."""
    child = os.fork()
    if child == 0:
        with open("/proc/%d/status" % pid) as f:
            ids = dict(re.findall(r"^(Uid|Gid):\s+(\d+)", f.read(), re.M))
        os.setresgid(*[int(ids["Gid"])] * 3)
        os.setresuid(*[int(ids["Uid"])] * 3)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("the limit of %d cannot be set" % pid)


def wait_for(what):
    until = time.monotonic() + 10
    while not what():
        if time.monotonic() > until:
            return False
    return True


def main(path, pid, limit, files, connections):
    first = nfs.Client()
    top = first.mnt(path)
    base = open_files(pid)
    for i in range(files):
        first.lookup(top, "f%d" % i)
    kept = open_files(pid)[1] - base[1]
    if kept <= limit // 2 + 10:
        print("%d of %d files are open" % (kept, files))
    held = [nfs.Client() for _ in range(10)]
    for c in held:
        c.null()
    most = base[0] + limit - limit // 4
    if not wait_for(lambda: open_files(pid)[0] <= most):
        print("%d descriptors of %d are in use" % (open_files(pid)[0], limit))
    highest = max(int(n) for n in os.listdir("/proc/%d/fd" % pid))
    set_limit(pid, highest + 1, limit)
    # Whatever is free below the highest is used up before files have to go.
    held += [nfs.Client() for _ in range(connections - len(held))]
    before = open_files(pid)[1]
    for c in held:
        c.null()
    if open_files(pid)[1] >= before:
        print("no file was closed")
    for c in held + [first]:
        c.null()  # raises when its connection was closed
    set_limit(pid, limit, limit)
    first.lookup(top, "f0")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
