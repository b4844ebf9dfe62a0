#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Reaches each limit and looks for the line that names it; prints TAP."""
import os
import re
import resource
import socket
import subprocess
import sys

import harness
from disks import Moody
from mount import MOUNT, mnt
from nfs import NFS, Nfs3
from pmap import PMAP, register
from process import eventually, highest_descriptor, set_limit
from rpc import Closed, Failed, call, opaque, record, u32, u64
from servers import Server
from tap import Tap

PROGRAMS = {"portmapd": PMAP, "mountd": MOUNT, "nfsd": NFS}


def option(name, how):
    """The flags that make a limit small, and the line it is told in."""
    return ("-o", f"{name}={how}"), f"-o {name} raises"


def connect(s, prog, count, sources):
    return [s.tcp(prog, source=(f"127.0.5.{i % sources + 1}", 0))
            for i in range(count)]


def send_all(held, data):
    for t in held:
        try:
            t.send(data)
        except Closed:
            pass


def connections(sources):
    def act(s, prog):
        return connect(s, prog, 8, sources)
    return act


def one_message(data):
    """Every client sends this and waits."""
    def act(s, prog):
        held = connect(s, prog, 1, 1)
        send_all(held, data)
        return held
    return act


def halves(s, prog):
    held = connect(s, prog, 16, 16)
    send_all(held, u32(0x80000000 | 80000) + bytes(40000))
    return held


def unread(s, prog):
    """READs whose data the clients do not take."""
    c = s.nfs3()
    fh = c.lookup(s.root(), "big").fh
    c.close()
    message = record(c.message("READ", opaque(fh) + u64(0) + u32(1 << 20)))
    held = connect(s, prog, 8, 8)
    for t in held:
        t.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    send_all(held, message * 20)
    return held


def datagrams(s, prog):
    with s.udp(prog, source=("10.66.0.1", 0)) as t:
        for _ in range(100):
            t.send(call(prog, 3 if prog != PMAP else 2, 0))
    return []


def bytes_by_datagram(s, prog):
    """Lists, or data, for a sender that may be forged."""
    message = call(MOUNT, 1, 5)
    if prog == NFS:
        c = s.nfs3()
        fh = c.lookup(s.root(), "big").fh
        c.close()
        message = Nfs3(None).message("READ", opaque(fh) + u64(0) + u32(8192))
    with s.udp(prog, source=("10.66.0.1", 0)) as t:
        for _ in range(400):
            t.send(message)
            t.receive_raw(0.001)
    return []


def no_descriptor(s, prog):
    worker = s.role("nfsd", "worker")
    set_limit(worker, resource.RLIMIT_NOFILE, highest_descriptor(worker) + 2)
    held = connect(s, prog, 8, 1)
    send_all(held, b"\x80")
    s.after = lambda: set_limit(worker, resource.RLIMIT_NOFILE)
    return held


def no_file(s, prog):
    worker = s.role("nfsd", "worker")
    c = s.nfs3()
    fh = c.lookup(s.root(), "f").fh
    set_limit(worker, resource.RLIMIT_NOFILE, 3)
    c.read(fh, 0, 9)
    set_limit(worker, resource.RLIMIT_NOFILE)
    return [c.transport]


def registrations(s, prog):
    with s.registry() as t:
        for i in range(1100):
            register(t, 400000 + i)
    return []


def mounts(s, prog):
    with s.tcp(prog) as t:
        for i in range(70):
            os.makedirs(f"{s.dir}/rw/m{i}", exist_ok=True)
            mnt(t, f"{s.dir}/rw/m{i}")
    return []


def hanging(s, prog):
    """More datagrams than can wait for a disk that does not answer."""
    fh = s.mnt(s.dir + "/fuse").fh
    s.fuse.mood("hang")
    with s.udp(prog) as t:
        c = Nfs3(t)
        for i in range(9000):
            t.send(c.message("GETATTR", opaque(fh), xid=i))
    eventually(lambda: "wait for a disk" in s.log("nfsd"))
    s.fuse.mood("")
    return []


def inner_mounts(s, prog):
    return []


BIG = u32(0x80000000 | (1 << 30))
PIECES = u32(0) * 200
ROWS = [
    # daemon, limit, (flags, line), what is done
    *((d, "connections-per-host", option("connections-per-host", 2),
       connections(1)) for d in PROGRAMS),
    *((d, "connections-max", option("connections-max", 3), connections(8))
      for d in PROGRAMS),
    *((d, "record-max", option("record-max", 4096), one_message(BIG))
      for d in PROGRAMS),
    *((d, "record-seconds", option("record-seconds", 1), one_message(b"\x80"))
      for d in PROGRAMS),
    *((d, "idle-seconds", option("idle-seconds", 1), one_message(b""))
      for d in PROGRAMS),
    *((d, "datagrams-per-second", option("datagrams-per-second", 5),
       datagrams) for d in PROGRAMS),
    *((d, "datagram-bytes-per-second", option(
        "datagram-bytes-per-second", 500), bytes_by_datagram)
      for d in ("mountd", "nfsd")),
    ("nfsd", "fragments-max", option("fragments-max", 4), one_message(
        b"".join(record(b"x", False) for _ in range(50)))),
    ("nfsd", "partial-max", option("partial-max", 100000), halves),
    ("nfsd", "stall-seconds", option("stall-seconds", 1), unread),
    ("nfsd", "unsent-max", option("unsent-max", 1 << 20), unread),
    ("nfsd", "descriptors for connections", (
        (), "for a connection.*LimitNOFILE= or ulimit -n raises"),
     no_descriptor),
    ("nfsd", "descriptors for files", (
        (), "for a file.*LimitNOFILE= or ulimit -n raises"), no_file),
    ("nfsd", "calls that wait", (
        ("-t", "1"), r"wait for a disk.*\(nfsd -t\) raise"), hanging),
    ("nfsd", "mounts inside an export", (
        (), "256 mounts inside are the limit, no flag raises"), inner_mounts),
    ("mountd", "the mount list", ((), "64 of one host; no flag raises"),
     mounts),
    ("portmapd", "the table", ((), "1024 entries.*no flag raises"),
     registrations),
]


def server(world, daemon, flags, special):
    needs = (daemon,) if daemon == "portmapd" else ("mountd", "nfsd")
    s = Server(world, "{d}/rw 127.0.0.0/8(rw,insecure,crossmnt) "
               "10.66.0.1(ro,insecure)\n"
               "{d}/fuse 127.0.0.0/8(rw,insecure)", daemons=needs,
               flags={daemon: flags}, dirs=("fuse",))
    s.special = special
    with open(s.dir + "/rw/big", "wb") as f:
        f.write(bytes(1 << 20))
    return s


def reach(world, daemon, flags, line, act):
    """The lines that the log has in the end; one is right."""
    s = server(world, daemon, flags, act)
    mounted = []
    if act is inner_mounts:
        for i in range(300):  # some have a number that is taken
            mounted.append(f"{s.dir}/rw/t{i}")
            os.mkdir(mounted[-1])
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none",
                            mounted[-1]], check=True)
    try:
        with Moody(s.dir + "/fuse") as s.fuse, s:
            s.after = lambda: None
            held = act(s, PROGRAMS[daemon])
            eventually(lambda: re.search(line, s.log(daemon)), 15)
            s.after()
            for t in held:
                t.close()
            s.before = s.snapshot()
            return len(re.findall(line, s.log(daemon)))
    finally:
        for path in mounted:
            subprocess.run(["umount", path], check=False)


def main():
    world, tap = harness.World(dict(os.environ)), Tap()
    for daemon, name, (flags, line), act in ROWS:
        try:
            lines, why = reach(world, daemon, flags, line, act), ""
        except (Failed, Closed, OSError) as e:
            lines, why = 0, f"{type(e).__name__}: {e}"
        tap.ok(lines == 1, f"{daemon}: {name}",
               f"{lines} lines like \"{line}\" {why}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
