# SPDX-License-Identifier: ISC
"""The duplicate request cache."""
import os

from harness import FILES, case
from nfs import EXIST, GUARDED, NOENT, OK, Nfs3, sattr3
from rpc import opaque, u32


def make(w, name, xid, uid=1001):
    return Nfs3(None, uid, uid).message("MKDIR", opaque(w.root()) + opaque(
        name) + sattr3(mode=0o755), xid=xid)


@case(98, "the same xid with other arguments is executed", remote=FILES)
def other_arguments(w):
    with w.udp() as t:
        w.equal(t.rpc(make(w, "d98a", 98)).status(), OK, "first")
        w.equal(t.rpc(make(w, "d98b", 98)).status(), OK, "second")
    for name in ("d98a", "d98b"):
        os.rmdir(f"{w.dir}/rw/{name}")


@case(99, "no reply crosses from one caller to another", remote=FILES)
def other_callers(w):
    message = make(w, "d99", 99)
    with w.udp(source=("127.0.0.1", 0)) as a, \
            w.udp(source=("127.0.0.2", 0)) as b, \
            w.udp(source=("127.0.0.1", 0)) as c:
        w.equal(a.rpc(message).status(), OK, "first")
        w.equal(b.rpc(message).status(), EXIST, "another address")
        w.equal(c.rpc(message).status(), EXIST, "another port")
        w.equal(a.rpc(make(w, "d99", 99, uid=1002)).status(), EXIST,
                "another user")
        w.equal(a.rpc(message).status(), OK, "the same again")
    os.rmdir(w.dir + "/rw/d99")


@case(100, "a repeat gets the first result, over UDP and TCP", remote=FILES)
def repeats(w):
    root = w.root()
    c = w.nfs3()
    for kind, transport in (("udp", w.udp()), ("tcp", w.tcp())):
        base = 1000 if kind == "udp" else 2000
        c.create(root, "r1")
        c.create(root, "r2")
        fh = c.lookup(root, "r1").fh
        place = opaque(root)
        for i, (name, args) in enumerate((
                ("MKDIR", place + opaque("rd") + sattr3(mode=0o755)),
                ("RMDIR", place + opaque("rd")),
                ("LINK", opaque(fh) + place + opaque("rl")),
                ("RENAME", place + opaque("r2") + place + opaque("r3")),
                ("REMOVE", place + opaque("r3")),
                ("REMOVE", place + opaque("rl")),
                ("CREATE", place + opaque("rx") + u32(GUARDED) + sattr3()),
                ("REMOVE", place + opaque("rx")))):
            first = transport.rpc(c.message(name, args, xid=base + i))
            again = transport.rpc(c.message(name, args, xid=base + i))
            w.equal((first.status(), again.status()), (OK, OK),
                    f"{name} over {kind}")
            w.equal(again.rest, first.rest, f"bytes of {name} over {kind}")
        c.remove(root, "r1")
        transport.close()
    c.close()


@case(101, "a million xids: bounded, and another client's entry survives",
      grows=True)
def many_xids(w):
    count = 1000000 if w.long else 3000
    kept = make(w, "d101", 101)
    with w.udp(source=("127.0.0.4", 0)) as quiet:
        w.equal(quiet.rpc(kept).status(), OK, "first")
        before = w.snapshot()[1]
        c = w.nfs3(source=("127.0.0.5", 0))
        args = opaque(w.root()) + opaque("none")
        for reply in c.transport.pipeline(
                c.message("REMOVE", args, xid=i) for i in range(count)):
            w.equal(reply.status(), NOENT, "REMOVE")
        c.close()
        w.true(w.snapshot()[1] - before < 16384, "memory grew")
        w.equal(quiet.rpc(kept).status(), OK, "still remembered")
    os.rmdir(w.dir + "/rw/d101")


@case(102, "a long reply is whole, the first time and the second", remote=FILES)
def long_reply(w):
    name = "l" * 250
    with w.udp() as t:
        message = Nfs3(t).message("CREATE", opaque(w.root()) + opaque(name) +
                                  u32(GUARDED) + sattr3(), xid=102)
        first, second = t.rpc(message), t.rpc(message)
    w.equal(first.status(), OK, "first")
    w.among(second.status(), (OK, EXIST), "second")
    os.unlink(f"{w.dir}/rw/{name}")
