# SPDX-License-Identifier: ISC
"""Hostile clients of NLM and NSM: texts and numbers at their limits, locks and
waiters without end, forged calls, guessed answers, and attempts to send
datagrams to others through the server."""
import contextlib
import os
import re
import socket
import time

import nlm
import rpc
from disks import Disk
from harness import case
from nfs import OK
from process import eventually
from rpc import auth_sys, call, opaque, u32
from servers import Server

LOCK_PORT = 14045
HELD = 10 ** 6  # svid of locks that stay
VICTIM = "127.0.0.66"


class Locks:
    """A server with locks, a file, and clients of it."""

    def __init__(self, world, flags=(), exports=None, dirs=()):
        of = {"exports": exports} if exports else {}
        self.server = Server(world, daemons=("mountd", "nfsd"), flags={
            "nfsd": ["-o", f"lock-port={LOCK_PORT}", "-o", "grace=5", *flags]},
            dirs=dirs, **of)
        self.open = contextlib.ExitStack()
        self.fh = self.foreign = None

    def __enter__(self):
        self.server.__enter__()
        try:
            self.server.true(eventually(self.serves, 15), "locks are served")
            self.fh = self.handle("f")
            self.server.before = self.server.snapshot()
        except BaseException:
            self.server.__exit__(AssertionError, None, None)
            raise
        return self

    def __exit__(self, *why):
        self.open.close()
        return self.server.__exit__(*why)

    def serves(self):
        try:
            with rpc.udp(LOCK_PORT, timeout=1) as t:
                return t.rpc(call(nlm.NLM, 4, 0)).accept == 0
        except OSError:
            return False

    def handle(self, name):
        c = self.server.nfs3()
        reply = c.lookup(self.server.root(), name)
        self.server.equal(reply.status(), OK, f"LOOKUP {name}")
        c.close()
        return reply.fh

    def make(self, name):
        """A new file that every client may lock."""
        path = f"{self.server.dir}/rw/{name}"
        with open(path, "w", encoding="ascii"):
            os.chmod(path, 0o666)
        return self.handle(name)

    def client(self, address="127.0.0.1", kind="tcp", vers=4, port=0,
               name="test", uid=1001):
        t = rpc.TRANSPORTS[kind](LOCK_PORT, source=(address, port), timeout=20)
        self.open.callback(t.close)
        return nlm.Client(t, vers, auth_sys(uid, uid), name=name)

    def services(self, address, **of):
        found = nlm.Services(address, **of)
        self.open.callback(found.close)
        return found

    def others_lock(self, fh=None):
        """Another client gets and frees a lock at once."""
        c = self.client("127.0.0.9", name="other")
        fh = fh or self.make("others")
        started = time.monotonic()
        self.server.equal(c.lock(fh), nlm.OK, "another client's lock")
        self.server.equal(c.unlock(fh), nlm.OK, "another client's unlock")
        spent = time.monotonic() - started
        self.server.true(spent < 1, f"another client waited {spent:.2f} s")
        c.close()


EDGES = (0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 63 - 1, 2 ** 63,
         2 ** 64 - 1)


@case(147, "locks: texts, numbers and handles at their limits", own=True)
def edges(w):
    exports = ("{d}/rw 127.0.0.0/8(rw,insecure)\n"
               "{d}/other 127.0.0.99(rw,insecure)")
    with Locks(w, exports=exports, dirs=("other",)) as s:
        s.foreign = handle_of_other(s)
        for kind in ("tcp", "udp"):
            for vers in (1, 3, 4):
                edges_of(s, s.client(kind=kind, vers=vers))
        s.others_lock()


def handle_of_other(s):
    """The handle of a file in an export that admits another client alone."""
    source = ("127.0.0.99", 0)
    with open(f"{s.server.dir}/other/file", "w", encoding="ascii"):
        os.chmod(f"{s.server.dir}/other/file", 0o666)
    root = s.server.mnt(f"{s.server.dir}/other", source=source).fh
    with contextlib.closing(s.server.nfs3(source=source)) as c:
        fh = c.lookup(root, "file").fh
    s.server.equal(s.client(source[0]).lock(fh), nlm.OK, "its own client")
    return fh


def edges_of(s, c):
    w = s.server
    for cookie in (b"", b"\0" * 1024, os.urandom(1024)):
        w.equal(c.ask(nlm.TEST, s.fh, cookie=cookie).cookie, cookie, "cookie")
    for name in (b"", b"\0\x1b[2J\n%n" * 113 + b"1234567", b"\xff" * 1024):
        for oh in (b"", os.urandom(1024)):
            of = {"name": name[:1024], "oh": oh, "svid": -2 ** 31}
            w.equal(c.lock(s.fh, **of), nlm.OK, "odd texts")
            w.equal(c.unlock(s.fh, **of), nlm.OK, "odd texts")
    for offset in EDGES:
        for length in EDGES:
            if c.vers < 4 and max(offset, length) > 2 ** 32 - 1:
                continue
            last = offset + length - 1
            beyond = offset >= 2 ** 63 or (length and last >= 2 ** 63)
            got = c.lock(s.fh, offset=offset, length=length)
            w.equal(got, nlm.FBIG if beyond else nlm.OK,
                    f"lock {offset:#x} {length:#x}")
    w.equal(c.unlock(s.fh), nlm.OK, "all is unlocked")
    w.equal(c.test(s.fh, svid=2).stat, nlm.OK, "all is free")
    refused = {nlm.DENIED, nlm.NOLOCKS, nlm.STALE, nlm.FAILED, nlm.ROFS}
    gone = s.make("gone")
    os.unlink(f"{w.dir}/rw/gone")
    for fh in (w.root(), gone, s.foreign, b"", bytes(32), os.urandom(32),
               s.fh[:-1], s.fh + b"\0", os.urandom(1024)):
        for proc in (nlm.TEST, nlm.LOCK):
            w.among(c.ask(proc, fh).stat, refused, f"handle {fh.hex()[:80]}")
        w.true(c.unlock(fh) in refused | {nlm.OK}, "unlock")


@case(148, "locks: arguments cut at every byte, lengths that lie", own=True)
def cut(w):
    with Locks(w) as s:
        for vers in (1, 3, 4):
            for proc, args in nlm.ARGS.items():
                if vers == 1 and proc > nlm.GRANTED_RES:
                    continue
                whole = args(vers, s.fh)
                messages = [call(nlm.NLM, vers, proc, whole[:i], auth_sys(1001))
                            for i in range(0, len(whole), 1)]
                with rpc.tcp(LOCK_PORT, timeout=20) as t:
                    for reply in t.pipeline(messages):
                        s.server.equal(reply.accept, 4, f"NLM {vers} {proc}")
                for lie in (0x7FFFFFFF, 0xFFFFFFFF, 1025, len(whole) + 1):
                    with rpc.tcp(LOCK_PORT, timeout=20) as t:
                        reply = t.rpc(call(nlm.NLM, vers, proc,
                                           u32(lie) + whole[4:], auth_sys(1)))
                        s.server.equal(reply.accept, 4, "a length that lies")
        s.others_lock()


@case(149, "locks: one client takes them without end", own=True)
def endless(w):
    with Locks(w) as s:
        c = s.client()
        files = [s.make(f"l{i}") for i in range(4)]
        granted, stats = 0, set()
        for fh in files:
            messages = [c.message(nlm.LOCK, fh, offset=2 * i, length=1,
                                  oh=os.urandom(64))
                        for i in range(9000)]
            for reply in c.transport.pipeline(messages):
                stat = nlm.Answer(4, reply.rest).stat
                stats.add(stat)
                granted += stat == nlm.OK
        s.server.equal(stats, {nlm.OK, nlm.NOLOCKS}, "answers")
        s.server.true(granted <= 16384, f"{granted} locks of one client")
        s.others_lock()
        s.server.equal(s.client("127.0.0.9", name="other").lock(
            files[0], offset=1, length=1), nlm.OK, "between them")
        for fh in files:
            s.server.equal(c.unlock(fh), nlm.OK, "unlock")
        s.server.equal(c.lock(files[0], offset=5, length=1), nlm.OK,
                       "when some are free again")


@case(150, "locks: 100,000 waiters", own=True)
def waiters(w):
    with Locks(w) as s:
        holder = s.client("127.0.0.2", name="holder")
        files = [s.make(f"w{i}") for i in range(12)]
        for fh in files:
            s.server.equal(holder.lock(fh), nlm.OK, "the first")
        waiting = 0
        for n in range(100):
            waiting += crowd(s, n, files[n % len(files)])
        s.others_lock()
        s.server.true(waiting > 100000, f"{waiting} wait")
        print(f"# {waiting} wait")
        for fh in files:
            s.server.equal(holder.unlock(fh), nlm.OK, "the first unlocks")
        s.others_lock()


def crowd(s, n, fh):
    """A client has more waiters than it may. Returns how many it has."""
    with contextlib.closing(s.client(f"127.0.1.{n % 3 + 1}",
                                     name=f"w{n}")) as c:
        stats = [nlm.Answer(4, r.rest).stat for r in c.transport.pipeline(
            [c.message(nlm.LOCK, fh, block=1, svid=i) for i in range(1100)])]
    s.server.equal(set(stats), {nlm.BLOCKED, nlm.NOLOCKS}, "answers")
    s.server.equal(stats.count(nlm.NOLOCKS), 1100 - 1024, "over the limit")
    return stats.count(nlm.BLOCKED)


@case(163, "locks: UNLOCK of thousands of ranges between another's", own=True)
def between(w):
    with Locks(w) as s:
        c = s.client("127.0.0.2", name="many")
        for svid in (1, 2):
            stats = {nlm.Answer(4, r.rest).stat for r in c.transport.pipeline(
                [c.message(nlm.LOCK, s.fh, svid=svid, length=1,
                           offset=4 * i + 2 * svid) for i in range(4900)])}
            s.server.equal(stats, {nlm.OK}, "locks")
        other, fh = s.client("127.0.0.9", name="other"), s.make("others")
        s.server.equal(other.lock(fh), nlm.OK, "another client's lock")
        started = time.monotonic()
        c.transport.send_call(c.message(nlm.UNLOCK, s.fh, svid=1))
        s.server.equal(other.lock(fh, offset=5, length=1), nlm.OK, "meanwhile")
        waited = time.monotonic() - started
        s.server.equal(nlm.Answer(4, c.transport.receive().rest).stat, nlm.OK,
                       "all of one owner")
        spent = time.monotonic() - started
        print(f"# {spent * 1000:.0f} ms; another waited {waited * 1000:.0f} ms")
        s.server.true(waited < 0.1 + spent / 4,
                      f"another waited {waited:.2f} of {spent:.2f} s")


@case(151, "locks: storms of LOCK, CANCEL and UNLOCK", own=True)
def storms(w):
    with Locks(w) as s:
        holder = s.client("127.0.0.2", name="holder")
        s.server.equal(holder.lock(s.fh, svid=HELD), nlm.OK, "the first")
        end = time.monotonic() + (30 if w.long else 3)
        clients = [s.client(f"127.0.0.{10 + i}", name=f"c{i}")
                   for i in range(4)]
        rounds = 0
        while time.monotonic() < end:
            for c in clients:
                messages = []
                for svid in range(50):
                    of = {"svid": svid, "offset": svid}
                    messages += [
                        c.message(nlm.LOCK, s.fh, block=1, **of),
                        c.message(nlm.CANCEL, s.fh, block=1, **of),
                        c.message(nlm.LOCK, s.fh, block=1, **of),
                        c.message(nlm.UNLOCK, s.fh, **of)]
                for reply in c.transport.pipeline(messages):
                    s.server.equal(reply.accept, 0, "storm")
                rounds += 1
        s.others_lock()
        s.server.equal(holder.unlock(s.fh, svid=HELD), nlm.OK, "unlock")
        s.server.equal(s.client("127.0.0.3").test(s.fh).stat, nlm.OK,
                       "each owner's calls count in their order: all is free")
        print(f"# {rounds * 200} calls")


@case(152, "locks: others' calls free nothing", own=True)
def others(w):
    with Locks(w) as s:
        c = s.client("127.0.0.2", name="client")
        s.server.equal(c.lock(s.fh, svid=1, state=3), nlm.OK, "lock")
        for kind in ("tcp", "udp"):
            thief = s.client("127.0.0.3", kind, name="client", port=900, uid=0)
            for of in ({}, {"svid": 1}, {"svid": 1, "length": 1}):
                s.server.equal(thief.unlock(s.fh, **of), nlm.OK, "unlock")
                thief.cancel(s.fh, **of)
            for name in ("client", "", "127.0.0.2", "client\0"):
                thief.free_all(name)
                for state in (0, 1, 4, 5, -1):
                    nlm.notify(thief.transport, name, state)
            thief.close()
            for vers, other in ((4, "udp"), (1, "tcp"), (3, "tcp")):
                same = s.client("127.0.0.2", other, vers, name="client")
                s.server.equal(same.unlock(s.fh, svid=1), nlm.OK, "unlock")
                same.close()
        s.server.equal(s.client("127.0.0.3").lock(s.fh), nlm.DENIED,
                       "the lock stays")


def states(s, c, machine, state, text, freed):
    """A notify by UDP: the machine is asked, and its answer counts."""
    asked = len(machine.of(nlm.NSM, nlm.SM_STAT))
    with rpc.udp(LOCK_PORT, source=("127.0.0.2", 901)) as t:
        nlm.notify(t, "client", state)
    s.server.true(machine.serve(15, lambda: len(machine.of(
        nlm.NSM, nlm.SM_STAT)) > asked), f"{text}: the machine is asked")
    probe = s.client("127.0.0.3")
    wanted = nlm.OK if freed else nlm.DENIED
    s.server.true(eventually(lambda: probe.test(s.fh).stat == wanted, 5),
                  f"{text}: freed {not freed}")
    probe.close()
    s.server.equal(c.lock(s.fh, state=machine.state), nlm.OK, "again")


@case(153, "locks: a forged SM_NOTIFY, by datagram and by a user", own=True)
def forged_notify(w):
    with Locks(w) as s:
        machine = s.services("127.0.0.2", state=3)
        c = s.client("127.0.0.2", name="client")
        s.server.equal(c.lock(s.fh, state=3), nlm.OK, "lock")
        states(s, c, machine, 5, "its state is old", False)
        machine.state = 5
        states(s, c, machine, 5, "its state is new", True)
        silent = s.services("127.0.0.4", silent=(nlm.NSM,))
        d = s.client("127.0.0.4", name="silent")
        fh = s.make("silent")
        s.server.equal(d.lock(fh, state=3), nlm.OK, "lock")
        for kind, port in (("udp", 902), ("tcp", 0)):
            with rpc.TRANSPORTS[kind](LOCK_PORT,
                                      source=("127.0.0.4", port)) as t:
                nlm.notify(t, "silent", 5)
            silent.serve(1)
            s.server.equal(s.client("127.0.0.3").test(fh).stat, nlm.DENIED,
                           f"silence frees nothing ({kind})")
        with rpc.tcp(LOCK_PORT, source=("127.0.0.4", 903)) as t:
            nlm.notify(t, "silent", 5)
        s.server.equal(s.client("127.0.0.3").test(fh).stat, nlm.OK,
                       "TCP from a reserved port proves itself")


@case(154, "locks: guessed answers to call-backs, storms of _RES", own=True)
def guessed(w):
    with Locks(w) as s:
        holder, waiter = s.client("127.0.0.2"), s.client("127.0.0.3")
        s.server.equal(holder.lock(s.fh), nlm.OK, "lock")
        s.server.equal(waiter.lock(s.fh, block=1), nlm.BLOCKED, "wait")
        s.server.equal(holder.unlock(s.fh), nlm.OK, "unlock")
        storm = s.client("127.0.0.3")
        for length in (0, 7, 8, 9, 32, 1024):
            messages = [call(nlm.NLM, vers, proc, nlm.res_args(
                os.urandom(length), stat))
                for proc in range(nlm.TEST_RES, nlm.GRANTED_RES + 1)
                for stat in (nlm.OK, nlm.DENIED)
                for vers in (1, 3, 4)
                for _ in range(200 if w.long else 40)]
            for reply in storm.transport.pipeline(messages):
                s.server.equal(reply.accept, 0, "an empty reply")
                s.server.equal(reply.rest, b"", "an empty reply")
        s.others_lock()
        s.server.equal(holder.test(s.fh, svid=9).stat, nlm.DENIED,
                       "the lock is kept for the waiter")


@contextlib.contextmanager
def ears(address, port=111):
    """All datagrams that reach this address there."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind((address, port))
        s.settimeout(0.05)
        yield s


def heard(sock, seconds):
    found, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            found.append(sock.recv(65536))
        except socket.timeout:
            pass
    return found


def flood(s, address, seconds):
    """LOCK_MSG from there, as fast as it goes. Their number."""
    c = s.client(address, "udp")
    sent, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        c.transport.sock.send(c.message(nlm.LOCK_MSG, s.fh, svid=sent))
        sent += 1
        time.sleep(0.0005)
    return sent


@case(155, "locks: datagrams for others, by forged senders", own=True)
def reflected(w):
    exports = "{d}/rw 127.0.0.0/24(rw,insecure)"
    with Locks(w, exports=exports) as s:
        small = len(s.client().message(nlm.LOCK_MSG, s.fh))
        with ears(VICTIM) as victim:
            sent = flood(s, VICTIM, 3)
            got = heard(victim, 1)
        s.server.true(sent > 500, f"only {sent} calls")
        s.server.true(len(got) <= 1, f"{len(got)} lookups for {sent} calls")
        s.server.true(all(len(g) <= small + 128 for g in got), "length")
        with ears("127.0.7.7") as stranger:  # no export admits it
            flood(s, "127.0.7.7", 1)
            s.server.equal(heard(stranger, 1), [], "a stranger's datagrams")
        machine = s.services("127.0.0.67", silent=(nlm.NLM,))
        c = s.client("127.0.0.67", "udp")
        started = time.monotonic()
        while time.monotonic() < started + 4:
            for svid in range(20):
                c.transport.sock.send(c.message(nlm.LOCK_MSG, s.fh, svid=svid))
            machine.serve(0.05)
        machine.serve(0.5)
        spent = time.monotonic() - started
        calls = machine.of(nlm.NLM)
        s.server.true(len(calls) <= 4 * (spent + 2),
                      f"{len(calls)} calls in {spent:.1f} s")
        s.server.true(all(call.to <= small + 128 for call in calls), "length")
        s.others_lock()


@case(156, "locks: datagrams in all, to a network of forged senders", own=True)
def scanned(w):
    exports = "{d}/rw 127.0.0.0/8(rw,insecure)"
    with Locks(w, exports=exports) as s, contextlib.ExitStack() as stack:
        socks = [stack.enter_context(ears(f"127.1.{i // 200}.{1 + i % 200}"))
                 for i in range(600)]
        started = time.monotonic()
        for _ in range(3):
            for sock in socks:
                source = sock.getsockname()[0]
                with rpc.udp(LOCK_PORT, source=(source, 0)) as t:
                    t.send(call(nlm.NLM, 4, nlm.LOCK_MSG, nlm.lock_args(
                        4, s.fh, svid=3), auth_sys(1001, 1001)))
        total = 0
        for sock in socks:
            sock.settimeout(0)
            with contextlib.suppress(BlockingIOError):
                while sock.recv(65536):
                    total += 1
        spent = time.monotonic() - started
        s.server.true(0 < total <= 200 * (spent + 2),
                      f"{total} datagrams in {spent:.1f} s")
        s.others_lock()


@case(157, "locks: a client that never answers loses its turn", own=True,
      long=True)
def silent_waiter(w):
    with Locks(w) as s:
        holder = s.client("127.0.0.2", name="holder")
        s.server.equal(holder.lock(s.fh), nlm.OK, "lock")
        s.server.equal(s.client("127.0.0.3", name="silent").lock(
            s.fh, block=1), nlm.BLOCKED, "the silent one waits")
        machine = s.services("127.0.0.4")
        c = s.client("127.0.0.4", name="next")
        s.server.equal(c.lock(s.fh, block=1), nlm.BLOCKED, "another waits")
        s.server.equal(holder.unlock(s.fh), nlm.OK, "unlock")
        started = time.monotonic()
        s.server.true(machine.serve(50, lambda: machine.of(
            nlm.NLM, nlm.GRANTED_MSG)), "the other gets it")
        spent = time.monotonic() - started
        s.server.true(25 < spent < 40, f"after {spent:.0f} s")
        lines = re.findall(r"127\.0\.0\.3 cannot be called back",
                           s.server.log("nfsd"))
        s.server.equal(len(lines), 1, "lines about it")


@case(158, "locks: floods of LOCK while clients reclaim", own=True)
def grace_flood(w):
    with Locks(w) as s:
        machine = s.services("127.0.0.2", state=3)
        c = s.client("127.0.0.2", name="client")
        s.server.equal(c.lock(s.fh, state=3), nlm.OK, "lock")
        c.close()
        s.server.forgive = "locks: pid .* was killed"
        os.kill(s.server.role("nfsd", "locks"), 9)
        s.server.true(machine.serve(15, lambda: machine.of(
            nlm.NSM, nlm.SM_NOTIFY)), "the client is told")
        thief = s.client("127.0.0.3", name="thief")
        for reclaim in (0, 1):
            messages = [thief.message(nlm.LOCK, s.fh, svid=i, reclaim=reclaim)
                        for i in range(500)]
            stats = {nlm.Answer(4, r.rest).stat
                     for r in thief.transport.pipeline(messages)}
            s.server.equal(stats, {nlm.GRACE}, f"reclaim {reclaim}")
        s.server.equal(s.client("127.0.0.2", name="client").lock(
            s.fh, state=3, reclaim=1), nlm.OK, "the client reclaims")
        s.server.true(eventually(lambda: thief.lock(s.fh) == nlm.DENIED, 15),
                      "then the others are served, and find it locked")


@case(159, "locks: calls sent again", own=True)
def again(w):
    with Locks(w) as s:
        c = s.client("127.0.0.2", "udp")
        first = c.message(nlm.LOCK, s.fh)
        s.server.equal(c.transport.rpc(first).accept, 0, "lock")
        s.server.equal(c.unlock(s.fh), nlm.OK, "unlock")
        late = c.transport.rpc(first)
        s.server.equal(nlm.Answer(4, late.rest).stat, nlm.OK, "its old reply")
        s.server.equal(s.client("127.0.0.3").test(s.fh).stat, nlm.OK,
                       "what was unlocked stays free")
        waiter = s.client("127.0.0.4")
        s.server.equal(c.lock(s.fh), nlm.OK, "lock")
        for _ in range(300):
            s.server.equal(waiter.lock(s.fh, block=1), nlm.BLOCKED, "a poll")
        s.server.equal(waiter.cancel(s.fh, block=1), nlm.OK, "one cancel")
        s.server.equal(c.unlock(s.fh), nlm.OK, "unlock")
        s.server.equal(s.client("127.0.0.3").test(s.fh).stat, nlm.OK,
                       "no waiter is left")


@case(160, "locks: NSM is for nobody else", own=True)
def monitors(w):
    with Locks(w) as s:
        me = opaque("me") + u32(100021, 4, 16)
        for address in ("127.0.0.1", "127.0.0.2"):
            with rpc.tcp(LOCK_PORT, source=(address, 0)) as t:
                mon = t.rpc(call(nlm.NSM, 1, nlm.SM_MON,
                                 opaque("x") + me + bytes(16), auth_sys(0)))
                s.server.equal(mon.status(), 1, "SM_MON fails")
                for proc, args in ((nlm.SM_UNMON, opaque("x") + me),
                                   (nlm.SM_UNMON_ALL, me),
                                   (nlm.SM_SIMU_CRASH, b"")):
                    s.server.equal(t.rpc(call(nlm.NSM, 1, proc, args)).accept,
                                   3, "refused")
                for proc in (16, 17, 18, 19, 24, 2 ** 32 - 1):
                    s.server.equal(t.rpc(call(nlm.NLM, 4, proc, me)).accept, 3,
                                   "no such procedure")
        s.others_lock()


@case(162, "locks: the disk of the state directory hangs", own=True)
def hung_list(w):
    state = f"{w.dir}/own/state"
    s = Locks(w, flags=("-o", f"state={state}"), dirs=("state",))
    with Disk(state, "ext4", 32) as disk:
        os.chmod(state, 0o755)
        with s:
            c = s.client("127.0.0.2", name="old")
            s.server.equal(c.lock(s.fh, length=1), nlm.OK, "lock")
            new = s.client("127.0.0.3", name="new")
            disk.freeze()
            try:
                hung(s, c, new)
                if w.long:
                    given_up(s, new)
            finally:
                disk.thaw()
            for _ in range(1 if w.long else 2):
                new.transport.receive()
            s.server.equal(c.test(s.fh, offset=9, length=1).stat, nlm.OK,
                           "an UNLOCK after a LOCK that waited counts last")
            s.server.true(eventually(lambda: new.lock(
                s.fh, offset=9, length=1) == nlm.OK, 15),
                          "when the disk is back, a new client gets a lock")


def hung(s, c, new):
    """The new client waits for the disk, the old one does not."""
    new.transport.send_call(new.message(nlm.LOCK, s.fh, offset=9, length=1))
    for i in range(100):
        begin = time.monotonic()
        s.server.equal(c.lock(s.fh, offset=20, length=1), nlm.OK, "lock")
        s.server.equal(c.unlock(s.fh, offset=20, length=1), nlm.OK, "unlock")
        s.server.true(time.monotonic() - begin < 1, f"round {i} waited")
    with contextlib.closing(s.server.nfs3()) as nfs:
        s.server.equal(nfs.getattr(s.fh).status(), OK, "files are served")
    # Linux sends that if the process is killed which waits for the LOCK.
    new.transport.send_call(new.message(nlm.UNLOCK, s.fh, offset=9, length=1))


def given_up(s, new):
    started = time.monotonic()
    reply = new.transport.receive()
    spent = time.monotonic() - started
    s.server.equal(nlm.Answer(4, reply.rest).stat, nlm.NOLOCKS,
                   "a client that cannot be written down gets no lock")
    s.server.true(spent < 15, f"it waited {spent:.0f} s for that")
