#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Clients that use every part of Tern that a dashboard shows.

    load.py SECONDS DIRECTORY   DIRECTORY has ca/, with certificates

Each kind of client is a process. Readers and writers are busy in waves. The
exports are /srv/music and /srv/home, for 127.0.0.0/29.
"""
import math
import multiprocessing
import random
import sys
import time

import mount
import nfs
import nlm
import rpc
import tls

MUSIC, HOME = "/srv/music", "/srv/home"
SONG = 256 * 1024
STRANGER = "127.0.0.9"  # outside of the exports


def waves(seconds, phase):
    """Lets the caller work, more in the middle of a wave than at its ends."""
    begin = time.monotonic()
    while (at := time.monotonic() - begin) < seconds:
        yield at
        busy = 0.5 + 0.5 * math.sin(2 * math.pi * (at / seconds * 2 + phase))
        time.sleep(0.002 + 0.04 * (1 - busy) ** 2)


def reader(seconds, source, phase):
    c = nfs.connect(uid=1001, gid=1001, source=(source, 0))
    top = mount.root(MUSIC, source=(source, 0))
    for _ in waves(seconds, phase):
        song = c.lookup(top, f"song{random.randrange(40)}").fh
        c.getattr(song)
        c.lookup(top, f"cover{random.randrange(40)}")
        for at in range(0, SONG, SONG // 4):
            c.read(song, at, SONG // 4)
        if random.random() < 0.1:
            list(c.entries(top))


def writer(seconds, source, phase):
    c = nfs.connect(uid=1001, gid=1001, source=(source, 0))
    top = mount.root(HOME, source=(source, 0))
    for at in waves(seconds, phase):
        name = f"{source}-{at}"
        fh = c.create(top, name).fh
        for _ in range(4):
            c.write(fh, 0, bytes(32768))
        c.remove(top, name)
        c.strict = False
        c.lookup(top, "missing")
        c.strict = True


def laptop(seconds, directory):
    """TLS, with a certificate that is known and with one that is not."""
    top = mount.root(MUSIC)
    own = tls.context(f"{directory}/ca/laptop.pem")
    other = tls.context(f"{directory}/ca/other.pem")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with tls.connect(own) as t:
            c = nfs.Nfs3(t, uid=1001, gid=1001)
            for _ in range(20):
                c.getattr(top)
                time.sleep(0.1)
        tls.refused(other)


def locker(seconds):
    """Two owners want one lock."""
    c = nfs.connect(uid=1001, gid=1001)
    fh = c.create(mount.root(HOME), "locked").fh
    with rpc.tcp(nlm.port_of(proto=6)) as t:
        n = nlm.Client(t, cred=rpc.auth_sys(1001))
        n.lock(fh, oh=b"first", block=0)
        n.lock(fh, oh=b"second", svid=2, block=1)
        time.sleep(seconds)


def stranger(seconds):
    """One that has found a handle, and may not have it."""
    top = mount.root(MUSIC)
    c = nfs.connect(uid=1001, gid=1001, source=(STRANGER, 0))
    c.strict = False
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        c.getattr(top)
        with rpc.tcp(mount.PORT, source=(STRANGER, 0)) as t:
            mount.mnt(t, MUSIC)
        time.sleep(0.5)


def main(seconds, directory):
    todo = [(reader, f"127.0.0.{i + 2}", i / 3) for i in range(3)]
    todo += [(writer, f"127.0.0.{i + 5}", i / 2) for i in range(2)]
    todo += [(laptop, directory), (locker,), (stranger,)]
    processes = [multiprocessing.Process(target=what, args=(seconds, *args))
                 for what, *args in todo]
    for p in processes:
        p.start()
    for p in processes:
        p.join(seconds + 60)
    return sum(p.exitcode != 0 for p in processes)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2]))
