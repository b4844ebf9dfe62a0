# SPDX-License-Identifier: ISC
"""Connections, descriptors, memory, files and log lines by the thousand."""
import os
import re
import resource
import socket
import subprocess
import threading
import time

from faults import Page
from harness import FILES, Failure, case
from nfs import MLINK, NFS, OK, sattr3
from process import (cpu_seconds, eventually, highest_descriptor, proc_status,
                     set_limit)
from rpc import Closed, call, opaque, record, u32, u64
from servers import Server
from session import Session, mount_session, portmap_session


def open_many(w, count, source):
    """As many connections as the server takes."""
    found = []
    for _ in range(count):
        try:
            found.append(w.tcp(source=(source, 0), timeout=2))
        except OSError:
            break
    return found


def raise_files():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


@case(103, "idle connections of one host: capped, other hosts served",
      grows=True)
def idle(w):
    count = min(10000 if w.long else 2000, raise_files() - 200)
    held = open_many(w, count, "127.0.0.66")
    with w.tcp(source=("127.0.0.67", 0)) as t:
        t.rpc(call(NFS, 3, 0))
    w.answers_in(0.1)
    before = w.cpu()
    time.sleep(1)
    w.true(w.cpu() - before < 0.1, "idle connections cost time")
    for t in held:
        t.close()


@case(105, "headers at one byte per second are closed at the deadline",
      long=True)
def slow_headers(w):
    held = [w.tcp() for _ in range(1000)]
    end = time.monotonic() + 90
    message = record(call(NFS, 3, 0))
    at = 0
    while held and time.monotonic() < end:
        for t in list(held):
            try:
                t.send(message[at % 20:at % 20 + 1] if at < 20 else b"\0")
                if at > 5 and t.is_closed(0.001):
                    held.remove(t)
            except (Closed, OSError):
                held.remove(t)
        at += 1
        time.sleep(1)
    w.equal(len(held), 0, "connections kept")


@case(106, "4,096 connections each halfway into a 1 MiB WRITE: bounded",
      grows=True)
def half_writes(w):
    before = w.snapshot()[1]
    held = []
    head = u32(0x80000000 | (1 << 20)) + bytes(256 * 1024)
    for i in range(4096 if w.long else 400):
        try:
            t = w.tcp(source=(f"127.0.2.{i % 100 + 1}", 0), timeout=0.2)
            held.append(t)
            t.send(head)
        except (Closed, OSError, socket.timeout):
            pass
    grown = w.snapshot()[1] - before
    # -o partial-max, 64 MiB, for each of the two workers
    w.true(grown < 150 * 1024, f"memory grew by {grown} KiB")
    for _ in range(10):
        w.answers_in(0.5)
    for t in held:
        t.close()


@case(107, "many distinct files: descriptors are recycled, no client notices",
      grows=True)
def many_files(w):
    count = 200000 if w.long else 2000
    where = w.dir + "/rw/many"
    os.makedirs(where, exist_ok=True)
    for i in range(count):
        os.close(os.open(f"{where}/{i}", os.O_CREAT | os.O_WRONLY, 0o644))
    c = w.nfs3()
    many = c.lookup(w.root(), "many").fh
    handles = []
    for reply in c.transport.pipeline(
            c.message("LOOKUP", opaque(many) + opaque(str(i)))
            for i in range(count)):
        w.equal(reply.status(), OK, "LOOKUP")
        handles.append(reply.rest[4:40])  # with its length
    for reply in c.transport.pipeline(
            c.message("READ", fh + u64(0) + u32(10))
            for fh in handles[::7]):
        w.equal(reply.status(), OK, "READ")
    c.close()
    subprocess.run(["rm", "-rf", where], check=True)


@case(108, "clients list a large directory from random cookies; others "
      "are served", grows=True)
def large_directory(w):
    where = w.dir + "/rw/large"
    os.makedirs(where, exist_ok=True)
    count = 1000000 if w.long else 20000
    for i in range(count):
        os.close(os.open(f"{where}/{i:07}", os.O_CREAT | os.O_WRONLY, 0o644))
    c = w.nfs3()
    fh = c.lookup(w.root(), "large").fh
    end = time.monotonic() + (20 if w.long else 3)
    slowest = []

    def lister():
        n = w.nfs3()
        cookie = 0
        while time.monotonic() < end:
            reply = n.readdirplus(fh, cookie=cookie, maxcount=65536)
            if reply.status() != OK:
                cookie = 0
                continue
            cookie = int.from_bytes(os.urandom(7), "big") \
                if cookie == 0 else 0
        n.close()
    threads = [threading.Thread(target=lister)
               for _ in range(100 if w.long else 20)]
    for t in threads:
        t.start()
    while time.monotonic() < end:
        slowest.append(w.null_seconds())
    for t in threads:
        t.join()
    c.close()
    subprocess.run(["rm", "-rf", where], check=True)
    slowest.sort()
    middle = slowest[len(slowest) // 2]
    w.true(middle < 0.5, f"median {middle:.3f}")


@case(109, "bad requests by the thousand: a few lines of log")
def bad_requests(w):
    count = 1000000 if w.long else 2000
    lines = w.snapshot()[3]
    with w.tcp(source=("127.0.0.91", 0)) as t:
        for _ in t.pipeline(call(NFS, 3, 1, opaque(os.urandom(32)))
                            for _ in range(count)):
            pass
    w.true(w.snapshot()[3] - lines < 50, "log lines")


@case(113, "deep trees, many subdirectories, many links: right errors",
      remote=FILES)
def deep_tree(w):
    c = w.nfs3()
    root = w.root()
    fh = c.mkdir(root, "deep").fh
    for _ in range(10000 if w.long else 300):
        fh = c.mkdir(fh, "d" * 100).fh
    w.equal(c.create(fh, "bottom").status(), OK, "CREATE at the bottom")
    w.equal(c.lookup(fh, "bottom").status(), OK, "LOOKUP at the bottom")
    wide = c.mkdir(root, "wide").fh
    count = 66000 if w.long else 500
    for reply in c.transport.pipeline(
            c.message("MKDIR", opaque(wide) + opaque(str(i)) + sattr3())
            for i in range(count)):
        w.among(reply.status(), (OK, MLINK), "MKDIR")
    one = c.create(root, "one").fh
    links = c.mkdir(root, "links").fh
    for reply in c.transport.pipeline(
            c.message("LINK", opaque(one) + opaque(links) + opaque(str(i)))
            for i in range(count)):
        w.among(reply.status(), (OK, MLINK), "LINK")
    w.equal(c.getattr(one).attr.nlink, len(os.listdir(w.dir + "/rw/links")) +
            1, "links")
    c.close()
    for name in ("deep", "wide", "links", "one"):
        subprocess.run(["rm", "-rf", f"{w.dir}/rw/{name}"], check=True)


# ---- descriptors

@case(104, "no descriptor left: accepting rests, others are served, and it "
      "goes on", own=True)
def out_of_descriptors(w):
    with Server(w) as s:
        worker = s.role("nfsd", "worker")
        client = s.nfs3(timeout=10)
        fh = client.lookup(s.root(), "f").fh
        set_limit(worker, resource.RLIMIT_NOFILE,
                  highest_descriptor(worker) + 5)
        held = [s.tcp(source=("127.0.3.1", 0)) for _ in range(40)]
        for t in held:
            try:
                t.send(b"\x80")  # not idle
            except Closed:
                pass
        cpu = cpu_seconds(worker)
        started = time.monotonic()
        while time.monotonic() - started < 2:
            w.equal(client.getattr(fh).status(), OK, "a client that was there")
            time.sleep(0.05)
        w.true(cpu_seconds(worker) - cpu < 1, "the loop spins")
        lines = re.findall("no descriptor left for a connection.*LimitNOFILE",
                           s.log("nfsd"))
        w.equal(len(lines), 1, "lines of the log")
        for t in held:
            t.close()
        set_limit(worker, resource.RLIMIT_NOFILE)
        w.true(eventually(s.works), "a new client")
        client.close()


# ---- memory

def scripted(s, daemon):
    """What is done while memory runs out; answers do not matter."""
    if daemon == "nfsd":
        Session(s).run()
    else:
        (mount_session if daemon == "mountd" else portmap_session)(s)


def fail_each(w, s, page, daemon, rest):
    """Every allocation of a session fails, one run for each. (Not those of
    the start: without memory libc's getpwnam(3) crashes by itself.)"""
    page.fail(0)
    scripted(s, daemon)
    total = page.count()
    step = 1 if w.long else max(1, total // 40)
    for number in range(1, total + 1, step):
        page.fail(number, rest)
        try:
            scripted(s, daemon)
        except Failure as e:
            raise Failure(f"{daemon}: allocation {number} of {total}"
                          f"{' and the rest' if rest else ''}: {e}") from None
        finally:
            page.fail(0)
        if not eventually(s.works, 20):
            raise Failure(f"{daemon}: allocation {number}: not served again")
    return total


@case(110, "memory runs out, at every allocation: served afterwards", own=True)
def out_of_memory(w):
    page = Page(w.dir)
    with Server(w, "{d}/rw 127.0.0.0/8(rw,insecure)\n"
                "{d}/player 127.0.0.0/8(rw,insecure)", dirs=("player",),
                daemons=("portmapd", "mountd", "nfsd"), build="faulty",
                env=page.env, flags={"portmapd": (
                    "-o", "datagrams-per-second=0")}) as s:
        os.mkdir(s.dir + "/rw/sub")
        for daemon in ("portmapd", "mountd", "nfsd"):
            for rest in (False, True):
                w.true(fail_each(w, s, page, daemon, rest) > 0,
                       f"{daemon} allocates nothing")
        s.settle()
        s.before = s.snapshot()
    page.close()
    address_space(w)


def address_space(w):
    """RLIMIT_AS a little above what is in use, and 64 clients send much."""
    with Server(w) as s:
        worker = s.role("nfsd", "worker")
        size = proc_status(worker, "VmSize") * 1024
        set_limit(worker, resource.RLIMIT_AS, size + (8 << 20))
        held = []
        for i in range(64):
            try:
                t = s.tcp(source=(f"127.0.4.{i + 1}", 0), timeout=1)
                held.append(t)
                t.send(u32(0x80000000 | (1 << 20)) + bytes(512 * 1024))
            except (OSError, Closed):
                pass
        w.true("out of memory" in s.log("nfsd"), "there was memory for all")
        w.true(eventually(lambda: s.serves("nfsd"), 10), "NULL while it is so")
        for t in held:
            t.close()
        set_limit(worker, resource.RLIMIT_AS)
        w.true(eventually(s.works), "served afterwards")
        w.equal(s.role("nfsd", "worker"), worker, "the worker")
