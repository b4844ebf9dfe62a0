#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A relay to an NFS server that refuses version 2, for clients that use version
3 only if they must (U-Boot).

    no-v2.py ADDRESS SERVER PORT...

Passes datagrams to these ports of ADDRESS on to SERVER, and the replies back. A
call of NFS version 2 gets PROG_MISMATCH, versions 3 to 3.
"""
import select
import socket
import sys

from nfs import NFS
from rpc import Cursor, u32


def refusal(call):
    """The reply to a call of NFS version 2, or None."""
    if len(call) < 24:
        return None
    xid, kind, _, prog, vers, _ = Cursor(call).take("6I")
    if (kind, prog, vers) != (0, NFS, 2):
        return None
    return u32(xid, 1, 0, 0, 0, 2, 3, 3)


def main():
    here, server, ports = sys.argv[1], sys.argv[2], sys.argv[3:]
    front, back = {}, {}
    for port in map(int, ports):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((here, port))
        front[s] = port
    print("ready", flush=True)
    while True:
        for s in select.select([*front, *back], [], [])[0]:
            data, peer = s.recvfrom(65536)
            if s in back:
                asked, client = back[s]
                asked.sendto(data, client)
                continue
            no = refusal(data)
            if no:
                s.sendto(no, peer)
                continue
            to = next((b for b, v in back.items() if v == (s, peer)), None)
            if to is None:
                to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                to.connect((server, front[s]))
                back[to] = (s, peer)
            to.send(data)


if __name__ == "__main__":
    main()
