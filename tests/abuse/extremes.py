# SPDX-License-Identifier: ISC
"""Offsets, sizes, times, counts and cookies at their edges."""
import os

from harness import FILES, case
from nfs import BAD_COOKIE, FBIG, INVAL, IO, NOT_SYNC, OK, TOOSMALL, sattr2
from rpc import opaque, u32, u64

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
    c.close()


@case(87, "READ of 2^32-1 bytes gives at most rtmax", remote=FILES)
def read_much(w):
    c = w.nfs3()
    fh = c.lookup(w.root(), "big").fh
    reply = c.read(fh, 0, 0xFFFFFFFF)
    w.equal(reply.status(), OK, "status")
    w.true(0 < len(reply.bytes) <= 1 << 20, f"{len(reply.bytes)} bytes")
    c.close()


@case(88, "WRITE past 2^63 or 2^64 writes nothing", remote=FILES)
def write_far(w):
    c, fh = scratch_file(w)
    for offset in (TOP - 2, TOP, 2 * TOP - 2):
        w.among(c.write(fh, offset, b"four").status(), (FBIG, INVAL),
                str(offset))
    w.equal(os.stat(w.dir + "/rw/num").st_size, 10, "size")
    c.close()


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
    c.close()


@case(90, "sizes of 2^63-1, 2^63, 2^64-1 are refused, nothing is cut",
      remote=FILES)
def sizes(w):
    c, fh = scratch_file(w)
    for size in (TOP - 1, TOP, 2 * TOP - 1):
        w.among(c.setattr(fh, size=size).status(), (FBIG, INVAL), str(size))
        w.equal(os.stat(w.dir + "/rw/num").st_size, 10, "size")
    c.close()


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
        w.among(reply.status(), (OK, IO, INVAL), f"usec {usec}")
    c.close()
    c2.close()


@case(92, "a guard with the wrong ctime changes nothing", remote=FILES)
def guard(w):
    c, fh = scratch_file(w)
    reply = c.setattr(fh, guard=(1, 1), size=0)
    w.equal(reply.status(), NOT_SYNC, "status")
    w.equal(os.stat(w.dir + "/rw/num").st_size, 10, "size")
    a = c.getattr(fh).attr
    w.equal(c.setattr(fh, guard=(a.ctime, a.ctime_ns), size=5).status(), OK,
            "right guard")
    c.close()


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
    c.close()


@case(94, "cookies out of nowhere: an error or an end, never a loop",
      remote=FILES)
def cookies(w):
    c = w.nfs3()
    for cookie in ((1 << 64) - 1, 1 << 63, 12345, 3):
        for verf in (bytes(8), b"\xff" * 8):
            for _ in range(3):
                reply = c.readdir(w.root(), cookie=cookie, verf=verf)
                w.among(reply.status(), (OK, BAD_COOKIE, INVAL), str(cookie))
    c.close()


@case(95, "COMMIT of an overflowing range is the whole file", remote=FILES)
def commit_range(w):
    c, fh = scratch_file(w)
    for offset, count in ((2 * TOP - 1, 0xFFFFFFFF), (TOP - 1, 2), (5, 0)):
        w.equal(c.commit(fh, offset, count).status(), OK, str(offset))
    c.close()


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
    size = reply.results().take("6I")[5] if reply.status() == OK else None
    w.true(reply.status() == FBIG or size in (0x7FFFFFFF, 0xFFFFFFFF),
           f"5 GiB shown as {size}")
    c.close()
    c2.close()
    os.unlink(w.dir + "/rw/num")


