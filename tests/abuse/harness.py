# SPDX-License-Identifier: ISC
"""The world the abuse cases run in, and the oracle after each.

A case is a function with a number, whose row is in README.md; it asserts with
the methods of World. The oracle asks after each case: same processes, another
client served at once, memory and sockets back, nothing outside the exports
touched, the log not flooded.
"""
import collections
import hashlib
import os
import subprocess
import sys
import time
import traceback

import mount
import rpc
from mount import MOUNT
from nfs import NFS, OK, Nfs2, Nfs3
from pmap import PMAP
from process import (cpu_seconds, descendants, eventually, links,
                     proc_status)
from rpc import Closed, Failed, call
from tap import Tap

CASES = []
NULL_SECONDS = 0.1
GROWTH_KIB = 2048
LOG_LINES = 100

FILES = "files"
Case = collections.namedtuple(
    "Case", "number title function long grows remote own")


def case(number, title, long=False, grows=False, remote=False, own=False):
    """Registers a case. long: only in `make abuse`. grows: fills a cache that
    is meant to stay filled. remote: True when it needs nothing of Tern and of
    the server's machine, FILES when it needs the files of the export as well.
    own: starts daemons of its own, and asks the oracle about those."""
    def mark(function):
        CASES.append(Case(number, title, function, long, grows, remote, own))
        return function
    return mark


class Failure(Failed):
    """A case did not end as it must."""


class World:
    """Where the server is and what surrounds it. Built from the environment:
    HOST, PMAP_PORT, MOUNT_PORT, NFS_PORT, T (scratch), PIDS, LOGS; EXPORT when
    the server is another one."""

    def __init__(self, env):
        self.host = env.get("HOST", "127.0.0.1")
        self.ports = {PMAP: int(env.get("PMAP_PORT", "111")),
                      MOUNT: int(env.get("MOUNT_PORT", "20048")),
                      NFS: int(env.get("NFS_PORT", "2049"))}
        self.dir = env.get("T", "")
        self.export = env.get("EXPORT", self.dir + "/rw")
        self.remote = "EXPORT" in env
        self.pids = [int(p) for p in env.get("PIDS", "").split()]
        self.logs = env.get("LOGS", "").split()
        self.seconds = float(env.get("SECONDS_LONG", "60"))
        self.long = env.get("LONG") == "1"
        self.roots = {}
        self.sentinels = self._sentinels()

    # ---- reaching the server

    def tcp(self, prog=NFS, **more):
        return rpc.tcp(self.ports[prog], self.host, **more)

    def udp(self, prog=NFS, **more):
        return rpc.udp(self.ports[prog], self.host, **more)

    def registry(self):
        """A connection to the socket by which programs are registered."""
        return rpc.unix(self.dir + "/run/portmap.sock")

    def mnt(self, path, **more):
        """The reply to MNT of version 3."""
        with self.tcp(MOUNT, **more) as t:
            return mount.mnt(t, path)

    def root(self, name="rw"):
        """Root handle of an export of ours, by MOUNT."""
        path = self.export if self.remote else f"{self.dir}/{name}"
        if path not in self.roots:
            reply = self.mnt(path)
            self.equal(reply.status(), OK, f"MNT {name}")
            self.roots[path] = reply.fh
        return self.roots[path]

    def nfs3(self, uid=1001, gid=1001, groups=(), **more):
        return Nfs3(self.tcp(**more), uid, gid, groups)

    def nfs2(self, uid=1001, gid=1001, groups=(), **more):
        return Nfs2(self.tcp(**more), uid, gid, groups)

    # ---- assertions

    def true(self, what, text):
        if not what:
            raise Failure(text)

    def equal(self, got, want, text):
        self.true(got == want, f"{text}: got {got!r}, want {want!r}")

    def among(self, got, wants, text):
        self.true(got in wants, f"{text}: got {got!r}, want one of {wants!r}")

    def refused(self, action, text):
        """An RPC or NFS error, or a closed connection; never success."""
        try:
            reply = action()
        except Closed:
            return
        self.true(reply.accept != 0 or reply.status() not in (OK, None),
                  f"{text}: {reply.describe()}")

    # ---- the oracle

    def null_seconds(self):
        started = time.monotonic()
        with self.tcp(NFS) as t:
            t.rpc(call(NFS, 3, 0))
        return time.monotonic() - started

    def answers_in(self, limit):
        """The best of some tries counts: the machine may be busy."""
        tries = []
        while len(tries) < 20 and (not tries or min(tries) >= limit):
            tries.append(self.null_seconds())
        self.true(min(tries) < limit, f"NULL took {min(tries):.3f} s")

    def _sentinels(self):
        found = {}
        paths = [self.dir + "/elsewhere/secret"]
        for top, _, files in os.walk(self.dir + "/outside"):
            paths += [os.path.join(top, name) for name in files]
        for path in filter(os.path.exists, paths):
            st = os.lstat(path)
            with open(path, "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()
            found[path] = (digest, st.st_mode, st.st_uid, st.st_gid,
                           st.st_mtime_ns, st.st_ctime_ns)
        return found

    def _all_pids(self):
        pids = []
        for pid in self.pids:
            pids += descendants(pid)
        return pids

    def roles(self, name):
        """The processes of this name, such as "nfsd: tls"."""
        found = []
        for pid in self._all_pids():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if f.read().startswith(name.encode()):
                        found.append(pid)
            except OSError:  # it has ended since
                continue
        return found

    def cpu(self):
        """Seconds that all processes have used until now."""
        return self._sum(cpu_seconds)

    def _memory(self):
        return self._sum(lambda pid: proc_status(pid, "RssAnon"))

    def _sum(self, figure):
        """The sum over all processes, without those that end meanwhile."""
        total = 0
        for pid in self._all_pids():
            try:
                total += figure(pid)
            except OSError:
                continue
        return total

    def _sockets(self):
        return self._sum(lambda pid: sum(link.startswith("socket:")
                                         for link in links(pid)))

    def _log_lines(self):
        total = 0
        for path in self.logs:
            with open(path, "rb") as f:
                total += f.read().count(b"\n")
        return total

    def snapshot(self):
        if self.remote:
            return None
        pids = self._all_pids()
        figures = self._memory(), self._sockets(), self._log_lines()
        # Without a child that looks at mounts: it has ended by now.
        still = self._all_pids()
        return ([pid for pid in pids if pid in still], *figures)

    def verdict(self, before, grows):
        """Raises Failure when the server is not as well as before."""
        self.answers_in(NULL_SECONDS)
        if self.remote:
            self.equal(self._sentinels(), self.sentinels, "sentinels")
            return
        pids, memory, sockets, lines = before
        # A parent that looks at mounts has children for a moment.
        self.true(eventually(lambda: self._all_pids() == pids),
                  f"processes {pids} -> {self._all_pids()}")
        self.true(eventually(lambda: self._sockets() <= sockets, 20),
                  f"sockets {sockets} -> {self._sockets()}")
        if not grows:
            self.true(
                eventually(lambda: self._memory() <= memory + GROWTH_KIB),
                f"memory {memory} -> {self._memory()} KiB")
        self.true(self._log_lines() - lines <= LOG_LINES,
                  f"{self._log_lines() - lines} lines of log")
        self.equal(self._sentinels(), self.sentinels, "sentinels")


def skipped(world, c):
    """Why it is not run, or None."""
    if c.long and not world.long:
        return "long: make abuse"
    if world.remote and not c.remote:
        return "needs Tern"
    if world.remote and c.remote == FILES and not world.dir:
        return "needs the files of the export"
    return None


def judge(world, c):
    """Runs a case and asks the oracle. None, or what is wrong."""
    try:
        if c.own or world.remote:
            c.function(world)
            if not c.own:
                world.verdict(None, c.grows)
            return None
        before = world.snapshot()
        c.function(world)
        world.verdict(before, c.grows)
        return None
    except (Failed, Closed, OSError, subprocess.SubprocessError) as error:
        where = "".join(
            f"\nat {os.path.basename(frame.filename)}:{frame.lineno} "
            f"{frame.line}"
            for frame in traceback.extract_tb(sys.exc_info()[2])[1:4])
        return f"{type(error).__name__}: {error}{where}"


def run(world, cases):
    """Runs them in order and prints TAP; returns the exit status."""
    tap = Tap()
    for c in sorted(cases):
        name = f"case {c.number}: {c.title}"
        why = skipped(world, c)
        if why:
            tap.skip(name, why)
            continue
        started = time.monotonic()
        wrong = judge(world, c)
        tap.ok(wrong is None, name, wrong,
               f" ({time.monotonic() - started:.1f} s)")
    print(f"# {tap.count - tap.skipped - tap.failed} passed, "
          f"{tap.failed} failed")
    return tap.done()
