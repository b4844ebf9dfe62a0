#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Sends what the NFS client of macOS sends (as its published source has it),
and says of each answer whether that client could go on with it.

    macos.py EXPORT     one line for each check: "pass TEXT" or "fail TEXT"

What is special about it: it asks ACCESS for all bits instead of GETATTR; makes
files EXCLUSIVE with its address and a counter as verifier and then sets mode,
owner and times at once; sends a LOOKUP of "._name" right behind each CREATE,
REMOVE, RENAME and RMDIR without waiting; lists with a dircount of 8 KiB and a
maxcount of its read size, and begins a listing with the verifier of the last
one; names are decomposed (NFD). Calls come from a plain user in 16 groups.
"""
import os
import struct
import sys
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "system"))
from nfs import Client, Failed, Reply, opaque  # noqa: E402

UID, GID = 1001, 1001
RSIZE = 32768
SETATTR, LOOKUP, WRITE, CREATE, REMOVE, RMDIR, RENAME = 2, 3, 7, 8, 12, 13, 14
NOENT, EXIST = 2, 17


def say(good, text):
    print("pass" if good else "fail", text, flush=True)


def place(directory, name):
    return opaque(directory) + opaque(name.encode())


def sattr(mode=None, ids=None, size=None, now=False):
    """sattr3: only what is given; times are the server's."""
    def given(value, fmt):
        return struct.pack(">I", 0) if value is None else \
            struct.pack(">I" + fmt, 1, value)
    uid, gid = ids or (None, None)
    return given(mode, "I") + given(uid, "I") + given(gid, "I") + \
        given(size, "Q") + struct.pack(">II", now, now)


class Mac(Client):
    """A client that pipelines."""

    def together(self, *calls):
        """Sends (procedure, body) without waiting; the statuses and replies
        in that order."""
        if self.sock is None:
            self.connect()
        sent, data = [], b""
        for proc, body in calls:
            msg = self.message(100003, 3, proc, body)
            sent.append(self.xid)
            data += struct.pack(">I", 0x80000000 | len(msg)) + msg
        self.sock.sendall(data)
        got = {}
        for _ in calls:
            n = struct.unpack(">I", self.exactly(4))[0] & 0x7FFFFFFF
            r = Reply(self.exactly(n))
            xid = r.u32()
            if [r.u32() for _ in range(5)] != [1, 0, 0, 0, 0]:
                raise Failed("not accepted")
            got[xid] = r
        return [(got[x].u32(), got[x]) for x in sent]

    def with_double(self, proc, body, directory, *names):
        """The call and a LOOKUP of each name's AppleDouble; the status of the
        call, and whether every double is missing."""
        results = self.together((proc, body), *(
            (LOOKUP, place(directory, "._" + n)) for n in names))
        return results[0], all(s == NOENT for s, _ in results[1:])

    def listing(self, directory, verifier=0):
        """Names by READDIRPLUS; (names, the last verifier, longest reply)."""
        names, cookie, eof, longest = [], 0, 0, 0
        while not eof:
            r = self.ok(17, opaque(directory) + struct.pack(
                ">QQII", cookie, verifier, 8192, RSIZE))
            longest = max(longest, len(r.data) - 28)
            r.post()
            verifier = r.u64()
            while r.u32():
                _, name, cookie = r.u64(), r.opaque(), r.u64()
                attributes, handle = r.post(), r.post_fh()
                names.append((name, attributes, handle))
            eof = r.u32()
        return names, verifier, longest


def port_of(prog, vers, proto):
    """GETPORT of the portmapper, as the mount asks."""
    c = Client(port=111, kind="udp")
    return c.call(3, struct.pack(">4I", prog, vers, proto, 0), vers=2,
                  prog=100000).u32()


def mounting(mac, export):
    say(port_of(100003, 3, 6) == 2049 and port_of(100005, 3, 17) == 20048,
        "the portmapper knows NFS and MOUNT")
    say(port_of(100021, 4, 17) == 0, "and no lock manager: nolocks is needed")
    root = mac.mnt(export)
    r = mac.ok(19, opaque(root))
    r.post()
    rtmax, rtpref, _, wtmax, wtpref, _, dtpref = [r.u32() for _ in range(7)]
    say(rtmax >= RSIZE and rtpref >= RSIZE and wtmax >= RSIZE and
        wtpref >= RSIZE and dtpref >= 8192, "FSINFO allows 32 KiB and more")
    r = mac.ok(20, opaque(root))
    r.post()
    _, name_max, no_trunc, _, insensitive, preserving = [
        r.u32() for _ in range(6)]
    say((name_max, no_trunc, insensitive, preserving) == (255, 1, 0, 1),
        "PATHCONF: 255 bytes, not cut, letter case counts and is kept")
    r = mac.ok(18, opaque(root))
    r.post()
    say(r.u64() >= r.u64() > 0, "FSSTAT tells space")
    return root


def access(mac, root):
    fh = mac.create(root, "own", 0o600)
    r = mac.ok(4, opaque(fh) + struct.pack(">I", 0x3F))
    attributes = r.post()
    say(attributes is not None and attributes["uid"] == UID,
        "ACCESS brings the attributes")
    say(r.u32() & 0x2F == 0x0D, "READ, MODIFY and EXTEND of an own file")
    r = mac.ok(4, opaque(root) + struct.pack(">I", 0x3F))
    r.post()
    say(r.u32() & 0x1F == 0x1F, "all of the directory")
    mac.remove(root, "own")


def creating(mac, root):
    how = struct.pack(">I", 2) + bytes([10, 0, 0, 7]) + struct.pack(">I", 41)
    (status, r), alone = mac.with_double(
        CREATE, place(root, "excl") + how, root, "excl")
    say(status == 0 and alone, "EXCLUSIVE, and ._excl is not there")
    fh = r.post_fh()
    (status, r), _ = mac.with_double(
        CREATE, place(root, "excl") + how, root, "excl")
    say(status == 0 and r.post_fh() == fh, "sent again it is the same file")
    mac.ok(SETATTR, opaque(fh) + sattr(0o644, (UID, GID), now=True) + bytes(4))
    a = mac.getattr(fh)
    say((a["mode"], a["uid"], a["gid"], a["size"]) == (0o644, UID, GID, 0),
        "then mode, owner, group and times in one SETATTR")
    (status, _), _ = mac.with_double(
        CREATE, place(root, "excl") + how[:-1] + b"\x55", root, "excl")
    say(status == EXIST, "another verifier finds it taken")
    (status, r), alone = mac.with_double(
        CREATE, place(root, "plain") + struct.pack(">I", 0) +
        sattr(0o640, (UID, GID)), root, "plain")
    say(status == 0 and alone and mac.getattr(r.post_fh())["mode"] == 0o640,
        "UNCHECKED with mode, owner and group")
    mac.remove(root, "plain")
    return fh


def doubles(mac, root, fh):
    side = mac.create(root, "._excl", 0o644)
    say(mac.write(side, 0, b"\0\5\x16\7" + bytes(4092), stable=0) == 4096 and
        mac.read(side, 0, 4) == b"\0\5\x16\7", "an AppleDouble file is a file")
    (status, _), _ = mac.with_double(
        RENAME, place(root, "excl") + place(root, "moved"), root, "moved")
    say(status == 0, "RENAME beside LOOKUP of the double")
    mac.rename(root, "._excl", root, "._moved")
    say(mac.lookup(root, "moved") == fh and
        mac.lookup(root, "._moved") == side, "both moved, handles kept")
    silly = ".nfs.2000a1b2.0001"
    mac.rename(root, "moved", root, silly)
    say(mac.read(fh, 0, 10) == b"", "a file removed while open is renamed")
    (status, _), _ = mac.with_double(REMOVE, place(root, silly), root, silly)
    mac.remove(root, "._moved")
    say(status == 0, "and removed when it is closed")


def writing(mac, root):
    fh = mac.create(root, "data", 0o644)
    data = os.urandom(32 * RSIZE)
    results = mac.together(*(
        (WRITE, opaque(fh) + struct.pack(">QII", at, RSIZE, 0) +
         opaque(data[at:at + RSIZE])) for at in range(0, len(data), RSIZE)))
    verifiers = set()
    for status, r in results:
        r.wcc()
        if status or r.u32() != RSIZE:
            return say(False, "32 unstable WRITEs at once")
        r.u32()
        verifiers.add(r.u64())
    mac.commit(fh)
    say(verifiers == {mac.verifier}, "32 WRITEs at once, COMMIT: one verifier")
    say(b"".join(mac.read(fh, at, RSIZE) for at in
                 range(0, len(data), RSIZE)) == data, "and every byte")
    mac.ok(SETATTR, opaque(fh) + sattr(size=5) + bytes(4))
    say(mac.read(fh, 0, RSIZE) == data[:5], "cut by SETATTR")
    mac.remove(root, "data")


def listing(mac, root):
    d = mac.mkdir(root, "many", 0o755)
    names = ["file %d" % i for i in range(700)]
    for n in names:
        mac.create(d, n, 0o644)
    got, verifier, longest = mac.listing(d)
    found = sorted(n.decode() for n, _, _ in got if n not in (b".", b".."))
    say(found == sorted(names), "READDIRPLUS lists 700 files once each")
    say(longest <= RSIZE, "in replies of no more than maxcount")
    say(all(a and h for n, a, h in got if n not in (b".", b"..")),
        "with attributes and handles")
    again, _, _ = mac.listing(d, verifier or 0x1234)
    say(len(again) == len(got), "again, with the verifier of the last one")
    for n in found:
        (status, _), _ = mac.with_double(REMOVE, place(d, n), d, n)
        if status:
            return say(False, "removing " + n)
    (status, _), _ = mac.with_double(RMDIR, place(root, "many"), root, "many")
    say(status == 0, "and all is removed, each with a LOOKUP of its double")


def naming(mac, root):
    composed = "Ünïcödé 曲 が.txt"
    name = unicodedata.normalize("NFD", composed)
    fh = mac.create(root, name, 0o644)
    say(mac.lookup(root, name) == fh, "a decomposed name is found")
    listed = [n for n, _, _ in mac.listing(root)[0]]
    say(name.encode() in listed, "and listed as it was given")
    try:
        mac.lookup(root, composed)
        say(False, "the composed one is another name")
    except Failed as e:
        say(str(e) == "NOENT", "the composed one is another name")
    mac.remove(root, name)
    finder = (".DS_Store", ".Spotlight-V100", "Icon\r", "a:b")
    made = [mac.create(root, n, 0o644) for n in finder]
    say(made == [mac.lookup(root, n) for n in finder],
        "names that Finder makes")
    for n in finder:
        mac.remove(root, n)


def main():
    groups = [GID, 1100] + list(range(2000, 2014))
    mac = Mac(uid=UID, gid=GID, gids=groups)
    root = mounting(mac, sys.argv[1])
    access(mac, root)
    doubles(mac, root, creating(mac, root))
    writing(mac, root)
    listing(mac, root)
    naming(mac, root)
    say(sorted(n for n, _, _ in mac.listing(root)[0]) == [b".", b".."],
        "nothing is left")


if __name__ == "__main__":
    main()
