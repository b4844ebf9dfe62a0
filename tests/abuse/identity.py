# SPDX-License-Identifier: ISC
"""Users, groups, modes and ACLs."""
import os
import stat
import subprocess
import threading

from faults import Trouble
from harness import FILES, case
from nfs import (ACCES, BLK, CHR, EXCLUSIVE, FIFO, INVAL, NOTSUPP, OK, PERM,
                 ROFS, SOCK, UNCHECKED, sattr2, sattr3)
from rpc import AUTH_SYS, auth_sys, opaque, u32
from servers import Server, refuses_to_start

REFUSED = (ACCES, PERM)


def owner(w, path):
    st = os.lstat(f"{w.dir}/{path}")
    return st.st_uid, st.st_gid


@case(72, "uid 0 acts as the anonymous user under root_squash", remote=FILES)
def root_squashed(w):
    c = w.nfs3(uid=0, gid=0)
    root = w.root()
    for name, make in (("q1", lambda: c.create(root, "q1")),
                       ("q2", lambda: c.mkdir(root, "q2")),
                       ("q3", lambda: c.symlink(root, "q3", "t")),
                       ("q4", lambda: c.mknod(root, "q4", FIFO))):
        w.equal(make().status(), OK, name)
        w.equal(owner(w, "rw/" + name)[0], 65534, name)
        (c.rmdir if name == "q2" else c.remove)(root, name)
    private = c.lookup(root, "private").fh
    w.equal(c.read(private, 0, 10).status(), ACCES, "READ of 0600")
    w.equal(c.write(private, 0, b"x").status(), ACCES, "WRITE of 0600")
    w.among(c.setattr(private, mode=0o777).status(), REFUSED, "chmod")
    w.equal(c.lookup(c.lookup(root, "hidden").fh, "inner").status(), ACCES,
            "LOOKUP in 0700")
    c.close()


@case(73, "gid 0, first or in the list, gives nothing of root's group",
      remote=FILES)
def root_group(w):
    for gid, groups in ((0, ()), (1001, (0,)), (1001, (5, 0, 5, 3, 0)),
                        (65534, (0, 65534))):
        c = w.nfs3(uid=1001, gid=gid, groups=groups)
        fh = c.lookup(w.root(), "rootgroup").fh
        w.equal(c.read(fh, 0, 10).status(), ACCES, f"gid {gid} {groups}")
        c.close()


@case(74, "uids at the edges: that uid or refused, never root", remote=FILES)
def edge_uids(w):
    for uid in (65535, 65536, 1 << 17, 1 << 31, (1 << 32) - 2, (1 << 32) - 1):
        c = w.nfs3(uid=uid, gid=uid)
        reply = c.create(w.root(), "edge")
        if reply.status() == OK:
            w.among(owner(w, "rw/edge")[0], (uid, 65534), f"uid {uid}")
            os.unlink(w.dir + "/rw/edge")
        private = c.lookup(w.root(), "private")
        if private.status() == OK:
            w.equal(c.read(private.fh, 0, 9).status(), ACCES, f"uid {uid}")
        c.close()


@case(75, "below the lowest permitted uid: the anonymous user")
def lowest_uid(w):
    for export, uid, want in (("rw", 0, 65534), ("rw", 1, 1), ("all", 1, 65534),
                              ("all", 1001, 65534)):
        c = w.nfs3(uid=uid, gid=uid)
        w.equal(c.create(w.root(export), "low").status(), OK, f"uid {uid}")
        w.equal(owner(w, export + "/low"), (want, want),
                f"uid {uid} in {export}")
        os.unlink(f"{w.dir}/{export}/low")
        c.close()
    # A minimum that Tern does not enforce is refused, not ignored.
    path = w.dir + "/exports.minimum"
    with open(path, "w", encoding="ascii") as f:
        f.write(f"{w.dir}/rw 127.0.0.1(rw,minuid=1000)\n")
    for daemon in ("mountd", "nfsd"):
        said = refuses_to_start(w, daemon, ("-R", "-f", path, "-k",
                                            w.dir + "/key"), status=78)
        w.true("minuid" in said, f"{daemon} says {said[-200:]}")


@case(76, "when an identity cannot be taken the request fails", own=True)
def failing_identity(w):
    with Server(w) as s:
        private = s.dir + "/rw/owned"
        with open(private, "w", encoding="ascii") as f:
            f.write("mine")
        os.chown(private, 1001, 1001)
        os.chmod(private, 0o600)
        fh = s.nfs3().lookup(s.root(), "owned").fh
        for role in ("worker", "broker"):
            for what in ("setgroups:error=EPERM", "setfsgid:retval=0",
                         "setfsuid:retval=0", "setfsuid:retval=1001",
                         "setgroups:error=ENOMEM:when=1",
                         "setfsuid:retval=0:when=1"):
                take_turns(w, s, s.role("nfsd", role), what, fh)


def take_turns(w, s, pid, what, fh):
    """1001 works, then 1002 while the worker cannot become 1002, then both."""
    holder, other = s.nfs3(uid=1001), s.nfs3(uid=1002, gid=1002)
    path = s.dir + "/rw/turn"
    w.equal(holder.write(fh, 0, b"mine").status(), OK, "the owner's")
    with Trouble(pid, what):
        made = other.create(s.root(), "turn").status()
        wrote = other.write(fh, 0, b"evil").status()
        read = other.read(fh, 0, 4).status()
    w.true(wrote not in (OK, None) and read not in (OK, None),
           f"{what}: another has the file: {wrote} {read}")
    with open(s.dir + "/rw/owned", encoding="ascii") as f:
        w.equal(f.read(), "mine", f"{what}: the file")
    if os.path.exists(path):
        w.equal(os.stat(path).st_uid, 1002, f"{what}: owner of the new file")
        os.unlink(path)
    else:
        w.true(made not in (OK, None), f"{what}: CREATE says {made}")
    w.equal(other.create(s.root(), "turn").status(), OK, f"after {what}")
    w.equal(os.stat(path).st_uid, 1002, f"owner after {what}")
    os.unlink(path)
    holder.close()
    other.close()


@case(77, "two users in turn: every file has the right owner", grows=True)
def alternating(w):
    count = 2000 if w.long else 100
    problems = []

    def work(number):
        pair = [w.nfs3(uid=u, gid=u) for u in (1001, 1002)]
        shared = pair[0].transport
        for i in range(count):
            c = pair[i % 2]
            c.transport = shared
            name = f"alt-{number}-{i}"
            c.create(w.root(), name)
            if owner(w, "rw/" + name)[0] != 1001 + i % 2:
                problems.append(name)
            c.remove(w.root(), name)
        shared.close()
    threads = [threading.Thread(target=work, args=(n,))
               for n in range(64 if w.long else 8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    w.equal(problems, [], "wrong owners")


@case(78, "a malformed credential right after a good one inherits nothing",
      remote=FILES)
def no_inheritance(w):
    c = w.nfs3(uid=1001)
    args = opaque(w.root()) + opaque("inherit") + u32(UNCHECKED) + sattr3()
    c.getattr(w.root())
    bad = u32(AUTH_SYS) + opaque(u32(1) + opaque(b"n") + u32(1001))
    reply = c.call("CREATE", args, cred=bad)
    w.equal((reply.stat, reply.reject, reply.why), (1, 1, 1), "BADCRED")
    w.true(not os.path.exists(w.dir + "/rw/inherit"), "it was created")
    c.close()


@case(79, "owners cannot give files away; others cannot take them",
      remote=FILES)
def chown(w):
    c, other = w.nfs3(uid=1001), w.nfs3(uid=1002, gid=1002)
    fh = c.create(w.root(), "mine").fh
    for attrs in ({"uid": 0}, {"uid": 1002}, {"gid": 0}, {"gid": 1002}):
        w.among(c.setattr(fh, **attrs).status(), REFUSED, f"owner {attrs}")
    for attrs in ({"uid": 1002}, {"gid": 1002}, {"mode": 0o777}):
        w.among(other.setattr(fh, **attrs).status(), REFUSED, f"other {attrs}")
    w.equal(owner(w, "rw/mine"), (1001, 1001), "owner")
    c.remove(w.root(), "mine")
    c.close()
    other.close()


@case(80, "set-id bits of files are refused, and nothing is half done",
      remote=FILES)
def set_id(w):
    path = w.dir + "/rw/sid"
    for uid in (0, 1001):
        c = w.nfs3(uid=uid, gid=uid)
        for mode in (0o4755, 0o2755, 0o6777, 0o7777, 0o177777):
            reply = c.create(w.root(), "sid", mode=mode)
            w.equal(reply.status(), PERM, oct(mode))
            w.true(not os.path.exists(path), "it was created")
            fh = c.create(w.root(), "sid", mode=0o755).fh
            w.equal(c.setattr(fh, mode=mode, size=5).status(), PERM,
                    oct(mode))
            st = os.stat(path)
            w.equal((stat.S_IMODE(st.st_mode), st.st_size), (0o755, 0),
                    "mode and size")
            c.remove(w.root(), "sid")
        c.close()


@case(81, "device nodes are refused, pipes and sockets are not", remote=FILES)
def nodes(w):
    for uid in (0, 1001):
        c = w.nfs3(uid=uid, gid=uid)
        for kind in (BLK, CHR):
            for rdev in ((0, 0), (1, 3), (0xFFFFFFFF, 0xFFFFFFFF)):
                reply = c.mknod(w.root(), "dev", kind, rdev)
                w.among(reply.status(), (PERM, ACCES, NOTSUPP, INVAL),
                        f"uid {uid} type {kind} {rdev}")
        for kind in (SOCK, FIFO):
            w.equal(c.mknod(w.root(), "node", kind).status(), OK, "pipe")
            c.remove(w.root(), "node")
        c.close()


@case(82, "the owner writes a 0444 and reads a 0200 file, others do not",
      remote=FILES)
def owner_override(w):
    c, other = w.nfs3(uid=1001), w.nfs3(uid=1002, gid=1002)
    fh = c.create(w.root(), "own", mode=0o444).fh
    w.equal(c.write(fh, 0, b"mine").status(), OK, "owner writes 0444")
    w.equal(other.write(fh, 0, b"not").status(), ACCES, "other writes")
    c.setattr(fh, mode=0o200)
    w.equal(other.read(fh, 0, 9).status(), ACCES, "other reads 0200")
    w.equal(c.read(fh, 0, 9).bytes, b"mine", "owner reads 0200")
    c.remove(w.root(), "own")
    c.close()
    other.close()


@case(83, "ACLs decide, whatever the mode says", remote=FILES)
def acls(w):
    path = w.dir + "/rw/acl"
    with open(path, "w", encoding="ascii") as f:
        f.write("text")
    subprocess.run(["setfacl", "-m", "u:1001:---,o::r--", path], check=True)
    c, other = w.nfs3(uid=1001), w.nfs3(uid=1002, gid=1002)
    fh = c.lookup(w.root(), "acl").fh
    w.equal(c.read(fh, 0, 9).status(), ACCES, "denied by ACL")
    w.equal(c.access(fh, 1).granted, 0, "ACCESS tells so")
    w.equal(other.read(fh, 0, 9).status(), OK, "others by mode")
    subprocess.run(["setfacl", "-m", "u:1001:rw-", path], check=True)
    w.equal(c.write(fh, 0, b"more").status(), OK, "granted by ACL")
    os.unlink(path)
    c.close()
    other.close()


@case(84, "nothing changes on a read-only export")
def read_only(w):
    c = w.nfs3(uid=0, gid=0)
    c2 = w.nfs2(uid=0, gid=0)
    root = w.root("ro")
    fh = c.lookup(root, "f").fh
    for what, reply in (
            ("SETATTR", c.setattr(fh, mode=0o777)),
            ("atime", c.setattr(fh, atime="now")),
            ("WRITE", c.write(fh, 0, b"x")),
            ("CREATE", c.create(root, "n")),
            ("EXCLUSIVE", c.create(root, "n", how=EXCLUSIVE,
                                   verf=bytes(8))),
            ("MKDIR", c.mkdir(root, "n")),
            ("SYMLINK", c.symlink(root, "n", "t")),
            ("MKNOD", c.mknod(root, "n", FIFO)),
            ("REMOVE", c.remove(root, "f")),
            ("RMDIR", c.rmdir(root, "sub")),
            ("RENAME", c.rename(root, "f", root, "g")),
            ("LINK", c.link(fh, root, "n")),
            ("v2 WRITE", c2.call("WRITE", fh + u32(0, 0, 0) + opaque(b"x"))),
            ("v2 CREATE", c2.create(root, "n")),
            ("v2 REMOVE", c2.call("REMOVE", root + opaque("f"))),
            ("v2 SETATTR", c2.call("SETATTR", fh + sattr2(mode=0o777)))):
        w.equal(reply.status(), ROFS, what)
    w.equal(c.commit(fh).status(), OK, "COMMIT has nothing to do")
    c.close()
    c2.close()


@case(85, "10,000 uids against a 0700 directory: ACCES each", remote=FILES)
def spray(w):
    c = w.nfs3()
    fh = c.lookup(w.root(), "hidden").fh
    for uid in range(2000, 12000 if w.long else 3000):
        reply = c.call("LOOKUP", opaque(fh) + opaque("inner"),
                       cred=auth_sys(uid, uid))
        w.equal(reply.status(), ACCES, f"uid {uid}")
    c.close()


@case(161, "quotas of others, and ACLs of 10,000 entries, are refused",
      remote=FILES)
def quotas(w):
    c = w.nfs3(uid=1001)
    path = w.dir + "/rw"
    for number in (0, 1002, 65534, 2**31, 2**32 - 1):
        for group in (False, True):
            w.equal(c.quota(path, number, group).word, "EPERM",
                    f"quota of {'group' if group else 'user'} {number}")
    for place in (path, path + "/x" * 200, path + "/../../etc"):
        w.equal(c.quota(place, 1001).word, "NOQUOTA", f"quota in {place}")
    for place in ("", "/", "rw", path[:-1], path + "x", "/etc", "\0" * 1024):
        w.equal(c.quota(place, 1001).word, "NOQUOTA", "no such export")
    w.equal(c.quota("/" * 1025, 1001).word, "DENIED", "a path of 1,025 bytes")
    fh = c.create(w.root(), "listed").fh
    many = [(2, n, 4) for n in range(10000)]
    w.equal(c.setacl(fh, many).status(), INVAL, "an ACL of 10,000 entries")
    w.equal(len(c.getacl(fh).entries), 4, "and none was set")
    c.remove(w.root(), "listed")
    c.close()
