# SPDX-License-Identifier: ISC
"""J. Local interfaces and restart. The broker's frames (116, 117) are in
tests/unit, the owned roles (118) in tests/system."""
import os
import signal
import subprocess
import time

from harness import case, descendants, eventually
from section_b import as_user, unix
from wire import MOUNT, OK, PMAP, Closed, call, mount3


@case(115, "an ordinary local user gets nothing from our sockets")
def local_user(w):
    def reach():
        with unix(w.dir + "/run/portmap.sock") as t:
            reply = t.rpc(call(PMAP, 2, 1, b"\0\x04\x93\xe0" + b"\0\0\0\1" +
                               b"\0\0\0\6" + b"\0\0\0\7"))
            return reply.accept == 0 and reply.status() == 1
    w.true(not as_user(1001, reach), "a stranger registered a program")


@case(119, "kill -9 of every role: the server is back",
      grows=True)
def killed_roles(w):
    for pid in w.pids:
        children = [p for p in descendants(pid) if p != pid]
        for child in children:
            os.kill(child, signal.SIGKILL)
            w.true(eventually(lambda: served(w), 20), f"role {child}")
    w.true(eventually(lambda: settled(w), 20), "roles are back")
    raise_new_baseline(w)


def served(w):
    try:
        with w.tcp(MOUNT, timeout=1) as t:
            if mount3(t, w.dir + "/rw").status() != OK:
                return False
        c = w.nfs3(timeout=1)
        good = c.getattr(w.root()).status() == OK
        c.transport.close()
        return good
    except (OSError, Closed):
        return False


def settled(w):
    try:
        first = w.snapshot()[0]
        time.sleep(0.3)
        return first == w.snapshot()[0]
    except OSError:  # a process ended while we looked
        return False


def raise_new_baseline(w):
    """The processes are others now, and rightly so."""
    w.verdict = lambda before, grows: type(w).verdict(
        w, w.snapshot(), True)


@case(120, "files that others can read or write are refused")
def loose_files(w):
    for name, mode in (("key", 0o644), ("exports", 0o666)):
        path = f"{w.dir}/{name}"
        old = os.stat(path).st_mode & 0o777
        os.chmod(path, mode)
        try:
            for daemon in ("mountd", "nfsd"):
                out = subprocess.run(
                    [f"{os.environ['O']}/{daemon}/{daemon}", "-d", "-R",
                     "-a", "127.0.0.78", "-f", w.dir + "/exports", "-k",
                     w.dir + "/key"], capture_output=True, timeout=20,
                    check=False, text=True)
                w.equal(out.returncode, 1, f"{daemon} with {name} {mode:o}")
                w.true(name in out.stderr and "chmod" in out.stderr,
                       f"{daemon}: {out.stderr[-200:]}")
        finally:
            os.chmod(path, old)
