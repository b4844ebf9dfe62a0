#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""An encrypted directory, by the ioctls of linux/fscrypt.h.

    fscrypt.py make DIRECTORY    empty, encrypted with a key that is there now
    fscrypt.py lock DIRECTORY    takes the key away
    fscrypt.py unlock DIRECTORY  puts it back

The directory lies in the root of its filesystem.
"""
import fcntl
import os
import struct
import sys

KEY = bytes(range(64))
SET_POLICY = 0x800C6613
ADD_KEY = 0xC0506617
REMOVE_KEY = 0xC0406618
BY_IDENTIFIER = 2  # how a key is named
AES_256_XTS, AES_256_CTS = 1, 4


def control(path, request, data):
    """What the kernel made of the data."""
    answer = bytearray(data)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.ioctl(fd, request, answer, True)
    os.close(fd)
    return bytes(answer)


def specifier(identifier=b""):
    return struct.pack("=II32s", BY_IDENTIFIER, 0, identifier)


def add_key(mount):
    """The identifier that the kernel gives the key."""
    added = control(mount, ADD_KEY, specifier() + struct.pack(
        "=II32s", len(KEY), 0, b"") + KEY)
    return added[8:24]


def main(what, path):
    mount = os.path.dirname(path)  # what is open cannot be locked
    if what == "make":
        control(path, SET_POLICY, struct.pack(
            "=BBBB4s16s", 2, AES_256_XTS, AES_256_CTS, 0, b"", add_key(mount)))
    elif what == "unlock":
        add_key(mount)
    else:  # adding it again tells its identifier
        control(mount, REMOVE_KEY, specifier(add_key(mount)) + bytes(24))


if __name__ == "__main__":
    main(*sys.argv[1:])
