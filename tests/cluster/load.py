#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Programs that use a mount all the time, and tell what they notice.

    load.py DIRECTORY...

In each directory three processes work: one with names (make, rename, link,
remove), one with data (64 KiB written, read again and compared, synchronous
appends), one with listings and files that are open, also removed ones. Lines on
standard output:

    @@ clock TIME               now
    @@ op NAME BEGIN END        an operation that took longer than 0.3 s
    @@ error NAME ERRNO TIME
    @@ repeat NAME ERRNO TIME   a name was there or not: its call was done twice
    @@ alive TIME               every process has ended what it began after TIME

Ends when the file $STOP exists.
Runs in: the guest.
"""
import errno
import mmap
import os
import struct
import sys
import time

SLOW = 0.3
REPEATED = {
    ("unlink", errno.ENOENT), ("rename", errno.ENOENT), ("link", errno.EEXIST),
    ("mkdir", errno.EEXIST), ("rmdir", errno.ENOENT),
}
NEW = os.O_CREAT | os.O_RDWR


def say(*words):
    os.write(1, ("@@ " + " ".join(str(w) for w in words) + "\n").encode())


def now():
    return "%.2f" % time.time()


class Work:
    """One process; its slot tells when its last operation began."""

    def __init__(self, where, slots, number):
        self.where, self.slots, self.number = where, slots, number
        self.round = 0

    def path(self, name):
        return os.path.join(self.where, "%d-%s" % (self.number, name))

    def do(self, name, call, *args):
        begin = time.time()
        result = None
        try:
            result = call(*args)
        except OSError as e:
            kind = "repeat" if (name, e.errno) in REPEATED else "error"
            say(kind, name, errno.errorcode.get(e.errno, e.errno), now())
        if time.time() - begin > SLOW:
            say("op", name, "%.2f" % begin, now())
        struct.pack_into("d", self.slots, 8 * self.number, begin)
        return result

    def names(self):
        a, b, c = self.path("a"), self.path("b"), self.path("c")
        fd = self.do("create", os.open, a, NEW, 0o644)
        if fd is not None:
            self.do("close", os.close, fd)
        self.do("rename", os.rename, a, b)
        self.do("link", os.link, b, c)
        self.do("unlink", os.unlink, b)
        self.do("unlink", os.unlink, c)
        self.do("mkdir", os.mkdir, a + "d")
        self.do("rmdir", os.rmdir, a + "d")

    def data(self):
        want = struct.pack("I", self.round) * 16384
        fd = self.do("open", os.open, self.path("data"), NEW, 0o644)
        if fd is None:
            return
        self.do("write", os.pwrite, fd, want, 0)
        self.do("fsync", os.fsync, fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        got = self.do("read", os.pread, fd, len(want), 0)
        if got is not None and got != want:
            say("error", "compare", "DATA", now())
        self.do("close", os.close, fd)
        log = self.do("open", os.open, self.path("log"),
                      NEW | os.O_APPEND | os.O_SYNC, 0o644)
        if log is not None:
            self.do("append", os.write, log, b"%9d\n" % self.round)
            self.do("close", os.close, log)

    def held(self):
        if self.round == 0:
            self.kept = os.open(self.path("kept"), NEW, 0o644)
            self.gone = os.open(self.path("gone"), NEW, 0o644)
            os.unlink(self.path("gone"))
        for fd in (self.kept, self.gone):
            self.do("write", os.pwrite, fd, b"x" * 4096,
                    4096 * (self.round % 16))
            self.do("fstat", os.fstat, fd)
            self.do("fsync", os.fsync, fd)
        self.do("list", os.listdir, self.where)

    def end(self, turn):
        """Every synchronous append is there, in order and once."""
        if turn == "data":
            with open(self.path("log"), "rb") as f:
                if f.read() != b"".join(b"%9d\n" % n
                                        for n in range(self.round)):
                    say("error", "appends", "DATA", now())

    def run(self, turn, stop):
        while stop[0] == 0:
            getattr(self, turn)()
            self.round += 1
        self.end(turn)


def main():
    stop = mmap.mmap(-1, 8)
    slots = mmap.mmap(-1, 4096)
    number = 0
    say("clock", now())
    for where in sys.argv[1:]:
        for turn in ("names", "data", "held"):
            if os.fork() == 0:
                Work(where, slots, number).run(turn, stop)
                os._exit(0)
            number += 1
    last = 0
    # On the guest's own root, which is the host's: the server may be away.
    flag = os.environ["STOP"]
    while not os.path.exists(flag):
        time.sleep(0.2)
        first = min(struct.unpack_from("%dd" % number, slots))
        if first > last:
            say("alive", "%.2f" % first)
            last = first
    stop[0] = 1
    for _ in range(number):
        os.wait()


if __name__ == "__main__":
    main()
