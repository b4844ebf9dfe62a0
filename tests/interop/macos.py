#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Sends the calls of macOS's NFS client, taken from its published source, and
checks that the client could go on with each reply.

    macos.py EXPORT     one line for each check: "pass TEXT" or "fail TEXT"

The client asks ACCESS for all bits instead of GETATTR. It makes files EXCLUSIVE
with its address and a counter as verifier, then sets mode, owner and times at
once. Right behind each CREATE, REMOVE, RENAME and RMDIR it sends a LOOKUP of
"._name" without waiting. It lists with a dircount of 8 KiB and a maxcount of
its read size, and begins a listing with the verifier of the last one. Names are
decomposed (NFD). Calls come from a plain user in 16 groups.
"""
import os
import sys
import unicodedata

import mount
import pmap
from mount import MOUNT
from nfs import (EXCLUSIVE, EXIST, NFS, NOENT, OK, PORT, STATUS_NAMES,
                 TIMEOUT, UNCHECKED, UNSTABLE, Nfs3, listing, post_attr,
                 post_fh, sattr3, write_args, wrote)
from pmap import TCP, UDP
from process import eventually
from rpc import Failed, opaque, tcp, u32, udp

UID, GID = 1001, 1001
RSIZE = 32768
LOCKS = 100021


def say(good, text):
    print("pass" if good else "fail", text, flush=True)


def place(directory, name):
    return opaque(directory) + opaque(name)


class Mac(Nfs3):
    """A client that pipelines; the calls it waits for must succeed."""

    def __init__(self, transport, groups):
        super().__init__(transport, UID, GID, groups, strict=True)

    def together(self, *calls):
        """Pipelines calls of (procedure, arguments). Returns the replies in
        that order."""
        messages = [self.message(name, args) for name, args in calls]
        got = {r.data[:4]: r for r in self.transport.together(messages)}
        replies = [got[m[:4]] for m in messages]
        if any(r.accept != 0 for r in replies):
            raise Failed("not accepted")
        return replies

    def with_double(self, name, args, directory, *names):
        """Pipelines the call and a LOOKUP of each name's AppleDouble. Returns
        the reply to the call, and whether all doubles are missing."""
        reply, *doubles = self.together((name, args), *(
            ("LOOKUP", place(directory, "._" + n)) for n in names))
        return reply, all(r.status() == NOENT for r in doubles)

    def listing(self, directory, verf=bytes(8)):
        """Entries by READDIRPLUS; (entries, the last verifier, longest
        reply)."""
        entries, cookie, eof, longest = [], 0, False, 0
        while not eof:
            reply = self.readdirplus(directory, cookie, verf, 8192, RSIZE)
            longest = max(longest, len(reply.rest) - 4)
            verf, found, eof = listing(reply, plus=True)
            entries += found
            cookie = entries[-1].cookie
        return entries, verf, longest


def port_of(prog, vers, proto):
    """GETPORT of the portmapper, as the mount asks."""
    with udp(pmap.PORT) as t:
        return pmap.getport(t, prog, vers, proto)


def made(reply):
    """The handle in the results of CREATE."""
    return post_fh(reply.results())


def mounting(mac, export):
    say(port_of(NFS, 3, TCP) == 2049 and port_of(MOUNT, 3, UDP) == 20048,
        "the portmapper knows NFS and MOUNT")
    say(eventually(lambda: port_of(LOCKS, 4, UDP)),
        "the portmapper knows the lock manager")
    root = mount.root(export, mac.cred)
    c = mac.call("FSINFO", opaque(root)).results()
    post_attr(c)
    rtmax, rtpref, _, wtmax, wtpref, _, dtpref = c.take("7I")
    say(rtmax >= RSIZE and rtpref >= RSIZE and wtmax >= RSIZE and
        wtpref >= RSIZE and dtpref >= 8192, "FSINFO permits 32 KiB and more")
    c = mac.call("PATHCONF", opaque(root)).results()
    post_attr(c)
    _, name_max, no_trunc, _, insensitive, preserving = c.take("6I")
    say((name_max, no_trunc, insensitive, preserving) == (255, 1, 0, 1),
        "PATHCONF: names of 255 bytes, not truncated, case sensitive")
    c = mac.call("FSSTAT", opaque(root)).results()
    post_attr(c)
    say(c.u64() >= c.u64() > 0, "FSSTAT reports space")
    return root


def access(mac, root):
    reply = mac.access(mac.create(root, "own", mode=0o600).fh, 0x3F)
    say(reply.attr is not None and reply.attr.uid == UID,
        "ACCESS returns the attributes")
    say(reply.granted & 0x2F == 0x0D,
        "ACCESS grants READ, MODIFY and EXTEND of the caller's file")
    say(mac.access(root, 0x3F).granted & 0x1F == 0x1F,
        "ACCESS grants all rights of the directory")
    mac.remove(root, "own")


def creating(mac, root):
    how = u32(EXCLUSIVE) + bytes([10, 0, 0, 7]) + u32(41)
    reply, alone = mac.with_double(
        "CREATE", place(root, "excl") + how, root, "excl")
    say(reply.status() == OK and alone,
        "EXCLUSIVE makes a file, and ._excl does not exist")
    fh = made(reply)
    reply, _ = mac.with_double(
        "CREATE", place(root, "excl") + how, root, "excl")
    say(reply.status() == OK and made(reply) == fh,
        "a repeated EXCLUSIVE gets the same file")
    mac.setattr(fh, mode=0o644, uid=UID, gid=GID, atime="now", mtime="now")
    a = mac.getattr(fh).attr
    say((a.mode, a.uid, a.gid, a.size) == (0o644, UID, GID, 0),
        "one SETATTR sets mode, owner, group and times")
    reply, _ = mac.with_double(
        "CREATE", place(root, "excl") + how[:-1] + b"\x55", root, "excl")
    say(reply.status() == EXIST, "EXCLUSIVE with another verifier gets EXIST")
    reply, alone = mac.with_double(
        "CREATE", place(root, "plain") + u32(UNCHECKED) +
        sattr3(0o640, UID, GID), root, "plain")
    say(reply.status() == OK and alone and
        mac.getattr(made(reply)).attr.mode == 0o640,
        "UNCHECKED sets mode, owner and group")
    mac.remove(root, "plain")
    return fh


def doubles(mac, root, fh):
    side, magic = mac.create(root, "._excl").fh, b"\0\5\x16\7"
    say(mac.write(side, 0, magic + bytes(4092), UNSTABLE).count == 4096 and
        mac.read(side, 0, 4).bytes == magic,
        "an AppleDouble file is written and read")
    reply, _ = mac.with_double(
        "RENAME", place(root, "excl") + place(root, "moved"), root, "moved")
    say(reply.status() == OK,
        "RENAME pipelined with LOOKUP of the AppleDouble succeeds")
    mac.rename(root, "._excl", root, "._moved")
    say(mac.lookup(root, "moved").fh == fh and
        mac.lookup(root, "._moved").fh == side, "both files keep their handles")
    silly = ".nfs.2000a1b2.0001"
    mac.rename(root, "moved", root, silly)
    say(mac.read(fh, 0, 10).bytes == b"",
        "a file removed while open is renamed")
    reply, _ = mac.with_double("REMOVE", place(root, silly), root, silly)
    mac.remove(root, "._moved")
    say(reply.status() == OK, "it is removed when it is closed")


def writing(mac, root):
    fh = mac.create(root, "data").fh
    data = os.urandom(32 * RSIZE)
    replies = mac.together(*(
        ("WRITE", write_args(fh, at, data[at:at + RSIZE], UNSTABLE))
        for at in range(0, len(data), RSIZE)))
    for reply in map(wrote, replies):
        reply.need(STATUS_NAMES)
        if reply.count != RSIZE:
            raise Failed("a short WRITE")
    say({r.verf3 for r in replies} == {mac.commit(fh).verf3},
        "32 pipelined WRITEs and COMMIT have one verifier")
    say(b"".join(mac.read(fh, at, RSIZE).bytes for at in
                 range(0, len(data), RSIZE)) == data, "every byte is read back")
    mac.setattr(fh, size=5)
    say(mac.read(fh, 0, RSIZE).bytes == data[:5], "SETATTR truncates a file")
    mac.remove(root, "data")


def listings(mac, root):
    d = mac.mkdir(root, "many").fh
    names = [f"file {i}" for i in range(700)]
    for n in names:
        mac.create(d, n)
    got, verf, longest = mac.listing(d)
    files = [e for e in got if e.name not in (b".", b"..")]
    found = sorted(e.name.decode() for e in files)
    say(found == sorted(names), "READDIRPLUS lists 700 files once each")
    say(longest <= RSIZE, "its replies are no longer than maxcount")
    say(all(e.attr and e.fh for e in files),
        "every entry has attributes and a handle")
    again, _, _ = mac.listing(d, verf if any(verf) else b"\0" * 6 + b"\x12\x34")
    say(len(again) == len(got),
        "a second listing with the verifier of the first is complete")
    for n in found:
        reply, _ = mac.with_double("REMOVE", place(d, n), d, n)
        reply.need(STATUS_NAMES)
    reply, _ = mac.with_double("RMDIR", place(root, "many"), root, "many")
    say(reply.status() == OK,
        "all files are removed, each with a LOOKUP of its AppleDouble")


def naming(mac, root):
    composed = "Ünïcödé 曲 が.txt"
    name = unicodedata.normalize("NFD", composed)
    fh = mac.create(root, name).fh
    say(mac.lookup(root, name).fh == fh, "a decomposed name is found")
    listed = [e.name for e in mac.listing(root)[0]]
    say(name.encode() in listed, "a decomposed name is listed unchanged")
    try:
        mac.lookup(root, composed)
        say(False, "the composed name is another name")
    except Failed as e:
        say(str(e) == "NOENT", "the composed name is another name")
    mac.remove(root, name)
    finder = (".DS_Store", ".Spotlight-V100", "Icon\r", "a:b")
    handles = [mac.create(root, n).fh for n in finder]
    say(handles == [mac.lookup(root, n).fh for n in finder],
        "names of Finder's files are accepted")
    for n in finder:
        mac.remove(root, n)


def main():
    groups = [GID, 1100] + list(range(2000, 2014))
    mac = Mac(tcp(PORT, timeout=TIMEOUT), groups)
    root = mounting(mac, sys.argv[1])
    access(mac, root)
    doubles(mac, root, creating(mac, root))
    writing(mac, root)
    listings(mac, root)
    naming(mac, root)
    say(sorted(e.name for e in mac.listing(root)[0]) == [b".", b".."],
        "the directory is empty at the end")


if __name__ == "__main__":
    main()
