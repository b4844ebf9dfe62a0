#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""A server between a client and Tern that does each RENAME twice.

    twice.py ADDRESS PORT SERVER-PORT same|apart

Like the loss of a head: the first reply does not reach the client, and the
second one does. "same": the RENAME leaves the directory the times that it had
before, as where one tick of a clock has both changes.
Runs in: the tests.
"""
import socket
import struct
import sys
import threading

NFS, RENAME = 100003, 14
LAST = 1 << 31


def need(sock, count):
    data = b""
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def message(sock):
    data, mark = b"", 0
    while not mark & LAST:
        mark = struct.unpack("!I", need(sock, 4))[0]
        data += need(sock, mark & ~LAST)
    return data


def send(sock, data):
    sock.sendall(struct.pack("!I", len(data) | LAST) + data)


def times(reply):
    """Of the directory: ctime before, then mtime and ctime after."""
    # xid, reply, accepted, verifier, success; status; pre_op_attr of 24 bytes
    at = 24 + 4
    before = reply[at + 20:at + 28]
    after = at + 28 + 4 + 68  # type to fileid, then atime, mtime, ctime
    return before, reply[after:after + 8], reply[after + 8:after + 16]


def tick(time):
    """A nanosecond later, as Tern says after a RENAME that failed."""
    return struct.pack("!Q", struct.unpack("!Q", time)[0] + 1)


class Between:
    def __init__(self, client, server, mode):
        self.client, self.server, self.same = client, server, mode == "same"
        self.twice = {}  # xid: the call, until it was done once
        self.old_times = {}

    def calls(self):
        while True:
            data = message(self.client)
            xid, _, _, prog, _, proc = struct.unpack_from("!6I", data)
            if prog == NFS and proc == RENAME:
                self.twice[xid] = data
            send(self.server, data)

    def hide(self, reply):
        for new, old in self.old_times.items():
            reply = reply.replace(new, old)
        return reply

    def replies(self):
        while True:
            data = message(self.server)
            xid = struct.unpack_from("!I", data)[0]
            call = self.twice.pop(xid, None)
            if call is not None:
                before, mtime, ctime = times(data)
                if self.same:
                    self.old_times = {mtime: before, ctime: before,
                                      tick(ctime): tick(before)}
                again = xid ^ 0x5A000000
                send(self.server, struct.pack("!I", again) + call[4:])
                while True:
                    data = message(self.server)
                    if struct.unpack_from("!I", data)[0] == again:
                        break
                    send(self.client, self.hide(data))
                data = struct.pack("!I", xid) + data[4:]
            send(self.client, self.hide(data))


def until_end(work):
    try:
        work()
    except (EOFError, OSError):
        pass


def main():
    address, port, server_port, mode = sys.argv[1:5]
    listener = socket.create_server((address, int(port)))
    while True:
        client = listener.accept()[0]
        server = socket.create_connection((address, int(server_port)))
        one = Between(client, server, mode)
        for work in (one.calls, one.replies):
            threading.Thread(target=until_end, args=(work,),
                             daemon=True).start()


if __name__ == "__main__":
    main()
