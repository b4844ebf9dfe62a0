# SPDX-License-Identifier: ISC
"""A scripted session: every procedure once, whatever the answers are; what an
answer promises is looked for in the files at once."""
import os
import socket

from harness import Failure
from mount import MOUNT
from nfs import EXIST, NFS, OK, STATUS_NAMES, Nfs2, Nfs3, sattr2
from pmap import PMAP, TCP, rpcb
from rpc import Closed, auth_sys, call, opaque, u32

DATA = b"promised data " * 300


class Session:
    """One run. Names carry a number, so that no run meets another's files."""

    number = 0

    def __init__(self, server, cold=False, later=False):
        """cold: what is read comes from the disk, not from memory. later: the
        answer may be "try again later", for which version 2 has no status, so
        that it gets none."""
        Session.number += 1
        self.server = server
        self.cold, self.later = cold, later
        self.tag = f"s{Session.number}"
        # No two sessions have the same, so that every role must set them.
        self.other = 2000 + Session.number
        self.groups = 1100, 1100 + Session.number
        self.path = f"{server.dir}/rw/{self.tag}"
        self.answers = {}  # status by step
        self.again = False  # the last step was asked a second time
        self.transport = None

    # ---- one call: an answer, or an end of the connection, no silence

    def ask(self, step, action):
        """The reply, or None when the connection ended."""
        may_be_silent = self.later and step.startswith("v2")
        for self.again in (False, True):
            try:
                if self.transport is None:
                    self.transport = self.server.tcp(NFS, timeout=10)
                self.transport.sock.settimeout(2 if may_be_silent else 10)
                reply = action(self.transport)
            except (Closed, ConnectionError):
                self.close()
                self.answers[step] = "closed"
                continue
            except socket.timeout:
                if not may_be_silent:
                    raise Failure(f"{step}: no answer") from None
                self.close()  # an answer that comes later is lost
                self.answers[step] = "later"
                return None
            status = reply.status()
            if reply.stat == 0 and reply.accept == 0 and \
                    status is not None and status not in STATUS_NAMES:
                raise Failure(f"{step}: status {status}")
            self.answers[step] = status
            return reply
        return None

    def close(self):
        if self.transport is not None:
            self.transport.close()
        self.transport = None

    def v3(self, step, method, *args, uid=1001, **more):
        groups = () if uid == 1001 else self.groups
        return self.ask(step, lambda t: getattr(
            Nfs3(t, uid, uid, groups), method)(*args, **more))

    def promise(self, reply, what, kept):
        """When the reply says so, it must be so."""
        if reply is not None and reply.status() == OK and not kept():
            raise Failure(f"a promise was broken: {what}")

    # ---- the script

    def run(self):
        try:
            root = self.server.root()
            self.look(root)
            here = self.make(root)
            if here:
                self.data(here)
                self.names(here)
                self.attributes(here)
            self.version2(root)
            quick(self.server, NFS, 3, 1, opaque(root))
        finally:
            self.close()

    def look(self, root):
        self.v3("NULL", "call", "NULL")
        self.v3("GETATTR", "getattr", root)
        self.v3("ACCESS", "access", root)
        self.v3("LOOKUP", "lookup", root, "f")
        self.v3("LOOKUP ..", "lookup", root, "..")
        self.v3("LOOKUP none", "lookup", root, "none")
        self.v3("READDIR", "readdir", root)
        self.v3("READDIRPLUS", "readdirplus", root)
        for name in ("FSSTAT", "FSINFO", "PATHCONF"):
            self.v3(name, "call", name, opaque(root))

    def make(self, root):
        reply = self.v3("MKDIR", "mkdir", root, self.tag)
        if self.answers["MKDIR"] == EXIST and not self.again:
            raise Failure("MKDIR was done twice")
        self.promise(reply, "MKDIR", lambda: os.path.isdir(self.path))
        return getattr(reply, "fh", None)

    def contents(self, name):
        with open(f"{self.path}/{name}", "rb") as f:
            return f.read()

    def cool(self, name):
        """Out of memory, so that a READ goes to the disk."""
        fd = os.open(f"{self.path}/{name}", os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)

    def data(self, here):
        for name, stable in (("unstable", 0), ("data", 1), ("file", 2)):
            made = self.v3(f"CREATE {name}", "create", here, name)
            self.promise(made, f"CREATE {name}", lambda n=name:
                         os.path.exists(f"{self.path}/{n}"))
            fh = getattr(made, "fh", None)
            if fh is None:
                continue
            wrote = self.v3(f"WRITE {name}", "write", fh, 0, DATA, stable)
            done = self.v3(f"COMMIT {name}", "commit", fh)
            whole = wrote is not None and wrote.status() == OK and \
                wrote.count == len(DATA)
            if whole and stable:
                self.promise(wrote, f"WRITE {name}", lambda n=name:
                             self.contents(n) == DATA)
            elif whole and done is not None and done.status() == OK and \
                    done.verf3 == wrote.verf3:
                self.promise(done, f"COMMIT {name}", lambda n=name:
                             self.contents(n) == DATA)
            if self.cold:
                self.cool(name)
            got = self.v3(f"READ {name}", "read", fh, 0, 65536)
            if whole:
                self.promise(got, f"READ {name}", lambda g=got:
                             DATA.startswith(g.bytes))
        local = self.path + "/local"  # the broker opens it, as the caller
        with open(local, "wb"):
            os.chown(local, self.other, self.other)
        found = self.v3("LOOKUP local", "lookup", here, "local",
                        uid=self.other)
        if found is not None and found.status() == OK:
            wrote = self.v3("WRITE local", "write", found.fh, 0, DATA,
                            uid=self.other)
            self.promise(wrote, "WRITE local", lambda:
                         self.contents("local") == DATA)
        found = self.v3("LOOKUP file", "lookup", here, "file")
        if found is not None and found.status() == OK:
            self.v3("WRITE by another", "write", found.fh, 0, b"x",
                    uid=self.other)
            self.v3("READ by another", "read", found.fh, 0, 10,
                    uid=self.other)

    def names(self, here):
        there = lambda n: os.path.lexists(f"{self.path}/{n}")  # noqa: E731
        made = self.v3("SYMLINK", "symlink", here, "s", "target")
        self.promise(made, "SYMLINK", lambda: there("s"))
        if getattr(made, "fh", None):
            self.v3("READLINK", "readlink", made.fh)
        self.promise(self.v3("MKNOD", "mknod", here, "p", 7), "MKNOD",
                     lambda: there("p"))
        one = self.v3("CREATE one", "create", here, "one")
        if getattr(one, "fh", None):
            self.promise(self.v3("LINK", "link", one.fh, here, "two"),
                         "LINK", lambda: there("two"))
        self.promise(self.v3("RENAME", "rename", here, "p", here, "q"),
                     "RENAME", lambda: there("q") and not there("p"))
        self.promise(self.v3("REMOVE", "remove", here, "s"), "REMOVE",
                     lambda: not there("s"))
        self.v3("MKDIR in", "mkdir", here, "d")
        self.promise(self.v3("RMDIR", "rmdir", here, "d"), "RMDIR",
                     lambda: not there("d"))
        listed = self.v3("READDIRPLUS in", "readdirplus", here)
        if listed is not None:
            self.v3("READDIR in", "readdir", here)

    def attributes(self, here):
        fh = getattr(self.v3("CREATE attr", "create", here, "attr"), "fh",
                     None)
        if fh is None:
            return
        stat = lambda: os.stat(self.path + "/attr")  # noqa: E731
        self.promise(self.v3("SETATTR mode", "setattr", fh, mode=0o600),
                     "SETATTR mode", lambda: stat().st_mode & 0o777 == 0o600)
        self.promise(self.v3("SETATTR size", "setattr", fh, size=7),
                     "SETATTR size", lambda: stat().st_size == 7)
        self.promise(self.v3("SETATTR mtime", "setattr", fh, mtime=(5, 0)),
                     "SETATTR mtime", lambda: stat().st_mtime == 5)
        self.v3("SETATTR uid", "setattr", fh, uid=1002)
        self.v3("SETATTR gid", "setattr", fh, gid=1001)

    def version2(self, root):
        def v2(step, name, args):
            return self.ask(step, lambda t: Nfs2(t).call(name, args))
        v2("v2 GETATTR", "GETATTR", root)
        v2("v2 STATFS", "STATFS", root)
        name = f"{self.tag}-2"
        made = self.ask("v2 CREATE", lambda t: Nfs2(t).create(root, name))
        fh = getattr(made, "fh", None)
        if fh:
            wrote = v2("v2 WRITE", "WRITE", fh + u32(0, 0, 0) + opaque(DATA))

            def kept():
                with open(f"{self.server.dir}/rw/{name}", "rb") as f:
                    return f.read() == DATA
            self.promise(wrote, "v2 WRITE", kept)
            v2("v2 READ", "READ", fh + u32(0, 4096, 0))
            v2("v2 SETATTR", "SETATTR", fh + sattr2(mode=0o600))
        v2("v2 READDIR", "READDIR", root + u32(0, 4096))


def quick(server, prog, vers, proc, args=b""):
    """One call over TCP and UDP; answers may be missing on the latter. A role
    that has ended several times is started again after some seconds."""
    message = call(prog, vers, proc, args, auth_sys(1001, 1001))
    try:
        with server.tcp(prog, timeout=20) as t:
            t.rpc(message)
    except (Closed, ConnectionError):
        pass
    except socket.timeout:
        raise Failure(f"{prog} {vers} {proc}: no answer") from None
    with server.udp(prog) as t:
        t.send(message)
        t.receive_raw(0.05)


def mount_session(server):
    """Every procedure of MOUNT."""
    for vers in (1, 3):
        for path in ("/rw", "/rw/sub", "/none"):
            quick(server, MOUNT, vers, 1, opaque(server.dir + path))
        for proc in (0, 2, 5, 3, 4):
            quick(server, MOUNT, vers, proc,
                  opaque(server.dir + "/rw") if proc == 3 else b"")


def portmap_session(server):
    """Questions of all three versions."""
    place = rpcb(NFS, 3, "tcp")
    for vers, proc, args in (
            (2, 0, b""), (2, 1, u32(300097, 1, 6, 7)), (2, 4, b""),
            (2, 3, u32(NFS, 3, TCP, 0)), (3, 3, place), (4, 9, place),
            (4, 4, b""), (4, 11, place), (4, 12, b"")):
        quick(server, PMAP, vers, proc, args)
