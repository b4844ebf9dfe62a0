# SPDX-License-Identifier: ISC
"""Names, links and races."""
import os
import threading
import time

from harness import FILES, case
from nfs import (ACCES, EXIST, FIFO, INVAL, LNK, NAMETOOLONG, NOENT, NOTDIR,
                 NOTEMPTY, OK, PERM, STALE, XDEV, listing, sattr2)
from rpc import Closed, opaque, u32

BAD_NAMES = (b"", b".", b"..", b"a/b", b"a\0b", b"/etc/passwd", b"../x")


@case(60, "LOOKUP takes one component", remote=FILES)
def lookup_paths(w):
    c = w.nfs3()
    for name in (b"sub/f", b"../outside", b"/etc/passwd", b"", b"..."):
        reply = c.lookup(w.root(), name)
        w.among(reply.status(), (ACCES, NOENT, INVAL), repr(name))
    c.close()


@case(61, "a name with NUL is refused, not cut", remote=FILES)
def nul_names(w):
    c = w.nfs3()
    w.among(c.lookup(w.root(), b"f\0x").status(), (INVAL, ACCES), "LOOKUP")
    w.among(c.create(w.root(), b"g\0x").status(), (INVAL, ACCES), "CREATE")
    w.true(not os.path.exists(w.dir + "/rw/g"), "the name was cut")
    c.close()


@case(62, "names of 255, 256, 4,000 and 2^32-1 bytes", remote=FILES)
def name_lengths(w):
    c = w.nfs3()
    w.equal(c.create(w.root(), b"n" * 255).status(), OK, "255")
    w.equal(c.remove(w.root(), b"n" * 255).status(), OK, "255 removed")
    for n in (256, 4000):
        reply = c.create(w.root(), b"n" * n)
        w.equal(reply.status(), NAMETOOLONG, str(n))
    reply = c.call("LOOKUP", opaque(w.root()) + u32(0xFFFFFFFF) + b"abcd")
    w.equal(reply.accept, 4, "2^32-1")
    c.close()


@case(63, "bad names in every name-taking procedure change nothing",
      remote=FILES)
def bad_names(w):
    c, c2 = w.nfs3(), w.nfs2()
    root = w.root()
    fh = c.lookup(root, "f").fh
    before = sorted(os.listdir(w.dir + "/rw"))
    for name in BAD_NAMES:
        for what, reply in (
                ("CREATE", c.create(root, name)),
                ("MKDIR", c.mkdir(root, name)),
                ("SYMLINK", c.symlink(root, name, "t")),
                ("MKNOD", c.mknod(root, name, FIFO)),
                ("REMOVE", c.remove(root, name)),
                ("RMDIR", c.rmdir(root, name)),
                ("RENAME from", c.rename(root, name, root, "zz")),
                ("RENAME to", c.rename(root, "f", root, name)),
                ("LINK", c.link(fh, root, name)),
                ("v2 CREATE", c2.create(root, name)),
                ("v2 REMOVE", c2.call("REMOVE", root + opaque(name))),
                ("v2 RMDIR", c2.call("RMDIR", root + opaque(name))),
                ("v2 MKDIR", c2.call("MKDIR", root + opaque(name) +
                                     sattr2(mode=0o755))),
                ("v2 SYMLINK", c2.call("SYMLINK", root + opaque(name) +
                                       opaque("t") + sattr2())),
                ("v2 LINK", c2.call("LINK", fh + root + opaque(name))),
                ("v2 RENAME", c2.call("RENAME", root + opaque(name) + root +
                                      opaque("zz")))):
            w.true(reply.status() not in (OK, None), f"{what} {name!r}")
    w.equal(sorted(os.listdir(w.dir + "/rw")), before, "directory")
    c.close()
    c2.close()


@case(64, "any other bytes are stored and listed exactly")
def odd_names(w):
    c = w.nfs3()
    names = [b"\xff\xfe", b"new\nline", b"\x01\x02\x7f", b"%s%n", b"\xc3("]
    for name in names:
        w.equal(c.create(w.root("all"), name).status(), OK, repr(name))
    have = {e.name for e in listing(c.readdir(w.root("all"))).entries}
    for name in names:
        w.true(name in have, f"{name!r} is not listed")
        w.equal(c.remove(w.root("all"), name).status(), OK, repr(name))
    c.close()


@case(65, "RENAME into itself, over the full, onto itself, across exports")
def renames(w):
    c = w.nfs3()
    root = w.root()
    a = c.mkdir(root, "ra").fh
    b = c.mkdir(a, "rb").fh
    c.mkdir(root, "full")
    c.create(c.lookup(root, "full").fh, "x")
    w.equal(c.rename(root, "ra", b, "rc").status(), INVAL, "descendant")
    w.among(c.rename(a, "rb", root, "full").status(), (NOTEMPTY, EXIST),
            "over a full directory")
    w.equal(c.rename(root, "f", root, "f").status(), OK, "onto itself")
    w.equal(c.rename(root, "f", w.root("all"), "f").status(), XDEV, "exports")
    for path in ("ra/rb", "ra"):
        os.rmdir(f"{w.dir}/rw/{path}")
    os.unlink(f"{w.dir}/rw/full/x")
    os.rmdir(f"{w.dir}/rw/full")
    c.close()


@case(66, "LINK of a directory, across exports, of what one may not read")
def links(w):
    c = w.nfs3()
    root = w.root()
    sub = c.lookup(root, "sub").fh
    w.true(c.link(sub, root, "hard").status() not in (OK, None), "directory")
    f = c.lookup(root, "f").fh
    w.equal(c.link(f, w.root("all"), "hard").status(), XDEV, "exports")
    private = c.lookup(root, "private").fh
    w.among(c.link(private, root, "hard").status(), (PERM, ACCES), "private")
    w.true(not os.path.lexists(w.dir + "/rw/hard"), "a link was made")
    c.close()


@case(67, "symbolic link targets of every length", remote=FILES)
def targets(w):
    c = w.nfs3()
    for n, wants in ((0, (INVAL, NOENT)), (4095, (OK, NAMETOOLONG)),
                     (4096, (NAMETOOLONG,)), (70000, (NAMETOOLONG, None))):
        name = f"sl{n}"
        reply = c.symlink(w.root(), name, b"t" * n)
        w.among(reply.status(), wants, f"{n} bytes")
        if reply.status() == OK:
            w.equal(len(os.readlink(f"{w.dir}/rw/{name}")), n, "verbatim")
            c.remove(w.root(), name)
    reply = c.symlink(w.root(), "slnul", b"a\0b")
    w.true(reply.status() != OK, "a target with NUL")
    c.close()


@case(68, "links to / and /etc and ../.. are never followed", remote=FILES)
def followed(w):
    c = w.nfs3()
    root = w.root()
    for i, target in enumerate(("/", "/etc", "../..", w.dir + "/outside")):
        name = f"ln{i}"
        fh = c.symlink(root, name, target).fh
        w.equal(c.getattr(fh).attr.type, LNK, "type")
        w.equal(c.lookup(fh, "passwd").status(), NOTDIR, "LOOKUP")
        w.equal(c.read(fh, 0, 10).status(), INVAL, "READ")
        w.equal(c.write(fh, 0, b"x").status(), INVAL, "WRITE")
        w.equal(c.readdir(fh).status(), NOTDIR, "READDIR")
        w.true(c.setattr(fh, mode=0o777).status() is not None, "SETATTR")
        c.remove(root, name)
    c.close()


def race(w, swap, unswap):
    """Local swapping against eight clients that create, write and remove."""
    end = time.monotonic() + (w.seconds if w.long else 3)
    trouble = []

    def client(number):
        c = w.nfs3(uid=1001, timeout=60)
        while time.monotonic() < end:
            try:
                found = c.lookup(w.root(), "racing")
                if found.status() != OK:
                    continue
                name = f"r{number}"
                made = c.create(found.fh, name)
                if made.status() == OK and made.fh:
                    c.write(made.fh, 0, b"x" * 64)
                    c.setattr(made.fh, mode=0o666)
                c.remove(found.fh, name)
                c.setattr(found.fh, mode=0o777)
            except (Closed, OSError) as e:
                trouble.append(repr(e))
                return
        c.close()

    threads = [threading.Thread(target=client, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    while time.monotonic() < end:
        swap()
        unswap()
    for t in threads:
        t.join()
    w.equal(trouble, [], "connections")


@case(69, "a directory swapped with a link to outside, under load",
      grows=True, remote=FILES)
def swap_race(w):
    base = w.dir + "/rw/"
    os.mkdir(base + "racing")
    os.chmod(base + "racing", 0o777)
    os.symlink(w.dir + "/outside", base + "decoy")

    def swap():
        os.rename(base + "racing", base + "parked")
        os.rename(base + "decoy", base + "racing")

    def unswap():
        os.rename(base + "racing", base + "decoy")
        os.rename(base + "parked", base + "racing")
    race(w, swap, unswap)
    os.unlink(base + "decoy")
    for name in os.listdir(base + "racing"):
        os.unlink(base + "racing/" + name)
    os.rmdir(base + "racing")


@case(70, "the subdirectory moved out and back, under load", grows=True,
      remote=FILES)
def move_race(w):
    inside, outside = w.dir + "/rw/racing", w.dir + "/elsewhere/racing"
    os.mkdir(inside)
    os.chmod(inside, 0o777)
    race(w, lambda: os.rename(inside, outside),
         lambda: os.rename(outside, inside))
    for name in os.listdir(inside):
        os.unlink(f"{inside}/{name}")
    os.rmdir(inside)


@case(71, "an open file removed or renamed over by another client",
      remote=FILES)
def removed_open(w):
    a, b = w.nfs3(), w.nfs3()
    root = w.root()
    fh = a.create(root, "open1").fh
    a.write(fh, 0, b"first")
    b.create(root, "open2")
    b.write(b.lookup(root, "open2").fh, 0, b"second")
    b.rename(root, "open2", root, "open1")
    reply = a.read(fh, 0, 100)
    w.true(reply.status() == STALE or reply.bytes == b"first",
           reply.describe())
    b.remove(root, "open1")
    a.close()
    b.close()
