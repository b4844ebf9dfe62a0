# SPDX-License-Identifier: ISC
"""Clocks that jump, and times of other centuries."""
import os
import signal
import time

from faults import Page
from harness import case
from nfs import OK, UNSTABLE
from process import cpu_seconds, eventually, links
from servers import Server
from session import Session

DAY, TEN_YEARS = 86400, 3652 * 86400
HERE = os.path.dirname(os.path.abspath(__file__))


def at_other_time(w, s, page, shift):
    """The clock on the wall jumps while all is in use."""
    c = s.nfs3(timeout=20)
    fh = c.create(s.root(), f"jump{shift}").fh
    first = c.write(fh, 0, b"before", UNSTABLE).verf3
    page.shift_clock(shift)
    worker = s.role("nfsd", "worker")
    cpu = cpu_seconds(worker)
    started = time.monotonic()
    time.sleep(1)
    spent = (cpu_seconds(worker) - cpu) / (time.monotonic() - started)
    w.true(spent < 0.5, f"{spent * 100:.0f} % of a CPU for nothing")
    session = Session(s)
    session.run()
    w.equal(session.answers["COMMIT file"], OK, "a session")
    w.equal(c.write(fh, 0, b"after", UNSTABLE).verf3, first, "the verifier")
    # A broker that comes back is waited for by the clock since boot.
    os.kill(s.role("nfsd", "broker"), signal.SIGKILL)
    started = time.monotonic()
    w.true(eventually(s.works, 15), "the broker is not back")
    w.true(time.monotonic() - started < 10, "it took long")
    w.equal(c.write(fh, 0, b"after", UNSTABLE).verf3, first, "the verifier")
    # Removed files are let go of by a thread that waits by that clock too.
    os.unlink(f"{s.dir}/rw/jump{shift}")
    w.true(eventually(lambda: not deleted(worker), 20), "removed, still open")
    page.shift_clock(0)
    c.close()


def deleted(pid):
    return [f for f in links(pid) if "(deleted)" in f and "/rw/" in f]


def odd_times(w, s):
    """Files of other centuries: within the range of the protocol, exact."""
    c = s.nfs3()
    path = s.dir + "/rw/f"
    top = (1 << 32) - 1
    for seconds, shown in ((-1, 0), (-DAY * 365, 0), (0, 0), (1, 1),
                           (1 << 31, 1 << 31), (top, top), (top + 1, top),
                           (15 * 10 ** 9, top)):
        os.utime(path, ns=(0, seconds * 10 ** 9 + 999999999))
        attr = c.lookup(s.root(), "f").attr
        w.equal(attr.mtime, shown, f"mtime of {seconds}")
        w.equal(attr.mtime_ns, 999999999, f"nanoseconds of {seconds}")
    w.equal(c.setattr(c.lookup(s.root(), "f").fh, mtime="now").status(), OK,
            "now")
    w.true(abs(os.stat(path).st_mtime - time.time()) < 60, "server's time")
    c.close()


@case(114, "the clock jumps back a day and on by ten years: no client notices",
      own=True)
def clocks(w):
    page = Page(w.dir)
    with Server(w, build="faulty", env=page.env) as s:
        s.forgive = "broker: pid [0-9]+ was killed by signal 9"
        for shift in (-DAY, TEN_YEARS):
            at_other_time(w, s, page, shift)
        odd_times(w, s)
        s.settle()
    page.close()
    # Up for a year less a day, and for ten years: counters do not wrap.
    for up in (364 * DAY, TEN_YEARS):
        with Server(w, wrap=[HERE + "/timens.py", str(up)]) as s:
            session = Session(s)
            session.run()
            w.equal(session.answers["COMMIT file"], OK, f"up for {up} s")
