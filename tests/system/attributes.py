#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Every pair of attributes, set by every kind of caller, over NFS and locally.

    attributes.py SQUASHED TRUSTED LOCAL

SQUASHED and TRUSTED are exports with root_squash and with no_root_squash, LOCAL
is a directory of the same filesystem. A call over NFS sets the attributes of
one file. A process of the same user sets those of its twin in LOCAL by one
system call each. If one of these is refused, NFS must refuse the whole call and
leave the file as it was; else both files must be equal.
"""
import ctypes
import errno
import itertools
import json
import os
import stat
import sys
import time

import mount
import nfs
from rpc import opaque, u32
from tap import Tap

NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2
OLD = (1000000000, 500000000)  # both times of every file before the call
SET = (1100000000, 0)  # a time that a client sets
SIZE = 10  # before the call
LIBC = ctypes.CDLL(None, use_errno=True)

# The attributes, each with its fields of sattr.
KINDS = {
    "mode": {"mode": 0o640},
    "uid kept": {"uid": 1001},
    "uid of another": {"uid": 1002},
    "gid of a group": {"gid": 1100},
    "gid of strangers": {"gid": 1003},
    "size": {"size": 3},
    "atime now": {"atime": "now"},
    "atime set": {"atime": SET},
    "mtime now": {"mtime": "now"},
    "mtime set": {"mtime": SET},
}
# The callers: uid, gid, groups; export; mode and owner of the file.
ALICE = (1001, 1001, (1100,))
CALLERS = {
    "owner": (ALICE, "squashed", 0o644, 1001),
    "group writer": ((1002, 1002, (1100,)), "squashed", 0o664, 1001),
    "other writer": ((1003, 1003, ()), "squashed", 0o666, 1001),
    "stranger": ((1003, 1003, ()), "squashed", 0o600, 1001),
    "root": ((0, 0, ()), "trusted", 0o600, 1001),
    "squashed root": ((0, 0, ()), "squashed", 0o666, 1001),
    "squashed root, owner": ((0, 0, ()), "squashed", 0o600, 65534),
}
NOBODY = (65534, 65534, ())
# What SETATTR is asked of, and the fields that these have not.
OBJECTS = {"file": (), "directory": ("size",), "link": ("size", "mode")}
# What each procedure makes, and which attributes it has no meaning for.
MAKES = {"CREATE": (), "MKDIR": ("size",), "SYMLINK": ("size", "mode")}


def selections():
    """Single attributes, and pairs of two different fields."""
    for one in KINDS.items():
        yield (one[0],), one[1]
    for a, b in itertools.combinations(KINDS, 2):
        if not set(KINDS[a]) & set(KINDS[b]):
            yield (a, b), {**KINDS[a], **KINDS[b]}


# ---- the same by system calls

class Timespec(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]


def utimens(path, atime, mtime):
    """None: unchanged. "now": the time of the call."""
    times = (Timespec * 2)(*(
        Timespec(0, OMIT) if t is None else
        Timespec(0, NOW) if t == "now" else Timespec(*t)
        for t in (atime, mtime)))
    if LIBC.utimensat(-100, os.fsencode(path), times, 0x100) == -1:
        raise OSError(ctypes.get_errno(), "utimensat")


def truncate(path, size):
    fd = os.open(path, os.O_WRONLY)
    os.ftruncate(fd, size)
    os.close(fd)


def steps(path, attrs):
    """The system calls for these attributes."""
    if "uid" in attrs or "gid" in attrs:
        yield lambda: os.chown(path, attrs.get("uid", -1),
                               attrs.get("gid", -1), follow_symlinks=False)
    if "mode" in attrs:
        yield lambda: os.chmod(path, attrs["mode"])
    if "size" in attrs:
        yield lambda: truncate(path, attrs["size"])
    times = [attrs.get("atime"), attrs.get("mtime")]
    if "size" in attrs and SET not in times:
        # A truncation sets the mtime. A writer may set both to the same time.
        times = ["now", "now"] if times[0] == "now" else [None, None]
    if times != [None, None]:
        yield lambda: utimens(path, *times)


def as_user(user, actions):
    """Runs the actions in a process of that user: the errors they raised."""
    uid, gid, groups = user
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.umask(0)
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        errors = []
        for action in actions:
            try:
                action()
            except OSError as e:
                errors.append(e.errno)
        os.write(write, json.dumps(errors).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        errors = json.loads(answer.read())
    os.waitpid(pid, 0)
    return errors


def look(path, start):
    """The attributes, with times since the start as "now"."""
    try:
        st = os.lstat(path)
    except FileNotFoundError:
        return None
    times = ["now" if t >= start - 1 else t for t in (st.st_atime, st.st_mtime)]
    mode = 0 if stat.S_ISLNK(st.st_mode) else st.st_mode
    size = st.st_size if stat.S_ISREG(st.st_mode) else 0
    return (oct(mode), st.st_uid, st.st_gid, size, *times)


# ---- calls of both versions

def time2(when):
    if when is None:
        return (-1, -1)
    return (0, 1000000) if when == "now" else (when[0], when[1] // 1000)


def body(vers, attrs):
    if vers == 3:
        return nfs.sattr3(**attrs)
    times = {n: time2(attrs.get(n)) for n in ("atime", "mtime")}
    return nfs.sattr2(**{**attrs, **times})


class Caller:
    def __init__(self, vers, user, top):
        kind = nfs.Nfs3 if vers == 3 else nfs.Nfs2
        self.vers, self.top = vers, top
        self.client = kind(nfs.TRANSPORTS["tcp"](nfs.PORT), *user)

    def fh(self, fh):
        return opaque(fh) if self.vers == 3 else fh

    def setattr(self, name, attrs):
        fh = self.client.lookup(self.top, name).fh
        tail = u32(0) if self.vers == 3 else b""
        return self.client.call("SETATTR", self.fh(fh) +
                                body(self.vers, attrs) + tail).status()

    def make(self, procedure, name, attrs):
        sattr = body(self.vers, attrs)
        if procedure == "CREATE" and self.vers == 3:
            sattr = u32(nfs.GUARDED) + sattr
        if procedure == "SYMLINK":
            sattr = sattr + opaque("x") if self.vers == 3 \
                else opaque("x") + sattr
        return self.client.call(procedure, self.fh(self.top) + opaque(name) +
                                sattr).status()


# ---- the comparison

def told(vers, attrs):
    """SunOS marks only the mtime to set both times to the server's."""
    if vers == 2 and attrs.get("mtime") == "now" and "atime" not in attrs:
        return {**attrs, "atime": "now"}
    return attrs


def local_make(procedure, path, attrs):
    mode = attrs.get("mode")
    if procedure == "CREATE":
        os.close(os.open(path, os.O_CREAT | os.O_EXCL,
                         0o600 if mode is None else mode))
    elif procedure == "MKDIR":
        os.mkdir(path, 0o700 if mode is None else mode)
    else:
        os.symlink("x", path)


def judge(what, status, errors, before, got, want):
    """What is wrong, or an empty string."""
    statuses = {getattr(nfs, errno.errorcode[e][1:]) for e in errors} or \
        {nfs.OK}
    if status not in statuses:
        return f"{what}: {nfs.STATUS_NAMES.get(status, status)}, " \
            f"locally {sorted(s.name for s in statuses)}"
    want = before if errors else want
    return "" if got == want else f"{what}: {got}, not {want}"


class Matrix:
    def __init__(self, places, local):
        self.places, self.local = places, local
        self.tops = {n: mount.root(p) for n, p in places.items()}
        self.names = itertools.count()

    def twins(self, mode, owner, place, kind="file"):
        name = f"f{next(self.names)}"
        paths = [os.path.join(d, name) for d in (self.places[place],
                                                 self.local)]
        for path in paths:
            if kind == "directory":
                os.mkdir(path)
            elif kind == "link":
                os.symlink("x", path)
            else:
                with open(path, "w", encoding="ascii") as f:
                    f.write("x" * SIZE)
            os.chown(path, owner, 1100, follow_symlinks=False)
            if kind != "link":
                os.chmod(path, mode)
            utimens(path, OLD, OLD)
        return name, *paths

    def setattr(self, vers, who, kind):
        """What is wrong with SETATTR by this caller."""
        user, place, mode, owner = CALLERS[who]
        caller = Caller(vers, user, self.tops[place])
        acts_as = NOBODY if who.startswith("squashed") else user
        for kinds, attrs in selections():
            if set(OBJECTS[kind]) & set(attrs):
                continue
            name, path, twin = self.twins(mode, owner, place, kind)
            start = time.time()
            before = look(path, start)
            ctime = os.lstat(path).st_ctime_ns
            errors = as_user(acts_as, steps(twin, told(vers, attrs)))
            status = caller.setattr(name, attrs)
            yield judge(" and ".join(kinds), status, errors, before,
                        look(path, start), look(twin, start))
            if errors and os.lstat(path).st_ctime_ns != ctime:
                yield f"{kinds}: refused, and the ctime is another"
            for p in (path, twin):
                (os.rmdir if kind == "directory" else os.unlink)(p)
        caller.client.close()

    def make(self, vers, who, procedure):
        user, place, _, _ = CALLERS[who]
        caller = Caller(vers, user, self.tops[place])
        squashed = who.startswith("squashed")
        for kinds, attrs in selections():
            if set(MAKES[procedure]) & set(attrs):
                continue
            name = f"m{next(self.names)}"
            path = os.path.join(self.places[place], name)
            twin = os.path.join(self.local, name)
            # A client cannot know the user to which it is squashed.
            local = {k: v for k, v in told(vers, attrs).items()
                     if not (squashed and k in ("uid", "gid"))}
            start = time.time()
            errors = as_user(NOBODY if squashed else user, [
                lambda local=local, twin=twin: local_make(
                    procedure, twin, local),
                *steps(twin, {k: v for k, v in local.items()
                              if k != "mode"})])
            status = caller.make(procedure, name, attrs)
            yield judge(" and ".join(kinds), status, errors, None,
                        look(path, start), look(twin, start))
            for p in (path, twin):
                if os.path.lexists(p):
                    (os.rmdir if procedure == "MKDIR" else os.unlink)(p)
        caller.client.close()


def no_room(tap, matrix):
    """A size that the filesystem cannot hold: no other attribute changes."""
    for who in ("owner", "root"):
        user, place, mode, owner = CALLERS[who]
        caller = Caller(3, user, matrix.tops[place])
        for attrs in ({"mode": 0o640}, {"gid": 1001}, {"mtime": SET}):
            name, path, _ = matrix.twins(mode, owner, place)
            before = look(path, 0)
            status = caller.setattr(name, {**attrs, "size": 1 << 62})
            tap.ok((status, look(path, 0)) == (nfs.FBIG, before),
                   f"{who}: {attrs} with a size too large changes nothing",
                   f"{status} {before} {look(path, 0)}")
        caller.client.close()


def main(squashed, trusted, local):
    tap = Tap()
    matrix = Matrix({"squashed": squashed, "trusted": trusted}, local)
    for vers, who in itertools.product((3, 2), CALLERS):
        for kind in OBJECTS:
            wrong = [w for w in matrix.setattr(vers, who, kind) if w]
            tap.ok(not wrong, f"version {vers}: SETATTR of every pair of a "
                   f"{kind} by {who}", "\n".join(wrong[:8]))
        if who in ("stranger", "squashed root, owner"):
            continue
        for procedure in MAKES:
            wrong = [w for w in matrix.make(vers, who, procedure) if w]
            tap.ok(not wrong, f"version {vers}: {procedure} with every pair "
                   f"by {who}", "\n".join(wrong[:8]))
    no_room(tap, matrix)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
