# SPDX-License-Identifier: ISC
"""RPC with TLS (RFC 9289) as a client speaks it.

The probe and its answer are built by hand. The handshake and the records are
those of Python's ssl module: of memory, so that a test may cut, repeat or spoil
any byte on the wire.
"""
import socket
import ssl

import rpc

AUTH_TLS = 7
PROBE = rpc.u32(AUTH_TLS, 0)
TOKEN = b"STARTTLS"
NFS = 100003


def probe(prog=NFS, vers=3, proc=0, cred=PROBE, verf=rpc.NOBODY, xid=None):
    return rpc.call(prog, vers, proc, cred=cred, verf=verf, xid=xid)


def context(cert=None, key=None, ca=None, alpn=("sunrpc",), most=None):
    """A client's context. ca: the server must have a certificate of it."""
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname = False
    c.verify_mode = ssl.CERT_REQUIRED if ca else ssl.CERT_NONE
    c.minimum_version = ssl.TLSVersion.TLSv1_2
    c.maximum_version = most or ssl.TLSVersion.TLSv1_3
    if ca:
        c.load_verify_locations(ca)
    if cert:
        c.load_cert_chain(cert, key or cert.removesuffix(".pem") + ".key")
    if alpn:
        c.set_alpn_protocols(list(alpn))
    return c


class Secure(rpc.Stream):
    """A connection inside TLS. `records` are as large as send() makes them."""

    def __init__(self, sock, ctx, name=None):
        super().__init__(sock)
        self.notified = False  # has the server sent close_notify?
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = ctx.wrap_bio(self.incoming, self.outgoing,
                                server_hostname=name)

    def flush(self):
        data = self.outgoing.read()
        if data:
            rpc.Stream.send(self, data)

    def fill(self):
        try:
            data = self.sock.recv(1 << 18)
        except (ConnectionResetError, BrokenPipeError):
            raise rpc.Closed from None
        if not data:
            self.incoming.write_eof()
        else:
            self.incoming.write(data)
        return data

    def handshake(self):
        while True:
            try:
                self.tls.do_handshake()
                self.flush()
                return self
            except ssl.SSLWantReadError:
                self.flush()
                if not self.fill():
                    raise rpc.Closed from None

    def send(self, data):
        self.tls.write(data)
        self.flush()

    def send_bytewise(self, data):
        """One record for each byte."""
        for i in range(len(data)):
            self.tls.write(data[i:i + 1])
        self.flush()

    def _need(self, count):
        while len(self.buffer) < count:
            try:
                more = self.tls.read(1 << 20)
                if not more:  # close_notify
                    self.notified = True
                    raise rpc.Closed
                self.buffer += more
            except ssl.SSLWantReadError:
                self.flush()
                if not self.fill():
                    raise rpc.Closed from None
            except ssl.SSLZeroReturnError:
                self.notified = True
                raise rpc.Closed from None
        out, self.buffer = self.buffer[:count], self.buffer[count:]
        return out

    def close_notify(self):
        """Sends close_notify and keeps the connection."""
        try:
            self.tls.unwrap()
        except ssl.SSLError:
            pass
        self.flush()


def ask(port=2049, host="127.0.0.1", source=None, timeout=20.0):
    """A connection that has the answer to its probe, and the answer."""
    c = rpc.tcp(port, host, source, timeout)
    return c, c.rpc(probe())


def connect(ctx=None, port=2049, host="127.0.0.1", source=None, timeout=20.0):
    """A connection inside TLS."""
    c, reply = ask(port, host, source, timeout)
    if reply.verf != TOKEN:
        c.close()
        raise rpc.Failed("no STARTTLS")
    return Secure(c.sock, ctx or context()).handshake()


def alert_of(error):
    """The name of the alert in an exception of ssl, or None."""
    text = getattr(error, "reason", None) or ""
    return text.lower() if "ALERT" in text.upper() else None


def refused(ctx, **where):
    """How the server refuses: the alert, "closed", or None if it does not."""
    try:
        with connect(ctx, **where) as c:
            c.rpc(rpc.call(NFS, 3, 0))
        return None
    except ssl.SSLError as e:
        return alert_of(e) or str(e)
    except (rpc.Closed, socket.timeout) as e:
        return "closed" if isinstance(e, rpc.Closed) else "timeout"
