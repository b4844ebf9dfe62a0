# SPDX-License-Identifier: ISC
"""Exhaustion, bad disks and clocks: on daemons of the case's own."""
import os
import re
import resource
import signal
import subprocess
import threading
import time

from disks import Disk
from faults import Page
from harness import Failure, case, eventually
from portmapper import as_user
from servers import Server, cpu_seconds
from session import Session, mount_session, portmap_session
from wire import (IO, MOUNT, NFS, OK, P3, ROFS, STALE, Closed, auth_sys, call,
                  mount3, opaque, sattr3, u32)

NOSPC, DQUOT = 28, 69
DAY, TEN_YEARS = 86400, 3652 * 86400
HERE = os.path.dirname(os.path.abspath(__file__))


# ---- descriptors

@case(104, "no descriptor left: accepting rests, others are served, and it "
      "goes on", own=True)
def out_of_descriptors(w):
    with Server(w) as s:
        worker = s.role("nfsd", "worker")
        client = s.nfs3(timeout=10)
        fh = client.lookup(s.root(), "f").fh
        top = max(int(n) for n in os.listdir(f"/proc/{worker}/fd"))
        limit(worker, resource.RLIMIT_NOFILE, top + 5)
        held = [s.tcp(source=("127.0.3.1", 0)) for _ in range(40)]
        for t in held:
            try:
                t.send(b"\x80")  # not idle
            except Closed:
                pass
        cpu = cpu_seconds(worker)
        started = time.monotonic()
        while time.monotonic() - started < 2:
            w.equal(client.getattr(fh).status(), OK, "a client that was there")
            time.sleep(0.05)
        w.true(cpu_seconds(worker) - cpu < 1, "the loop spins")
        lines = re.findall("no descriptor left for a connection.*LimitNOFILE",
                           s.log("nfsd"))
        w.equal(len(lines), 1, "lines of the log")
        for t in held:
            t.close()
        limit(worker, resource.RLIMIT_NOFILE)
        w.true(eventually(s.works), "a new client")
        client.transport.close()


def limit(pid, what, soft=None):
    """Sets a limit of a process, as its own user: root need not be allowed
    to. None: back to the hard one."""
    def set_limit():
        hard = resource.prlimit(pid, what)[1]
        resource.prlimit(pid, what, (hard if soft is None else soft, hard))
        return True
    if not as_user(user_of(pid), set_limit):
        raise Failure(f"the limit of {pid} cannot be set")


def user_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"Uid:\s+(\d+)", f.read())[1])


# ---- memory

def scripted(s, daemon):
    """What is done while memory runs out; answers do not matter."""
    if daemon == "nfsd":
        Session(s).run()
    else:
        (mount_session if daemon == "mountd" else portmap_session)(s)


def fail_each(w, s, page, daemon, rest):
    """Every allocation of a session fails, one run for each. (Not those of
    the start: without memory libc's getpwnam(3) crashes by itself.)"""
    page.fail(0)
    scripted(s, daemon)
    total = page.count()
    step = 1 if w.long else max(1, total // 40)
    for number in range(1, total + 1, step):
        page.fail(number, rest)
        try:
            scripted(s, daemon)
        except Failure as e:
            raise Failure(f"{daemon}: allocation {number} of {total}"
                          f"{' and the rest' if rest else ''}: {e}") from None
        finally:
            page.fail(0)
        if not eventually(s.works, 20):
            raise Failure(f"{daemon}: allocation {number}: not served again")
    return total


@case(110, "memory runs out, at every allocation: served afterwards", own=True)
def out_of_memory(w):
    page = Page(w.dir)
    with Server(w, "{d}/rw 127.0.0.0/8(rw,insecure)\n"
                "{d}/player 127.0.0.0/8(rw,insecure)", dirs=("player",),
                daemons=("portmapd", "mountd", "nfsd"), build="faulty",
                env=page.env, flags={"portmapd": (
                    "-o", "datagrams-per-second=0")}) as s:
        os.mkdir(s.dir + "/rw/sub")
        for daemon in ("portmapd", "mountd", "nfsd"):
            for rest in (False, True):
                w.true(fail_each(w, s, page, daemon, rest) > 0,
                       f"{daemon} allocates nothing")
        s.settle()
        s.before = s.snapshot()
    page.close()
    address_space(w)


def address_space(w):
    """RLIMIT_AS a little above what there is, and everybody sends much."""
    with Server(w) as s:
        worker = s.role("nfsd", "worker")
        with open(f"/proc/{worker}/status", encoding="ascii") as f:
            size = int(re.search(r"VmSize:\s+(\d+)", f.read())[1]) * 1024
        limit(worker, resource.RLIMIT_AS, size + (8 << 20))
        held = []
        for i in range(64):
            try:
                t = s.tcp(source=(f"127.0.4.{i + 1}", 0), timeout=1)
                held.append(t)
                t.send(u32(0x80000000 | (1 << 20)) + bytes(512 * 1024))
            except (OSError, Closed):
                pass
        w.true("out of memory" in s.log("nfsd"), "there was memory for all")
        w.true(eventually(lambda: s.serves("nfsd"), 10), "NULL while it is so")
        for t in held:
            t.close()
        limit(worker, resource.RLIMIT_AS)
        w.true(eventually(s.works), "served afterwards")
        w.equal(s.role("nfsd", "worker"), worker, "the worker")


# ---- disks

def fill(c, fh):
    """Writes until it is refused; the status."""
    status, offset = OK, 0
    while status == OK and offset < 64 << 20:
        status = c.write(fh, offset, bytes(256 * 1024)).status()
        offset += 256 * 1024
    return status


def full(w, s, c, root):
    fh = c.create(root, "fill").fh
    w.equal(fill(c, fh), NOSPC, "when it is full")
    w.equal(c.remove(root, "fill").status(), OK, "REMOVE")
    fh = c.create(root, "again").fh
    w.equal(c.write(fh, 0, b"room").status(), OK, "room again")


def out_of_inodes(w, s, c, root):
    made = 0
    while made < 1000:
        status = c.create(root, f"i{made}").status()
        if status != OK:
            break
        made += 1
    w.equal(status, NOSPC, "no inode left")
    w.equal(c.mkdir(root, "d").status(), NOSPC, "nor for a directory")
    w.equal(c.remove(root, "i0").status(), OK, "REMOVE")
    w.equal(c.create(root, "again").status(), OK, "room again")


def quota(w, s, c, root):
    s.disk.limit(4)
    fh = c.create(root, "fill").fh
    w.equal(fill(c, fh), DQUOT, "beyond the quota")
    s.disk.limit(64)
    w.equal(c.write(fh, 0, bytes(4096)).status(), OK, "with more quota")


def read_only(w, s, c, root):
    s.disk.remount("ro")
    w.equal(c.create(root, "n").status(), ROFS, "CREATE")
    w.equal(c.mkdir(root, "n").status(), ROFS, "MKDIR")
    w.equal(c.setattr(root, mode=0o700).status(), ROFS, "SETATTR")
    w.equal(c.getattr(root).status(), OK, "GETATTR")
    s.disk.remount("rw")
    fh = c.create(root, "n").fh
    w.equal(c.write(fh, 0, b"again").status(), OK, "writable again")


def dying(w, s, c, root):
    fh = c.create(root, "f").fh
    first = c.write(fh, 0, b"not on disk", 0)
    s.disk.die()
    w.equal(c.commit(fh).status(), IO, "COMMIT")
    w.equal(c.write(fh, 0, b"more", 2).status(), IO, "WRITE")
    w.among(c.create(root, "g").status(), (IO, ROFS), "CREATE")
    other = s.nfs3()
    rw = other.create(s.root(), "elsewhere").fh
    w.true(other.write(rw, 0, b"x", 0).verf3 != first.verf3, "same verifier")
    other.transport.close()


def unmounted(w, s, c, root):
    fh = c.create(root, "f").fh
    c.write(fh, 0, b"data")
    s.disk.unmount()
    # What is served stays so until the exports are loaded again.
    w.among(c.read(fh, 0, 10).status(), (OK, STALE, IO), "READ")
    for daemon in ("mountd", "nfsd"):
        s.processes[daemon].send_signal(signal.SIGHUP)
    w.true(eventually(s.works), "the other export")
    w.true(eventually(lambda: c.getattr(fh).status() != OK), "still there")
    s.disk.mount()
    for daemon in ("mountd", "nfsd"):
        s.processes[daemon].send_signal(signal.SIGHUP)
    w.true(eventually(lambda: c.getattr(fh).status() == OK), "not back")
    w.equal(c.read(fh, 0, 10).bytes, b"data", "its data")


@case(111, "a disk full, out of inodes or quota, read-only, dead, gone: the "
      "right error, and it works again", own=True)
def disks(w):
    for what, *disk in (
            (full, "ext4", 24), (out_of_inodes, "ext4", 24, "-N", "32"),
            (quota, "btrfs", 120), (read_only, "ext4", 24),
            (dying, "ext4", 24), (unmounted, "ext4", 24)):
        s = Server(w, "{d}/rw 127.0.0.0/8(rw,insecure)\n"
                   "{d}/disk 127.0.0.0/8(rw,insecure,mp)", dirs=("disk",))
        with Disk(s.dir + "/disk", *disk) as s.disk, s:
            with s.tcp(MOUNT) as t:
                root = mount3(t, s.dir + "/disk").fh
            c = s.nfs3()
            try:
                what(w, s, c, root)
            except (Failure, AttributeError) as e:
                raise Failure(f"{what.__name__}: {e}") from None
            c.transport.close()


# ---- a filesystem that misbehaves

class Moody:
    """tests/system/slowfs.py below a directory."""

    def __init__(self, where):
        self.where, self.path = where, where + ".mood"
        self.process = subprocess.Popen(
            [HERE + "/../system/slowfs.py", where, self.path])

    def __enter__(self):
        if not eventually(lambda: os.path.ismount(self.where)):
            raise Failure("no FUSE here")
        return self

    def mood(self, text):
        if text:
            with open(self.path + ".new", "w", encoding="ascii") as f:
                f.write(text)
            os.rename(self.path + ".new", self.path)
        elif os.path.exists(self.path):
            os.unlink(self.path)

    def __exit__(self, *_):
        self.mood("")
        subprocess.run(["umount", "-l", self.where], check=False)
        self.process.terminate()
        self.process.wait()


def others_served(w, s):
    """The good export, its MNT and NULL, while the other does not answer."""
    c = s.nfs3()
    best = {}
    for _ in range(20):
        for what, action in (
                ("NULL", s.null_seconds),
                ("GETATTR", lambda: c.getattr(s.root())),
                ("LOOKUP", lambda: c.lookup(s.root(), "f"))):
            started = time.monotonic()
            action()
            spent = time.monotonic() - started
            best[what] = min(best.get(what, 9), spent)
    c.transport.close()
    s.roots.clear()
    s.root()
    w.true(max(best.values()) < 0.1, f"others wait: {best}")


def hanging(w, s, fuse, fh):
    answers = []

    def ask():
        c = s.nfs3(timeout=60)
        answers.append(c.getattr(fh).status())
        c.transport.close()
    fuse.mood("hang")
    threads = [threading.Thread(target=ask) for _ in range(20)]
    for t in threads:
        t.start()
    others_served(w, s)
    fuse.mood("")
    for t in threads:
        t.join()
    w.equal(answers, [OK] * 20, "when it answers again")


def repeated(w, s, fuse, root):
    """A call that comes again while the first one runs is dropped."""
    message = call(NFS, 3, P3["MKDIR"], opaque(root) + opaque("d") +
                   sattr3(mode=0o755), auth_sys(1001, 1001), xid=100)
    fuse.mood("hang")
    with s.udp() as t:
        for _ in range(5):
            t.send(message)
        w.equal(t.receive_raw(0.3), None, "an answer while it hangs")
        fuse.mood("")
        w.true(t.receive_raw(5), "no answer at all")
        w.equal(t.receive_raw(0.3), None, "a second answer")


def erring(w, s, fuse, fh, c):
    first = c.write(fh, 0, b"slow\n", 0)
    fuse.mood("eio")
    w.equal(c.getattr(fh).status(), IO, "GETATTR")
    w.equal(c.read(fh, 0, 9).status(), IO, "READ")
    w.equal(c.write(fh, 0, b"x", 2).status(), IO, "WRITE")
    others_served(w, s)
    fuse.mood("fsync")
    before = c.write(fh, 0, b"slow\n", 0)
    w.equal(before.status(), OK, "an unstable WRITE")
    w.equal(c.commit(fh).status(), IO, "COMMIT")
    again = c.write(fh, 0, b"slow\n", 0)
    w.equal(c.write(fh, 0, b"slow\n", 2).status(), IO, "a stable WRITE")
    fuse.mood("")
    last = c.write(fh, 0, b"slow\n", 0)
    w.equal(last.status(), OK, "it works again")
    w.equal(c.commit(fh).status(), OK, "COMMIT again")
    verifiers = [r.verf3 for r in (first, before, again, last)]
    w.true(before.verf3 != again.verf3 != last.verf3,
           f"a lost write keeps its verifier: {verifiers}")


@case(112, "a filesystem that hangs, is slow, errs or moves little at a time",
      own=True)
def bad_filesystem(w):
    s = Server(w, "{d}/rw 127.0.0.0/8(rw,insecure)\n"
               "{d}/fuse 127.0.0.0/8(rw,insecure)", dirs=("fuse",))
    with Moody(s.dir + "/fuse") as fuse, s:
        with s.tcp(MOUNT) as t:
            root = mount3(t, s.dir + "/fuse").fh
        c = s.nfs3(timeout=20)
        fh = c.lookup(root, "file").fh
        hanging(w, s, fuse, fh)
        repeated(w, s, fuse, root)
        fuse.mood("slow")
        w.equal(c.getattr(fh).status(), OK, "slow, but an answer")
        others_served(w, s)
        erring(w, s, fuse, fh, c)
        fuse.mood("short")
        text = bytes(range(65, 91)) * 4
        reply = c.write(fh, 0, text)
        w.equal((reply.status(), reply.count), (OK, len(text)), "short writes")
        w.equal(c.read(fh, 0, 999).bytes, text, "short reads")
        c.transport.close()
        fuse.mood("")


# ---- clocks

def at_other_time(w, s, page, shift):
    """The clock on the wall jumps while all is in use."""
    c = s.nfs3(timeout=20)
    fh = c.create(s.root(), f"jump{shift}").fh
    first = c.write(fh, 0, b"before", 0).verf3
    page.shift_clock(shift)
    worker = s.role("nfsd", "worker")
    cpu = cpu_seconds(worker)
    started = time.monotonic()
    time.sleep(1)
    spent = (cpu_seconds(worker) - cpu) / (time.monotonic() - started)
    w.true(spent < 0.5, f"{spent * 100:.0f} % of a CPU for nothing")
    session = Session(s)
    session.run()
    w.equal(session.answers["COMMIT file"], OK, "a session")
    w.equal(c.write(fh, 0, b"after", 0).verf3, first, "the verifier")
    # A broker that comes back is waited for by the clock since boot.
    os.kill(s.role("nfsd", "broker"), signal.SIGKILL)
    started = time.monotonic()
    w.true(eventually(s.works, 15), "the broker is not back")
    w.true(time.monotonic() - started < 10, "it took long")
    w.equal(c.write(fh, 0, b"after", 0).verf3, first, "the verifier")
    # Removed files are let go of by a thread that waits by that clock too.
    os.unlink(f"{s.dir}/rw/jump{shift}")
    w.true(eventually(lambda: not deleted(worker), 20), "removed, still open")
    page.shift_clock(0)
    c.transport.close()


def deleted(pid):
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            continue
    return [f for f in found if "(deleted)" in f and "/rw/" in f]


def odd_times(w, s):
    """Files of other centuries: within the range of the protocol, exact."""
    c = s.nfs3()
    path = s.dir + "/rw/f"
    top = (1 << 32) - 1
    for seconds, shown in ((-1, 0), (-DAY * 365, 0), (0, 0), (1, 1),
                           (1 << 31, 1 << 31), (top, top), (top + 1, top),
                           (15 * 10 ** 9, top)):
        os.utime(path, ns=(0, seconds * 10 ** 9 + 999999999))
        attr = c.lookup(s.root(), "f").attr
        w.equal(attr.mtime, shown, f"mtime of {seconds}")
        w.equal(attr.mtime_ns, 999999999, f"nanoseconds of {seconds}")
    w.equal(c.setattr(c.lookup(s.root(), "f").fh, mtime="now").status(), OK,
            "now")
    w.true(abs(os.stat(path).st_mtime - time.time()) < 60, "server's time")
    c.transport.close()


@case(114, "the clock jumps back a day and on by ten years: nobody notices",
      own=True)
def clocks(w):
    page = Page(w.dir)
    with Server(w, build="faulty", env=page.env) as s:
        s.forgive = "broker: pid [0-9]+ was killed by signal 9"
        for shift in (-DAY, TEN_YEARS):
            at_other_time(w, s, page, shift)
        odd_times(w, s)
        s.settle()
    page.close()
    # Up for a year less a day, and for ten years: counters do not wrap.
    for up in (364 * DAY, TEN_YEARS):
        with Server(w, wrap=[HERE + "/timens.py", str(up)]) as s:
            session = Session(s)
            session.run()
            w.equal(session.answers["COMMIT file"], OK, f"up for {up} s")
