#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Which worker gets a connection, for 27-accept.t.

    placed.py WORKERS PID

Opens connections to the nfsd with this PID and looks which worker has each, by
the sockets in /proc. Prints "0 TEXT" for what is right and "1 TEXT" for what is
not.
"""
import os
import signal
import socket
import subprocess
import sys
import time

import nfs
import rpc

NULL = rpc.call(100003, 3, 0)
PATIENCE = 20  # seconds


def roles(parent, title):
    return [int(p) for p in subprocess.run(
        ["pgrep", "-P", str(parent), "-f", f"^nfsd: {title}"],
        stdout=subprocess.PIPE, check=False).stdout.split()]


def sockets(pid):
    """The sockets of a process, by inode number."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            link = os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            continue
        if link.startswith("socket:["):
            found.add(link[8:-1])
    return found


def established():
    """The server's ends of connections, by inode number."""
    found = set()
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table.readlines()[1:]:
            field = line.split()
            if field[1].endswith(f":{nfs.PORT:04X}") and field[3] == "01":
                found.add(field[9])
    return found


def counts(parent):
    """How many connections each worker has, in ascending order."""
    all_of_them = established()
    return sorted(len(all_of_them & sockets(p))
                  for p in roles(parent, "worker"))


def settle(parent, total):
    """The same when all of them are there, or have gone."""
    end = time.monotonic() + PATIENCE
    while sum(counts(parent)) != total and time.monotonic() < end:
        time.sleep(0.02)
    return counts(parent)


def answers(stream, seconds=PATIENCE):
    stream.sock.settimeout(seconds)
    try:
        return stream.rpc(NULL).accept == 0
    except (OSError, rpc.Closed):
        return False


def open_many(count, host="127.0.0.1", seconds=PATIENCE):
    """Connections, and how many of them were answered in time."""
    streams, good = [], 0
    for _ in range(count):
        t = rpc.TRANSPORTS["tcp"](nfs.PORT, "127.0.0.1", (host, 0), PATIENCE)
        good += answers(t, seconds)
        streams.append(t)
    return streams, good


def hang_up(streams):
    for t in streams:
        t.close()


def say(good, text):
    print(0 if good else 1, text)


def balance(parent, workers):
    streams, good = open_many(8 * workers)
    have = settle(parent, 8 * workers)
    say(good == 8 * workers, "all connections are answered")
    say(have[-1] <= 12 and have[0] >= 6,
        f"{8 * workers} connections are even: {have}")
    hang_up(streams[::2])
    settle(parent, 4 * workers)
    more, _ = open_many(4 * workers)
    have = settle(parent, 8 * workers)
    say(have[-1] <= 12, f"and when half of them were replaced: {have}")
    crowd, _ = open_many(40 * workers, "127.0.0.2")
    have = settle(parent, 48 * workers)
    say(have[-1] * workers <= 1.5 * sum(have),
        f"a client with many fills no worker: {have}")
    say(all(map(answers, streams[1::2] + more)), "and the others are served")
    hang_up(streams[1::2] + more + crowd)
    settle(parent, 0)


def stopped(parent, workers):
    """One worker is stopped. The connections it gets before that is noticed
    wait for it, and all others do not."""
    victim = roles(parent, "worker")[0]
    os.kill(victim, signal.SIGSTOP)
    begun = time.monotonic()
    streams, good = open_many(2 * workers, seconds=1.5)
    took = time.monotonic() - begun
    os.kill(victim, signal.SIGCONT)
    say(good >= 2 * workers - 2, f"{good} of {2 * workers} connections are "
        f"answered in {took:.1f} s while a worker is stopped")
    say(all(map(is_open, streams)), "and none is lost")
    hang_up(streams)
    settle(parent, 0)


def is_open(stream):
    """Has the server not closed it? A late answer may have arrived."""
    stream.sock.setblocking(False)
    try:
        return stream.sock.recv(1 << 16) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def killed(parent, workers):
    victim = roles(parent, "worker")[0]
    os.kill(victim, signal.SIGKILL)
    streams, good = open_many(2 * workers, seconds=5)
    say(good == 2 * workers,
        f"{good} of {2 * workers} are answered when a worker was killed")
    hang_up(streams)
    settle(parent, 0)


def accept_killed(parent, workers):
    old, _ = open_many(workers)
    role = roles(parent, "accept")
    say(len(role) == 1, "one process accepts")
    os.kill(role[0], signal.SIGKILL)
    say(all(map(answers, old)), "connections live on without it")
    new, good = open_many(workers)
    say(good == workers, "its successor accepts")
    have = settle(parent, 2 * workers)
    say(have[-1] <= workers // 2, f"and spreads them: {have}")
    hang_up(old + new)
    say(settle(parent, 0)[-1] == 0, "all are closed")


def main():
    workers, parent = int(sys.argv[1]), int(sys.argv[2])
    socket.setdefaulttimeout(PATIENCE)
    for test in (balance, stopped, killed, accept_killed):
        test(parent, workers)


if __name__ == "__main__":
    main()
