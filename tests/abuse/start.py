# SPDX-License-Identifier: ISC
"""What a daemon refuses to start with, and what it starts without."""
import os
import subprocess

from harness import case
from servers import Server, refuses_to_start

HERE = os.path.dirname(os.path.abspath(__file__))


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
                w.equal(out.returncode, 78, f"{daemon} with {name} {mode:o}")
                w.true(name in out.stderr and "chmod" in out.stderr,
                       f"{daemon}: {out.stderr[-200:]}")
        finally:
            os.chmod(path, old)


def without(*numbers):
    """A command in front: as if the kernel did not have these calls."""
    return [HERE + "/../system/without.py", ",".join(map(str, numbers))]


LANDLOCK = (444, 445, 446)
SECCOMP = 317
EPOLL_CREATE = (213, 291)
CONTAINER = ["setpriv", "--no-new-privs", "--bounding-set",
             "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,"
             "+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,"
             "+audit_write,+setfcap"]


@case(121, "without Landlock, without seccomp, in a container: said once, or "
      "refused", own=True)
def less_sandbox(w):
    for wrap, lost in ((without(*LANDLOCK), "landlock"),
                       (CONTAINER, "private mounts")):
        with Server(w, wrap=wrap) as s:
            for daemon in s.daemons:
                lines = [line for line in s.log(daemon).splitlines()
                         if "sandbox: missing" in line and lost in line]
                w.true(lines, f"{daemon} does not say that {lost} is missing")
                w.equal(len(lines), len(set(lines)), f"{daemon} says it twice")
            strict = ("-R", "-o", "strict", "-f", s.dir + "/exports", "-k",
                      s.dir + "/key")
            for daemon in s.daemons:
                said = refuses_to_start(w, daemon, strict, wrap)
                w.true("strict" in said and lost in said,
                       f"{daemon}: {said[-300:]}")
    s = Server(w)
    for daemon in s.daemons:
        said = refuses_to_start(w, daemon, (
            "-R", "-f", s.dir + "/exports", "-k", s.dir + "/key"),
            without(SECCOMP))
        w.true("seccomp" in said, f"{daemon}: {said[-300:]}")
        said = refuses_to_start(w, daemon, (
            "-R", "-f", s.dir + "/exports", "-k", s.dir + "/key"),
            without(*EPOLL_CREATE))
        w.true("epoll" in said, f"{daemon}: {said[-300:]}")
