#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A FUSE filesystem that hangs when told to: slowfs.py DIRECTORY FLAG

Speaks the kernel's protocol itself. One file, "file", with the text "slow".
While the file FLAG exists, every answer but to INIT waits.
"""
import ctypes
import os
import struct
import sys
import time

ENOENT, ENOSYS = 2, 38
LOOKUP, FORGET, GETATTR, OPEN, READ, WRITE = 1, 2, 3, 14, 15, 16
STATFS, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, READDIR = 17, 18, 20, 25, 26, 27, 28
RELEASEDIR, INTERRUPT, BATCH_FORGET = 29, 36, 42
TEXT = b"slow\n"


def attr(ino):
    directory = ino == 1
    now = 1700000000
    return struct.pack(
        "<QQQQQQIIIIIIIIII", ino, 0 if directory else len(TEXT), 1, now, now,
        now, 0, 0, 0, 0o40755 if directory else 0o100666, 1, 0, 0, 0, 4096, 0)


def answer(op, node, body):
    """Bytes, an errno, or None for no answer."""
    if op == INIT:
        return struct.pack("<IIIIHHIIHHIIIIII", 7, 31, 65536, 0, 16, 12,
                           65536, 1, 1, 0, 0, 0, 0, 0, 0, 0)[:64]
    if op == LOOKUP:
        if body.rstrip(b"\0") != b"file" or node != 1:
            return ENOENT
        return struct.pack("<QQQQII", 2, 0, 0, 0, 0, 0) + attr(2)
    if op == GETATTR:
        return struct.pack("<QII", 0, 0, 0) + attr(node)
    if op in (OPEN, OPENDIR):
        return struct.pack("<QII", 0, 0, 0)
    if op == READ:
        offset = struct.unpack_from("<QQ", body)[1]
        return TEXT[offset:]
    if op == READDIR:
        if struct.unpack_from("<QQ", body)[1]:
            return b""
        return struct.pack("<QQII", 2, 1, 4, 8) + b"file" + bytes(4)
    if op == WRITE:
        return struct.pack("<II", struct.unpack_from("<QQI", body)[2], 0)
    if op == STATFS:
        return struct.pack("<QQQQQIIII", 1, 1, 1, 1, 1, 4096, 255, 4096, 0) + \
            bytes(24)
    if op in (RELEASE, RELEASEDIR, FSYNC, FLUSH):
        return b""
    if op in (FORGET, BATCH_FORGET, INTERRUPT):
        return None
    return ENOSYS


def main():
    where, flag = sys.argv[1:3]
    fd = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fd
    if libc.mount(b"slowfs", where.encode(), b"fuse", 0, options.encode()):
        sys.exit("mount: " + os.strerror(ctypes.get_errno()))
    while True:
        try:
            call = os.read(fd, 1 << 20)
        except OSError:
            return
        size, op, unique, node = struct.unpack_from("<IIQQ", call)
        while op != INIT and os.path.exists(flag):
            time.sleep(0.05)
        out = answer(op, node, call[40:size])
        if out is None:
            continue
        error = -out if isinstance(out, int) else 0
        data = b"" if isinstance(out, int) else out
        os.write(fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


if __name__ == "__main__":
    main()
