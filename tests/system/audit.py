#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Changes for the audit, and what the log must say of them.

    audit.py changes EXPORT READ-ONLY-EXPORT   each procedure, done and refused
    audit.py flood EXPORT COUNT                many changes at once
    audit.py slowest EXPORT SECONDS            the slowest of other calls, in ms
    audit.py journal SOCKET                    prints each entry that it gets

changes prints one extended regular expression for each line that must be in the
log, in this order, and nothing else may be. The paths are those of the exports.
"""
import json
import re
import socket
import sys
import time

import mount
import nfs
from nfs import PORT, UNSTABLE, Nfs2, sattr2, sattr3
from rpc import opaque, tcp, u32

ODD = b'a "b"\n\\c'
SHOWN = r"a \\042b\\042\\012\\134c"


class Expected:
    """Makes calls, and prints the lines that they must leave."""

    def __init__(self, export, uid, acts):
        self.path, self.uid, self.acts = export, uid, acts

    def line(self, reply, name, path, rest="", to=None):
        status = nfs.STATUS_NAMES[reply.status()]
        at = re.escape(self.path) + path
        tail = "" if to is None else f' to="{re.escape(self.path)}{to}"'
        print(f"audit: {name} {status} client=127\\.0\\.0\\.1:[0-9]+ "
              f'uid={self.uid} as={self.acts}{rest} path="{at}"{tail}$')
        return reply


def version3(e, c, top):
    sub = e.line(c.mkdir(top, "dir"), "MKDIR", "/dir").fh
    e.line(c.mkdir(top, "dir"), "MKDIR", "/dir")  # EXIST
    fh = e.line(c.create(sub, ODD), "CREATE", "/dir/" + SHOWN).fh
    e.line(c.symlink(sub, "link", "x"), "SYMLINK", "/dir/link")
    e.line(c.mknod(sub, "fifo", 7), "MKNOD", "/dir/fifo")
    e.line(c.setattr(fh, mode=0o600, size=5), "SETATTR", "/dir/" + SHOWN,
           " mode=0600 size=5")
    e.line(c.setattr(sub, mtime="now"), "SETATTR", "/dir", " times")
    e.line(c.setattr(fh, uid=77), "SETATTR", "/dir/" + SHOWN, " owner=77")
    c.write(fh, 0, b"data")
    e.line(c.link(fh, top, "hard"), "LINK", "/dir/" + SHOWN, to="/hard")
    e.line(c.rename(top, "hard", sub, "new"), "RENAME", "/hard", to="/dir/new")
    e.line(c.rename(top, "none", sub, "new"), "RENAME", "/none", to="/dir/new")
    e.line(c.remove(sub, "new"), "REMOVE", "/dir/new")
    e.line(c.remove(sub, "new"), "REMOVE", "/dir/new")  # NOENT
    e.line(c.rmdir(top, "dir"), "RMDIR", "/dir")  # NOTEMPTY
    e.line(c.setacl(fh, ((1, 0, 6), (4, 0, 4), (32, 0, 4))), "SETACL",
           "/dir/" + SHOWN)
    for name in (ODD, "link", "fifo"):
        shown = SHOWN if name == ODD else name
        e.line(c.remove(sub, name), "REMOVE", "/dir/" + shown)
    e.line(c.rmdir(top, "dir"), "RMDIR", "/dir")
    c.lookup(top, "nothing")
    c.readdirplus(top)


def version2(e, c, top):
    at = top + opaque(b"two")
    fh = e.line(c.create(top, "two"), "CREATE", "/two").fh
    e.line(c.call("SETATTR", fh + sattr2(mode=0o640)), "SETATTR", "/two",
           " mode=0640")
    e.line(c.call("LINK", fh + top + opaque(b"more")), "LINK", "/two",
           to="/more")
    e.line(c.call("RENAME", top + opaque(b"more") + top + opaque(b"less")),
           "RENAME", "/more", to="/less")
    e.line(c.call("SYMLINK", top + opaque(b"sl") + opaque(b"x") + sattr2()),
           "SYMLINK", "/sl")
    e.line(c.call("MKDIR", top + opaque(b"d2") + sattr2(mode=0o755)), "MKDIR",
           "/d2")
    e.line(c.call("RMDIR", top + opaque(b"d2")), "RMDIR", "/d2")
    for name in (b"sl", b"less"):
        e.line(c.call("REMOVE", top + opaque(name)), "REMOVE",
               "/" + name.decode())
    e.line(c.call("REMOVE", at), "REMOVE", "/two")
    e.line(c.call("REMOVE", at), "REMOVE", "/two")


def read_only(e, c, top):
    """Refused before the caller is squashed; the user acts as none."""
    e.line(c.create(top, "x"), "CREATE", "/x")
    e.line(c.setattr(top, mode=0o700), "SETATTR", "", " mode=0700")


def changes(export, closed):
    c = nfs.connect(uid=1001, gid=1001)
    c.strict = False
    version3(Expected(export, 1001, 1001), c, mount.root(export))
    root = nfs.connect(uid=0, gid=0)
    root.strict = False
    e = Expected(export, 0, 65534)
    e.line(root.create(mount.root(export), "sq"), "CREATE", "/sq")
    e.line(root.remove(mount.root(export), "sq"), "REMOVE", "/sq")
    version2(Expected(export, 1001, 1001), Nfs2(tcp(PORT), 1001, 1001),
             mount.root(export))
    read_only(Expected(closed, 1001, "(-|1001)"), c, mount.root(closed))


def flood(export, count):
    c, top = nfs.connect(uid=1001, gid=1001), mount.root(export)
    for reply in c.transport.pipeline(
            c.message("SETATTR", opaque(top) + sattr3(mtime="now") + u32(0))
            for _ in range(int(count))):
        if reply.status() not in (nfs.OK, nfs.PERM, nfs.ACCES):
            sys.exit(reply.describe())


def slowest(export, seconds):
    c, top = nfs.connect(uid=1001, gid=1001), mount.root(export)
    fh, most = c.create(top, "other").fh, 0.0
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        start = time.monotonic()
        c.write(fh, 0, b"x", UNSTABLE)
        most = max(most, time.monotonic() - start)
    print(int(most * 1000))


def fields(entry):
    """The fields of an entry in the journal's native protocol."""
    found = {}
    while entry:
        line, _, entry = entry.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:
            size = int.from_bytes(entry[:8], "little")
            value, entry = entry[8:8 + size], entry[8 + size + 1:]
        found[name.decode()] = value.decode("latin-1")
    return found


def journal(path):
    """Takes the place of journald: one line of JSON for each entry."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(path)
        while True:
            print(json.dumps(fields(s.recv(1 << 16)), sort_keys=True),
                  flush=True)


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]](*sys.argv[2:]))
