#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Changes whose replies are lost and that are sent again, for 27-place.t and
84-replies.t.

    replies.py ROOT FIRST SECOND [PID [TRANSPORT]]

Makes every change that must not be done twice at address FIRST and repeats it
at SECOND, from the same port with the same xid: over TCP and UDP or only one of
them, with versions 2 and 3. ROOT is the handle of an export. All workers of the
nfsd with this PID are killed in between, unless it is empty. Prints "right" or
"wrong" for each change.
"""
import os
import signal
import socket
import struct
import subprocess
import sys
import time

import nfs
import rpc
from nfs import EXCLUSIVE, GUARDED, OK, UNCHECKED, sattr2, sattr3
from rpc import opaque, u32

PORTS = rpc.up_from(700)
TRIES = 20  # of a second each


def changes3(c, root, tag):
    """Names and messages; what they need is made first."""
    place = opaque(root)

    def file(name):
        return c.create(root, f"{tag}{name}").fh

    def at(name):
        return place + opaque(f"{tag}{name}")

    for name in ("remove", "rename"):
        file(name)
    linked, changed = file("linked"), file("changed")
    c.mkdir(root, f"{tag}rmdir")
    a = c.getattr(changed).attr
    guard = u32(1, a.ctime, a.ctime_ns)
    return (
        ("REMOVE", at("remove")),
        ("RMDIR", at("rmdir")),
        ("RENAME", at("rename") + at("renamed")),
        ("LINK", opaque(linked) + at("link")),
        ("MKDIR", at("mkdir") + sattr3(mode=0o755)),
        ("SYMLINK", at("symlink") + sattr3() + opaque("target")),
        ("CREATE", at("guarded") + u32(GUARDED) + sattr3(mode=0o644)),
        ("SETATTR", opaque(changed) + sattr3(mode=0o600) + guard),
        ("CREATE", at("unchecked") + u32(UNCHECKED) + sattr3(mode=0o644)),
        ("CREATE", at("exclusive") + u32(EXCLUSIVE) + b"verifier"),
    )


def changes2(c, root, tag):
    def at(name):
        return root + opaque(f"{tag}{name}")

    for name in ("remove", "rename"):
        c.create(root, f"{tag}{name}")
    linked = c.create(root, f"{tag}linked").fh
    c.call("MKDIR", at("rmdir") + sattr2(mode=0o755))
    return (
        ("REMOVE", at("remove")),
        ("RMDIR", at("rmdir")),
        ("RENAME", at("rename") + at("renamed")),
        ("LINK", linked + at("link")),
        ("MKDIR", at("mkdir") + sattr2(mode=0o755)),
        ("SYMLINK", at("symlink") + opaque("target") + sattr2()),
        ("CREATE", at("create") + sattr2(mode=0o644)),
    )


VERSIONS = ((3, nfs.Nfs3, changes3), (2, nfs.Nfs2, changes2))


def hang_up(transport):
    """Ends a connection so that its port can be used again at once."""
    if transport.sock.type == socket.SOCK_STREAM:
        transport.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  struct.pack("ii", 1, 0))
    transport.close()


def workers(parent):
    return [int(p) for p in subprocess.run(
        ["pgrep", "-P", str(parent), "-f", "^nfsd: worker"],
        stdout=subprocess.PIPE, check=False).stdout.split()]


def kill_workers(parent):
    old = workers(parent)
    for pid in old:
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + TRIES
    while len(set(workers(parent)) - set(old)) < len(old):
        if time.monotonic() > end:
            sys.exit("no new workers")
        time.sleep(0.02)


def repeat(kind, host, source, message):
    """The reply to a repeated call; asks as often as a client would."""
    for _ in range(TRIES):
        try:
            with rpc.TRANSPORTS[kind](nfs.PORT, host, source, 1.0) as t:
                try:
                    return t.rpc(message)
                finally:
                    hang_up(t)
        except (OSError, rpc.Closed):
            time.sleep(0.05)
    return None


def run(kind, version, root, first, second, parent):
    number, client, changes = version
    t = rpc.TRANSPORTS[kind](nfs.PORT, first, ("", PORTS))
    source = ("", t.sock.getsockname()[1])
    c = client(t)
    done = []
    tag = f"{kind}{number}-"
    for xid, (name, args) in enumerate(changes(c, root, tag)):
        message = c.message(name, args, xid=xid + 1)
        done.append((name, message, t.rpc(message)))
    if parent:
        kill_workers(parent)
    hang_up(t)
    for name, message, reply in done:
        again = repeat(kind, second, source, message)
        good = again is not None and reply.status() == OK and \
            again.data == reply.data
        print("right" if good else "wrong", name, number, kind,
              reply.describe(), again and again.describe())


def main():
    root, first, second = bytes.fromhex(sys.argv[1]), *sys.argv[2:4]
    parent = int(sys.argv[4]) if sys.argv[4:5] > [""] else None
    for version in VERSIONS:
        for kind in sys.argv[5:] or rpc.TRANSPORTS:
            run(kind, version, root, first, second, parent)


if __name__ == "__main__":
    main()
