#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""One NFS call for the system tests, or several for a test in Python.

    nfs.py [-u uid[:gid[:gid,...]]] [-v 2|3] [-t tcp|udp] COMMAND ARGUMENT...

Handles are hex. The result is one line: what was asked for, or the name of
the error; the exit status is 0 when the call succeeded.

    mnt PATH              handle of an export       getattr FH
    lookup FH NAME        handle                    parent FH   (LOOKUP "..")
    access FH MASK        granted bits              read FH OFFSET COUNT
    write FH OFFSET TEXT [STABLE]                   create FH NAME MODE
    mkdir FH NAME MODE    remove FH NAME            rmdir FH NAME
    rename FH NAME FH NAME                          link FH DIRFH NAME
    symlink FH NAME TEXT  readlink FH               mknod FH NAME TYPE
    list FH               names, READDIRPLUS        setattr FH MODE
    truncate FH SIZE      commit FH                 null
"""
import errno
import os
import socket
import struct
import sys

ERRORS = {
    1: "PERM", 2: "NOENT", 5: "IO", 6: "NXIO", 13: "ACCES", 17: "EXIST",
    18: "XDEV", 19: "NODEV", 20: "NOTDIR", 21: "ISDIR", 22: "INVAL",
    27: "FBIG", 28: "NOSPC", 30: "ROFS", 31: "MLINK", 63: "NAMETOOLONG",
    66: "NOTEMPTY", 69: "DQUOT", 70: "STALE", 71: "REMOTE",
    10001: "BADHANDLE", 10002: "NOT_SYNC", 10003: "BAD_COOKIE",
    10004: "NOTSUPP", 10005: "TOOSMALL", 10006: "SERVERFAULT",
    10007: "BADTYPE", 10008: "JUKEBOX",
}


class Failed(Exception):
    pass


def opaque(data):
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


def bind_from(sock, own, port):
    """Binds to port, or to the next one that is free: rpcinfo leaves ports
    below 1024 behind, which nobody can have for a minute."""
    while True:
        try:
            return sock.bind((own, port))
        except OSError as e:
            if e.errno != errno.EADDRINUSE or port in (1023, 65535):
                raise
            port += 1


class Reply:
    """A cursor over a reply."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        self.at += 4
        return struct.unpack(">I", self.data[self.at - 4:self.at])[0]

    def u64(self):
        return self.u32() << 32 | self.u32()

    def fixed(self, n):
        self.at += n + -n % 4
        return self.data[self.at - n - -n % 4:][:n]

    def opaque(self):
        return self.fixed(self.u32())

    def attr(self):
        kind, mode, nlink, uid, gid = [self.u32() for _ in range(5)]
        size, used = self.u64(), self.u64()
        self.u64()
        fsid, fileid = self.u64(), self.u64()
        times = [self.u32() for _ in range(6)]
        return dict(type=kind, mode=mode, nlink=nlink, uid=uid, gid=gid,
                    size=size, used=used, fsid=fsid, fileid=fileid,
                    mtime=times[2], ctime=times[4])

    def post(self):
        return self.attr() if self.u32() else None

    def wcc(self):
        if self.u32():
            self.fixed(24)
        return self.post()

    def post_fh(self):
        return self.opaque() if self.u32() else None


class Client:
    """Calls as one caller over one socket; raises Failed."""

    def __init__(self, host="127.0.0.1", port=2049, uid=0, gid=0, gids=(),
                 kind="tcp", source=0):
        self.uid, self.gid, self.gids, self.kind = uid, gid, gids, kind
        self.host, self.port, self.source = host, port, source
        self.xid = int.from_bytes(os.urandom(3), "big")
        self.sock = None

    def connect(self):
        stream = self.kind == "tcp"
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self.sock = socket.socket(
            family, socket.SOCK_STREAM if stream else socket.SOCK_DGRAM)
        self.sock.settimeout(float(os.environ.get("NFS_TIMEOUT", "15")))
        if self.source:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bind_from(self.sock, "", self.source)
        self.sock.connect((self.host, self.port))

    def exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                raise Failed("CLOSED")
            data += more
        return data

    def message(self, prog, vers, proc, body):
        self.xid += 1
        cred = struct.pack(">I", 0) + opaque(b"test") + struct.pack(
            ">III", self.uid, self.gid, len(self.gids)) + struct.pack(
            ">%dI" % len(self.gids), *self.gids)
        return struct.pack(">6I", self.xid, 0, 2, prog, vers, proc) + \
            struct.pack(">I", 1) + opaque(cred) + bytes(8) + body

    def call(self, proc, body, vers=3, prog=100003):
        if self.sock is None:
            self.connect()
        msg = self.message(prog, vers, proc, body)
        if self.kind == "tcp":
            self.sock.sendall(struct.pack(">I", 0x80000000 | len(msg)) + msg)
            n = struct.unpack(">I", self.exactly(4))[0] & 0x7FFFFFFF
            data = self.exactly(n)
        else:
            self.sock.send(msg)
            data = self.sock.recv(70000)
        r = Reply(data)
        if r.u32() != self.xid or r.u32() != 1:
            raise Failed("XID")
        if r.u32() != 0:
            raise Failed("DENIED")
        r.u32(), r.opaque()
        accept = r.u32()
        if accept:
            raise Failed("ACCEPT%d" % accept)
        return r

    def ok(self, proc, body):
        r = self.call(proc, body)
        status = r.u32()
        if status:
            raise Failed(ERRORS.get(status, str(status)))
        return r

    def null(self):
        self.call(0, b"")
        return ""

    def getattr(self, fh):
        return self.ok(1, opaque(fh)).attr()

    def sattr(self, mode=None, size=None):
        return struct.pack(">I", mode is not None) + (
            b"" if mode is None else struct.pack(">I", mode)) + bytes(8) + \
            struct.pack(">I", size is not None) + (
            b"" if size is None else struct.pack(">Q", size)) + bytes(8)

    def setattr(self, fh, **what):
        self.ok(2, opaque(fh) + self.sattr(**what) + bytes(4))
        return ""

    def lookup(self, fh, name):
        return self.ok(3, opaque(fh) + opaque(name.encode())).opaque()

    def access(self, fh, mask):
        r = self.ok(4, opaque(fh) + struct.pack(">I", mask))
        r.post()
        return r.u32()

    def readlink(self, fh):
        r = self.ok(5, opaque(fh))
        r.post()
        return r.opaque()

    def read(self, fh, offset, count):
        r = self.ok(6, opaque(fh) + struct.pack(">QI", offset, count))
        r.post()
        r.u32(), r.u32()
        return r.opaque()

    def write(self, fh, offset, data, stable=2):
        r = self.ok(7, opaque(fh) + struct.pack(
            ">QII", offset, len(data), stable) + opaque(data))
        r.wcc()
        n = r.u32()
        r.u32()
        self.verifier = r.u64()
        return n

    def made(self, proc, body):
        return self.ok(proc, body).post_fh()

    def create(self, fh, name, mode, how=0):
        return self.made(8, opaque(fh) + opaque(name.encode()) +
                         struct.pack(">I", how) + self.sattr(mode=mode))

    def mkdir(self, fh, name, mode):
        return self.made(9, opaque(fh) + opaque(name.encode()) +
                         self.sattr(mode=mode))

    def symlink(self, fh, name, text):
        return self.made(10, opaque(fh) + opaque(name.encode()) +
                         self.sattr() + opaque(text.encode()))

    def mknod(self, fh, name, kind):
        body = opaque(fh) + opaque(name.encode()) + struct.pack(
            ">I", kind) + self.sattr(mode=0o644)
        return self.made(11, body + (bytes(8) if kind in (3, 4) else b""))

    def remove(self, fh, name):
        self.ok(12, opaque(fh) + opaque(name.encode()))
        return ""

    def rmdir(self, fh, name):
        self.ok(13, opaque(fh) + opaque(name.encode()))
        return ""

    def rename(self, fh, name, fh2, name2):
        self.ok(14, opaque(fh) + opaque(name.encode()) + opaque(fh2) +
                opaque(name2.encode()))
        return ""

    def link(self, fh, fh2, name):
        self.ok(15, opaque(fh) + opaque(fh2) + opaque(name.encode()))
        return ""

    def entries(self, fh, size=65536):
        """(name, fileid, handle or None) of everything, by READDIRPLUS."""
        cookie, verifier, eof = 0, 0, 0
        while not eof:
            r = self.ok(17, opaque(fh) + struct.pack(
                ">QQII", cookie, verifier, size, size))
            r.post()
            verifier = r.u64()
            while r.u32():
                fileid, name, cookie = r.u64(), r.opaque(), r.u64()
                r.post()
                yield name, fileid, r.post_fh()
            eof = r.u32()

    def commit(self, fh):
        r = self.ok(21, opaque(fh) + bytes(12))
        r.wcc()
        self.verifier = r.u64()
        return "%016x" % self.verifier

    def mnt(self, path):
        """The root handle, asked of mountd."""
        port = int(os.environ.get("MOUNT_PORT", "20048"))
        m = Client(self.host, port, self.uid, self.gid, self.gids,
                   source=self.source)
        r = m.call(1, opaque(path.encode()), prog=100005)
        status = r.u32()
        if status:
            raise Failed(ERRORS.get(status, str(status)))
        return r.opaque()


def handle(text):
    """From hex; what is none (an error of the call before) is empty."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def run(c, command, args):
    h = handle
    table = {
        "null": lambda: c.null(),
        "mnt": lambda p: c.mnt(p).hex(),
        "getattr": lambda f: " ".join(
            "%s=%s" % i for i in c.getattr(h(f)).items()),
        "setattr": lambda f, m: c.setattr(h(f), mode=int(m, 8)),
        "truncate": lambda f, n: c.setattr(h(f), size=int(n)),
        "lookup": lambda f, n: c.lookup(h(f), n).hex(),
        "parent": lambda f: c.lookup(h(f), "..").hex(),
        "access": lambda f, m: "%#x" % c.access(h(f), int(m, 0)),
        "readlink": lambda f: c.readlink(h(f)).decode(),
        "read": lambda f, o, n: c.read(h(f), int(o), int(n)).decode(
            "latin-1"),
        "write": lambda f, o, t, s="2": c.write(
            h(f), int(o), t.encode(), int(s)),
        "create": lambda f, n, m: c.create(h(f), n, int(m, 8)).hex(),
        "mkdir": lambda f, n, m: c.mkdir(h(f), n, int(m, 8)).hex(),
        "symlink": lambda f, n, t: c.symlink(h(f), n, t).hex(),
        "mknod": lambda f, n, k: c.mknod(h(f), n, int(k)).hex(),
        "remove": lambda f, n: c.remove(h(f), n),
        "rmdir": lambda f, n: c.rmdir(h(f), n),
        "rename": lambda f, n, g, m: c.rename(h(f), n, h(g), m),
        "link": lambda f, g, n: c.link(h(f), h(g), n),
        "list": lambda f: " ".join(sorted(
            e[0].decode() for e in c.entries(h(f)))),
        "commit": lambda f: c.commit(h(f)),
    }
    return table[command](*args)


def main():
    args, options = sys.argv[1:], {"uid": 0, "gid": 0}
    while args and args[0].startswith("-"):
        flag, value = args[0], args[1]
        args = args[2:]
        if flag == "-u":
            part = value.split(":")
            options["uid"] = int(part[0])
            options["gid"] = int(part[1] if len(part) > 1 else part[0])
            if len(part) > 2:
                options["gids"] = [int(g) for g in part[2].split(",")]
        elif flag == "-t":
            options["kind"] = value
        elif flag == "-h":
            options["host"] = value
        elif flag == "-s":
            options["source"] = int(value)
    options["port"] = int(os.environ.get("NFS_PORT", "2049"))
    try:
        print(run(Client(**options), args[0], args[1:]))
    except Failed as e:
        print(e)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
