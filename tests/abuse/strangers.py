# SPDX-License-Identifier: ISC
"""Hosts and users without rights take what belongs to others: places for
connections, cached replies, bytes over UDP, guesses of handles."""
import os
import subprocess
import time

from harness import case
from mount import DUMP, EXPORT, MNT, MOUNT
from nfs import ACCES, EXIST, NFS, OK, STALE, Nfs2, Nfs3, sattr3
from pmap import PMAP, register
from process import as_user, eventually
from rpc import Closed, Reply, call, opaque, tcp, u32, u64, udp, unix
from servers import Server

PROGRAMS = {"portmapd": (PMAP, 2), "mountd": (MOUNT, 3), "nfsd": (NFS, 3)}
NETWORK = "fd00:7:7:7::"  # a /64 that one machine has
HALF = b"\x80\0\0\x40" + bytes(8)  # the start of a record


def hold(port, host, sources):
    """One connection of each source, each with the start of a record."""
    held = []
    for source in sources:
        try:
            held.append(tcp(port, host, source=(source, 0), timeout=2))
            held[-1].send(HALF)
        except (Closed, OSError):
            pass
    return held


def newcomers(w, name, host, sources):
    """Each of them is answered at the first try."""
    prog, vers = PROGRAMS[name]
    for source in sources:
        with tcp(w.ports[prog], host, source=(source, 0)) as t:
            w.equal(t.rpc(call(prog, vers, 0)).accept, 0, f"{name}: {source}")


@case(123, "unfinished records of many addresses: newcomers are served",
      own=True)
def unfinished(w):
    subprocess.run(["ip", "-6", "route", "add", "local", NETWORK + "/64",
                    "dev", "lo"], check=True)
    few = ("-o", "connections-max=512", "-o", "connections-per-host=64")
    with Server(w, daemons=tuple(PROGRAMS), flags={"nfsd": few}) as s:
        for name, (prog, _) in PROGRAMS.items():
            port = s.ports[prog]
            # 8 times 64, of hosts that send no more
            held = hold(port, "127.0.0.1",
                        [f"127.0.8.{i % 8 + 1}" for i in range(520)])
            newcomers(s, name, "127.0.0.1",
                      [f"127.0.9.{i + 1}" for i in range(20)])
            # one place for each of many hosts
            held += hold(port, "127.0.0.1",
                         [f"127.0.{i // 200 + 10}.{i % 200 + 1}"
                          for i in range(600)])
            newcomers(s, name, "127.0.0.1",
                      [f"127.0.9.{i + 1}" for i in range(20)])
            for t in held:
                t.close()
            # one machine with many addresses counts once
            held = hold(port, "::1",
                        [f"{NETWORK}{i + 1:x}" for i in range(300)])
            w.true(eventually(lambda: alive(held) <= 64),
                   f"{name}: a network holds {alive(held)} places")
            newcomers(s, name, "::1", ["::1"])
            for t in held:
                t.close()
    subprocess.run(["ip", "-6", "route", "del", "local", NETWORK + "/64",
                    "dev", "lo"], check=True)


def alive(held):
    return sum(not t.is_closed(0.001) for t in held)


def as_here(uid, action):
    """Runs action in this process, with the rights of another user."""
    os.seteuid(uid)
    try:
        action()
    finally:
        os.seteuid(0)


@case(124, "local users hold connections to the registration socket: the "
      "users with a rule register", own=True)
def registration_places(w):
    with Server(w, daemons=("portmapd", "mountd", "nfsd"), flags={
            "portmapd": ("-o", "register=2000:390000")}) as s:
        path = s.dir + "/run/portmap.sock"
        held = []

        def take():
            for _ in range(64):
                held.append(unix(path))
                held[-1].send(HALF)

        def reach():
            with unix(path) as t:
                return register(t, 390000).status() == 1

        for uid in range(3001, 3013):
            try:
                as_here(uid, take)
            except (Closed, OSError):
                pass
        w.true(as_user(2000, reach), "a user with a rule cannot register")
        for daemon in ("mountd", "nfsd"):
            line = "registered with the portmapper"
            before = s.log(daemon).count(line)
            s.stop(daemon)
            s.start_ready(daemon)
            w.true(eventually(lambda d=daemon, n=before:
                              s.log(d).count(line) > n),
                   f"{daemon} cannot register")
        s.before = s.snapshot()
        for t in held:
            t.close()


def directories(w, source, names, xid=1):
    """MKDIR of all names from one address: the statuses."""
    with w.tcp(source=(source, 0)) as t:
        c = Nfs3(t, 1001, 1001)
        return [r.status() for r in t.pipeline(
            c.message("MKDIR", opaque(w.root()) + opaque(n) + sattr3(),
                      xid=xid + i) for i, n in enumerate(names))]


@case(125, "cached replies of a client outlast the calls of refused hosts "
      "and of many clients", own=True)
def replies(w):
    with Server(w, "{d}/rw 127.0.0.0/24(rw,insecure)") as s:
        for what, network, status in (("refused hosts", "127.0.20", ACCES),
                                      ("clients", "127.0.0", EXIST)):
            with s.udp() as t:
                message = Nfs3(None, 1001, 1001).message(
                    "MKDIR", opaque(s.root()) + opaque(what) + sattr3(),
                    xid=7)
                w.equal(t.rpc(message).status(), OK, "MKDIR")
                for i in range(10):
                    got = directories(s, f"{network}.{i + 50}", [what] * 2100)
                    w.equal(set(got), {status}, what)
                w.equal(t.rpc(message).status(), OK, f"after {what}: repeated")


def guess(fh, at, count):
    """Handles with other bytes where the tag is."""
    known = int.from_bytes(fh[at:at + 3], "big")
    for i in range(count):
        tag = ((known + i + 1) & 0xFFFFFF).to_bytes(3, "big")
        yield fh[:at] + tag + fh[at + 3:]


def answered(s, source, messages, last):
    """Sends datagrams and then one that is answered: the statuses of the
    others that are."""
    found = []
    with udp(s.ports[NFS], source=(source, 0), timeout=20) as t:
        for message in messages:
            t.send(message)
        t.send(last)
        while (reply := t.receive()).data[:4] != last[:4]:
            found.append(reply.status())
    return found


@case(126, "guesses of handles: counted, logged, and too few to find one",
      own=True)
def guesses(w):
    with Server(w, "{d}/rw 127.0.0.0/24(rw,insecure)\n"
                "{d}/music 127.0.0.0/24(ro,insecure,all_squash,"
                "names=utf16le,alias=/C/)", dirs=("music",)) as s:
        clients_guess(s)
        players_guess(s)
        refused_guess(s)


def players_guess(s):
    with s.udp(MOUNT) as t:
        reply = t.rpc(call(MOUNT, 1, MNT, opaque("/C/".encode("utf-16le"))))
        s.equal(reply.status(), OK, "MNT of a player")
        root = reply.results().fixed(32)
    with s.udp() as t:
        s.equal(Nfs2(t).call("GETATTR", root).status(), OK, "a player")
    c = Nfs2(None)
    total = 0
    for i in range(8):  # not more, from more addresses
        got = answered(s, f"127.0.0.{i + 100}", (
            c.message("GETATTR", fh) for fh in guess(root, 9, 150)),
            c.message("GETATTR", root))
        s.equal(set(got) - {STALE}, set(), "guesses of a player's handle")
        s.true(len(got) <= 64, f"one client: {len(got)} guesses are tried")
        total += len(got)
    s.true(128 <= total <= 300, f"{total} guesses are tried")
    with s.udp() as t:
        s.equal(Nfs2(t).call("GETATTR", root).status(), OK,
                "a player during the attack")
    s.true("too many wrong handles" in s.log("nfsd"), "no line in the log")


def clients_guess(s):
    root = s.root()
    source = ("127.0.0.90", 0)
    c = Nfs3(None)
    got = []
    with s.tcp(source=source) as t:
        try:
            for r in t.pipeline((c.message("GETATTR", opaque(fh))
                                 for fh in guess(root, 28, 20000)), 50):
                got.append(r.status())
        except Closed:
            pass
    s.equal(set(got), {STALE}, "guesses")
    s.true(900 < len(got) < 10000, f"{len(got)} guesses are answered")
    for where in (source, ("127.0.0.1", 0)):
        with s.tcp(source=where) as t:
            s.equal(Nfs3(t).getattr(root).status(), OK, f"{where} is served")
    lines = [x for x in s.log("nfsd").splitlines() if "127.0.0.90:" in x]
    s.true(1 <= len(lines) <= 2, f"lines of log: {lines}")


def refused_guess(s):
    """A host outside the list does not learn which handles are right."""
    root = s.root()
    with s.tcp(source=("127.0.20.1", 0)) as t:
        c = Nfs3(t)
        for fh in (root, *guess(root, 28, 20)):
            s.equal(c.getattr(fh).status(), ACCES, "a refused host")


STRANGER = "10.78.0.1"  # an address that is not loopback
BURST = 8  # seconds of bytes that are saved up
RATES = {MOUNT: 4096, NFS: 4 << 20}


def reflected(s, prog, message, count):
    """Bytes that come back for calls with this sender, beyond 1.5 times
    theirs, and the most that may come in the time it took. Ends when the log
    tells of the limit, or after so many calls."""
    daemon = "nfsd" if prog == NFS else "mountd"
    got = sent = 0
    started = time.monotonic()
    with udp(s.ports[prog], source=(STRANGER, 0), timeout=20) as t:
        while sent < count and f"udp {STRANGER}" not in s.log(daemon):
            for _ in range(4):  # as many as the socket holds
                t.send(message)
            sent += 4
            null = call(prog, 3, 0)
            t.send(null)
            while (data := t.receive().data)[:4] != null[:4]:
                got += max(0, len(data) - len(message) * 3 // 2)
    took = time.monotonic() - started
    return got, RATES[prog] * (BURST + took + 1)


@case(127, "datagrams from a sender that may be forged: the replies are no "
      "weapon, TCP proves an address", own=True)
def reflection(w):
    subprocess.run(["ip", "address", "add", STRANGER + "/32", "dev", "lo"],
                   check=True)
    lines = "".join(f"{{d}}/x{i} *(ro,insecure)\n" for i in range(40))
    with Server(w, "{d}/rw *(rw,insecure)\n" + lines,
                dirs=tuple(f"x{i}" for i in range(40))) as s:
        for proc in (EXPORT, DUMP):
            message = call(MOUNT, 1, proc)
            got, most = reflected(s, MOUNT, message, 1000)
            w.true(got <= most, f"MOUNT {proc}: {got} bytes")
        w.true(f"udp {STRANGER}" in s.log("mountd"), "no limit in mountd")
        with open(s.dir + "/rw/big", "wb") as f:
            f.write(bytes(1 << 20))
        c = s.nfs3()
        fh = c.lookup(s.root(), "big").fh
        c.close()
        read = Nfs3(None).message("READ", opaque(fh) + u64(0) + u32(32768))
        w.true(len(read) < 120, "a short call")
        got, most = reflected(s, NFS, read, 40000)
        w.true(RATES[NFS] * BURST / 2 < got <= most, f"READ: {got} bytes")
        lines = [x for x in s.log("nfsd").splitlines() if STRANGER in x]
        w.equal(len(lines), 1, f"lines of log: {lines}")
        with udp(s.ports[NFS], source=(STRANGER, 0)) as t:
            w.equal(Nfs3(t).getattr(fh).status(), OK, "short replies")
        # the same sender, now that TCP has proven it
        with s.tcp(source=(STRANGER, 0)), \
                udp(s.ports[NFS], source=(STRANGER, 0), timeout=20) as t:
            for _ in range(200):
                w.equal(t.rpc(read).status(), OK, "a proven sender")
    subprocess.run(["ip", "address", "del", STRANGER + "/32", "dev", "lo"],
                   check=True)
