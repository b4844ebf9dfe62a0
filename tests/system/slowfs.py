#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A FUSE filesystem with moods: slowfs.py DIRECTORY MOOD [CONTENT]

Implements the kernel's protocol itself. It has one file, "file", with the text
"slow", or with what is in the file CONTENT. While the file MOOD exists, its
text chooses a fault:

    (nothing) or hang   every answer waits until MOOD is removed
    slow                every answer takes a moment
    eio                 every access to the disk is an I/O error
    fsync               only fsync is an I/O error
    short               reads and writes move three bytes at a time
    long                100 more files have names of 1,000 bytes
"""
import ctypes
import os
import struct
import sys
import time

ENOENT, EIO, ENOSYS = 2, 5, 38
LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE = 1, 2, 3, 4, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR = 17, 18, 20, 25, 26, 27
READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 28, 29, 36, 42
DISK = (LOOKUP, GETATTR, SETATTR, OPEN, READ, WRITE, FSYNC, OPENDIR, READDIR)
DIRECT_IO = 1
FATTR_SIZE = 8
SHORT = 3
LONG_NAMES = [b"%03d" % n + b"n" * 997 for n in range(100)]
SLOW_SECONDS = 0.05
text = bytearray(b"slow\n")


def attr(ino):
    directory = ino == 1
    now = 1700000000
    return struct.pack(
        "<QQQQQQIIIIIIIIII", ino, 0 if directory else len(text), 1, now, now,
        now, 0, 0, 0, 0o40777 if directory else 0o100666, 1, 0, 0, 0, 4096, 0)


def write(body, mood):
    _, offset, size = struct.unpack_from("<QQI", body)
    if mood == "short":
        size = min(size, SHORT)
    text[offset:offset + size] = body[40:40 + size]
    return struct.pack("<II", size, 0)


def read(body, mood):
    _, offset, size = struct.unpack_from("<QQI", body)
    if mood == "short":
        size = min(size, SHORT)
    return bytes(text[offset:offset + size])


def set_attr(node, body):
    valid, _, _, size = struct.unpack_from("<IIQQ", body)
    if node == 2 and valid & FATTR_SIZE:
        del text[size:]
        text.extend(bytes(size - len(text)))
    return struct.pack("<QII", 0, 0, 0) + attr(node)


def listing(offset, size, mood):
    """The entries behind offset that fit."""
    names = [b"file"] + (LONG_NAMES if mood == "long" else [])
    out = b""
    for i in range(offset, len(names)):
        name = names[i]
        entry = struct.pack("<QQII", 2 + i, i + 1, len(name), 8) + name
        entry += bytes(-len(entry) % 8)
        if len(out) + len(entry) > size:
            break
        out += entry
    return out


def look_up(node, name, mood):
    ino = 2 if name == b"file" else 3 + LONG_NAMES.index(name) \
        if mood == "long" and name in LONG_NAMES else 0
    if ino == 0 or node != 1:
        return ENOENT
    return struct.pack("<QQQQII", ino, 0, 0, 0, 0, 0) + attr(ino)


def answer(op, node, body, mood):
    """Returns bytes, an errno, or None for no answer."""
    if (mood == "eio" and op in DISK) or (mood == "fsync" and op == FSYNC):
        return EIO
    if op == INIT:
        return struct.pack("<IIIIHHIIHHIIIIII", 7, 31, 65536, 0, 16, 12,
                           65536, 1, 1, 0, 0, 0, 0, 0, 0, 0)[:64]
    if op == LOOKUP:
        return look_up(node, body.rstrip(b"\0"), mood)
    if op == GETATTR:
        return struct.pack("<QII", 0, 0, 0) + attr(node)
    if op == SETATTR:
        return set_attr(node, body)
    if op in (OPEN, OPENDIR):
        return struct.pack("<QII", 0, DIRECT_IO if op == OPEN else 0, 0)
    if op == READ:
        return read(body, mood)
    if op == READDIR:
        return listing(*struct.unpack_from("<8xQI", body), mood)
    if op == WRITE:
        return write(body, mood)
    if op == STATFS:
        return struct.pack("<QQQQQIIII", 1, 1, 1, 1, 1, 4096, 255, 4096, 0) + \
            bytes(24)
    if op in (RELEASE, RELEASEDIR, FSYNC, FLUSH):
        return b""
    if op in (FORGET, BATCH_FORGET, INTERRUPT):
        return None
    return ENOSYS


def mood_now(path):
    try:
        with open(path, encoding="ascii") as f:
            return f.read().strip() or "hang"
    except OSError:
        return ""


def main():
    where, path = sys.argv[1:3]
    for content in sys.argv[3:]:
        with open(content, "rb") as f:
            text[:] = f.read()
    fd = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"slowfs", where.encode(), b"fuse", 0, options.encode()):
        sys.exit("mount: " + os.strerror(ctypes.get_errno()))
    while True:
        try:
            call = os.read(fd, 1 << 20)
        except OSError:
            return
        size, op, unique, node = struct.unpack_from("<IIQQ", call)
        mood = mood_now(path)
        while op != INIT and mood == "hang":
            time.sleep(0.05)
            mood = mood_now(path)
        if mood == "slow":
            time.sleep(SLOW_SECONDS)
        out = answer(op, node, call[40:size], mood)
        if out is None:
            continue
        error = -out if isinstance(out, int) else 0
        data = b"" if isinstance(out, int) else out
        os.write(fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


if __name__ == "__main__":
    main()
