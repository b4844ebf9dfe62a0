# SPDX-License-Identifier: ISC
"""Bad luck to order: system calls that fail (strace, on the shipped programs),
allocations that fail and a clock that jumps (the programs of build/faulty)."""
import mmap
import os
import signal
import struct
import subprocess
import tempfile

from harness import Failure


class Trouble:
    """While it is open, system calls of a process and its threads fail.

    what: as strace's -e inject, for example "fsync:error=EIO:when=1", or
    "fsync:delay_enter=50000" for calls that succeed 50 ms later.
    `hits` afterwards: how many did. In place of a call that fails the process
    makes one that its filter permits: strace's own choice, call -1, would be
    its end.
    """

    def __init__(self, pid, what):
        self.out = tempfile.NamedTemporaryFile("r")
        self.hits = 0
        name = what.partition(":")[0]
        if ":delay_" not in what:
            what += ":syscall=getpid"
        self.strace = subprocess.Popen(
            ["strace", "-f", "-o", self.out.name, "-e",
             f"trace={name}", "-e", f"inject={what}", "-e", "signal=none", "-p",
             str(pid)],
            stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        line = self.strace.stderr.readline()
        if "attached" not in line:
            self.strace.kill()
            self.strace.wait()
            raise Failure(f"strace: {line.strip()}")
        return self

    def __exit__(self, *_):
        self.strace.send_signal(signal.SIGINT)
        try:
            self.strace.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            # Of a process that just ends it may wait for the first thread
            # before it has buried the others, for ever.
            self.strace.kill()
            self.strace.communicate()
        out = self.out.read()
        self.hits = out.count("(INJECTED)") + out.count("(DELAYED)")
        self.out.close()


class Page:
    """What the programs of build/faulty look at: tests/faulty/faulty.c."""

    FORMAT = "<QQQq"

    def __init__(self, directory):
        self.path = directory + "/faulty"
        with open(self.path, "wb") as f:
            f.write(bytes(4096))
        with open(self.path, "r+b") as f:
            self.memory = mmap.mmap(f.fileno(), 4096)
        self.env = {"TERN_FAULTY": self.path}

    def _put(self, place, value):
        struct.pack_into(self.FORMAT[0] + self.FORMAT[1 + place], self.memory,
                         8 * place, value)

    def fail(self, number, rest=False):
        """From now on the allocation of this number fails; 0: none does."""
        self._put(1, 0)
        self._put(2, int(rest))
        self._put(0, 0)
        self._put(1, number)

    def count(self):
        return struct.unpack_from("<Q", self.memory)[0]

    def shift_clock(self, seconds):
        self._put(3, seconds)

    def close(self):
        self.memory.close()
        os.unlink(self.path)
