#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A client that goes on: nfs_load.py HANDLE SECONDS [tcp|udp]

Writes, reads back and renames below HANDLE until the time is over. A broken
connection is made again and the call repeated, as hard mounts do. Prints
"calls N longest MS" or what went wrong; the exit status tells which.
"""
import os
import socket
import sys
import time

import nfs


def again(c, what, *args):
    """Repeats until there is an answer; JUKEBOX is none."""
    until = time.monotonic() + 20
    while True:
        try:
            return getattr(c, what)(*args)
        except nfs.Failed as e:
            if str(e) not in ("CLOSED", "JUKEBOX"):
                raise
        except OSError:
            pass
        if time.monotonic() > until:
            raise nfs.Failed("no answer for 20 s: " + what)
        if c.kind == "tcp" and c.sock is not None:
            c.sock.close()
            c.sock = None
        time.sleep(0.02)


def main():
    root, seconds = bytes.fromhex(sys.argv[1]), float(sys.argv[2])
    kind = sys.argv[3] if len(sys.argv) > 3 else "tcp"
    os.environ["NFS_TIMEOUT"] = "1"
    c = nfs.Client(uid=1000, gid=1000, kind=kind)
    name = "load%d" % os.getpid()
    # A reply may go without the handle when the broker is just away.
    fh = again(c, "create", root, name, 0o644) or \
        again(c, "lookup", root, name)
    calls, longest, end = 0, 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        text = b"%d" % calls
        again(c, "write", fh, 0, text, 0)
        if again(c, "read", fh, 0, len(text)) != text:
            print("read something else than was written")
            return 1
        if again(c, "lookup", root, name) != fh:
            print("the handle changed")
            return 1
        calls += 3
        longest = max(longest, time.monotonic() - start)
    print("calls %d longest %d ms" % (calls, longest * 1000))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (nfs.Failed, socket.error) as e:
        print(e)
        sys.exit(1)
