# SPDX-License-Identifier: ISC
"""NFS versions 2 and 3 (RFC 1094, RFC 1813) over a transport of rpc.py.

A method of Nfs3 or Nfs2 makes one call and returns its Reply, with the fields
of a result that succeeded: fh, attr, bytes. A strict client raises Failed
instead when the call did not succeed.
"""
import collections
import enum
import os
import time

from rpc import TRANSPORTS, Closed, Failed, auth_sys, call, opaque, u32, u64

NFS, NFSACL, RQUOTA = 100003, 100227, 100011
PORT = int(os.environ.get("NFS_PORT", "2049"))
TIMEOUT = float(os.environ.get("NFS_TIMEOUT", "15"))
P3 = {name: number for number, name in enumerate(
    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR "
    "SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR READDIRPLUS FSSTAT FSINFO "
    "PATHCONF COMMIT".split())}
P2 = {name: number for number, name in enumerate(
    "NULL GETATTR SETATTR ROOT LOOKUP READLINK READ WRITECACHE WRITE CREATE "
    "REMOVE RENAME LINK SYMLINK MKDIR RMDIR READDIR STATFS".split())}


@enum.global_enum
class Status(enum.IntEnum):
    """nfsstat3. Version 2 and MOUNT have a part of it."""
    OK = 0
    PERM = 1
    NOENT = 2
    IO = 5
    NXIO = 6
    ACCES = 13
    EXIST = 17
    XDEV = 18
    NODEV = 19
    NOTDIR = 20
    ISDIR = 21
    INVAL = 22
    FBIG = 27
    NOSPC = 28
    ROFS = 30
    MLINK = 31
    NAMETOOLONG = 63
    NOTEMPTY = 66
    DQUOT = 69
    STALE = 70
    REMOTE = 71
    BADHANDLE = 10001
    NOT_SYNC = 10002
    BAD_COOKIE = 10003
    NOTSUPP = 10004
    TOOSMALL = 10005
    SERVERFAULT = 10006
    BADTYPE = 10007
    JUKEBOX = 10008


STATUS_NAMES = {s.value: s.name for s in Status}
OK, JUKEBOX = Status.OK, Status.JUKEBOX
REG, DIR, BLK, CHR, LNK, SOCK, FIFO = range(1, 8)  # ftype3
UNSTABLE, DATA_SYNC, FILE_SYNC = range(3)  # stable_how
UNCHECKED, GUARDED, EXCLUSIVE = range(3)  # createmode3


def sattr3(mode=None, uid=None, gid=None, size=None, atime=None, mtime=None):
    """atime, mtime: None, "now", or (seconds, nanoseconds)."""
    out = b""
    for value in (mode, uid, gid):
        out += u32(0) if value is None else u32(1, value)
    out += u32(0) if size is None else u32(1) + u64(size)
    for when in (atime, mtime):
        if when is None:
            out += u32(0)
        elif when == "now":
            out += u32(1)
        else:
            out += u32(2, *when)
    return out


def sattr2(mode=-1, uid=-1, gid=-1, size=-1, atime=(-1, -1), mtime=(-1, -1)):
    return u32(mode, uid, gid, size, *atime, *mtime)


# ---- parts of results, read from a cursor

Attr = collections.namedtuple(
    "Attr", "type mode nlink uid gid size used rdev1 rdev2 fsid fileid "
    "atime atime_ns mtime mtime_ns ctime ctime_ns")
Entry = collections.namedtuple("Entry", "fileid name cookie attr fh")
Listing = collections.namedtuple("Listing", "verf entries eof")


def attr(c):
    return Attr(*c.take("IIIIIQQIIQQIIIIII"))


def post_attr(c):
    return c.optional(lambda: attr(c))


def post_fh(c):
    return c.optional(c.opaque)


def wcc(c):
    """The attributes after the change."""
    c.optional(lambda: c.take("QIIII"))
    return post_attr(c)


def listing(reply, plus=False):
    """The results of READDIR, or READDIRPLUS."""
    c = reply.results()
    post_attr(c)
    verf, entries = c.fixed(8), []
    while c.u32():
        entries.append(Entry(c.u64(), c.opaque(), c.u64(),
                             post_attr(c) if plus else None,
                             post_fh(c) if plus else None))
    return Listing(verf, entries, bool(c.u32()))


# ---- clients

class Client:
    """Calls of one version by one caller."""

    def __init__(self, transport, uid=1001, gid=1001, groups=(),
                 strict=False):
        self.transport, self.strict = transport, strict
        self.cred = auth_sys(uid, gid, groups)

    def message(self, name, args=b"", **more):
        """The bytes of a call; more: fields to set otherwise."""
        return call(NFS, self.vers, self.procedures[name], args,
                    more.pop("cred", self.cred), **more)

    def call(self, name, args=b"", **more):
        reply = self.transport.rpc(self.message(name, args, **more))
        if self.strict:
            reply.need(STATUS_NAMES)
        return reply

    def close(self):
        self.transport.close()


class Nfs3(Client):
    vers, procedures = 3, P3

    def null(self):
        return self.call("NULL")

    def getattr(self, fh):
        reply = self.call("GETATTR", opaque(fh))
        if reply.status() == OK:
            reply.attr = attr(reply.results())
        return reply

    def setattr(self, fh, guard=None, **attrs):
        tail = u32(0) if guard is None else u32(1, *guard)
        return self.call("SETATTR", opaque(fh) + sattr3(**attrs) + tail)

    def lookup(self, fh, name):
        reply = self.call("LOOKUP", opaque(fh) + opaque(name))
        if reply.status() == OK:
            c = reply.results()
            reply.fh, reply.attr = c.opaque(), post_attr(c)
        return reply

    def access(self, fh, mask=0x3F):
        reply = self.call("ACCESS", opaque(fh) + u32(mask))
        if reply.status() == OK:
            c = reply.results()
            reply.attr, reply.granted = post_attr(c), c.u32()
        return reply

    def readlink(self, fh):
        reply = self.call("READLINK", opaque(fh))
        if reply.status() == OK:
            c = reply.results()
            reply.attr, reply.target = post_attr(c), c.opaque()
        return reply

    def read(self, fh, offset, count):
        reply = self.call("READ", opaque(fh) + u64(offset) + u32(count))
        if reply.status() == OK:
            c = reply.results()
            reply.attr = post_attr(c)
            reply.count, reply.eof = c.take("II")
            reply.bytes = c.opaque()
        return reply

    def write(self, fh, offset, data, stable=FILE_SYNC, count=None):
        reply = self.call("WRITE", write_args(fh, offset, data, stable, count))
        return wrote(reply)

    def commit(self, fh, offset=0, count=0):
        reply = self.call("COMMIT", opaque(fh) + u64(offset) + u32(count))
        if reply.status() == OK:
            c = reply.results()
            wcc(c)
            reply.verf3 = c.fixed(8)
        return reply

    def _make(self, name, args):
        """A new file: fh is None when the server does not tell it."""
        reply = self.call(name, args)
        if reply.status() == OK:
            reply.fh = post_fh(reply.results())
        return reply

    def create(self, fh, name, how=UNCHECKED, mode=0o644, verf=None, **attrs):
        body = verf if how == EXCLUSIVE else sattr3(mode=mode, **attrs)
        return self._make("CREATE", opaque(fh) + opaque(name) + u32(how) +
                          body)

    def mkdir(self, fh, name, mode=0o755):
        return self._make("MKDIR", opaque(fh) + opaque(name) +
                          sattr3(mode=mode))

    def symlink(self, fh, name, target):
        return self._make("SYMLINK", opaque(fh) + opaque(name) + sattr3() +
                          opaque(target))

    def mknod(self, fh, name, kind, rdev=(0, 0), mode=0o644):
        return self._make("MKNOD", opaque(fh) + opaque(name) + u32(kind) +
                          sattr3(mode=mode) +
                          (u32(*rdev) if kind in (BLK, CHR) else b""))

    def remove(self, fh, name):
        return self.call("REMOVE", opaque(fh) + opaque(name))

    def rmdir(self, fh, name):
        return self.call("RMDIR", opaque(fh) + opaque(name))

    def rename(self, fh, name, to, to_name):
        return self.call("RENAME", opaque(fh) + opaque(name) +
                         opaque(to) + opaque(to_name))

    def acl(self, proc, args):
        """A call of NFSACL, which has the same port."""
        reply = self.transport.rpc(call(NFSACL, 3, proc, args, self.cred))
        if self.strict:
            reply.need(STATUS_NAMES)
        return reply

    def quota(self, path, number, group=None, vers=2):
        """A call of RQUOTA, on the same port: word, or numbers in quota."""
        kind = u32(int(bool(group))) if vers == 2 else b""
        reply = self.transport.rpc(call(
            RQUOTA, vers, 1, opaque(path) + kind + u32(number), self.cred))
        status = reply.status()
        reply.quota = reply.results().take("10I") if status == 1 else ()
        reply.word = {1: "", 2: "NOQUOTA", 3: "EPERM"}.get(status, "DENIED")
        return reply

    def getacl(self, fh):
        """The access list as [(tag, id, permissions)]."""
        reply = self.acl(1, opaque(fh) + u32(1))
        c = reply.results()
        post_attr(c)
        c.take("II")  # mask, number
        reply.entries = [c.take("III") for _ in range(c.u32())]
        return reply

    def setacl(self, fh, entries):
        words = [word for entry in entries for word in entry]
        n = len(entries)
        return self.acl(2, opaque(fh) + u32(1, n, n, *words) + u32(0, 0))

    def link(self, fh, to, name):
        return self.call("LINK", opaque(fh) + opaque(to) + opaque(name))

    def readdir(self, fh, cookie=0, verf=bytes(8), count=4096):
        return self.call("READDIR", opaque(fh) + u64(cookie) + verf +
                         u32(count))

    def readdirplus(self, fh, cookie=0, verf=bytes(8), dircount=4096,
                    maxcount=16384):
        return self.call("READDIRPLUS", opaque(fh) + u64(cookie) + verf +
                         u32(dircount, maxcount))

    def entries(self, fh, size=65536):
        """Every entry of a directory, by as many READDIRPLUS as it takes.
        Raises Failed."""
        cookie, verf, eof = 0, bytes(8), False
        while not eof:
            reply = self.readdirplus(fh, cookie, verf, size, size)
            reply.need(STATUS_NAMES)
            verf, found, eof = listing(reply, plus=True)
            yield from found
            cookie = found[-1].cookie if found else cookie


def write_args(fh, offset, data, stable=FILE_SYNC, count=None):
    count = len(data) if count is None else count
    return opaque(fh) + u64(offset) + u32(count, stable) + opaque(data)


def wrote(reply):
    """Decodes the results of WRITE."""
    if reply.status() == OK:
        c = reply.results()
        wcc(c)
        reply.count, reply.committed = c.take("II")
        reply.verf3 = c.fixed(8)
    return reply


class Nfs2(Client):
    """The calls of version 2 that several tests make."""

    vers, procedures = 2, P2

    def _found(self, name, args):
        reply = self.call(name, args)
        if reply.status() == OK:
            reply.fh = reply.results().fixed(32)
        return reply

    def lookup(self, fh, name):
        return self._found("LOOKUP", fh + opaque(name))

    def create(self, fh, name, mode=0o644):
        return self._found("CREATE", fh + opaque(name) + sattr2(mode=mode))


def connect(uid=0, gid=0, groups=(), kind="tcp", timeout=TIMEOUT, **more):
    """A strict client of version 3 with a socket of its own."""
    return Nfs3(TRANSPORTS[kind](PORT, timeout=timeout, **more), uid, gid,
                groups, strict=True)


class HardMount:
    """Asks again until there is an answer, as hard mounts do."""

    def __init__(self, connector, seconds):
        """connector: makes a client; seconds: how long there may be none."""
        self.connector, self.seconds = connector, seconds
        self.client = None

    def ask(self, action):
        """The reply that action gets from a client; JUKEBOX is none."""
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            try:
                if self.client is None:
                    self.client = self.connector()
                reply = action(self.client)
                if reply.status() != JUKEBOX:
                    return reply
            except (OSError, Closed):
                self.close()
            time.sleep(0.02)
        raise Failed(f"no answer for {self.seconds} s")

    def close(self):
        if self.client is not None:
            self.client.close()
        self.client = None
