# SPDX-License-Identifier: ISC
"""Offsets, sizes, times, counts and cookies at their edges."""
import os
import signal
import struct

from faults import Trouble
from harness import FILES, Failure, case, eventually
from servers import Server
from session import Session, mount_session, portmap_session
from wire import (BAD_COOKIE, FBIG, INVAL, NOT_SYNC, OK, TOOSMALL, opaque,
                  sattr2, u32, u64)

TOP = 1 << 63


def scratch_file(w, name="num"):
    c = w.nfs3()
    c.remove(w.root(), name)
    fh = c.create(w.root(), name, mode=0o644).fh
    c.write(fh, 0, b"0123456789")
    return c, fh


@case(86, "READ at 2^63-1, 2^63, 2^64-1: no bytes, end of file", remote=FILES)
def read_far(w):
    c, fh = scratch_file(w)
    for offset in (TOP - 1, TOP, 2 * TOP - 1):
        for count in (0, 1, 0xFFFFFFFF):
            reply = c.read(fh, offset, count)
            w.equal((reply.status(), reply.bytes, reply.eof), (OK, b"", 1),
                    f"{offset} {count}")
    c.transport.close()


@case(87, "READ of 2^32-1 bytes gives at most rtmax", remote=FILES)
def read_much(w):
    c = w.nfs3()
    fh = c.lookup(w.root(), "big").fh
    reply = c.read(fh, 0, 0xFFFFFFFF)
    w.equal(reply.status(), OK, "status")
    w.true(0 < len(reply.bytes) <= 1 << 20, f"{len(reply.bytes)} bytes")
    c.transport.close()


@case(88, "WRITE past 2^63 or 2^64 writes nothing", remote=FILES)
def write_far(w):
    c, fh = scratch_file(w)
    for offset in (TOP - 2, TOP, 2 * TOP - 2):
        w.among(c.write(fh, offset, b"four").status(), (FBIG, INVAL),
                str(offset))
    w.equal(os.stat(w.dir + "/rw/num").st_size, 10, "size")
    c.transport.close()


@case(89, "WRITE whose count and data disagree; odd stability", remote=FILES)
def write_counts(w):
    c, fh = scratch_file(w)
    for count in (2, 8, 0xFFFFFFFF):
        reply = c.write(fh, 0, b"four", count=count)
        w.true(reply.accept == 4 or reply.status() == INVAL or
               (reply.status() == OK and reply.count <= min(count, 4)),
               f"count {count}: {reply.describe()}")
    for length in range(0xFFFFFFFC, 0x100000000):
        reply = c.call("WRITE", opaque(fh) + u64(0) + u32(4, 2) +
                       u32(length) + b"four")
        w.equal(reply.accept, 4, f"length {length:x}")
    w.equal(c.write(fh, 0, b"").status(), OK, "count 0")
    for stable in (3, 77):
        reply = c.write(fh, 0, b"four", stable=stable)
        w.true(reply.accept == 4 or reply.status() == INVAL,
               f"stable {stable}: {reply.describe()}")
    c.transport.close()


@case(90, "sizes of 2^63-1, 2^63, 2^64-1 are refused, nothing is cut",
      remote=FILES)
def sizes(w):
    c, fh = scratch_file(w)
    for size in (TOP - 1, TOP, 2 * TOP - 1):
        w.among(c.setattr(fh, size=size).status(), (FBIG, INVAL), str(size))
        w.equal(os.stat(w.dir + "/rw/num").st_size, 10, "size")
    c.transport.close()


@case(91, "times out of range: a defined result or INVAL", remote=FILES)
def times(w):
    c, fh = scratch_file(w)
    for ns in (10 ** 9, 0xFFFFFFFF):
        w.equal(c.setattr(fh, mtime=(1, ns)).status(), INVAL, f"nsec {ns}")
    w.equal(c.setattr(fh, mtime=(0xFFFFFFFF, 0)).status(), OK, "2^32-1")
    c2 = w.nfs2()
    reply = c2.call("SETATTR", fh + sattr2(mtime=(5, 10 ** 6)))
    w.equal(reply.status(), OK, "v2: server time")
    for usec in (10 ** 6 + 1, 0xFFFFFFFE):
        reply = c2.call("SETATTR", fh + sattr2(mtime=(5, usec)))
        w.among(reply.status(), (OK, 5, 22), f"usec {usec}")
    c.transport.close()
    c2.transport.close()


@case(92, "a guard with the wrong ctime changes nothing", remote=FILES)
def guard(w):
    c, fh = scratch_file(w)
    reply = c.setattr(fh, guard=(1, 1), size=0)
    w.equal(reply.status(), NOT_SYNC, "status")
    w.equal(os.stat(w.dir + "/rw/num").st_size, 10, "size")
    a = c.getattr(fh).attr
    w.equal(c.setattr(fh, guard=(a.ctime, a.ctime_ns), size=5).status(), OK,
            "right guard")
    c.transport.close()


@case(93, "READDIR counts of 0, 1, 100 and 2^32-1", remote=FILES)
def directory_counts(w):
    c = w.nfs3()
    for count in (0, 1, 100, 0xFFFFFFFF):
        reply = c.readdir(w.root(), count=count)
        w.among(reply.status(), (OK, TOOSMALL), f"READDIR {count}")
        if reply.status() == OK:
            w.true(len(reply.rest) <= max(count, 1) + 4, f"{count} exceeded")
        for dircount, maxcount in ((count, 8192), (8192, count),
                                   (count, count)):
            reply = c.readdirplus(w.root(), dircount=dircount,
                                  maxcount=maxcount)
            w.among(reply.status(), (OK, TOOSMALL), f"PLUS {count}")
            if reply.status() == OK:
                w.true(len(reply.rest) <= min(maxcount, 1 << 20) + 4, "size")
    c.transport.close()


@case(94, "cookies out of nowhere: an error or an end, never a loop",
      remote=FILES)
def cookies(w):
    c = w.nfs3()
    for cookie in ((1 << 64) - 1, 1 << 63, 12345, 3):
        for verf in (bytes(8), b"\xff" * 8):
            for _ in range(3):
                reply = c.readdir(w.root(), cookie=cookie, verf=verf)
                w.among(reply.status(), (OK, BAD_COOKIE, INVAL), str(cookie))
    c.transport.close()


@case(95, "COMMIT of an overflowing range is the whole file", remote=FILES)
def commit_range(w):
    c, fh = scratch_file(w)
    for offset, count in ((2 * TOP - 1, 0xFFFFFFFF), (TOP - 1, 2), (5, 0)):
        w.equal(c.commit(fh, offset, count).status(), OK, str(offset))
    c.transport.close()


@case(96, "version 2: offsets, counts and sizes never wrap", remote=FILES)
def version2(w):
    c, fh = scratch_file(w)
    c2 = w.nfs2()
    reply = c2.call("READ", fh + u32(0xFFFFFFFF, 0xFFFFFFFF, 0))
    w.equal((reply.status(), reply.rest[-4:]), (OK, u32(0)), "far READ")
    reply = c2.call("READ", fh + u32(0, 0xFFFFFFFF, 0))
    w.true(reply.status() == OK and len(reply.rest) <= 8192 + 76, "READ")
    os.truncate(w.dir + "/rw/num", 5 << 30)
    reply = c2.call("GETATTR", fh)
    size = struct.unpack(">I", reply.rest[24:28])[0] if \
        reply.status() == OK else None
    w.true(reply.status() == FBIG or size in (0x7FFFFFFF, 0xFFFFFFFF),
           f"5 GiB shown as {size}")
    c.transport.close()
    c2.transport.close()
    os.unlink(w.dir + "/rw/num")


MAPPED = {"EIO": 5, "ENOSPC": 28, "EDQUOT": 69, "EINTR": 10008,
          "EMFILE": 10008, "ENOMEM": 10008, "EBADMSG": 5, "EUCLEAN": 5,
          "ENOKEY": 13, "ETXTBSY": 13, "EROFS": 30}
# A system call of the worker that one step makes alone, and the step whose
# status is the error's.
DIRECT = {"mkdirat": "MKDIR", "symlinkat": "SYMLINK", "mknodat": "MKNOD",
          "renameat": "RENAME", "readlinkat": "READLINK",
          "ftruncate": "SETATTR size",
          "utimensat": "SETATTR mtime", "fstatfs": "FSSTAT",
          "getdents64": "READDIR"}
# What each role calls while it serves; the tables of the filters have more.
# (fchmodat2 is too young for strace 6.1.)
CALLS = {
    ("nfsd", "worker"): (
        *DIRECT, "fsync", "pwritev2", "preadv2", "pread64", "unlinkat",
        "openat", "newfstatat", "statx", "lseek", "fchownat", "faccessat2",
        "setgroups", "setfsuid", "setfsgid", "sendmsg", "recvmsg", "sendto",
        "readv", "accept4", "getsockname", "setsockopt", "sendmmsg",
        "recvmmsg", "read", "write", "epoll_ctl"),
    ("nfsd", "broker"): (
        "open_by_handle_at", "name_to_handle_at", "newfstatat", "linkat",
        "setgroups", "setfsuid", "setfsgid", "sendmsg", "recvmsg"),
    ("mountd", "worker"): (
        "openat", "statx", "accept4", "readv", "sendto", "sendmsg", "recvmsg",
        "recvmmsg", "sendmmsg", "setsockopt", "getsockname"),
    ("mountd", "parent"): ("name_to_handle_at", "statx", "newfstatat"),
    ("portmapd", "portmapd"): (
        "accept4", "readv", "sendto", "recvmmsg", "sendmmsg", "setsockopt",
        "getsockname", "epoll_ctl"),
}


# Without these nothing is served at all: one failure, not every one.
ONCE = ("accept4", "readv", "sendto", "sendmsg", "recvmsg", "recvmmsg",
        "sendmmsg", "read", "write", "epoll_ctl", "getsockname")


def inject(w, s, daemon, role, name, error, when):
    """A session while this fails; the process, and all it promised, hold."""
    session = Session(s, cold=name == "pread64")
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
    for stable, call_name in ((2, "pwritev2"), (1, "pwritev2"), (0, "fsync")):
        for error in ("EIO", "ENOSPC", "EDQUOT"):
            first = c.write(fh, 0, b"one", 0)
            with Trouble(worker, f"{call_name}:error={error}:when=1"):
                if stable:
                    bad = c.write(fh, 0, b"two", stable)
                else:
                    bad = c.commit(fh)
            w.equal(bad.status(), MAPPED[error] if stable else 5,
                    f"{call_name} {error}")
            after = c.write(fh, 0, b"one", 0)
            w.true(after.verf3 != first.verf3,
                   f"{call_name} {error}: the verifier is the same")
    c.transport.close()


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
            with Trouble(process.pid, what + ":when=1"):
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
