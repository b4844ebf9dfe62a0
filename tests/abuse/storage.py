# SPDX-License-Identifier: ISC
"""Disks and filesystems that are full, slow or broken."""
import os
import signal
import threading
import time

from disks import Disk, Moody
from harness import Failure, case
from nfs import (ACCES, DQUOT, FILE_SYNC, IO, JUKEBOX, NFS, NOSPC, OK, P3, ROFS,
                 STALE, UNSTABLE, sattr3)
from process import eventually
from rpc import auth_sys, call, opaque
from servers import Server


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
    fh = becomes(w, OK, lambda: c.create(root, "n")).fh
    becomes(w, OK, lambda: c.write(fh, 0, b"again"))


def becomes(w, status, make_call):
    """nfsd mounts a filesystem anew. Meanwhile clients are told to wait, or the
    old state. For the moment in which workers still have the old mount and it
    is gone from their jail, Landlock refuses. Returns the last reply."""
    seen = []
    w.true(eventually(lambda: seen.append(make_call()) or
                      seen[-1].status() == status),
           f"never {status}: {seen[-1].status()}")
    for reply in seen[:-1]:
        w.among(reply.status(), (ROFS, JUKEBOX, ACCES), "meanwhile")
    return seen[-1]


def asleep(w, s, c, root):
    """A worker learns that a filesystem was mounted anew, and asks the broker
    before the broker does."""
    (broker,) = s.roles("nfsd: broker")
    other = s.nfs3(timeout=0.3)

    def is_answered():
        try:
            return other.getattr(root).status() == OK
        except TimeoutError:
            return False

    def is_mounted(how):
        with open(f"/proc/{broker}/mountinfo", encoding="ascii") as f:
            return any(line.split()[4] == s.disk.where and
                       line.split()[5].startswith(how) for line in f)

    s.disk.remount("ro")
    w.true(eventually(lambda: is_mounted("ro")), "not mounted anew")
    w.true(eventually(is_answered), "no answer")
    os.kill(broker, signal.SIGSTOP)
    try:
        s.disk.remount("rw")
        w.true(eventually(lambda: not is_answered()), "nothing was learned")
    finally:
        try:
            os.kill(broker, signal.SIGCONT)
        except ProcessLookupError:  # nfsd took it for dead
            w.true(False, "the broker was stopped for too long")
    becomes(w, OK, lambda: c.create(root, "n"))
    other.close()


def dying(w, s, c, root):
    fh = c.create(root, "f").fh
    first = c.write(fh, 0, b"not on disk", UNSTABLE)
    s.disk.die()
    w.equal(c.commit(fh).status(), IO, "COMMIT")
    w.equal(c.write(fh, 0, b"more", FILE_SYNC).status(), IO, "WRITE")
    w.among(c.create(root, "g").status(), (IO, ROFS), "CREATE")
    other = s.nfs3()
    rw = other.create(s.root(), "elsewhere").fh
    after = other.write(rw, 0, b"x", UNSTABLE)
    w.true(after.verf3 != first.verf3, "same verifier")
    other.close()


def unmounted(w, s, c, root):
    fh = c.create(root, "f").fh
    c.write(fh, 0, b"data")
    s.disk.unmount()
    # The daemons notice it a moment later; then clients are told to wait.
    w.among(c.read(fh, 0, 10).status(), (OK, STALE, IO, JUKEBOX), "READ")
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
            (asleep, "ext4", 24), (dying, "ext4", 24), (unmounted, "ext4", 24)):
        s = Server(w, "{d}/rw 127.0.0.0/8(rw,insecure)\n"
                   "{d}/disk 127.0.0.0/8(rw,insecure,mp)", dirs=("disk",))
        with Disk(s.dir + "/disk", *disk) as s.disk, s:
            root = s.mnt(s.dir + "/disk").fh
            c = s.nfs3()
            try:
                what(w, s, c, root)
            except (Failure, AttributeError) as e:
                raise Failure(f"{what.__name__}: {e}") from None
            c.close()


# ---- a filesystem that misbehaves

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
    c.close()
    s.roots.clear()
    s.root()
    w.true(max(best.values()) < 0.1, f"others wait: {best}")


def hanging(w, s, fuse, fh):
    answers = []

    def ask():
        c = s.nfs3(timeout=60)
        answers.append(c.getattr(fh).status())
        c.close()
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
    first = c.write(fh, 0, b"slow\n", UNSTABLE)
    fuse.mood("eio")
    w.equal(c.getattr(fh).status(), IO, "GETATTR")
    w.equal(c.read(fh, 0, 9).status(), IO, "READ")
    w.equal(c.write(fh, 0, b"x", FILE_SYNC).status(), IO, "WRITE")
    others_served(w, s)
    fuse.mood("fsync")
    before = c.write(fh, 0, b"slow\n", UNSTABLE)
    w.equal(before.status(), OK, "an unstable WRITE")
    w.equal(c.commit(fh).status(), IO, "COMMIT")
    again = c.write(fh, 0, b"slow\n", UNSTABLE)
    w.equal(c.write(fh, 0, b"slow\n", FILE_SYNC).status(), IO, "a stable WRITE")
    fuse.mood("")
    last = c.write(fh, 0, b"slow\n", UNSTABLE)
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
        root = s.mnt(s.dir + "/fuse").fh
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
        c.close()
        fuse.mood("")


