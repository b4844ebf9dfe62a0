#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A client that does not give up: nfs_load.py HANDLE SECONDS [tcp|udp]

Writes, reads back and looks up below HANDLE until the time is over. After a
broken connection it connects and repeats the call, as hard mounts do. Prints
"calls N longest MS" and exits 0, or prints what went wrong and exits 1.
"""
import os
import sys
import time

from nfs import PORT, STATUS_NAMES, UNSTABLE, HardMount, Nfs3
from rpc import TRANSPORTS, Failed


def main(handle, seconds, kind="tcp"):
    root, name = bytes.fromhex(handle), f"load{os.getpid()}"
    mounted = HardMount(lambda: Nfs3(TRANSPORTS[kind](PORT, timeout=1),
                                     1000, 1000), 20)

    def ask(action):
        reply = mounted.ask(action)
        reply.need(STATUS_NAMES)
        return reply

    # A reply may have no handle while the broker restarts.
    fh = ask(lambda c: c.create(root, name)).fh or \
        ask(lambda c: c.lookup(root, name)).fh
    calls, longest, end = 0, 0.0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        start = time.monotonic()
        text = b"%d" % calls
        ask(lambda c: c.write(fh, 0, text, UNSTABLE))
        if ask(lambda c: c.read(fh, 0, len(text))).bytes != text:
            raise Failed("read something else than was written")
        if ask(lambda c: c.lookup(root, name)).fh != fh:
            raise Failed("the handle changed")
        calls += 3
        longest = max(longest, time.monotonic() - start)
    print(f"calls {calls} longest {longest * 1000:.0f} ms")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failed as e:
        print(e)
        sys.exit(1)
