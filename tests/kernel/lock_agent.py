#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Locks files for a test: a process of the guest, asked from the host.

    lock_agent.py serve ADDRESS PORT         (in the guest)
    lock_agent.py ask ADDRESS PORT WORD...   (on the host)

    lock PATH read|write|none START LENGTH wait|try    fcntl(2)
    flock PATH shared|exclusive|none wait|try          flock(2)
    test PATH read|write START LENGTH                  fcntl(2), F_GETLK
    close PATH
    run COMMAND                                        by the shell

The answer is "ok", what was found, or the name of an error. Each agent is one
process, so one owner of locks. Each question has a thread, so one that waits
does not hold up the next.
"""
import errno
import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading

TYPES = {"read": fcntl.F_RDLCK, "write": fcntl.F_WRLCK,
         "none": fcntl.F_UNLCK}
FLOCKS = {"shared": fcntl.LOCK_SH, "exclusive": fcntl.LOCK_EX,
          "none": fcntl.LOCK_UN}
FLOCK = "hhqqi4x"
opened = {}
guard = threading.Lock()


def fd_of(path):
    with guard:
        if path not in opened:
            opened[path] = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        return opened[path]


def packed(kind, start, length):
    return struct.pack(FLOCK, TYPES[kind], os.SEEK_SET, int(start),
                       int(length), 0)


def lock(path, kind, start, length, how):
    command = fcntl.F_SETLKW if how == "wait" else fcntl.F_SETLK
    fcntl.fcntl(fd_of(path), command, packed(kind, start, length))
    return "ok"


def flock(path, kind, how):
    never = 0 if how == "wait" else fcntl.LOCK_NB
    fcntl.flock(fd_of(path), FLOCKS[kind] | never)
    return "ok"


def test(path, kind, start, length):
    found = struct.unpack(FLOCK, fcntl.fcntl(
        fd_of(path), fcntl.F_GETLK, packed(kind, start, length)))
    if found[0] == fcntl.F_UNLCK:
        return "free"
    word = "write" if found[0] == fcntl.F_WRLCK else "read"
    return f"{word} {found[2]} {found[3]}"


def close(path):
    with guard:
        os.close(opened.pop(path))
    return "ok"


def run(*words):
    done = subprocess.run(["bash", "-c", " ".join(words)], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        text += f"status {done.returncode}"
    return text.rstrip("\n")


CALLS = {f.__name__: f for f in (lock, flock, test, close, run)}


def answer(peer):
    with peer, peer.makefile("rw") as f:
        word, *rest = f.readline().rstrip("\n").split("\t")
        try:
            text = CALLS[word](*rest)
        except OSError as e:
            text = errno.errorcode[e.errno]
        f.write(text)


def serve(address, port):
    with socket.create_server((address, int(port))) as s:
        while True:
            peer, _ = s.accept()
            threading.Thread(target=answer, args=(peer,), daemon=True).start()


def ask(address, port, *words):
    with socket.create_connection((address, int(port)), 30) as s:
        s.settimeout(None)
        s.sendall("\t".join(words).encode() + b"\n")
        with s.makefile() as f:
            print(f.read())


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
