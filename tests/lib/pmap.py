# SPDX-License-Identifier: ISC
"""The portmapper, version 2, and RPCBIND, versions 3 and 4 (RFC 1833)."""
import os

from rpc import Cursor, call, opaque, u32

PMAP = 100000
NULL, SET, UNSET, GETPORT, DUMP, CALLIT = range(6)
GETADDR = 3  # of RPCBIND, whose first procedures have the same numbers
TCP, UDP = 6, 17
PROTOCOLS = {"tcp": TCP, "udp": UDP}
PORT = int(os.environ.get("PMAP_PORT", "111"))


def rpcb(prog, vers, netid="", uaddr="", owner=""):
    return u32(prog, vers) + opaque(netid) + opaque(uaddr) + opaque(owner)


def register(transport, prog, vers=1, port=7777):
    """The reply to SET; its status is 1 when the program is registered."""
    return transport.rpc(call(PMAP, 2, SET, u32(prog, vers, TCP, port)))


def getport(transport, prog, vers, proto):
    """The port, 0 when the portmapper knows none."""
    return transport.rpc(call(PMAP, 2, GETPORT, u32(
        prog, vers, proto, 0))).status()


def dump(transport):
    """The table of version 2: a set of (program, version, proto, port)."""
    c = Cursor(transport.rpc(call(PMAP, 2, DUMP)).rest)
    found = set()
    while c.u32():
        found.add(c.take("IIII"))
    return found
