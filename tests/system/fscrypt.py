#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Encrypts a directory with the ioctls of linux/fscrypt.h.

    fscrypt.py make DIRECTORY    encrypts an empty directory and adds its key
    fscrypt.py lock DIRECTORY    removes the key
    fscrypt.py unlock DIRECTORY  adds the key again

The directory is in the root of its filesystem.
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
    """Calls the ioctl. Returns the data that the kernel wrote."""
    answer = bytearray(data)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.ioctl(fd, request, answer, True)
    os.close(fd)
    return bytes(answer)


def specifier(identifier=b""):
    return struct.pack("=II32s", BY_IDENTIFIER, 0, identifier)


def add_key(mount):
    """Adds the key. Returns the identifier that the kernel gives it."""
    added = control(mount, ADD_KEY, specifier() + struct.pack(
        "=II32s", len(KEY), 0, b"") + KEY)
    return added[8:24]


def main(what, path):
    mount = os.path.dirname(path)  # an open directory cannot be locked
    if what == "make":
        control(path, SET_POLICY, struct.pack(
            "=BBBB4s16s", 2, AES_256_XTS, AES_256_CTS, 0, b"", add_key(mount)))
    elif what == "unlock":
        add_key(mount)
    else:  # adding the key again returns its identifier
        control(mount, REMOVE_KEY, specifier(add_key(mount)) + bytes(24))


if __name__ == "__main__":
    main(*sys.argv[1:])
