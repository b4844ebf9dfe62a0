# SPDX-License-Identifier: ISC
"""One MOUNT call: mount_call.py ADDRESS udp|tcp VERSION PROCEDURE [PATH [PORT]]

Asks the portmapper (or takes MOUNT_PORT), sends from PORT if given, and prints
the result in hex, or "accept N" / "denied" / "none". PATH may be hex:...;
utf16:... is sent as players do.
"""
import os
import socket
import struct
import sys

from nfs import bind_from


def rpc(sock, stream, prog, vers, proc, body):
    call = struct.pack(">10I", 7, 0, 2, prog, vers, proc, 0, 0, 0, 0) + body
    if stream:
        sock.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
        data = b""
        while len(data) < 4 or len(data) < 4 + (
            struct.unpack(">I", data[:4])[0] & 0x7FFFFFFF
        ):
            more = sock.recv(65536)
            if not more:
                return None
            data += more
        return data[4:]
    sock.send(call)
    return sock.recv(65536)


def connect(address, stream, port, source):
    kind = socket.SOCK_STREAM if stream else socket.SOCK_DGRAM
    family, _, _, _, to = socket.getaddrinfo(address, port, type=kind)[0]
    s = socket.socket(family, kind)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.settimeout(5)
    if source:
        bind_from(s, "::" if family == socket.AF_INET6 else "0.0.0.0", source)
    s.connect(to)
    return s


def mount_port(address, stream, vers):
    if "MOUNT_PORT" in os.environ:
        return int(os.environ["MOUNT_PORT"])
    s = connect(address, True, 111, 0)
    body = struct.pack(">4I", 100005, vers, 6 if stream else 17, 0)
    return struct.unpack(">I", rpc(s, True, 100000, 2, 3, body)[24:28])[0]


def main():
    address, kind, vers, proc = sys.argv[1:5]
    body = b""
    if len(sys.argv) > 5:
        path = sys.argv[5].encode()
        if path.startswith(b"hex:"):
            path = bytes.fromhex(path[4:].decode())
        elif path.startswith(b"utf16:"):
            path = path[6:].decode().encode("utf-16-le")
        body = struct.pack(">I", len(path)) + path + b"\0" * (-len(path) % 4)
    stream = kind == "tcp"
    source = int(sys.argv[6]) if len(sys.argv) > 6 else 0
    port = mount_port(address, stream, int(vers))
    s = connect(address, stream, port, source)
    try:
        reply = rpc(s, stream, 100005, int(vers), int(proc), body)
    except (socket.timeout, ConnectionError):
        reply = None
    if reply is None:
        print("none")
    elif reply[8:12] != b"\0\0\0\0":
        print("denied")
    elif reply[20:24] != b"\0\0\0\0":
        print("accept", struct.unpack(">I", reply[20:24])[0])
    else:
        print(reply[24:].hex())


main()
