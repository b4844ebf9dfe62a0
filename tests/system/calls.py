#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Compares the tables of permitted system calls with the calls of roles.

    calls.py SOURCES TRACES...

TRACES are folders of strace -ff -ttt. Calls of a role before it is sealed do
not count. Prints TAP. An entry that is marked rare may be unseen, unless it is
for a process without vDSO: the folder novdso must show it.
"""
import collections
import os
import re
import sys

from tap import Tap

BASE = "common/confine/sandbox_seccomp.c"
ROLES = {
    "portmapd": ("portmapd/portmapd.c", True),
    "mountd worker": ("mountd/worker/worker.c", True),
    "nfsd worker": ("nfsd/worker/worker_policy.c", True),
    "nfsd broker": ("nfsd/broker/role.c", False),
    "nfsd tls": ("nfsd/tls/process.c", False),
    "nfsd nlm": ("nfsd/nlm/process.c", True),
    "nfsd locks": ("nfsd/locks/process.c", False),
    "nfsd metrics": ("nfsd/metrics/process.c", False),
    "nfsd resolver": ("common/resolve/role.c", False),
    "mountd resolver": ("common/resolve/role.c", False),
}
ROW = re.compile(r"^\s*\{ SYS_(\w+),\s*(true|false),\s*\"(.*)\" \},")
LINE = re.compile(r"^(\d+\.\d+) (?:<\.\.\. )?(\w+)(?:\(| resumed)(.*)$")
# Newer than the strace of Debian 12.
NEW = {"syscall_0x1c4": "fchmodat2"}
VDSO = set()

def table(path, name=None):
    """{call: rare} of one table of the file, or of all. Entries for a process
    without vDSO are in the set VDSO as well."""
    rows, inside = {}, name is None
    for line in open(path, encoding="ascii"):
        if name and f"sandbox_call {name}[]" in line:
            inside = True
        elif name and inside and line.startswith("};"):
            inside = False
        m = ROW.match(line)
        if m and inside:
            rows[m[1]] = m[2] == "true"
            if "without vdso" in m[3]:
                VDSO.add(m[1])
    return rows


class Process:
    """One file of strace: one thread."""

    def __init__(self, path):
        self.calls, self.role, self.sealed = [], None, None
        self.children, self.killed = set(), False
        for line in open(path, encoding="utf-8", errors="replace"):
            if "SIGSYS" in line:
                self.killed = True
            m = LINE.match(line)
            if m:
                self.take(float(m[1]), m[2], m[3])

    def take(self, when, call, rest):
        call = NEW.get(call, call)
        self.calls.append((when, call))
        if call == "execve" and '"--role"' in rest:
            words = re.findall(r'"([^"]*)"', rest)
            at = words.index("--role")
            self.role = f"{words[at - 1]} {words[at + 1]}"
        elif call == "execve" and self.role is None and \
                "/portmapd\"" in rest:
            self.role = "portmapd"
        elif call == "seccomp":
            self.sealed = when
        elif call in ("clone", "clone3"):
            m = re.search(r"= (\d+)$", rest)
            if m:
                self.children.add(m[1])


def collect(folder, used, killed):
    threads = {name.rsplit(".", 1)[1]: Process(os.path.join(folder, name))
               for name in os.listdir(folder)}
    for pid, p in threads.items():
        if p.role is None or p.sealed is None:
            continue
        for tid in {pid} | p.children:
            t = threads.get(tid)
            if t is None:
                continue
            used[p.role].update(
                call for when, call in t.calls if when > p.sealed)
            if t.killed:
                killed.add(p.role)


def main(source, *folders):
    tap = Tap()
    used, killed = collections.defaultdict(set), set()
    bare = collections.defaultdict(set)
    for folder in folders:
        collect(folder, used, killed)
        if os.path.basename(folder) == "novdso":
            collect(folder, bare, killed)
    base = table(os.path.join(source, BASE), "base_calls")
    transport = table(os.path.join(source, BASE), "transport_calls")
    somewhere = set().union(*used.values()) if used else set()
    for role, (path, serves) in ROLES.items():
        tap.ok(role in used, f"{role}: ran and was traced")
        own = table(os.path.join(source, path))
        allowed = set(own) | set(base) | (set(transport) if serves else set())
        tap.ok(role not in killed, f"{role}: was not killed by its filter")
        extra = sorted(used[role] - allowed - {"seccomp"})
        tap.ok(not extra, f"{role}: every call it makes is in a table",
               ", ".join(extra))
        for call, rare in sorted(own.items()):
            if not rare:
                tap.ok(call in used[role], f"{role}: {call} is needed")
        idle = sorted(c for c, rare in own.items()
                      if rare and c not in used[role])
        print(f"# {role}: rare and unseen: {' '.join(idle) or 'none'}")
        seen = sorted(c for c, rare in own.items() if rare and c in used[role])
        print(f"# {role}: rare but seen: {' '.join(seen) or 'none'}")
    for name, rows in (("base", base), ("transport", transport)):
        for call, rare in sorted(rows.items()):
            if not rare:
                tap.ok(call in somewhere, f"{name}: {call} is needed")
        idle = sorted(c for c in rows if c not in somewhere)
        print(f"# {name}: unseen: {' '.join(idle) or 'none'}")
    for call in sorted(VDSO):
        roles = sorted(role for role in bare if call in bare[role])
        tap.ok(roles, f"{call} is needed without vDSO", "by no role")
        print(f"# {call} without vDSO: {', '.join(roles)}")
    return tap.done()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
