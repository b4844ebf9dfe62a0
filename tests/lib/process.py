# SPDX-License-Identifier: ISC
"""What tests ask of processes, and do to them."""
import os
import re
import resource
import time


def eventually(condition, seconds=5.0):
    """True when the condition comes true within the time. 20 s are the least:
    a machine that runs many tests has its pauses."""
    end = time.monotonic() + max(seconds, 20)
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def descendants(pid):
    """The process and its children, parents first."""
    found = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
            children = f.read().split()
        for child in children:
            try:
                found += descendants(int(child))
            except OSError:  # it has ended since
                pass
    return found


def links(pid):
    """What the descriptors of a process lead to."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:  # closed since
            continue
    return found


def highest_descriptor(pid):
    return max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd"))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proc_status(pid, field):
    """A number of /proc/PID/status, 0 where there is none (the kernel's
    threads have no memory of their own)."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        found = re.search(rf"^{field}:\s+(\d+)", f.read(), re.M)
    return int(found[1]) if found else 0


def become(uid, gid):
    """Changes the user of this process, for good."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def as_user(uid, action, gid=None):
    """Runs action in a child as that user; its truth is the result."""
    child = os.fork()
    if child == 0:
        try:
            become(uid, uid if gid is None else gid)
            os._exit(0 if action() else 1)
        except Exception:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def set_limit(pid, what, soft=None, hard=None):
    """Sets a limit of a process, as its own user: root may lack the right.
    None: the hard limit of the process."""
    def change():
        now = resource.prlimit(pid, what)[1]
        resource.prlimit(pid, what, (now if soft is None else soft,
                                     now if hard is None else hard))
        return True
    if not as_user(proc_status(pid, "Uid"), change,
                   proc_status(pid, "Gid")):
        raise OSError(f"the limit of {pid} cannot be set")


def patient(limit):
    """A limit of time for this machine, which others use too: the limit
    itself if it is idle, and more by the load of each CPU."""
    return limit * (1 + os.getloadavg()[0] / os.cpu_count())
