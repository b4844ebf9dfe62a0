#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""One call of MOUNT.

    mount_call.py ADDRESS udp|tcp VERSION PROCEDURE [PATH [PORT]]

Asks the portmapper for the port (or takes MOUNT_PORT), sends from PORT or the
next one that is free, and prints the results in hex, or "accept N", "denied" or
"none". PATH may be hex:...; utf16:... is sent as players do.
"""
import os
import socket
import sys

from mount import MOUNT
from pmap import PORT, PROTOCOLS, getport
from rpc import TRANSPORTS, Closed, call, opaque, tcp, up_from


def mount_port(address, kind, vers):
    if "MOUNT_PORT" in os.environ:
        return int(os.environ["MOUNT_PORT"])
    with tcp(PORT, address) as t:
        return getport(t, MOUNT, vers, PROTOCOLS[kind])


def encoded(path):
    if path.startswith("hex:"):
        return bytes.fromhex(path[4:])
    if path.startswith("utf16:"):
        return path[6:].encode("utf-16-le")
    return path.encode()


def result(transport, message):
    try:
        reply = transport.rpc(message)
    except (socket.timeout, ConnectionError, Closed):
        return "none"
    if reply.stat:
        return "denied"
    return f"accept {reply.accept}" if reply.accept else reply.rest.hex()


def main(address, kind, vers, proc, path=None, port=None):
    args = b"" if path is None else opaque(encoded(path))
    source = ("", up_from(int(port))) if port else None
    with TRANSPORTS[kind](mount_port(address, kind, int(vers)), address,
                          source, timeout=5) as t:
        print(result(t, call(MOUNT, int(vers), int(proc), args)))


if __name__ == "__main__":
    main(*sys.argv[1:])
