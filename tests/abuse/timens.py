#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Runs a program on a machine that has been up for longer.

    timens.py SECONDS PROGRAM ARGUMENT...

Only the clocks since boot can be moved for some processes alone (time
namespaces); signals are passed on and the status is the program's.
"""
import ctypes
import os
import signal
import sys

CLONE_NEWTIME = 0x80


def main():
    seconds, program = int(sys.argv[1]), sys.argv[2:]
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWTIME):
        sys.exit("unshare: " + os.strerror(ctypes.get_errno()))
    with open("/proc/self/timens_offsets", "w", encoding="ascii") as f:
        f.write(f"monotonic {seconds} 0\nboottime {seconds} 0\n")
    child = os.fork()
    if child == 0:
        os.execvp(program[0], program)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, _: os.kill(child, n))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()
