#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Makes a server do everything it can, for those who watch how it does it.

    every_call.py EXPORT

NFS 3 over TCP and UDP as several users, NFS 2, MOUNT. Errors do not matter.
"""
import struct
import sys

from nfs import Client, Failed, opaque


def attempt(f, *args, **kw):
    try:
        return f(*args, **kw)
    except (Failed, OSError, struct.error):
        return None


def sattr3(c, fh):
    """SETATTR of each attribute by itself: mode, uid, gid, size, times."""
    off = bytes(4)
    one = struct.pack(">I", 1)
    for body in (
            one + struct.pack(">I", 0o640) + off * 5,
            off + one + struct.pack(">I", 1001) + off * 4,
            off * 2 + one + struct.pack(">I", 1001) + off * 3,
            off * 3 + one + struct.pack(">Q", 100) + off * 2,
            off * 4 + struct.pack(">III", 2, 5, 0) + one):
        attempt(c.ok, 2, opaque(fh) + body + off)


def version3(c, root, tag):
    d = attempt(c.mkdir, root, "d" + tag, 0o755)
    if d is None:
        return
    f = attempt(c.create, d, "f", 0o644)
    attempt(c.ok, 8, opaque(d) + opaque(b"x") + struct.pack(">I", 2) +
            b"exclusiv")
    for stable in (0, 1, 2):
        attempt(c.write, f, 0, b"some data " * 400, stable)
    attempt(c.commit, f)
    attempt(c.read, f, 0, 4096)
    attempt(c.setattr, f, mode=0o444)
    attempt(c.write, f, 10, b"by its owner")
    sattr3(c, f)
    attempt(c.access, f, 0x3f)
    attempt(c.access, d, 0x3f)
    attempt(c.lookup, d, "f")
    attempt(c.read, attempt(c.lookup, root, "readable"), 0, 4096)
    attempt(c.lookup, d, "..")
    attempt(c.lookup, d, ".")
    attempt(c.lookup, root, "..")
    s = attempt(c.symlink, d, "s", "somewhere")
    attempt(c.readlink, s)
    sattr3(c, s)
    attempt(c.mknod, d, "fifo", 7)
    attempt(c.mknod, d, "socket", 6)
    attempt(c.mknod, d, "device", 3)
    attempt(c.link, f, d, "l")
    attempt(c.rename, d, "l", root, "l" + tag)
    attempt(c.remove, root, "l" + tag)
    attempt(lambda: list(c.entries(root)))
    attempt(lambda: list(c.entries(root, 512)))
    attempt(c.ok, 16, opaque(d) + struct.pack(">QQI", 0, 0, 4096))
    for proc in (18, 19, 20):
        attempt(c.ok, proc, opaque(root))
    attempt(c.getattr, f)
    for name in ("f", "x", "s", "fifo", "socket", "device"):
        attempt(c.remove, d, name)
    attempt(c.getattr, f)
    attempt(c.rmdir, root, "d" + tag)


def version2(c, root):
    none = struct.pack(">8I", *[0xffffffff] * 8)
    made = attempt(c.call, 9, root + opaque(b"two") + struct.pack(
        ">8I", 0o644, *[0xffffffff] * 7), vers=2)
    fh = root
    if made is not None and made.u32() == 0:
        fh = made.fixed(32)
    for proc, body in (
            (1, fh), (2, fh + none), (4, root + opaque(b"two")),
            (8, fh + struct.pack(">III", 0, 0, 4) + opaque(b"data")),
            (6, fh + struct.pack(">III", 0, 100, 0)),
            (12, fh + root + opaque(b"three")), (10, root + opaque(b"three")),
            (11, root + opaque(b"two") + root + opaque(b"four")),
            (10, root + opaque(b"four")),
            (14, root + opaque(b"dir") + none),
            (15, root + opaque(b"dir")),
            (16, root + struct.pack(">II", 0, 4096)), (17, root)):
        attempt(c.call, proc, body, vers=2)


def main():
    export = sys.argv[1]
    plain = Client(source=700)
    for version in (1, 3):
        for kind in ("tcp", "udp"):
            m = Client(port=20048, kind=kind)
            for proc, body in ((0, b""), (1, opaque(export.encode())),
                               (1, opaque((export + "/sub").encode())),
                               (2, b""), (3, opaque(export.encode())),
                               (4, b""), (5, b"")):
                attempt(m.call, proc, body, vers=version, prog=100005)
    root = plain.mnt(export)
    for kind in ("tcp", "udp"):
        for uid in (0, 1001, 1002):
            c = Client(uid=uid, gid=uid, gids=(uid, 1100), kind=kind)
            c.null()
            version3(c, root, f"{kind}{uid}")
            version2(c, root)
    # more at once than one message holds, then gone in the middle of a record
    c = Client(uid=1001, gid=1001)
    c.null()
    c.sock.sendall(b"\x80\x00\x00\x28" + b"\0" * 10)
    c.sock.close()
    big = Client(uid=1001, gid=1001)
    fh = attempt(big.create, root, "big", 0o644)
    for i in range(4):
        attempt(big.write, fh, i << 18, b"x" * (1 << 18), 0)
    attempt(big.read, fh, 0, 1 << 20)
    attempt(big.remove, root, "big")


main()
