# SPDX-License-Identifier: ISC
"""Local users, the messages between roles, and the end of a role."""
import array
import ctypes
import itertools
import os
import random
import signal
import socket
import struct
import threading

from handle import AT_WORKER, forge, worker_tag
from harness import Failure, case
from nfs import OK, HardMount
from pmap import register
from process import as_user, descendants, eventually, links
from rpc import Failed, u64
from servers import Server

PIDFD_GETFD = 438
ROLE_CHANNEL = 3  # common/process/role.h: to the parent
# nfsd/broker/proto.h
BROKER_OPEN, BROKER_SEAL, BROKER_LINK, BROKER_CHMOD = 0, 1, 2, 4
BROKER_BAD_MAX = 16  # nfsd/broker/broker.h
OPEN_SIZE = 32 + 4 * 4 + 16 * 4


@case(115, "an ordinary local user gets nothing from our sockets")
def local_user(w):
    def reach():
        with w.registry() as t:
            return register(t, 300000).status() == 1
    w.true(not as_user(1001, reach), "a stranger registered a program")


def taken(pid, fd):
    """A descriptor of another process, as a socket of ours."""
    pidfd = os.pidfd_open(pid)
    try:
        got = ctypes.CDLL(None, use_errno=True).syscall(
            PIDFD_GETFD, pidfd, fd, 0)
    finally:
        os.close(pidfd)
    if got == -1:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return socket.socket(fileno=got)


def broker_channels(worker):
    """The worker's channels to the broker, as a worker that was taken over has
    them. A file thread's come first."""
    found = []
    for fd in sorted(map(int, os.listdir(f"/proc/{worker}/fd")), reverse=True):
        try:
            if fd == ROLE_CHANNEL or not os.readlink(
                    f"/proc/{worker}/fd/{fd}").startswith("socket:"):
                continue
            s = taken(worker, fd)
        except OSError:  # a connection that has just ended
            continue
        if s.family == socket.AF_UNIX and s.type == socket.SOCK_SEQPACKET:
            found.append(s)
        else:
            s.close()
    if not found:
        raise Failure("the worker has no channel to the broker")
    return found


def broker_channel(worker):
    """A file thread's."""
    first, *others = broker_channels(worker)
    for s in others:
        s.close()
    return first


def frame(kind, data=b"", length=None):
    return struct.pack("<II", kind, len(data) if length is None else length) \
        + data


def with_descriptors(count):
    """Ancillary data of sendmsg: so many descriptors."""
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
             array.array("i", [0] * count))]


def misbehave(w, channel, make, ancillary=()):
    """The worker seems to send the message: it is ended, another one serves,
    and no process keeps a descriptor. make: the message, from root and file."""
    with Server(w) as s:
        s.forgive = "worker: pid [0-9]+ was killed by signal 9"
        c = s.nfs3()
        message = make(s.root(), c.lookup(s.root(), "f").fh)
        c.close()
        what = f"{message[:16]!r} with {len(ancillary)}"
        worker = s.role("nfsd", "worker")
        others = [s.processes["nfsd"].pid, s.role("nfsd", "broker")]
        before = [len(links(pid)) for pid in others]
        with channel(worker) as end:
            end.sendmsg([message], ancillary)
        w.true(eventually(lambda: not os.path.exists(f"/proc/{worker}"), 10),
               f"{what}: the worker lives on")
        s.settle()
        w.equal([s.processes["nfsd"].pid, s.role("nfsd", "broker")], others,
                f"{what}: parent and broker")
        for pid, count in zip(others, before):
            w.true(eventually(lambda p=pid, c=count: len(links(p)) <= c),
                   f"{what}: descriptors {count} -> {len(links(pid))}")
        w.true("killing pid" in s.log("nfsd"), "the log does not say why")
        with open(s.dir + "/rw/f", encoding="ascii") as f:
            w.equal(f.read(), "content\n", "the file")


def to_parent(worker):
    return taken(worker, ROLE_CHANNEL)


@case(116, "malformed messages between processes end the sender",
      own=True)
def bad_frames(w):
    bad = [frame(7, bytes(4)), frame(99), frame(0, bytes(40)), frame(8, b"xx"),
           b"abc", frame(7, length=9), frame(8, bytes(60000))]
    for message in bad if w.long else bad[:3]:
        misbehave(w, to_parent, lambda *_, m=message: m)
    for message in bad if w.long else bad[3:]:
        misbehave(w, broker_channel, lambda *_, m=message: m)
    for channel in (to_parent, broker_channel):
        for count in (1, 253):
            misbehave(w, channel, lambda *_: frame(7),
                      with_descriptors(count))


def question(handle, want=0, uid=1001, gid=1001, groups=(), ngroups=None):
    """struct broker_open, packed."""
    return handle + struct.pack(
        "<IIII", want, uid, gid, len(groups) if ngroups is None else ngroups) \
        + b"".join(struct.pack("<I", g) for g in groups).ljust(64, b"\0")


def ask(channel, kind, data):
    """(errno, descriptor or -1) of the broker's answer, None: it hung up."""
    channel.settimeout(5)
    try:
        channel.send(frame(kind, data))
        answer, ancillary, _, _ = channel.recvmsg(
            65536, socket.CMSG_SPACE(4 * 64))
    except (BrokenPipeError, ConnectionResetError):
        return None
    if len(answer) < 12:
        return None
    fd = struct.unpack("<i", ancillary[0][2][:4])[0] if ancillary else -1
    return struct.unpack_from("<i", answer, 8)[0], fd


@case(117, "the broker is asked for what no worker may have", own=True)
def broker_questions(w):
    rng = random.Random(117)
    with Server(w, "{d}/rw 127.0.0.0/8(rw,insecure)\n"
                "{d}/ro 127.0.0.0/8(ro,insecure)", dirs=("ro",)) as s:
        s.forgive = "worker: pid [0-9]+ was killed by signal 9"
        c = s.nfs3()
        root = s.root()
        fh = c.lookup(root, "f").fh
        ro = s.mnt(s.dir + "/ro").fh
        c.close()
        forged = [root[:8] + struct.pack("<I", n) + root[12:]
                  for n in (0, 129, 1 << 31)]
        forged += [rng.randbytes(32) for _ in range(8)]
        forged += [root[:i] + bytes([root[i] ^ 1]) + root[i + 1:]
                   for i in range(4, 32, 7)]
        for data in [question(h) for h in forged] + [
                question(fh, 2, uid=0), question(fh, 2, gid=0),
                question(ro, 2)]:
            worker = s.role("nfsd", "worker")
            with broker_channel(worker) as end:
                got = ask(end, BROKER_OPEN, data)
            w.true(got is None or (got[0] != 0 and got[1] == -1),
                   f"{data[:48].hex()}: {got}")
            # The broker hangs up before the parent has ended the worker.
            w.true(got or eventually(lambda p=worker: not os.path.exists(
                f"/proc/{p}"), 10), f"{data[:48].hex()}: the worker lives on")
            s.settle()
        # Set-id bits of a file, of another user's directory, and read-only.
        for target in (fh, root, ro):
            with broker_channel(s.role("nfsd", "worker")) as end:
                got = ask(end, BROKER_CHMOD,
                          question(target) + struct.pack("<I", 0o6755))
            w.true(got is not None and got[0] != 0, f"chmod: {got}")
        s.before = s.snapshot()
    # A want is an index into a table of flags, not flags.
    for want in (4, os.O_CREAT, os.O_TRUNC | os.O_RDWR, 0xFFFFFFFF):
        misbehave(w, broker_channel, lambda _, fh, n=want: frame(
            BROKER_OPEN, question(fh, n)))
    misbehave(w, broker_channel, lambda _, fh: frame(
        BROKER_OPEN, question(fh, ngroups=17)))
    misbehave(w, broker_channel, lambda *_: frame(
        BROKER_OPEN, bytes(OPEN_SIZE - 1)))
    misbehave(w, broker_channel, lambda root, _: frame(
        BROKER_CHMOD, question(root) + struct.pack("<I", 0o10755)))
    misbehave(w, broker_channel, lambda root, _: frame(
        BROKER_SEAL, struct.pack("<IIII", 1, 0xFFFFFFFF, 0, 0) + root))
    for name in (b"../x\0", b"a/b\0", b"no end", b"\0"):
        misbehave(w, broker_channel, lambda root, fh, n=name: frame(
            BROKER_LINK, question(fh) + root + struct.pack("<I", len(n)) + n))


@case(122, "guesses of the broker's tag, spread over a worker's channels",
      own=True)
def guesses(w):
    with Server(w) as s:
        s.forgive = "worker: pid [0-9]+ was killed by signal 9"
        root = s.root()
        with open(s.dir + "/key", "rb") as f:
            key = f.read()
        path = s.dir + "/rw"
        w.equal(worker_tag(root, key, path), root[AT_WORKER:],
                "the tag made here")
        worker = s.role("nfsd", "worker")
        ends = broker_channels(worker)[:3]  # of the file threads
        w.equal(len(ends), 3, "channels")
        answered = 0
        for n in range(3 * BROKER_BAD_MAX + 3):
            got = ask(ends[n % 3], BROKER_OPEN,
                      question(forge(root, key, path, n)))
            if got is None:
                break
            w.true(got[0] != 0 and got[1] == -1, f"guess {n}: {got}")
            answered += 1
        w.equal(answered, BROKER_BAD_MAX, "guesses that were answered")
        for end in ends:
            end.close()
        w.true(eventually(lambda: not os.path.exists(f"/proc/{worker}"), 10),
               "the worker lives on")
        s.settle()
        w.true("forged file handles" in s.log("nfsd"),
               "the log does not say why")


@case(118, "a process that was taken over gets nowhere", own=True)
def owned(w):
    results = w.dir + "/owned-results"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for daemon, roles in (("portmapd", 1), ("mountd", 1), ("nfsd", 2)):
            with open(results, "w", encoding="ascii"):
                os.chmod(results, 0o666)
            s = Server(w, daemons=(daemon,), build="owned", env={
                "TERN_OWNED": results, "TERN_OWNED_SECRET": "outside/secret",
                "TERN_OWNED_PORT": str(listener.getsockname()[1]),
                "TERN_OWNED_SOCKET": "/run/none", "TERN_OWNED_SQUASHED": "0"})
            try:
                s.launch(daemon)
                w.true(eventually(lambda: read(results).count("end\n") >=
                                  roles, 60), f"{daemon} did not come through")
                tries = [line.split("\t") for line in
                         read(results).splitlines() if line != "end"]
            finally:
                s.end()
            w.true(len(tries) >= 50 * roles, f"{len(tries)} tries")
            allowed = [(role, name) for role, name, verdict, _ in tries
                       if verdict != "denied"]
            # Opening by handle is what the broker is for.
            if ("broker", "open_by_handle_at with a forged handle") in allowed:
                allowed.remove(
                    ("broker", "open_by_handle_at with a forged handle"))
            w.equal(allowed, [], f"{daemon} may")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


class Writer(threading.Thread):
    """A client that writes, reads back, and repeats a call until there is an
    answer; any answer but OK is wrong."""

    def __init__(self, server):
        super().__init__()
        self.root = server.root()
        self.mounted = HardMount(lambda: server.nfs3(timeout=3), 60)
        self.stopping = threading.Event()
        self.done, self.wrong = 0, []

    def run(self):
        ask = self.mounted.ask
        try:
            # A reply lacks the handle when the broker is away.
            fh = ask(lambda c: c.create(self.root, "load")).fh or \
                ask(lambda c: c.lookup(self.root, "load")).fh
            while not self.stopping.is_set():
                data = u64(self.done) * 512
                at = self.done % 64 * 4096
                for reply in (ask(lambda c: c.write(fh, at, data)),
                              ask(lambda c: c.read(fh, at, 4096))):
                    if reply.status() != OK:
                        self.wrong.append(reply.describe())
                if reply.status() == OK and reply.bytes != data:
                    self.wrong.append(f"block {self.done} is another")
                self.done += 1
        except (Failed, AttributeError) as e:
            self.wrong.append(str(e))
        finally:
            self.mounted.close()


def kill_roles(w, s):
    for daemon in s.daemons:
        parent = s.processes[daemon].pid
        for child in [p for p in descendants(parent) if p != parent]:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:  # it looked at mounts, and has ended
                continue
            w.true(eventually(s.works, 20), f"{daemon}: role {child}")


def kill_daemons(w, s, order):
    """All of them, then all again in this order."""
    for daemon in order:
        s.processes.pop(daemon).kill()
    for daemon in order:
        s.start_again(daemon)
    w.true(eventually(s.works, 20), f"in the order {order}")


@case(119, "kill -9 of every process, in every order, under load: clients go "
      "on", own=True)
def killed(w):
    with Server(w, daemons=("portmapd", "mountd", "nfsd")) as s:
        s.forgive = "was killed by signal 9"
        load = Writer(s)
        load.start()
        try:
            kill_roles(w, s)
            for order in itertools.permutations(s.daemons):
                kill_daemons(w, s, order)
                if not w.long:
                    break
            before = load.done
            w.true(eventually(lambda: load.done > before, 20), "no load")
        finally:
            load.stopping.set()
            load.join()
        w.equal(load.wrong, [], "what the client saw")
        s.settle()
        s.before = s.snapshot()


