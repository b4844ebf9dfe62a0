# SPDX-License-Identifier: ISC
"""File locks: NLM versions 1, 3 and 4 and NSM version 1, as a client speaks
them, and the services of a client that a server calls back: portmapper, NLM
and NSM.

Written from the specifications, apart from the daemons' codecs. Each part of a
message is a function that returns bytes, so that a test may break any field.
"""
import collections
import os
import select
import socket
import time

import pmap
from rpc import Cursor, auth_sys, call, opaque, place, u32, u64

NLM, NSM = 100021, 100024
(NULL, TEST, LOCK, CANCEL, UNLOCK, GRANTED, TEST_MSG, LOCK_MSG, CANCEL_MSG,
 UNLOCK_MSG, GRANTED_MSG, TEST_RES, LOCK_RES, CANCEL_RES, UNLOCK_RES,
 GRANTED_RES) = range(16)
SHARE, UNSHARE, NM_LOCK, FREE_ALL = range(20, 24)
(SM_NULL, SM_STAT, SM_MON, SM_UNMON, SM_UNMON_ALL, SM_SIMU_CRASH,
 SM_NOTIFY) = range(7)
(OK, DENIED, NOLOCKS, BLOCKED, GRACE, DEADLOCK, ROFS, STALE, FBIG,
 FAILED) = range(10)
NAMES = dict(enumerate(("GRANTED", "DENIED", "NOLOCKS", "BLOCKED", "GRACE",
                        "DEADLCK", "ROFS", "STALE_FH", "FBIG", "FAILED")))
READ, WRITE, BOTH = 1, 2, 3  # of a share
PORT = int(os.environ.get("NLM_PORT", "0"))


def reach(vers, *numbers):
    """Offsets and lengths have 64 bits from version 4 on."""
    return b"".join(u64(n) if vers >= 4 else u32(n) for n in numbers)


def lock_of(vers, fh, name="test", oh=b"owner", svid=1, offset=0, length=0):
    """The structure nlm_lock, nlm4_lock."""
    return (opaque(name) + opaque(fh) + opaque(oh) + u32(svid)
            + reach(vers, offset, length))


def test_args(vers, fh, cookie=b"cook", exclusive=1, **of):
    return opaque(cookie) + u32(exclusive) + lock_of(vers, fh, **of)


def cancel_args(vers, fh, cookie=b"cook", block=0, exclusive=1, **of):
    return opaque(cookie) + u32(block, exclusive) + lock_of(vers, fh, **of)


def lock_args(vers, fh, reclaim=0, state=3, **of):
    return cancel_args(vers, fh, **of) + u32(reclaim, state)


def unlock_args(vers, fh, cookie=b"cook", **of):
    return opaque(cookie) + lock_of(vers, fh, **of)


def share_args(_vers, fh, cookie=b"cook", name="test", oh=b"owner", mode=0,
               access=READ, reclaim=0):
    return (opaque(cookie) + opaque(name) + opaque(fh) + opaque(oh)
            + u32(mode, access, reclaim))


def res_args(cookie, stat=OK):
    return opaque(cookie) + u32(stat)


def notify_args(name, state):
    return opaque(name) + u32(state)


ARGS = {TEST: test_args, LOCK: lock_args, CANCEL: cancel_args,
        UNLOCK: unlock_args, GRANTED: test_args, SHARE: share_args,
        UNSHARE: share_args, NM_LOCK: lock_args}
ARGS.update({proc + 5: ARGS[proc] for proc in range(TEST, GRANTED + 1)})

Holder = collections.namedtuple("Holder", "exclusive svid oh offset length")


def read_lock(vers, c):
    """The arguments of GRANTED behind the cookie, as a dict."""
    found = {"exclusive": c.u32(), "name": c.opaque(), "fh": c.opaque(),
             "oh": c.opaque(), "svid": c.take("i")[0]}
    form = "QQ" if vers >= 4 else "II"
    found["offset"], found["length"] = c.take(form)
    return found


class Answer:
    """A decoded nlm_res, nlm_testres or nlm_shareres."""

    def __init__(self, vers, data):
        c = Cursor(data)
        self.cookie, self.stat, self.holder = c.opaque(), c.u32(), None
        if self.stat == DENIED and len(data) > c.at + 4:
            exclusive, svid = c.take("Ii")
            oh = c.opaque()
            self.holder = Holder(exclusive, svid, oh,
                                 *c.take("QQ" if vers >= 4 else "II"))

    def __repr__(self):
        return NAMES.get(self.stat, str(self.stat))


class Client:
    """A client of NLM over one transport."""

    def __init__(self, transport, vers=4, cred=None, **of):
        self.transport, self.vers, self.of = transport, vers, of
        self.cred = auth_sys(0) if cred is None else cred

    def message(self, proc, fh, **of):
        return call(NLM, self.vers, proc,
                    ARGS[proc](self.vers, fh, **{**self.of, **of}), self.cred)

    def ask(self, proc, fh, **of):
        """The answer to a call of NLM; None if its reply is empty."""
        reply = self.transport.rpc(self.message(proc, fh, **of))
        if reply.stat or reply.accept:
            raise AssertionError(f"NLM {proc}: {reply.describe()}")
        return Answer(self.vers, reply.rest) if reply.rest else None

    def lock(self, fh, **of):
        return self.ask(LOCK, fh, **of).stat

    def unlock(self, fh, **of):
        of = {k: v for k, v in of.items() if k not in ("block", "exclusive")}
        return self.ask(UNLOCK, fh, **of).stat

    def test(self, fh, **of):
        return self.ask(TEST, fh, **of)

    def cancel(self, fh, **of):
        return self.ask(CANCEL, fh, **of).stat

    def free_all(self, name, state=0):
        return self.transport.rpc(call(NLM, self.vers, FREE_ALL,
                                       notify_args(name, state), self.cred))

    def close(self):
        self.transport.close()


def port_of(host="127.0.0.1", prog=NLM, vers=4, proto=pmap.UDP, source=None):
    """The port of the server, asked of its portmapper."""
    from rpc import udp
    with udp(pmap.PORT, host, source) as t:
        return pmap.getport(t, prog, vers, proto)


def notify(transport, name, state, cred=None):
    """SM_NOTIFY: the reply."""
    return transport.rpc(call(NSM, 1, SM_NOTIFY, notify_args(name, state),
                              auth_sys(0) if cred is None else cred))


Call = collections.namedtuple("Call", "at source prog vers proc args to")


class Services:
    """The machine of a client: portmapper, NLM and NSM at its address. What
    the server calls is kept in `calls`; a test says what is answered.

    ports: what the portmapper says of NLM and NSM, if not what is true; 0: not
    registered. silent: programs that do not answer. The true ports are always
    the same, since a server remembers them for a minute.
    """

    def __init__(self, host, state=3, ports=None, silent=(), grant=OK,
                 answer_res=True):
        self.host, self.state, self.silent = host, state, silent
        self.grant, self.answer_res = grant, answer_res
        self.calls = []
        self.socks = {}
        kind = socket.AF_INET6 if ":" in host else socket.AF_INET
        for prog, port in ((pmap.PMAP, pmap.PORT), (NLM, 4045), (NSM, 4046)):
            s = socket.socket(kind, socket.SOCK_DGRAM)
            s.bind(place(host, port))
            self.socks[prog] = s
        self.ports = {p: s.getsockname()[1] for p, s in self.socks.items()}
        self.ports.update(ports or {})

    def close(self):
        for s in self.socks.values():
            s.close()

    def answer(self, prog, vers, proc, args):
        """The results of a call, or None for no reply."""
        if prog in self.silent:
            return None
        c = Cursor(args)
        if prog == pmap.PMAP:
            port = self.ports.get(c.u32(), 0)
            if vers == 2:
                return u32(port)
            return opaque(f"::.{port >> 8}.{port & 255}" if port else "")
        if prog == NLM and proc == GRANTED:
            return res_args(c.opaque(), self.grant)
        if prog == NSM and proc == SM_STAT:
            return u32(0, self.state)
        return b""

    def handle(self, sock):
        data, source = sock.recvfrom(65536)
        c = Cursor(data)
        xid, mtype, _, prog, vers, proc = c.take("IIIIII")
        if mtype != 0:
            return
        for _ in range(2):
            c.u32()
            c.opaque()
        args = data[c.at:]
        self.calls.append(Call(time.monotonic(), source, prog, vers, proc,
                               args, len(data)))
        results = self.answer(prog, vers, proc, args)
        if results is not None:
            sock.sendto(u32(xid, 1, 0, 0, 0, 0) + results, source)
        if (prog, proc) == (NLM, GRANTED_MSG) and self.answer_res \
                and prog not in self.silent:
            cookie = Cursor(args).opaque()
            sock.sendto(call(NLM, vers, GRANTED_RES,
                             res_args(cookie, self.grant)), source)

    def serve(self, seconds=5.0, until=None):
        """Answers for so long, or until the condition holds: returns it."""
        end = time.monotonic() + seconds
        while until is None or not until():
            left = end - time.monotonic()
            if left <= 0:
                return until is None
            ready, _, _ = select.select(list(self.socks.values()), [], [],
                                        min(left, 0.05))
            for s in ready:
                self.handle(s)
        return True

    def of(self, prog, proc=None):
        """The calls of a program that came."""
        return [c for c in self.calls
                if c.prog == prog and proc in (None, c.proc)]
