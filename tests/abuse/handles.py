# SPDX-License-Identifier: ISC
"""Handles, and ways out of an export."""
import os
import signal

from harness import FILES, case
from nfs import (ACCES, BADHANDLE, INVAL, ISDIR, NFS, NOENT, NOTDIR, OK,
                 STALE, listing)
from process import eventually
from rpc import call, opaque, u32
from servers import Server, refuses_to_start

GONE = (BADHANDLE, STALE)


@case(46, "handles of every wrong length", remote=FILES)
def lengths(w):
    c = w.nfs3()
    for n in (0, 1, 10, 31, 33, 63, 64):
        reply = c.getattr((w.root() + bytes(64))[:n])
        w.true(reply.accept == 4 or reply.status() in GONE, f"length {n}")
    for n in (65, 0xFFFFFFFF):
        reply = c.call("GETATTR", u32(n) + bytes(68))
        w.equal(reply.accept, 4, f"length {n}")
    c.close()


@case(47, "random handles are refused, and cheap")
def random_handles(w):
    c = w.nfs3()
    count = 1000000 if w.long else 5000
    started = w.cpu()
    for reply in c.transport.pipeline(
            c.message("GETATTR", opaque(os.urandom(32)))
            for _ in range(count)):
        # One whose number is that of an export for others is refused first.
        w.true(reply.status() in (BADHANDLE, STALE, ACCES),
               "refused")
    each = (w.cpu() - started) / count
    c.close()
    w.true(each < 2e-5, f"{each * 1e6:.1f} us of CPU each")


@case(48, "every single bit of a valid handle flipped", remote=FILES)
def bit_flips(w):
    c, c2 = w.nfs3(), w.nfs2()
    fh = c.lookup(w.root(), "f").fh
    for bit in range(len(fh) * 8):
        bad = bytearray(fh)
        bad[bit // 8] ^= 1 << bit % 8
        # The first byte is version, kind, dialect and length.
        w.among(c.getattr(bytes(bad)).status(),
                GONE if bit < 8 else (STALE,), f"v3 bit {bit}")
        w.equal(c2.call("GETATTR", bytes(bad)).status(), STALE, f"v2 {bit}")
    c.close()
    c2.close()


@case(49, "handles rebuilt with an old tag", remote=FILES)
def rebuilt(w):
    c = w.nfs3()
    a, b = c.lookup(w.root(), "f").fh, c.lookup(w.root(), "big").fh
    for cut in range(4, 28):
        for mixed in (a[:cut] + b[cut:], b[:cut] + a[cut:]):
            if mixed not in (a, b):
                w.equal(c.getattr(mixed).status(), STALE, f"cut {cut}")
    c.close()


@case(50, "a read-only export's handle under another export's id")
def other_export_id(w):
    c = w.nfs3()
    fh, other = w.root("ro"), w.root("rw")
    w.equal(c.getattr(fh[:2] + other[2:4] + fh[4:]).status(), STALE, "id")
    c.close()


@case(51, "handles last over restarts, and end with their key", own=True)
def old_handles(w):
    with Server(w) as s:
        c = s.nfs3()
        root, fh = s.root(), c.lookup(s.root(), "f").fh
        c.close()
        for daemon in ("nfsd", "mountd"):
            w.equal(s.stop(daemon), 0, f"end of {daemon}")
            s.start_ready(daemon)
        c = s.nfs3()
        w.equal(c.read(fh, 0, 99).bytes, b"content\n", "after a restart")
        w.equal(c.getattr(root).status(), OK, "the root after a restart")
        c.close()
        for daemon in ("nfsd", "mountd"):
            s.stop(daemon)
        os.unlink(s.dir + "/key")
        for daemon in ("mountd", "nfsd"):
            s.start_ready(daemon)
        s.settle()
        c = s.nfs3()
        for old in (root, fh):
            w.equal(c.getattr(old).status(), STALE, "after a new key")
        w.true(s.root() != root, "the root has another handle")
        c.close()
        s.before = s.snapshot()


@case(52, "a deleted file whose inode is used again is STALE", remote=FILES)
def inode_reuse(w):
    c = w.nfs3()
    for i in range(50):
        fh = c.create(w.root(), "reuse").fh
        os.unlink(f"{w.dir}/rw/reuse")
        with open(f"{w.dir}/rw/reuse2", "w", encoding="ascii") as f:
            f.write("new")
        w.among(c.read(fh, 0, 100).status(), GONE, f"round {i}")
        os.unlink(f"{w.dir}/rw/reuse2")
    c.close()


@case(53, "a file moved out of the export: its handle leads to it or nowhere",
      remote=FILES)
def moved_out(w):
    c = w.nfs3()
    c.create(w.root(), "wander")
    fh = c.lookup(w.root(), "wander").fh
    moved = f"{w.dir}/elsewhere/wander"
    os.rename(f"{w.dir}/rw/wander", moved)
    try:
        own = os.stat(moved).st_ino
        for _ in range(2):  # the second time another file has its old name
            reply = c.getattr(fh)
            w.among(reply.status(), (OK,) + GONE, "the file that was moved")
            if reply.status() == OK:
                w.equal(reply.attr.fileid, own, "the file of the handle")
            other = c.create(w.root(), "wander")
            w.equal(other.status(), OK, "another file of its old name")
            w.true(other.fh != fh, "two files have one handle")
        for name in ("..", "../secret", "secret"):
            w.among(c.lookup(fh, name).status(), (NOTDIR,) + GONE,
                    f"LOOKUP of {name} in a file")
        w.equal(c.remove(w.root(), "wander").status(), OK, "the other file")
        w.equal(c.lookup(w.root(), "wander").status(), NOENT, "its old name")
        w.true(os.path.exists(moved), "the file that was moved is removed")
    finally:
        os.unlink(moved)
        c.close()


@case(54, "a directory moved out: not entered, .. is not the new parent",
      remote=FILES)
def moved_directory(w):
    c = w.nfs3()
    c.mkdir(w.root(), "walk")
    inner = c.mkdir(c.lookup(w.root(), "walk").fh, "inner").fh
    walk = c.lookup(w.root(), "walk").fh
    os.rename(f"{w.dir}/rw/walk", f"{w.dir}/elsewhere/walk")
    try:
        secret = os.stat(f"{w.dir}/elsewhere").st_ino
        for fh in (walk, inner):
            for _ in range(4):
                up = c.lookup(fh, "..")
                if up.status() != OK:
                    break
                w.true(up.attr.fileid != secret, "reached the new parent")
                w.true(c.lookup(up.fh, "secret").status() != OK, "a secret")
                fh = up.fh
        for fh in (walk, inner) if not w.remote else ():
            # A worker may believe for a second that it lies inside.
            w.true(eventually(lambda f=fh: all(
                c.getattr(f).status() in GONE for _ in range(8)), 10),
                "it is still served")
            for status in (c.lookup(fh, "inner").status(),
                           c.create(fh, "made").status(),
                           c.readdirplus(fh).status()):
                w.among(status, GONE, "a use of it")
    finally:
        os.rename(f"{w.dir}/elsewhere/walk", f"{w.dir}/rw/walk")
        os.rmdir(f"{w.dir}/rw/walk/inner")
        os.rmdir(f"{w.dir}/rw/walk")
        c.close()


@case(55, ".. at the root and at depth 1 is the root", remote=FILES)
def parents(w):
    c = w.nfs3()
    root = w.root()
    own = c.getattr(root).attr.fileid
    w.equal(c.lookup(root, "..").attr.fileid, own, "at the root")
    sub = c.lookup(root, "sub").fh
    w.equal(c.lookup(sub, "..").attr.fileid, own, "at depth 1")
    w.equal(c.lookup(root, ".").attr.fileid, own, "dot")
    c.close()


@case(56, "READDIR and READDIRPLUS at the root show nothing above it",
      remote=FILES)
def root_listing(w):
    c = w.nfs3()
    own = c.getattr(w.root()).attr.fileid
    for reply, plus in ((c.readdir(w.root()), False),
                        (c.readdirplus(w.root()), True)):
        for e in listing(reply, plus).entries:
            if e.name in (b".", b".."):
                w.equal(e.fileid, own, f"fileid of {e.name!r}, plus {plus}")
            if e.name == b".." and e.fh:
                w.equal(c.getattr(e.fh).attr.fileid, own, "handle of ..")
    c.close()


@case(57, "a filesystem mounted inside the export is not entered", remote=FILES)
def inner_mount(w):
    c = w.nfs3()
    reply = c.lookup(w.root(), "mnt")
    if reply.status() == OK:
        w.among(c.lookup(reply.fh, "foreign").status(),
                (NOENT, ACCES, STALE), "a file of the other filesystem")
    c.close()


@case(58, "every operation on every wrong type", remote=FILES)
def wrong_types(w):
    c = w.nfs3()
    root = w.root()
    kinds = {k: c.lookup(root, k).fh for k in ("f", "link", "fifo", "sock")}
    kinds["dir"] = c.lookup(root, "sub").fh
    for kind, fh in kinds.items():
        if kind != "dir":
            w.equal(c.lookup(fh, "x").status(), NOTDIR, f"LOOKUP {kind}")
            w.equal(c.readdir(fh).status(), NOTDIR, f"READDIR {kind}")
            w.equal(c.readdirplus(fh).status(), NOTDIR, f"PLUS {kind}")
            w.equal(c.create(fh, "x").status(), NOTDIR, f"CREATE {kind}")
        if kind != "f":
            want = (ISDIR, INVAL) if kind == "dir" else (INVAL,)
            w.among(c.read(fh, 0, 10).status(), want, f"READ {kind}")
            w.among(c.write(fh, 0, b"x").status(), want, f"WRITE {kind}")
            w.among(c.commit(fh).status(), want, f"COMMIT {kind}")
            w.among(c.setattr(fh, size=0).status(), want, f"truncate {kind}")
        if kind != "link":
            w.equal(c.readlink(fh).status(), INVAL, f"READLINK {kind}")
    c.close()


@case(59, "an export that asks for TLS is not served in clear text", own=True)
def tls_only(w):
    asks = "{d}/rw 127.0.0.0/8(rw,insecure,xprtsec=mtls)"
    with Server(w) as s:
        plain = asks.format(d=s.dir)
        with s.tcp(NFS) as t:  # AUTH_TLS of RFC 9289: no STARTTLS
            reply = t.rpc(call(NFS, 3, 0, cred=u32(7, 0)))
            w.true(reply.stat == 1 or reply.verf != b"STARTTLS", "AUTH_TLS")
        s.write_exports(plain)
        # Only nfsd knows whether it has a certificate.
        said = refuses_to_start(w, "nfsd", (
            "-R", "-f", s.dir + "/exports", "-k", s.dir + "/key"), status=78)
        w.true("xprtsec" in said, f"nfsd says {said[-200:]}")
        s.processes["nfsd"].send_signal(signal.SIGHUP)
        w.true(eventually(lambda: "not reloaded" in s.log("nfsd")),
               "nfsd takes the file")
        w.true(s.works(), "the old exports stay active")
