#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A distributed filesystem on one machine, for tests with several heads.

enginefs.py SUBTYPE DIRECTORY MOUNT MOOD

Shows DIRECTORY at MOUNT, read-only, through FUSE. Two mounts of one
directory stand for two machines. Inode numbers are those of the directory.
SUBTYPE is what the kernel calls it, and what it can do:

    ceph-fuse   opens handles of the kernel, of files it never saw
    glusterfs   has gfids, ".gfid/UUID" and paths of directories
    other       nothing of that

While the file MOOD exists, its text chooses a fault:

    hang        no answer until MOOD is removed
    out         the path of a directory leads out of the volume
    wrong       the path of a directory is that of another one

What the kernel asks goes to the file $ASKED, if that is set: one line for each
question, with its number in linux/fuse.h and the node.
"""
import ctypes
import os
import stat
import struct
import sys
import time

ENOENT, EIO, ERANGE, ENOSYS, ENODATA, ENOTSUP = 2, 5, 34, 38, 61, 95
LOOKUP, FORGET, GETATTR, READLINK, OPEN, READ = 1, 2, 3, 5, 14, 15
STATFS, RELEASE, GETXATTR, FLUSH, INIT, OPENDIR = 17, 18, 22, 25, 26, 27
READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 28, 29, 36, 42
EXPORT_SUPPORT = 1 << 4
# Node ids. FAKE: ".gfid/UUID" of a directory.
ROOT, GFID_DIR, FAKE = 1, 2, 1 << 63


class Engine:
    def __init__(self, subtype, top, mood):
        self.subtype, self.top, self.mood = subtype, top, mood
        self.paths = {ROOT: top}

    def path(self, node):
        """Where a node is now; the engine knows all of its files."""
        node &= ~FAKE
        path = self.paths.get(node)
        try:
            if path and (node == ROOT or os.lstat(path).st_ino == node):
                return path
        except OSError:
            pass
        for where, dirs, files in os.walk(self.top):
            for name in dirs + files:
                path = os.path.join(where, name)
                if os.lstat(path).st_ino == node:
                    self.paths[node] = path
                    return path
        raise FileNotFoundError(ENOENT, "gone")

    def attr(self, node):
        s = os.lstat(self.top if node == GFID_DIR else self.path(node))
        ino = node if node < 3 else s.st_ino ^ (node & FAKE)
        return struct.pack(
            "<QQQQQQIIIIIIIIII", ino, s.st_size, 1, int(s.st_atime),
            int(s.st_mtime), int(s.st_ctime), 0, 0, 0, s.st_mode, s.st_nlink,
            s.st_uid, s.st_gid, 0, 4096, 0)

    def entry(self, node):
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self.attr(node)

    def gfid(self, node):
        head = bytes(8) if node == ROOT else b"\x5a\x17\xab\x1e\x0e\x0eN!"
        text = (head + node.to_bytes(8, "big")).hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20],
                         text[20:]))

    def look_up(self, node, name):
        if name == b".":  # by a handle of the kernel
            return self.entry(node)
        if self.subtype == "glusterfs" and node == ROOT and name == b".gfid":
            return self.entry(GFID_DIR)
        if node == GFID_DIR:
            found = int(name.replace(b"-", b"")[16:], 16)
            if self.gfid(found).encode() != name:
                return ENOENT
            is_dir = stat.S_ISDIR(os.lstat(self.path(found)).st_mode)
            return self.entry(found | (FAKE if is_dir else 0))
        path = os.path.join(self.path(node), os.fsdecode(name))
        found = os.lstat(path).st_ino
        if found == os.lstat(self.top).st_ino:
            return self.entry(ROOT)
        self.paths[found] = os.path.normpath(path)
        return self.entry(found)

    def attribute(self, node, name, mood):
        if self.subtype != "glusterfs":
            return ENOTSUP
        if name == b"glusterfs.gfid.string":
            return self.gfid(node).encode()
        if name != b"glusterfs.ancestry.path":
            return ENODATA
        if mood in ("out", "wrong"):
            return b"/../../../../../etc" if mood == "out" else b"/wrong"
        return b"/" + os.path.relpath(self.path(node), self.top).encode()

    def listing(self, node, offset, size):
        out = b""
        names = sorted(os.listdir(self.path(node)))
        for i in range(offset, len(names)):
            name = os.fsencode(names[i])
            s = os.lstat(os.path.join(self.path(node), names[i]))
            out_one = struct.pack("<QQII", s.st_ino, i + 1, len(name),
                                  s.st_mode >> 12) + name
            out_one += bytes(-len(out_one) % 8)
            if len(out) + len(out_one) > size:
                break
            out += out_one
        return out

    def get_attribute(self, node, body, mood):
        size = struct.unpack_from("<I", body)[0]
        value = self.attribute(node, body[8:].split(b"\0")[0], mood)
        if isinstance(value, int):
            return value
        if size == 0:
            return struct.pack("<II", len(value), 0)
        return value if len(value) <= size else ERANGE

    def read(self, node, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        with open(self.path(node), "rb") as f:
            f.seek(offset)
            return f.read(size)

    def answer(self, op, node, body, mood):
        """Returns bytes, an errno, or None for no answer."""
        if op == INIT:
            flags = EXPORT_SUPPORT if self.subtype == "ceph-fuse" else 0
            return struct.pack("<IIIIHHIIHHIIIIII", 7, 31, 65536, flags, 16,
                               12, 65536, 1, 1, 0, 0, 0, 0, 0, 0, 0)[:64]
        if op == LOOKUP:
            return self.look_up(node, body.rstrip(b"\0"))
        if op == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attr(node)
        if op == READLINK:
            return os.fsencode(os.readlink(self.path(node)))
        if op == OPENDIR and node & FAKE:
            return ENOTSUP
        if op in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 0, 0)
        if op == READ:
            return self.read(node, body)
        if op == READDIR:
            return self.listing(node, *struct.unpack_from("<8xQI", body))
        if op == GETXATTR:
            return self.get_attribute(node & ~FAKE, body, mood)
        if op == STATFS:
            return struct.pack("<QQQQQIIII", 1, 1, 1, 1, 1, 4096, 255, 4096,
                               0) + bytes(24)
        if op in (RELEASE, RELEASEDIR, FLUSH):
            return b""
        if op in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        return ENOSYS

    def mood_now(self):
        try:
            with open(self.mood, encoding="ascii") as f:
                return f.read().strip()
        except OSError:
            return ""


def main():
    subtype, top, where, mood = sys.argv[1:5]
    engine = Engine(subtype, top, mood)
    fd = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = (f"fd={fd},rootmode=40000,user_id=0,group_id=0,allow_other,"
               "default_permissions")
    if libc.mount(b"engine", where.encode(), b"fuse." + subtype.encode(), 0,
                  options.encode()):
        sys.exit("mount: " + os.strerror(ctypes.get_errno()))
    asked = open(os.environ.get("ASKED", os.devnull), "w", buffering=1,
                 encoding="ascii")
    while True:
        try:
            call = os.read(fd, 1 << 20)
        except OSError:
            return
        size, op, unique, node = struct.unpack_from("<IIQQ", call)
        print(op, node, file=asked)
        while op != INIT and engine.mood_now() == "hang":
            time.sleep(0.05)
        try:
            out = engine.answer(op, node, call[40:size], engine.mood_now())
        except OSError as e:
            out = e.errno
        if out is None:
            continue
        error = -out if isinstance(out, int) else 0
        data = b"" if isinstance(out, int) else out
        os.write(fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


if __name__ == "__main__":
    main()
