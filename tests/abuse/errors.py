# SPDX-License-Identifier: ISC
"""System calls that fail, each with every error."""
import os
import signal

from faults import Trouble
from harness import Failure, case
from nfs import (ACCES, DATA_SYNC, DQUOT, FILE_SYNC, IO, JUKEBOX, NOSPC, ROFS,
                 UNSTABLE)
from process import eventually
from servers import Server
from session import Session, mount_session, portmap_session

MAPPED = {"EIO": IO, "ENOSPC": NOSPC, "EDQUOT": DQUOT, "EINTR": JUKEBOX,
          "EMFILE": JUKEBOX, "ENOMEM": JUKEBOX, "EBADMSG": IO, "EUCLEAN": IO,
          "ENOKEY": ACCES, "ETXTBSY": ACCES, "EROFS": ROFS}
# A system call of the worker that one step makes alone, and the step whose
# status is the error's.
DIRECT = {"mkdirat": "MKDIR", "symlinkat": "SYMLINK", "mknodat": "MKNOD",
          "renameat2,renameat": "RENAME", "readlinkat": "READLINK",
          "ftruncate": "SETATTR size",
          "utimensat": "SETATTR mtime", "fstatfs": "FSSTAT",
          "getdents64": "READDIR"}
# What each role calls while it serves; the tables of the filters have more. A
# worker that strace stops takes its export for a slow one: then it reads by
# pread64, on a file thread.
# (fchmodat2 is too young for strace 6.1.)
CALLS = {
    ("nfsd", "worker"): (
        *DIRECT, "fsync", "pwritev2", "preadv2,pread64", "unlinkat",
        "openat", "fstat", "newfstatat", "statx", "lseek", "fchownat",
        "faccessat2", "setgroups", "setfsuid", "setfsgid", "sendmsg",
        "recvmsg", "sendto", "accept4", "getsockname", "setsockopt",
        "sendmmsg", "recvmmsg", "write", "epoll_ctl"),
    ("nfsd", "broker"): (
        "open_by_handle_at", "name_to_handle_at", "newfstatat", "linkat",
        "setgroups", "setfsuid", "setfsgid", "sendmsg", "recvmsg"),
    ("mountd", "worker"): (
        "openat", "statx", "accept4", "sendto", "sendmsg", "recvmsg",
        "recvmmsg", "sendmmsg", "setsockopt", "getsockname"),
    ("mountd", "parent"): ("name_to_handle_at", "statx", "newfstatat"),
    ("portmapd", "portmapd"): (
        "accept4", "recvmsg", "sendto", "recvmmsg", "sendmmsg",
        "setsockopt", "getsockname", "epoll_ctl"),
}


# Without these nothing is served at all: one failure, not every one.
ONCE = ("accept4", "sendto", "sendmsg", "recvmsg", "recvmmsg",
        "sendmmsg", "read", "write", "epoll_ctl", "getsockname")


def inject(w, s, daemon, role, name, error, when):
    """A session while this fails; the process, and all it promised, hold."""
    session = Session(s, "pread64" in name, MAPPED[error] == JUKEBOX)
    what = f"{daemon} {role} {name} {error} {when}"
    s.roots.clear()
    pid = s.processes[daemon].pid if role in ("parent", daemon) else \
        s.role(daemon, role)
    root = s.root()
    with Trouble(pid, f"{name}:error={error}:when={when}") as trouble:
        try:
            if daemon == "nfsd":
                s.roots[s.dir + "/rw"] = root
                session.run()
            elif daemon == "mountd":
                mount_session(s)
            else:
                portmap_session(s)
        except Failure as e:
            raise Failure(f"{what}: {e}") from None
    s.true(eventually(s.works, 20), f"{what}: does not serve any more")
    if daemon == "nfsd" and role == "worker" and name in DIRECT and \
            when == "1+" and trouble.hits and error != "EINTR":
        w.equal(session.answers.get(DIRECT[name]), MAPPED[error], what)
    return trouble.hits


def stable_errors(w, s):
    """Of what is to be stable: the right error, and a new verifier."""
    c = s.nfs3()
    fh = c.create(s.root(), "stable").fh
    worker = s.role("nfsd", "worker")
    for stable, call_name in (
            (FILE_SYNC, "pwritev2"), (DATA_SYNC, "pwritev2"), (0, "fsync")):
        for error in ("EIO", "ENOSPC", "EDQUOT"):
            first = c.write(fh, 0, b"one", UNSTABLE)
            with Trouble(worker, f"{call_name}:error={error}:when=1"):
                if stable:
                    bad = c.write(fh, 0, b"two", stable)
                else:
                    bad = c.commit(fh)
            w.equal(bad.status(), MAPPED[error] if stable else IO,
                    f"{call_name} {error}")
            after = c.write(fh, 0, b"one", UNSTABLE)
            w.true(after.verf3 != first.verf3,
                   f"{call_name} {error}: the verifier is the same")
    c.close()


def failing_reload(w, s):
    """A reload that the parent cannot do leaves everything as it is."""
    os.mkdir(s.dir + "/more")
    both = "\n".join(f"{s.dir}/{name} 127.0.0.0/8(rw,insecure)"
                     for name in ("rw", "more"))
    s.write_exports(both)
    for daemon in ("mountd", "nfsd"):
        for what in ("clone:error=EAGAIN", "socketpair:error=EMFILE",
                     "memfd_create:error=ENOMEM", "openat:error=EMFILE"):
            process = s.processes[daemon]
            before = s.log(daemon).count("not reloaded")
            with Trouble(process.pid, what + ":when=1+"):
                process.send_signal(signal.SIGHUP)
                w.true(eventually(lambda d=daemon, n=before:
                                  s.log(d).count("not reloaded") > n, 15),
                       f"{daemon}: {what}: not a word")
            w.equal(process.poll(), None, f"{daemon}: {what}")
            w.true(eventually(s.works, 10), f"{daemon}: {what}: not served")
        process.send_signal(signal.SIGHUP)
        w.true(eventually(lambda d=daemon: "added" in s.log(d), 10),
               f"{daemon}: the reload without trouble")


def plan(w, name):
    """(error, when) of all runs for a system call."""
    for error in MAPPED if w.long else ("EIO",):
        if error == "EINTR" or name in ONCE:
            yield error, "1"
        elif w.long:
            yield from ((error, "1"), (error, "2"), (error, "1+"))
        else:
            yield error, "1+"


@case(97, "errors of every system call: mapped, and nothing untrue is said",
      own=True)
def errors(w):
    with Server(w, daemons=("portmapd", "mountd", "nfsd"),
                flags={"portmapd": ("-o", "datagrams-per-second=0")}) as s:
        os.mkdir(s.dir + "/rw/sub")
        stable_errors(w, s)
        failing_reload(w, s)
        for (daemon, role), names in CALLS.items():
            for name in names:
                hits = sum(inject(w, s, daemon, role, name, error, when)
                           for error, when in plan(w, name))
                w.true(hits, f"{daemon} {role} never calls {name}")
        s.before = s.snapshot()  # a role may have ended and come again
