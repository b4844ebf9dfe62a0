#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes every call to a server, for tests that trace it.

    every_call.py EXPORT

NFS 3 over TCP and UDP as several users, NFS 2, MOUNT, NLM. Errors of the first
three do not matter.
"""
import sys

import mount
import nlm
import pmap
from mount import MOUNT
from nfs import (BLK, EXCLUSIVE, FIFO, PORT, SOCK, TIMEOUT, Nfs2, Nfs3,
                 sattr2)
from rpc import (TRANSPORTS, Closed, Failed, Reply, auth_sys, call, opaque,
                 u32, up_from)

UNANSWERED = Reply(u32(0, 1, 1, 0, 0))  # a denied call


class Careless:
    """A client that ignores errors and missing replies."""

    def call(self, name, args=b"", **more):
        try:
            return super().call(name, args, **more)
        except (Failed, Closed, OSError):
            return UNANSWERED


class Careless3(Careless, Nfs3):
    def everything(self, fh, size):
        """Reads every page of a listing."""
        try:
            list(self.entries(fh, size))
        except Failed:
            pass


class Careless2(Careless, Nfs2):
    pass


def connect(uid, kind="tcp"):
    return Careless3(TRANSPORTS[kind](PORT, timeout=TIMEOUT), uid, uid,
                     (uid, 1100))


def handle(reply):
    """The handle in a reply, or an empty one."""
    return getattr(reply, "fh", None) or b""


def each_attribute(c, fh):
    for attrs in ({"mode": 0o640}, {"uid": 1001}, {"gid": 1001},
                  {"size": 100}, {"atime": (5, 0), "mtime": "now"}):
        c.setattr(fh, **attrs)


def version3(c, root, tag):
    d = handle(c.mkdir(root, "d" + tag))
    f = handle(c.create(d, "f"))
    c.create(d, "x", EXCLUSIVE, verf=b"exclusiv")
    for stable in (0, 1, 2):
        c.write(f, 0, b"some data " * 400, stable)
    c.commit(f)
    c.read(f, 0, 4096)
    c.setattr(f, mode=0o444)
    c.write(f, 10, b"by its owner")
    each_attribute(c, f)
    c.access(f)
    c.access(d)
    c.lookup(d, "f")
    c.read(handle(c.lookup(root, "readable")), 0, 4096)
    c.setattr(d, mode=0o2775)
    c.lookup(d, "..")
    c.lookup(d, ".")
    c.lookup(root, "..")
    s = handle(c.symlink(d, "s", "somewhere"))
    c.readlink(s)
    each_attribute(c, s)
    for name, kind in (("fifo", FIFO), ("socket", SOCK), ("device", BLK)):
        c.mknod(d, name, kind)
    c.link(f, d, "l")
    c.rename(d, "l", root, "l" + tag)
    c.create(d, "onto")
    c.rename(root, "l" + tag, d, "onto")
    c.rename(d, "onto", root, "l" + tag)
    c.remove(root, "l" + tag)
    c.everything(root, 65536)
    c.everything(root, 512)
    c.readdir(d)
    for name in ("FSSTAT", "FSINFO", "PATHCONF"):
        c.call(name, opaque(root))
    c.getattr(f)
    for name in ("f", "x", "s", "fifo", "socket", "device"):
        c.remove(d, name)
    c.getattr(f)
    c.rmdir(root, "d" + tag)
    # Its owner may change it and not read it, from the beginning.
    d = handle(c.mkdir(root, "closed" + tag, mode=0o300))
    c.mkdir(d, "below")
    c.rmdir(d, "below")
    c.rmdir(root, "closed" + tag)


def version2(c, root):
    fh = handle(c.create(root, "two")) or root

    def place(name):
        return root + opaque(name)
    for name, args in (
            ("GETATTR", fh), ("SETATTR", fh + sattr2()),
            ("LOOKUP", place("two")),
            ("WRITE", fh + u32(0, 0, 4) + opaque(b"data")),
            ("READ", fh + u32(0, 100, 0)),
            ("LINK", fh + place("three")), ("REMOVE", place("three")),
            ("RENAME", place("two") + place("four")),
            ("REMOVE", place("four")),
            ("MKDIR", place("dir") + sattr2()), ("RMDIR", place("dir")),
            ("READDIR", root + u32(0, 4096)), ("STATFS", root)):
        c.call(name, args)


def every_mount(export):
    for vers in (1, 3):
        for kind in ("tcp", "udp"):
            with TRANSPORTS[kind](mount.PORT, timeout=TIMEOUT) as t:
                for proc, args in ((mount.NULL, b""),
                                   (mount.MNT, opaque(export)),
                                   (mount.MNT, opaque(export + "/sub")),
                                   (mount.DUMP, b""),
                                   (mount.UMNT, opaque(export)),
                                   (mount.UMNTALL, b""), (mount.EXPORT, b"")):
                    t.rpc(call(MOUNT, vers, proc, args, auth_sys()))


def every_lock(root):
    """A lock and what gives it back, in every version."""
    c = connect(1001)
    fh = handle(c.create(root, "locked"))
    for vers in (1, 3, 4):
        for proto in (pmap.UDP, pmap.TCP):
            port = nlm.port_of(vers=vers, proto=proto)
            kind = "udp" if proto == pmap.UDP else "tcp"
            with TRANSPORTS[kind](port, timeout=TIMEOUT) as t:
                locks = nlm.Client(t, vers, auth_sys(1001, 1001))
                for proc in (nlm.LOCK, nlm.TEST, nlm.UNLOCK, nlm.CANCEL,
                             nlm.LOCK_MSG, nlm.UNLOCK_MSG):
                    locks.ask(proc, fh)
                locks.free_all("test")
                nlm.notify(t, "test", 5)
    c.remove(root, "locked")


def main(export):
    every_mount(export)
    root = mount.root(export, auth_sys(), source=("", up_from(700)))
    for kind in ("tcp", "udp"):
        for uid in (0, 1001, 1002):
            c = connect(uid, kind)
            c.null()
            version3(c, root, f"{kind}{uid}")
            version2(Careless2(c.transport, uid, uid, (uid, 1100)), root)
    # A connection that ends in the middle of a record, then large transfers.
    c = connect(1001)
    c.null()
    c.transport.send(b"\x80\x00\x00\x28" + b"\0" * 10)
    c.close()
    big = connect(1001)
    fh = handle(big.create(root, "big"))
    for i in range(4):
        big.write(fh, i << 18, b"x" * (1 << 18), 0)
    big.read(fh, 0, 1 << 20)
    big.remove(root, "big")
    every_lock(root)
    for number, group in ((1001, None), (1001, True), (1002, None)):
        connect(1001).quota(export, number, group)


if __name__ == "__main__":
    main(sys.argv[1])
