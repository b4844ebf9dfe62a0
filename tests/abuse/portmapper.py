# SPDX-License-Identifier: ISC
"""The portmapper. roles.py tries the unix socket of registration."""
import os
import signal
import socket
import subprocess
import time

from harness import case
from mount import MOUNT
from nfs import NFS
from pmap import (GETADDR, GETPORT, PMAP, SET, TCP, UNSET, dump, register,
                  rpcb)
from process import as_user, eventually
from rpc import Closed, call, opaque, record, u32, udp

RPCB = rpcb(NFS, 3, "tcp")
FORWARD = u32(NFS, 3, 0) + opaque(b"")
QUERIES = {
    (2, 0): b"", (2, 3): u32(NFS, 3, TCP, 0), (2, 4): b"", (2, 5): FORWARD,
    (3, 3): RPCB, (3, 4): b"", (3, 5): FORWARD, (3, 6): b"",
    (3, 7): opaque("127.0.0.1.0.111"),
    (4, 3): RPCB, (4, 4): b"", (4, 5): FORWARD, (4, 9): RPCB,
    (4, 10): FORWARD, (4, 11): RPCB, (4, 12): b"",
}


def table(w):
    with w.tcp(PMAP) as t:
        return dump(t)


@case(22, "no datagram from another machine is answered 1.5 times as large")
def amplification(w):
    script = ("import sys; sys.path.insert(0, sys.argv[1]); "
              "import portmapper; portmapper.ratios(sys.argv[2])")
    other = os.environ.get("OTHER_PID")
    w.true(other, "no other host")
    out = subprocess.run(
        ["nsenter", "-t", other, "-n", "--", "python3", "-c", script,
         os.path.dirname(__file__), os.environ["OUR_ADDRESS"]],
        capture_output=True, text=True, timeout=60, check=False)
    w.equal(out.stdout.strip(), "within", f"ratios: {out.stderr[-400:]}")


def ratios(address):
    """Runs on the other host: prints "within", or the worst."""
    worst = (0.0, None)
    for (vers, proc), args in QUERIES.items():
        message = call(PMAP, vers, proc, args)
        with udp(111, address) as t:
            t.send(message)
            size = len(t.receive_raw() or b"")
        worst = max(worst, (size / len(message), f"v{vers} {proc}"))
    print("within" if worst[0] <= 1.5 else worst)


@case(23, "CALLIT and its kin forward nothing")
def callit(w):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trap:
        trap.bind(("127.0.0.1", 0))
        trap.settimeout(0.2)
        for vers, proc in ((2, 5), (3, 5), (4, 5), (4, 10)):
            for prog, procedure in ((MOUNT, 1), (MOUNT, 5), (NFS, 1),
                                    (PMAP, 1), (999999, 0)):
                with w.udp(PMAP) as t:
                    t.send(call(PMAP, vers, proc,
                                u32(prog, 3, procedure) + opaque(bytes(64))))
                    data = t.receive_raw(0.02)
                    w.true(data is None or len(data) < 200, "an answer")
        try:
            trap.recv(100)
            w.true(False, "something was forwarded")
        except socket.timeout:
            pass


@case(24, "SET and UNSET over the network are false, from anywhere")
def set_by_network(w):
    before = table(w)
    forged = rpcb(300019, 1, "tcp", "127.0.0.1.30.97", "superuser")
    for source in (None, ("127.0.0.1", 777), ("127.0.0.5", 888)):
        for vers, set_args, unset_args in (
                (2, u32(300019, 1, TCP, 7777), u32(NFS, 3, TCP, 0)),
                (3, forged, RPCB), (4, forged, RPCB)):
            for proc, args in ((SET, set_args), (UNSET, unset_args)):
                with w.udp(PMAP, source=source) as t:
                    reply = t.rpc(call(PMAP, vers, proc, args))
                    w.true(reply.accept != 0 or reply.status() == 0,
                           f"v{vers} {proc} over UDP: {reply.describe()}")
                with w.tcp(PMAP) as t:
                    reply = t.rpc(call(PMAP, vers, proc, args))
                    w.true(reply.accept != 0 or reply.status() == 0,
                           f"v{vers} {proc} over TCP: {reply.describe()}")
    w.equal(table(w), before, "table")


def set_program(w, program):
    def attempt():
        with w.registry() as t:
            return register(t, program, 9).status() == 1
    return attempt


@case(25, "only the right user registers a program")
def set_by_user(w):
    w.true(not as_user(1001, set_program(w, 100005)), "a stranger")
    w.true(not as_user(902, set_program(w, 100003)), "mountd for nfs")
    w.true(not as_user(903, set_program(w, 100005)), "nfsd for mount")
    w.true(as_user(902, set_program(w, 100005)), "mountd for mount")
    w.true(eventually(lambda: not any(v == 9 for _, v, _, _ in table(w)), 0.5),
           "entries outlive their connection")


@case(26, "a killed registrant's entries are gone at once")
def killed_registrant(w):
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        t = w.registry()
        register(t, 300026)
        os.write(told, b"x")
        time.sleep(60)
        os._exit(0)
    os.read(ready, 1)
    entry = (300026, 1, TCP, 7777)
    w.true(entry in table(w), "registered")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    started = time.monotonic()
    w.true(eventually(lambda: entry not in table(w), 1), "still there")
    w.true(time.monotonic() - started < 0.5, "took too long")
    os.close(ready)
    os.close(told)


@case(27, "a second registration is refused while the first lives")
def second_registration(w):
    with w.registry() as first:
        w.equal(register(first, 300027).status(), 1, "first")
        with w.registry() as second:
            w.equal(register(second, 300027, port=8888).status(), 0, "second")

    def again():
        with w.registry() as third:
            return register(third, 300027).status() == 1
    w.true(eventually(again, 1), "after the first died")


@case(28, "strings of 10^8 and 2^32-1 bytes: GARBAGE_ARGS, no memory")
def string_bombs(w):
    for length in (10 ** 8, 0xFFFFFFFF):
        bomb = u32(NFS, 3, length) + bytes(40)
        with w.tcp(PMAP) as t:
            for _ in range(1000):
                w.equal(t.rpc(call(PMAP, 3, GETADDR, bomb)).accept, 4, "accept")


@case(29, "registrations are capped")
def many_registrations(w):
    with w.registry() as t:
        refused = 0
        for i in range(100000):
            if register(t, 400000 + i).status() != 1:
                refused += 1
                if refused > 10:
                    break
    w.true(refused > 10, "100,000 registrations were taken")
    w.true(eventually(
        lambda: not any(p >= 400000 for p, _, _, _ in table(w)), 2), "left")


@case(30, "a flood of GETPORT: TCP queries still served")
def flood(w):
    message = call(PMAP, 2, GETPORT, u32(NFS, 3, TCP, 0))
    socks = [w.udp(PMAP, source=(f"127.0.{i // 250 + 1}.{i % 250 + 1}", 0))
             for i in range(1000 if w.long else 100)]
    spans, end = [], time.monotonic() + (20 if w.long else 2)
    while time.monotonic() < end:
        for s in socks:
            for _ in range(20):
                s.sock.send(message)
        started = time.monotonic()
        with w.tcp(PMAP) as t:
            t.rpc(call(PMAP, 2, 0))
        spans.append(time.monotonic() - started)
    for s in socks:
        s.close()
    middle = sorted(spans)[len(spans) // 2]
    w.true(middle < 0.05, f"TCP queries took {middle:.3f} s")


@case(31, "GETADDR with malformed netids and addresses: empty or refused")
def bad_netids(w):
    for netid in ("", "tcp7", "x" * 300, "\0\0", "udp\n"):
        for uaddr in ("", "....", "999.1.1.1.1.1", "fe80::1%eth0.0.1", "%n"):
            with w.tcp(PMAP) as t:
                for vers in (3, 4):
                    reply = t.rpc(call(PMAP, vers, GETADDR,
                                       rpcb(NFS, 3, netid, uaddr)))
                    w.true(reply.stat == 0, reply.describe())


@case(32, "our own client stops at a reply without end")
def endless_reply(w):
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    path = w.dir + "/run/false.sock"
    server.bind(path)
    os.chmod(path, 0o777)
    server.listen(1)
    child = subprocess.Popen(
        [os.environ["O"] + "/mountd/mountd", "-d", "-s", path, "-f",
         w.dir + "/exports", "-k", w.dir + "/key", "-a", "127.0.0.77"],
        stderr=subprocess.DEVNULL)
    try:
        server.settimeout(10)
        connection = server.accept()[0]
        connection.settimeout(3)
        try:
            connection.recv(4096)
            for _ in range(64):
                connection.sendall(record(bytes(65536), False))
            rest = connection.recv(4096)
        except (ConnectionResetError, BrokenPipeError, Closed):
            rest = b""
        except socket.timeout:
            rest = b"timeout"
        w.true(rest == b"", "mountd goes on reading")
        w.equal(child.poll(), None, "mountd ended")
    finally:
        child.terminate()
        child.wait(10)
        server.close()
