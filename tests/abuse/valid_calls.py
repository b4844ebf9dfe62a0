# SPDX-License-Identifier: ISC
"""A valid call of every procedure, for cutting and mutating."""

from mount import MOUNT
from nfs import NFS, P2, P3, sattr2, sattr3
from pmap import CALLIT, PMAP, TCP, rpcb
from rpc import opaque, u32, u64


def every(w, harmless=False):
    """(program, version, procedure, arguments) of all procedures that take
    arguments. harmless: names that do not exist, so that a mutated call has
    nothing to destroy."""
    root = w.root("rw")
    yield from portmap()
    yield from mount(w.dir + "/rw")
    yield from nfs3(opaque(root))
    yield from nfs2(root)
    if not harmless:
        yield PMAP, 2, CALLIT, u32(NFS, 3, 0) + opaque(b"1234")


def portmap():
    mapping = u32(NFS, 3, TCP, 2049)
    for proc in (1, 2, 3):
        yield PMAP, 2, proc, mapping
    for vers in (3, 4):
        for proc in (1, 2, 3):
            yield PMAP, vers, proc, rpcb(NFS, 3, "tcp")
    yield PMAP, 3, 7, opaque("127.0.0.1.8.1")


def mount(path):
    for vers in (1, 2, 3):
        for proc in (1, 3):
            yield MOUNT, vers, proc, opaque(path)
    yield MOUNT, 2, 7, opaque(path)


def nfs3(fh):
    place = fh + opaque("no-such-name")
    table = {
        "GETATTR": fh,
        "SETATTR": fh + sattr3(atime="now") + u32(0),
        "LOOKUP": place,
        "ACCESS": fh + u32(63),
        "READLINK": fh,
        "READ": fh + u64(0) + u32(512),
        "WRITE": fh + u64(0) + u32(4, 2) + opaque(b"data"),
        "CREATE": place + u32(1) + sattr3(mode=0o600),
        "MKDIR": place + sattr3(mode=0o700),
        "SYMLINK": place + sattr3() + opaque("target"),
        "MKNOD": place + u32(7) + sattr3(mode=0o600),
        "REMOVE": place,
        "RMDIR": place,
        "RENAME": place + place,
        "LINK": fh + place,
        "READDIR": fh + u64(0) + bytes(8) + u32(1024),
        "READDIRPLUS": fh + u64(0) + bytes(8) + u32(1024, 4096),
        "FSSTAT": fh, "FSINFO": fh, "PATHCONF": fh,
        "COMMIT": fh + u64(0) + u32(0),
    }
    for name, args in table.items():
        yield NFS, 3, P3[name], args


def nfs2(fh):
    place = fh + opaque("no-such-name")
    table = {
        "GETATTR": fh,
        "SETATTR": fh + sattr2(),
        "LOOKUP": place,
        "READLINK": fh,
        "READ": fh + u32(0, 512, 0),
        "WRITE": fh + u32(0, 0, 0) + opaque(b"data"),
        "CREATE": place + sattr2(mode=0o600),
        "REMOVE": place,
        "RENAME": place + place,
        "LINK": fh + place,
        "SYMLINK": place + opaque("target") + sattr2(),
        "MKDIR": place + sattr2(mode=0o700),
        "RMDIR": place,
        "READDIR": fh + u32(0, 1024),
        "STATFS": fh,
    }
    for name, args in table.items():
        yield NFS, 2, P2[name], args
