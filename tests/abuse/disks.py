# SPDX-License-Identifier: ISC
"""Disks of a case's own: filesystems in files, and what can happen to them."""
import contextlib
import fcntl
import os
import subprocess

from harness import Failure
from process import eventually

HERE = os.path.dirname(os.path.abspath(__file__))
EXT4_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN, in <linux/ext4.h>


class Disk:
    """A filesystem of some megabytes, at `where` while it is open."""

    def __init__(self, where, kind, megabytes, *flags):
        self.where, self.image = where, where + ".image"
        with open(self.image, "wb") as f:
            f.truncate(megabytes << 20)
        force = "-F" if kind == "ext4" else "-f"
        subprocess.run([f"mkfs.{kind}", "-q", force, *flags, self.image],
                       check=True, capture_output=True)

    def mount(self):
        subprocess.run(["mount", "-o", "loop", self.image, self.where],
                       check=True)
        os.chmod(self.where, 0o777)

    def unmount(self):
        subprocess.run(["umount", "-l", self.where], check=True)

    def remount(self, how):
        subprocess.run(["mount", "-o", "remount," + how, self.where],
                       check=True)

    def __enter__(self):
        self.mount()
        return self

    def __exit__(self, *_):
        if os.path.ismount(self.where):
            self.unmount()

    def freeze(self):
        """From now on every change waits."""
        subprocess.run(["fsfreeze", "-f", self.where], check=True)

    def thaw(self):
        subprocess.run(["fsfreeze", "-u", self.where], check=True)

    def limit(self, megabytes):
        """btrfs: a quota for all that is in it."""
        for words in (("quota", "enable", self.where),
                      ("qgroup", "limit", f"{megabytes}M", self.where)):
            subprocess.run(["btrfs", *words], check=True,
                           stdout=subprocess.DEVNULL)

    def die(self):
        """ext4: from now on every access is an I/O error."""
        fd = os.open(self.where, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, EXT4_SHUTDOWN, b"\2\0\0\0")  # without a last flush
        finally:
            os.close(fd)


class Moody:
    """tests/system/slowfs.py below a directory."""

    def __init__(self, where, *content):
        self.where, self.path = where, where + ".mood"
        self.process = subprocess.Popen(
            [HERE + "/../system/slowfs.py", where, self.path, *content])

    def __enter__(self):
        if not eventually(lambda: os.path.ismount(self.where)):
            raise Failure("no FUSE here")
        return self

    def mood(self, text):
        if text:
            with open(self.path + ".new", "w", encoding="ascii") as f:
                f.write(text)
            os.rename(self.path + ".new", self.path)
        elif os.path.exists(self.path):
            os.unlink(self.path)

    def __exit__(self, *_):
        self.mood("")
        subprocess.run(["umount", "-l", self.where], check=False)
        self.process.terminate()
        self.process.wait()


class SlowDisk:
    """An ext4 whose disk can take 50 ms for each read: its image is a file of
    Moody. fill: makes the content, from the path of its root; none of that is
    in memory when the disk is there."""

    def __init__(self, where, megabytes, fill):
        self.disk = Disk(where, "ext4", megabytes, "-b", "1024")
        with self.disk:
            fill(where)
        self.moody = where + ".moody"
        os.mkdir(self.moody)
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        with self.stack as stack:
            fuse = stack.enter_context(Moody(self.moody, self.disk.image))
            self.mood = fuse.mood
            where = self.disk.where
            subprocess.run(
                ["mount", "-o", "loop,noatime,inode_readahead_blks=0",
                 self.moody + "/file", where], check=True)
            stack.callback(subprocess.run, ["umount", where], check=True)
            stack.callback(self.mood, "")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()
