#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Runs a program as if the kernel did not have some system calls.

    without.py NUMBER[,NUMBER...] PROGRAM ARGUMENT...
"""
import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7fff0000, 0x00050000


def forbid(numbers):
    code = struct.pack("HBBI", LOAD, 0, 0, 0)
    for number in numbers:
        code += struct.pack("HBBI", JUMP_EQUAL, 0, 1, number)
        code += struct.pack("HBBI", RETURN, 0, 0, ERRNO | errno.ENOSYS)
    code += struct.pack("HBBI", RETURN, 0, 0, ALLOW)
    memory = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(memory)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or
            prctl(PR_SET_SECCOMP, MODE_FILTER, program, 0, 0) != 0):
        sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    forbid([int(n) for n in sys.argv[1].split(",")])
    os.execvp(sys.argv[2], sys.argv[2:])
