# SPDX-License-Identifier: ISC
"""Hosts and users without rights take what belongs to others: places for
connections, cached replies, bytes over UDP, guesses of handles."""
import os
import subprocess

from harness import case
from mount import MOUNT
from nfs import NFS
from pmap import PMAP, register
from process import as_user, eventually
from rpc import Closed, call, tcp, unix
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
            s.start(daemon)
            w.true(eventually(lambda d=daemon, n=before:
                              s.log(d).count(line) > n),
                   f"{daemon} cannot register")
        s.before = s.snapshot()
        for t in held:
            t.close()
