# SPDX-License-Identifier: ISC
"""MOUNT 3 MNT, many times.

mount_load.py times ADDRESS PORT PATH...: 300 times each over UDP; prints the
status of each and "close" when no median is three times another.
mount_load.py burst ADDRESS PORT DIRECTORY: 3000 times DIRECTORY/1 to /300 over
one TCP connection, fifty at once; ends when all are answered.
"""
import socket
import struct
import sys
import time


def mnt(xid, path):
    p = path.encode()
    call = struct.pack(">10I", xid, 0, 2, 100005, 3, 1, 0, 0, 0, 0)
    return call + struct.pack(">I", len(p)) + p + b"\0" * (-len(p) % 4)


def times(to, paths):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.connect(to)
    medians = []
    for path in paths:
        took = []
        for i in range(300):
            start = time.perf_counter()
            s.send(mnt(i, path))
            reply = s.recv(100)
            took.append(time.perf_counter() - start)
        medians.append(sorted(took)[150])
        print(reply[24:].hex(), end=" ")
    print("close" if max(medians) < 3 * min(medians) else medians)


def burst(to, directory):
    s = socket.create_connection(to, 20)
    data = b""
    answered = 0
    for first in range(0, 3000, 50):
        for i in range(first, first + 50):
            call = mnt(i, "%s/%d" % (directory, i % 300 + 1))
            s.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
        while answered < first + 50:
            data += s.recv(65536)
            while len(data) >= 4:
                size = struct.unpack(">I", data[:4])[0] & 0x7FFFFFFF
                if len(data) < 4 + size:
                    break
                data = data[4 + size :]
                answered += 1


target = (sys.argv[2], int(sys.argv[3]))
if sys.argv[1] == "times":
    times(target, sys.argv[4:])
else:
    burst(target, sys.argv[4])
