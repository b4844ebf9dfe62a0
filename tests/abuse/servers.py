# SPDX-License-Identifier: ISC
"""Daemons of a case's own, beside those of the world: for a case that starts
them in an odd way, breaks one of their processes or fills their disk."""
import collections
import os
import re
import shutil
import socket
import subprocess
import time

from harness import Failure, World
from mount import MOUNT
from nfs import NFS, OK
from pmap import PMAP
from process import descendants, eventually
from rpc import Closed, call

PORTS = {"portmapd": 1111, "mountd": 21048, "nfsd": 12049}
PROGRAMS = {"portmapd": (PMAP, 2), "mountd": (MOUNT, 3), "nfsd": (NFS, 3)}
BAD_ENDS = re.compile(r"killed by|was killed|AddressSanitizer|assertion")


def fresh_directory(world, more=()):
    """A tree like the world's, in $T/own: rw to export, outside to guard."""
    top = world.dir + "/own"
    shutil.rmtree(top, ignore_errors=True)
    for name in ("rw", "outside", "run", *more):
        os.makedirs(f"{top}/{name}")
        if name in ("rw", *more):
            os.chmod(f"{top}/{name}", 0o777)
    for name in ("rw/f", "outside/secret"):
        with open(f"{top}/{name}", "w", encoding="ascii") as f:
            f.write("content\n")
    os.chown(top + "/rw/f", 1001, 1001)
    return top


class Server(World):
    """With it as context the daemons run; at the end the oracle is asked and
    they must end when told to.

    exports: text, {d} is the directory. build: another linking of the same
    objects ("faulty", "owned"). flags: by daemon. wrap: a command in front.
    dirs: directories to make beside rw.
    """

    def __init__(self, world, exports="{d}/rw 127.0.0.0/8(rw,insecure)",
                 daemons=("mountd", "nfsd"), build="", flags=None, wrap=(),
                 env=None, dirs=()):
        self.world = world
        self.daemons = daemons
        self.build = os.environ["BUILD_" + build.upper()] if build else \
            os.environ["O"]
        self.flags = flags or {}
        self.wrap = list(wrap)
        self.environment = {**os.environ, **(env or {})}
        self.processes = {}
        self.forgive = ""  # ends of processes that the case wants
        self.whole = None  # the titles of its processes, when all are there
        top = fresh_directory(world, dirs)
        self.write_exports(exports.format(d=top), top)
        super().__init__({
            "T": top, "PMAP_PORT": str(PORTS["portmapd"]),
            "MOUNT_PORT": str(PORTS["mountd"]),
            "NFS_PORT": str(PORTS["nfsd"]), "LONG": "1" if world.long else "",
            "LOGS": " ".join(f"{top}/{d}.log" for d in daemons)})

    def write_exports(self, text, top=None):
        with open((top or self.dir) + "/exports", "w", encoding="utf-8") as f:
            f.write(text + "\n")

    def command(self, daemon):
        out = [f"{self.build}/{daemon}/{daemon}", "-d", "-s",
               self.dir + "/run/portmap.sock"]
        if daemon != "portmapd":
            out += ["-f", self.dir + "/exports", "-k", self.dir + "/key"]
            if "portmapd" not in self.daemons:
                out.append("-R")
        out += ["-p", str(PORTS[daemon])]
        if daemon == "nfsd":
            out += ["-w", "1", "-t", "3"]
        return self.wrap + out + list(self.flags.get(daemon, ()))

    def log(self, daemon):
        if not os.path.exists(f"{self.dir}/{daemon}.log"):
            return ""
        with open(f"{self.dir}/{daemon}.log", encoding="utf-8",
                  errors="replace") as f:
            return f.read()

    def launch(self, daemon):
        """Starts it without waiting for anything."""
        with open(f"{self.dir}/{daemon}.log", "ab") as log:
            self.processes[daemon] = subprocess.Popen(
                self.command(daemon), stderr=log, stdout=log,
                env=self.environment)
        return self.processes[daemon]

    def start_ready(self, daemon):
        """Returns when all its roles are ready."""
        name = self.dir + "/ready"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as tells:
            tells.bind(name)
            tells.settimeout(20)
            self.environment["NOTIFY_SOCKET"] = name
            try:
                self.start(daemon)
                while b"READY=1" not in tells.recv(4096):
                    pass
            except TimeoutError:
                self.true(False, f"{daemon} is not ready")
            finally:
                del self.environment["NOTIFY_SOCKET"]
                os.unlink(name)

    def start(self, daemon):
        before = len(self.log(daemon))
        process = self.launch(daemon)

        def listens():  # a role of one that was killed may still answer
            return "listening on" in self.log(daemon)[before:]
        if not eventually(lambda: process.poll() is not None or
                          listens() and self.serves(daemon), 20) or \
                process.poll() is not None:
            raise Failure(f"{daemon} did not start: {self.log(daemon)[-600:]}")
        self.pids = [p.pid for p in self.processes.values()]

    def start_again(self, daemon):
        """After a kill -9, when the roles have let go of the port."""
        end = time.monotonic() + 10
        while True:
            try:
                self.start(daemon)
                return
            except Failure:
                if time.monotonic() > end:
                    raise

    def stop(self, daemon):
        """Its exit status."""
        process = self.processes.pop(daemon)
        process.terminate()
        try:
            status = process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = "did not end"
        self.pids = [p.pid for p in self.processes.values()]
        return status

    def serves(self, daemon):
        prog, vers = PROGRAMS[daemon]
        try:
            with self.tcp(prog, timeout=2) as t:
                return t.rpc(call(prog, vers, 0)).accept == 0
        except (OSError, Closed):
            return False

    def works(self):
        """All of them serve, files included."""
        try:
            if not all(self.serves(d) for d in self.daemons):
                return False
            c = self.nfs3(timeout=2)
            try:
                self.roots.clear()
                return c.lookup(self.root(), "f").status() == OK
            finally:
                c.close()
        except (OSError, Closed, Failure):
            return False

    def role(self, daemon, name):
        """The pid of a role; it may be on its way."""
        found = []

        def look():
            try:
                for pid in descendants(self.processes[daemon].pid):
                    with open(f"/proc/{pid}/cmdline", "rb") as f:
                        if f.read().startswith(f"{daemon}: {name}".encode()):
                            found.append(pid)
            except OSError:  # a process ended while we looked
                pass
            return found
        self.true(eventually(look, 15), f"{daemon} has no {name}")
        return found[0]

    def titles(self):
        """How many processes have each title. Without parents: a child that
        looks at mounts has the title of its parent for a moment."""
        found = collections.Counter()
        for pid in self._all_pids():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    found[f.read().rstrip(b"\0 ")] += 1
            except OSError:  # it has ended since
                continue
        return collections.Counter({title: n for title, n in found.items()
                                    if not title.endswith(b"parent")})

    def settle(self):
        """Waits until all serve, and every role is there that was at the
        start. Files are served without some roles, so works() is not enough."""
        self.true(eventually(self.works, 20), "does not serve again")
        self.true(self.whole is None or eventually(
            lambda: not self.whole - self.titles(), 20),
                  f"{self.whole} -> {self.titles()}")

    def __enter__(self):
        try:
            for daemon in self.daemons:
                self.start_ready(daemon)
            if "nfsd" in self.daemons:
                self.settle()
            self.whole = self.titles()
            self.before = self.snapshot()
        except BaseException:
            self.end()
            self.show_logs()
            raise
        return self

    def show_logs(self, lines=12):
        for daemon in self.daemons:
            for line in self.log(daemon).splitlines()[-lines:]:
                print(f"# {line}")

    def end(self):
        return {d: self.stop(d) for d in list(self.processes)}

    def __exit__(self, kind, error, trace):
        try:
            if kind is None and "nfsd" in self.processes:
                same = self.before if not self.forgive else self.snapshot()
                self.verdict(same, True)
        finally:
            ends = self.end()
            if kind is not None:
                self.show_logs()
        for daemon, status in ends.items():
            self.equal(status, 0, f"end of {daemon}")
            bad = [line for line in self.log(daemon).splitlines()
                   if BAD_ENDS.search(line) and
                   not (self.forgive and re.search(self.forgive, line))]
            if bad:
                self.show_logs(200)
            self.equal(bad, [], f"log of {daemon}")


def refuses_to_start(world, daemon, flags, wrap=(), status=1):
    """What it says while it does not start: it must end with this status."""
    out = subprocess.run(
        [*wrap, f"{os.environ['O']}/{daemon}/{daemon}", "-d", "-p", "0",
         "-a", "127.0.0.78", *flags],
        capture_output=True, timeout=30, check=False, text=True)
    world.equal(out.returncode, status, f"{daemon} {' '.join(flags)}")
    return out.stderr
