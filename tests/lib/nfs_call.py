#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""One call of NFS 3.

    nfs_call.py [-u uid[:gid[:gid,...]]] [-t tcp|udp] [-h host] [-a address]
                [-s port] COMMAND ARGUMENT...

Handles are hex. The result is one line: what was asked for, or the name of
the error; the exit status is 0 when the call succeeded. -s: the source port,
or the next one that is free. NFS_PORT and MOUNT_PORT: the servers' ports.

    mnt PATH              handle of an export       getattr FH
    lookup FH NAME        handle                    parent FH   (LOOKUP "..")
    access FH MASK        granted bits              read FH OFFSET COUNT
    write FH OFFSET TEXT [STABLE]                   create FH NAME MODE
    mkdir FH NAME MODE    remove FH NAME            rmdir FH NAME
    rename FH NAME FH NAME                          link FH DIRFH NAME
    symlink FH NAME TEXT  readlink FH               mknod FH NAME TYPE
    list FH               names, READDIRPLUS        setattr FH MODE
    truncate FH SIZE      commit FH                 null
    mknod_mode FH NAME TYPE MODE                    getacl FH
    setacl FH TAG:ID:PERM...                        quota PATH ID [group]
    chown FH UID GID
"""
import sys

import mount
import nfs
from rpc import Closed, Failed, auth_sys, up_from


def handle(text):
    """From hex; the error of the call before is an empty handle."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def fields(attr):
    return " ".join(f"{name}={value}" for name, value in
                    attr._asdict().items())


h = handle
COMMANDS = {
    "null": lambda c: c.null() and "",
    "getattr": lambda c, f: fields(c.getattr(h(f)).attr),
    "setattr": lambda c, f, m: c.setattr(h(f), mode=int(m, 8)) and "",
    "chown": lambda c, f, u, g: c.setattr(h(f), uid=int(u), gid=int(g)) and "",
    "truncate": lambda c, f, n: c.setattr(h(f), size=int(n)) and "",
    "lookup": lambda c, f, n: c.lookup(h(f), n).fh.hex(),
    "parent": lambda c, f: c.lookup(h(f), "..").fh.hex(),
    "access": lambda c, f, m: f"{c.access(h(f), int(m, 0)).granted:#x}",
    "readlink": lambda c, f: c.readlink(h(f)).target.decode(),
    "read": lambda c, f, o, n: c.read(
        h(f), int(o), int(n)).bytes.decode("latin-1"),
    "write": lambda c, f, o, t, s=nfs.FILE_SYNC: c.write(
        h(f), int(o), t.encode(), int(s)).count,
    "create": lambda c, f, n, m: c.create(h(f), n, mode=int(m, 8)).fh.hex(),
    "mkdir": lambda c, f, n, m: c.mkdir(h(f), n, int(m, 8)).fh.hex(),
    "symlink": lambda c, f, n, t: c.symlink(h(f), n, t).fh.hex(),
    "mknod": lambda c, f, n, k: c.mknod(h(f), n, int(k)).fh.hex(),
    "mknod_mode": lambda c, f, n, k, m: c.mknod(
        h(f), n, int(k), mode=int(m, 8)).fh.hex(),
    "remove": lambda c, f, n: c.remove(h(f), n) and "",
    "rmdir": lambda c, f, n: c.rmdir(h(f), n) and "",
    "rename": lambda c, f, n, g, m: c.rename(h(f), n, h(g), m) and "",
    "link": lambda c, f, g, n: c.link(h(f), h(g), n) and "",
    "list": lambda c, f: " ".join(sorted(
        e.name.decode() for e in c.entries(h(f)))),
    "getacl": lambda c, f: " ".join(
        ":".join(map(str, e)) for e in c.getacl(h(f)).entries),
    "setacl": lambda c, f, *es: c.setacl(h(f), [
        tuple(map(int, e.split(":"))) for e in es]) and "",
    "quota": lambda c, p, n, g=None: (
        lambda r: r.word or " ".join(map(str, r.quota)))(
            c.quota(p, int(n), g)),
    "commit": lambda c, f: c.commit(h(f)).verf3.hex(),
}


def user(text):
    """uid, gid and groups of -u."""
    uid, gid, groups = (text.split(":") + ["", ""])[:3]
    return int(uid), int(gid or uid), [int(g) for g in groups.split(",") if g]


def main():
    args, caller, kind, place = sys.argv[1:], (0, 0, ()), "tcp", {}
    while args and args[0].startswith("-"):
        flag, value, *args = args
        if flag == "-u":
            caller = user(value)
        elif flag == "-t":
            kind = value
        elif flag == "-h":
            place["host"] = value
        elif flag == "-a":
            place["source"] = (value, 0)
        elif flag == "-s":
            place["source"] = ("", up_from(int(value)))
    command, *args = args
    try:
        if command == "mnt":
            print(mount.root(*args, cred=auth_sys(*caller), **place).hex())
        else:
            print(COMMANDS[command](nfs.connect(*caller, kind, **place),
                                    *args))
    except (Failed, Closed) as e:
        print(str(e) or "CLOSED")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
