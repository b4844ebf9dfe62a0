# SPDX-License-Identifier: ISC
"""XDR and ONC RPC (RFC 4506, RFC 5531) as a client speaks them.

Written from the RFCs, apart from the daemons' codecs: an error there cannot
hide behind the same error here. A test may break any field: each part of a
message is a function that returns bytes, and a transport sends what it gets.
"""
import os
import socket
import struct

AUTH_NONE, AUTH_SYS = 0, 1
LAST = 0x80000000  # of a record mark: the last fragment
IP_BIND_ADDRESS_NO_PORT = 24


class Closed(Exception):
    """The server ended the connection."""


class Failed(Exception):
    """The server's answer is not the one that a strict caller needs."""


# ---- XDR

def u32(*values):
    return b"".join(struct.pack(">I", v & 0xFFFFFFFF) for v in values)


def u64(value):
    return struct.pack(">Q", value & 0xFFFFFFFFFFFFFFFF)


def opaque(data, length=None, fill=b"\0"):
    """A string or opaque; length and fill break the length and the padding."""
    data = data.encode() if isinstance(data, str) else data
    pad = fill * (-len(data) % 4)
    return u32(len(data) if length is None else length) + data + pad


class Cursor:
    """Reads XDR from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        """The fields of a struct(3) format, big-endian without padding."""
        fields = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return fields

    def u32(self):
        return self.take("I")[0]

    def u64(self):
        return self.take("Q")[0]

    def fixed(self, length):
        (data,) = self.take(f"{length}s")
        self.at += -length % 4
        return data

    def opaque(self):
        return self.fixed(self.u32())

    def optional(self, read):
        """What read returns when a boolean says that it follows, or None."""
        return read() if self.u32() else None


# ---- messages

def auth_sys(uid=0, gid=0, groups=(), name=b"test", stamp=1):
    body = u32(stamp) + opaque(name) + u32(uid, gid, len(groups), *groups)
    return u32(AUTH_SYS) + opaque(body)


NOBODY = u32(AUTH_NONE, 0)


def call(prog, vers, proc, args=b"", cred=NOBODY, verf=NOBODY, xid=None,
         rpcvers=2, mtype=0):
    xid = int.from_bytes(os.urandom(4), "big") if xid is None else xid
    return u32(xid, mtype, rpcvers, prog, vers, proc) + cred + verf + args


def record(data, last=True):
    return u32(len(data) | (LAST if last else 0)) + data


class Reply:
    """A reply with its header decoded; `rest` follows the header."""

    def __init__(self, data):
        self.data = data
        c = Cursor(data)
        self.xid, self.mtype, self.stat = c.take("III")
        self.accept = self.reject = self.why = self.verf = None
        if self.stat == 0:
            c.u32()
            self.verf = c.opaque()
            self.accept = c.u32()
        else:
            self.reject, self.why = c.take("II")
        self.rest = data[c.at:]

    def status(self):
        """The first word of the results, or None when there is none."""
        if self.accept != 0 or len(self.rest) < 4:
            return None
        return Cursor(self.rest).u32()

    def results(self):
        """A cursor behind the status."""
        return Cursor(self.rest[4:])

    def describe(self):
        if self.stat:
            return f"denied {self.reject}/{self.why}"
        return f"accept {self.accept} status {self.status()}"

    def need(self, names):
        """Raises Failed unless the call succeeded; names: of statuses."""
        if self.stat:
            raise Failed("DENIED")
        if self.accept:
            raise Failed(f"ACCEPT{self.accept}")
        status = self.status()
        if status:
            raise Failed(names.get(status, str(status)))


# ---- transports

def family(host):
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def place(host, port):
    """A socket address; of a link-local address with its zone."""
    host, _, zone = host.partition("%")
    if zone:
        return host, port, 0, socket.if_nametoindex(zone)
    return host, port


def bind(sock, host, ports):
    """Binds to a port or, of a range, to the first that is free. rpcinfo
    leaves ports below 1024 behind that nothing can use for a minute."""
    if ports == 0:
        sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        ports = (0,)
    elif isinstance(ports, int):
        ports = (ports,)
    for port in ports[:-1]:
        try:
            sock.bind(place(host, port))
            return
        except OSError:
            continue
    sock.bind(place(host, ports[-1]))


def up_from(port):
    """A range for bind: this port or one above it, reserved if this one is."""
    return range(port, 1024 if port < 1024 else 65536)


class Transport:
    """A socket to a server, and the calls over it."""

    def __init__(self, sock):
        self.sock = sock

    def rpc(self, message):
        """Sends a call and returns the reply to it."""
        self.send_call(message)
        reply = self.receive()
        if reply.data[:4] != message[:4] or reply.mtype != 1:
            raise Failed("XID")
        return reply

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Stream(Transport):
    """A TCP or unix connection."""

    def __init__(self, sock):
        super().__init__(sock)
        self.buffer = b""

    def send(self, data):
        """Any bytes: without a record mark of our own."""
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None

    def send_call(self, message):
        self.send(record(message))

    def _need(self, count):
        while len(self.buffer) < count:
            try:
                more = self.sock.recv(1 << 20)
            except (ConnectionResetError, BrokenPipeError):
                raise Closed from None
            if not more:
                raise Closed
            self.buffer += more
        out, self.buffer = self.buffer[:count], self.buffer[count:]
        return out

    def receive(self):
        data = b""
        while True:
            mark = Cursor(self._need(4)).u32()
            data += self._need(mark & ~LAST)
            if mark & LAST:
                return Reply(data)

    def together(self, messages):
        """Sends calls at once; the replies in the order they come."""
        self.send(b"".join(map(record, messages)))
        return [self.receive() for _ in messages]

    def pipeline(self, messages, batch=200):
        """Sends many calls, some at a time, and yields their replies."""
        waiting = []
        for message in messages:
            waiting.append(message)
            if len(waiting) == batch:
                yield from self.together(waiting)
                waiting = []
        yield from self.together(waiting)

    def is_closed(self, timeout=3.0):
        """True when the server ends the connection within the time."""
        self.sock.settimeout(timeout)
        try:
            while self.sock.recv(65536):
                pass
            return True
        except (ConnectionResetError, BrokenPipeError):
            return True
        except socket.timeout:
            return False


class Datagrams(Transport):
    """A UDP socket, connected."""

    def send(self, data):
        self.sock.send(data)

    send_call = send

    def receive(self):
        return Reply(self.sock.recv(1 << 17))

    def receive_raw(self, timeout=0.3):
        """The next datagram, or None when none comes."""
        self.sock.settimeout(timeout)
        try:
            return self.sock.recv(1 << 17)
        except (socket.timeout, ConnectionRefusedError):
            return None


def connected(kind, port, host, source, timeout):
    sock = socket.socket(family(host), kind)
    sock.settimeout(timeout)
    if source:
        if kind == socket.SOCK_STREAM:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bind(sock, *source)
    sock.connect(place(host, port))
    return sock


def tcp(port, host="127.0.0.1", source=None, timeout=5.0):
    """A connection; source: (address or "", port or range of ports)."""
    sock = connected(socket.SOCK_STREAM, port, host, source, timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Stream(sock)


def udp(port, host="127.0.0.1", source=None, timeout=2.0):
    return Datagrams(connected(socket.SOCK_DGRAM, port, host, source, timeout))


def unix(path, timeout=5.0):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(timeout)
    sock.connect(path)
    return Stream(sock)


TRANSPORTS = {"tcp": tcp, "udp": udp}
