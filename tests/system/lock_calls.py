#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""One part of 88-lock-calls.t, on the machine of a client.

    lock_calls.py EXPORT PART
"""
import fcntl
import random
import statistics
import sys
import time

import mount
import nlm
import pmap
from nfs import Nfs3
from process import eventually, patient
from rpc import Cursor, auth_sys, call, tcp, udp, up_from

SERVER = "10.7.1.1"
MAC = bytes(range(24))  # macOS: a cookie of 24 bytes


def handle(export, name, server=SERVER):
    root = mount.root(export, auth_sys(), host=server,
                      source=reserved())
    with tcp(2049, server, source=reserved()) as t:
        return Nfs3(t, 0, 0, ()).lookup(root, name).fh


def reserved(address=""):
    """A source for a call. A port may be in use still, towards this server."""
    return address, up_from(random.randrange(600, 900))


def client(address="10.7.1.2", server=SERVER, kind=udp, vers=4, name="test"):
    proto = pmap.UDP if kind is udp else pmap.TCP
    port = nlm.port_of(server, nlm.NLM, vers, proto)
    return nlm.Client(kind(port, server, source=reserved(address),
                           timeout=10), vers, name=name)


def equal(got, want, text):
    if got != want:
        sys.exit(f"{text}: got {got!r}, want {want!r}")


def one_result(machine, c, proc, fh, **of):
    """Makes a _MSG call; the answer in the _RES call that comes."""
    seen = len(machine.calls)
    equal(c.ask(proc, fh, cookie=MAC, **of), None, "the reply is empty")
    if not machine.serve(5, lambda: [k for k in machine.calls[seen:]
                                     if k.proc == proc + 5]):
        sys.exit(f"no _RES for {proc}: {machine.calls[seen:]}")
    got = machine.of(nlm.NLM, proc + 5)[-1]
    equal(got.vers, c.vers, "version")
    answer = nlm.Answer(c.vers, got.args)
    equal(answer.cookie, MAC, "cookie")
    return answer, got


def all_results(export, address, server):
    machine = nlm.Services(address)
    fh = handle(export, "a", server)
    for kind in (udp, tcp):
        for vers in (1, 3, 4):
            c = client(address, server, kind, vers)
            other = client(address, server, kind, vers, name="other")
            for proc, of, want in (
                    (nlm.LOCK_MSG, {}, nlm.OK), (nlm.TEST_MSG, {}, nlm.OK),
                    (nlm.CANCEL_MSG, {"svid": 5}, nlm.OK),
                    (nlm.UNLOCK_MSG, {"offset": 10, "length": 1}, nlm.OK)):
                answer, got = one_result(machine, c, proc, fh, **of)
                equal(answer.stat, want, f"_MSG {proc}")
                equal(got.source[0], server, "source")
                equal(got.source[1], c.transport.sock.getpeername()[1]
                      if kind is udp else got.source[1], "port")
            answer, _ = one_result(machine, other, nlm.TEST_MSG, fh)
            equal(answer.stat, nlm.DENIED, "TEST_MSG of what is held")
            equal(answer.holder.svid, 1, "holder")
            equal(c.unlock(fh), nlm.OK, "unlock")
            c.close()
            other.close()


def results(export):
    all_results(export, "10.7.1.2", SERVER)


def results6(export):
    all_results(export, "fd07::2", "fd07::1")


def other_address(export):
    """The server has two addresses; the client knows the second."""
    machine = nlm.Services("10.7.1.2")
    fh = handle(export, "a")
    c = client(server="10.7.1.9")
    _, got = one_result(machine, c, nlm.LOCK_MSG, fh)
    equal(got.source[0], "10.7.1.9", "source")
    equal(c.unlock(fh), nlm.OK, "unlock")


def held(export, waiter="10.7.1.2", name="test", **of):
    """A lock that another client has, and one that waits for it."""
    fh = handle(export, "b")
    holder = client("10.7.1.3", name="holder")
    equal(holder.lock(fh), nlm.OK, "lock")
    c = client(waiter, name=name)
    equal(c.lock(fh, block=1, **of), nlm.BLOCKED, "wait")
    return fh, holder, c


def soon(export):
    machine = nlm.Services("10.7.1.2")
    all_of = []
    # Half of them in time; but it may be busy here.
    while len(all_of) < 10 or (statistics.median(all_of[-10:]) > 0.01
                               and len(all_of) < 100):
        fh, holder, c = held(export)
        before = len(machine.of(nlm.NLM, nlm.GRANTED_MSG))
        started = time.monotonic()
        equal(holder.unlock(fh), nlm.OK, "unlock")
        if not machine.serve(5, lambda n=before: len(machine.of(
                nlm.NLM, nlm.GRANTED_MSG)) > n):
            sys.exit("no call-back")
        got = machine.of(nlm.NLM, nlm.GRANTED_MSG)[-1]
        all_of.append(got.at - started)
        args = Cursor(got.args)
        equal(len(args.opaque()), 8, "cookie")
        lock = nlm.read_lock(4, args)
        equal((lock["fh"], lock["svid"], lock["oh"]), (fh, 1, b"owner"),
              "the lock")
        machine.serve(0.05)
        equal(eventually(lambda: holder.lock(fh) == nlm.DENIED, 2), True,
              "the waiter has it")
        equal(c.unlock(fh), nlm.OK, "unlock")
        holder.close()
        c.close()
    median = statistics.median(all_of[-10:])
    print(f"{len(all_of)} times, {min(all_of) * 1000:.2f} ms at best, median "
          f"of the last ten {median * 1000:.2f} ms")
    if median > 0.01:
        sys.exit("too late")


def foreign(export):
    """A local program holds the lock for so long that it is polled seldom."""
    machine = nlm.Services("10.7.1.2")
    fh = handle(export, "b")
    c = client()
    with open(f"{export}/b", "r+b") as f:
        fcntl.lockf(f, fcntl.LOCK_EX)
        equal(c.lock(fh, block=1), nlm.BLOCKED, "wait")
        machine.serve(3.2)
        equal(machine.of(nlm.NLM), [], "calls")
        started = time.monotonic()
    if not machine.serve(5, lambda: machine.of(nlm.NLM, nlm.GRANTED_MSG)):
        sys.exit("no call-back")
    spent = machine.of(nlm.NLM, nlm.GRANTED_MSG)[-1].at - started
    machine.serve(0.05)
    equal(c.unlock(fh), nlm.OK, "unlock")
    print(f"{spent * 1000:.0f} ms")
    if spent > 1 + patient(0.25):  # it is polled once a second
        sys.exit(f"after {spent:.2f} s")


def again(export):
    """GRANTED_MSG gets no answer, the reply to GRANTED is DENIED."""
    machine = nlm.Services("10.7.1.2", answer_res=False, grant=nlm.DENIED)
    fh, holder, _ = held(export)
    equal(holder.unlock(fh), nlm.OK, "unlock")
    if not machine.serve(10, lambda: machine.of(nlm.NLM, nlm.GRANTED)):
        sys.exit("no GRANTED")
    kinds = [c.proc for c in machine.of(nlm.NLM)]
    equal(kinds, [nlm.GRANTED_MSG, nlm.GRANTED], "calls")
    equal(eventually(lambda: holder.lock(fh) == nlm.OK, 3), True,
          "it is free again")
    equal(holder.unlock(fh), nlm.OK, "unlock")


def moved(export):
    """The client's NLM has another port than a lookup said; another lookup
    finds it, at the earliest 10 s later."""
    machine = nlm.Services("10.7.1.7", ports={nlm.NLM: 9})
    fh, holder, c = held(export, "10.7.1.7", "moved")
    equal(holder.unlock(fh), nlm.OK, "unlock")
    equal(machine.serve(5, lambda: machine.of(pmap.PMAP)), True, "a lookup")
    machine.ports[nlm.NLM] = machine.socks[nlm.NLM].getsockname()[1]
    if not machine.serve(25, lambda: machine.of(nlm.NLM)):
        sys.exit("never called at the new port")
    machine.serve(0.2)
    equal(c.unlock(fh), nlm.OK, "unlock")


def silent(export):
    fh, holder, c = held(export, "10.7.1.4", "silent")
    equal(holder.unlock(fh), nlm.OK, "unlock")
    equal(c.lock(fh, block=1), nlm.OK, "who asks again gets it")
    equal(c.unlock(fh), nlm.OK, "unlock")


def tcp_only(export):
    machine = nlm.Services("10.7.1.5", ports={nlm.NLM: 0})
    fh, holder, c = held(export, "10.7.1.5", "streams")
    equal(holder.unlock(fh), nlm.OK, "unlock")
    machine.serve(1)
    equal(machine.of(nlm.NLM), [], "calls")
    equal(c.lock(fh, block=1), nlm.OK, "who asks again gets it")
    equal(c.unlock(fh), nlm.OK, "unlock")


def restart(export):
    machine = nlm.Services("10.7.1.2", state=5)
    fh = handle(export, "a")
    c = client(name="client")
    equal(c.lock(fh, state=5), nlm.OK, "lock")
    port = nlm.port_of(SERVER, nlm.NSM, 1)
    for state, freed in ((7, False), (7, True)):
        with udp(port, SERVER, source=reserved("10.7.1.2")) as t:
            nlm.notify(t, "client", state)
        seen = len(machine.of(nlm.NSM, nlm.SM_STAT))
        machine.serve(10, lambda n=seen: len(machine.of(
            nlm.NSM, nlm.SM_STAT)) > n)
        machine.serve(0.3)
        other = client("10.7.1.3", name="other")
        want = nlm.OK if freed else nlm.DENIED
        equal(eventually(lambda: other.test(fh).stat == want, 5), True,
              f"freed {freed}")
        machine.state = 7


def switched_off(_):
    machine = nlm.Services("10.7.1.2")
    with tcp(2049, SERVER, source=reserved("10.7.1.2")) as t:
        t.rpc(call(100003, 3, 0))
        c = client()
        equal(c.lock(bytes(32)), nlm.NOLOCKS, "LOCK")
        answer, _ = one_result(machine, c, nlm.LOCK_MSG, bytes(32))
        equal(answer.stat, nlm.NOLOCKS, "LOCK_MSG")


if __name__ == "__main__":
    globals()[sys.argv[2]](sys.argv[1])
