# SPDX-License-Identifier: ISC
"""ONC RPC, MOUNT and NFS as a hostile client speaks them.

Written from the RFCs alone, apart from common/, so that an error in our codec
cannot hide behind the same error here. Everything can be sent broken.
"""
import os
import socket
import struct

PMAP, MOUNT, NFS = 100000, 100005, 100003
AUTH_NONE, AUTH_SYS = 0, 1


class Closed(Exception):
    """The server closed the connection."""


def u32(*values):
    return b"".join(struct.pack(">I", v & 0xFFFFFFFF) for v in values)


def u64(value):
    return struct.pack(">Q", value & 0xFFFFFFFFFFFFFFFF)


def opaque(data, length=None, fill=b"\0"):
    data = data.encode() if isinstance(data, str) else data
    pad = fill * (-len(data) % 4)
    return u32(len(data) if length is None else length) + data + pad


def auth_sys(uid=0, gid=0, groups=(), name=b"abuse", stamp=1):
    body = u32(stamp) + opaque(name) + u32(uid, gid, len(groups), *groups)
    return u32(AUTH_SYS) + opaque(body)


NOBODY = u32(AUTH_NONE, 0)


def call(prog, vers, proc, args=b"", cred=NOBODY, verf=NOBODY, xid=None,
         rpcvers=2, mtype=0):
    xid = int.from_bytes(os.urandom(4), "big") if xid is None else xid
    return u32(xid, mtype, rpcvers, prog, vers, proc) + cred + verf + args


def record(data, last=True):
    return u32(len(data) | (0x80000000 if last else 0)) + data


class Reply:
    """A decoded reply header; `rest` is what follows it."""

    def __init__(self, data):
        self.data = data
        self.xid, self.mtype, self.stat = struct.unpack(">III", data[:12])
        if self.stat == 0:
            flavor, length = struct.unpack(">II", data[12:20])
            self.verf = data[20:20 + length]
            at = 20 + length
            (self.accept,) = struct.unpack(">I", data[at:at + 4])
            self.rest = data[at + 4:]
            self.reject = self.why = None
        else:
            self.accept = None
            self.reject, self.why = struct.unpack(">II", data[12:20])
            self.rest = data[20:]

    def status(self):
        """The first word of the results, or None when there are none."""
        if self.accept != 0 or len(self.rest) < 4:
            return None
        return struct.unpack(">I", self.rest[:4])[0]

    def describe(self):
        if self.stat:
            return f"denied {self.reject}/{self.why}"
        return f"accept {self.accept} status {self.status()}"


def place(host, port):
    """A socket address; of a link-local one with its zone."""
    host, _, zone = host.partition("%")
    if zone:
        return host, port, 0, socket.if_nametoindex(zone)
    return host, port


class Stream:
    """A TCP (or unix) connection."""

    def __init__(self, port, host="127.0.0.1", source=None, timeout=5.0):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        if source:
            self.sock.bind(place(*source))
        self.sock.connect(place(host, port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def send(self, data):
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None

    def _need(self, count):
        while len(self.buffer) < count:
            try:
                more = self.sock.recv(1 << 20)
            except (ConnectionResetError, BrokenPipeError):
                raise Closed from None
            if not more:
                raise Closed
            self.buffer += more
        out, self.buffer = self.buffer[:count], self.buffer[count:]
        return out

    def receive(self):
        data = b""
        while True:
            (mark,) = struct.unpack(">I", self._need(4))
            data += self._need(mark & 0x7FFFFFFF)
            if mark & 0x80000000:
                return Reply(data)

    def rpc(self, message):
        self.send(record(message))
        return self.receive()

    def pipeline(self, messages, batch=200):
        """Sends many calls, some at a time, and yields their replies."""
        waiting = []
        for message in messages:
            waiting.append(record(message))
            if len(waiting) == batch:
                yield from self._answers(waiting)
                waiting = []
        yield from self._answers(waiting)

    def _answers(self, records):
        self.send(b"".join(records))
        for _ in records:
            yield self.receive()

    def is_closed(self, timeout=3.0):
        """True when the server ends the connection within the time."""
        self.sock.settimeout(timeout)
        try:
            while self.sock.recv(65536):
                pass
            return True
        except (ConnectionResetError, BrokenPipeError):
            return True
        except socket.timeout:
            return False

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Datagrams:
    """A UDP socket, connected."""

    def __init__(self, port, host="127.0.0.1", source=None, timeout=2.0):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_DGRAM)
        self.sock.settimeout(timeout)
        if source:
            self.sock.bind(source)
        self.sock.connect((host, port))

    def send(self, data):
        self.sock.send(data)

    def receive(self):
        return Reply(self.sock.recv(1 << 17))

    def receive_raw(self, timeout=0.3):
        """The next datagram, or None when none comes."""
        self.sock.settimeout(timeout)
        try:
            return self.sock.recv(1 << 17)
        except (socket.timeout, ConnectionRefusedError):
            return None

    def rpc(self, message):
        self.send(message)
        return self.receive()

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# ---- NFS version 3 ---------------------------------------------------------

P3 = {name: number for number, name in enumerate(
    "NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR "
    "SYMLINK MKNOD REMOVE RMDIR RENAME LINK READDIR READDIRPLUS FSSTAT FSINFO "
    "PATHCONF COMMIT".split())}
P2 = {name: number for number, name in enumerate(
    "NULL GETATTR SETATTR ROOT LOOKUP READLINK READ WRITECACHE WRITE CREATE "
    "REMOVE RENAME LINK SYMLINK MKDIR RMDIR READDIR STATFS".split())}

OK, PERM, NOENT, IO, ACCES, EXIST, XDEV, NOTDIR, ISDIR, INVAL = \
    0, 1, 2, 5, 13, 17, 18, 20, 21, 22
FBIG, ROFS, NAMETOOLONG, NOTEMPTY, STALE = 27, 30, 63, 66, 70
BADHANDLE, NOT_SYNC, BAD_COOKIE, NOTSUPP, TOOSMALL, BADTYPE = \
    10001, 10002, 10003, 10004, 10005, 10007


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


class Attr:
    """fattr3."""

    def __init__(self, data):
        (self.type, self.mode, self.nlink, self.uid, self.gid, self.size,
         self.used, self.rdev1, self.rdev2, self.fsid, self.fileid,
         self.atime, self.atime_ns, self.mtime, self.mtime_ns,
         self.ctime, self.ctime_ns) = struct.unpack(
            ">IIIIIQQIIQQIIIIII", data[:84])


class Nfs3:
    """NFS version 3 calls over a transport; each returns the Reply."""

    def __init__(self, transport, uid=1001, gid=1001, groups=()):
        self.transport = transport
        self.cred = auth_sys(uid, gid, groups)

    def call(self, name, args=b"", **more):
        return self.transport.rpc(
            call(NFS, 3, P3[name], args, more.pop("cred", self.cred), **more))

    def getattr(self, fh):
        reply = self.call("GETATTR", opaque(fh))
        if reply.status() == OK:
            reply.attr = Attr(reply.rest[4:])
        return reply

    def lookup(self, fh, name):
        reply = self.call("LOOKUP", opaque(fh) + opaque(name))
        if reply.status() == OK:
            (n,) = struct.unpack(">I", reply.rest[4:8])
            reply.fh = reply.rest[8:8 + n]
            follows = struct.unpack(">I", reply.rest[8 + n:12 + n])[0]
            reply.attr = Attr(reply.rest[12 + n:]) if follows else None
        return reply

    def read(self, fh, offset, count):
        reply = self.call("READ", opaque(fh) + u64(offset) + u32(count))
        if reply.status() == OK:
            at = 4 + (88 if reply.rest[7] else 4)
            reply.count, reply.eof, n = struct.unpack(
                ">III", reply.rest[at:at + 12])
            reply.bytes = reply.rest[at + 12:at + 12 + n]
        return reply

    def write(self, fh, offset, data, stable=2, count=None):
        count = len(data) if count is None else count
        reply = self.call("WRITE", opaque(fh) + u64(offset) +
                          u32(count, stable) + opaque(data))
        if reply.status() == OK:
            reply.count, reply.committed = struct.unpack(
                ">II", reply.rest[-16:-8])
            reply.verf3 = reply.rest[-8:]
        return reply

    def _made(self, reply):
        if reply.status() == OK and reply.rest[7]:
            (n,) = struct.unpack(">I", reply.rest[8:12])
            reply.fh = reply.rest[12:12 + n]
        return reply

    def create(self, fh, name, how=0, mode=0o644, verf=None, **attrs):
        body = verf if how == 2 else sattr3(mode=mode, **attrs)
        return self._made(self.call(
            "CREATE", opaque(fh) + opaque(name) + u32(how) + body))

    def mkdir(self, fh, name, mode=0o755):
        return self._made(self.call(
            "MKDIR", opaque(fh) + opaque(name) + sattr3(mode=mode)))

    def symlink(self, fh, name, target):
        return self._made(self.call(
            "SYMLINK", opaque(fh) + opaque(name) + sattr3() + opaque(target)))

    def mknod(self, fh, name, ftype, rdev=(0, 0), mode=0o644):
        body = sattr3(mode=mode)
        if ftype in (3, 4):
            body += u32(*rdev)
        return self._made(self.call(
            "MKNOD", opaque(fh) + opaque(name) + u32(ftype) + body))

    def remove(self, fh, name):
        return self.call("REMOVE", opaque(fh) + opaque(name))

    def rmdir(self, fh, name):
        return self.call("RMDIR", opaque(fh) + opaque(name))

    def rename(self, fh, name, to, to_name):
        return self.call("RENAME", opaque(fh) + opaque(name) +
                         opaque(to) + opaque(to_name))

    def link(self, fh, to, name):
        return self.call("LINK", opaque(fh) + opaque(to) + opaque(name))

    def setattr(self, fh, guard=None, **attrs):
        tail = u32(0) if guard is None else u32(1, *guard)
        return self.call("SETATTR", opaque(fh) + sattr3(**attrs) + tail)

    def access(self, fh, mask=0x3F):
        reply = self.call("ACCESS", opaque(fh) + u32(mask))
        if reply.status() == OK:
            reply.granted = struct.unpack(">I", reply.rest[-4:])[0]
        return reply

    def readdir(self, fh, cookie=0, verf=bytes(8), count=4096):
        return self.call("READDIR", opaque(fh) + u64(cookie) + verf +
                         u32(count))

    def readdirplus(self, fh, cookie=0, verf=bytes(8), dircount=4096,
                    maxcount=16384):
        return self.call("READDIRPLUS", opaque(fh) + u64(cookie) + verf +
                         u32(dircount, maxcount))

    def commit(self, fh, offset=0, count=0):
        return self.call("COMMIT", opaque(fh) + u64(offset) + u32(count))


def entries3(reply):
    """(name, fileid, cookie) of a READDIR reply, and eof."""
    data = reply.rest[4:]
    at = 88 if data[3] else 4
    at += 8
    out = []
    while struct.unpack(">I", data[at:at + 4])[0]:
        fileid, n = struct.unpack(">QI", data[at + 4:at + 16])
        name = data[at + 16:at + 16 + n]
        at += 16 + n + (-n % 4)
        (cookie,) = struct.unpack(">Q", data[at:at + 8])
        at += 8
        out.append((name, fileid, cookie))
    return out, struct.unpack(">I", data[at + 4:at + 8])[0] == 1


def entries3plus(reply):
    """(name, fileid, handle or None) of a READDIRPLUS reply."""
    data = reply.rest[4:]
    at = (88 if data[3] else 4) + 8
    out = []
    while struct.unpack(">I", data[at:at + 4])[0]:
        fileid, n = struct.unpack(">QI", data[at + 4:at + 16])
        name = data[at + 16:at + 16 + n]
        at += 16 + n + (-n % 4) + 8
        at += 88 if data[at + 3] else 4
        handle = None
        if data[at + 3]:
            (n,) = struct.unpack(">I", data[at + 4:at + 8])
            handle = data[at + 8:at + 8 + n]
            at += 8 + n + (-n % 4)
        else:
            at += 4
        out.append((name, fileid, handle))
    return out


class Nfs2:
    """The version 2 calls the cases need; each returns the Reply."""

    def __init__(self, transport, uid=1001, gid=1001, groups=()):
        self.transport = transport
        self.cred = auth_sys(uid, gid, groups)

    def call(self, name, args=b"", **more):
        return self.transport.rpc(
            call(NFS, 2, P2[name], args, more.pop("cred", self.cred), **more))

    def lookup(self, fh, name):
        reply = self.call("LOOKUP", fh + opaque(name))
        if reply.status() == OK:
            reply.fh = reply.rest[4:36]
        return reply

    def create(self, fh, name, mode=0o644):
        reply = self.call("CREATE", fh + opaque(name) + sattr2(mode=mode))
        if reply.status() == OK:
            reply.fh = reply.rest[4:36]
        return reply


def mount3(transport, path, cred=NOBODY):
    """MNT version 3: the reply, with fh when it was granted."""
    reply = transport.rpc(call(MOUNT, 3, 1, opaque(path), cred))
    if reply.status() == OK:
        (n,) = struct.unpack(">I", reply.rest[4:8])
        reply.fh = reply.rest[8:8 + n]
    return reply
