#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Changes of mode and of entries, each seen by the next call.

    changes.py DIRECTORY ROUNDS

Between two changes the server is asked long enough to find that the times of
the file have settled, and short enough for both to be in one second.
"""
import os
import sys
import time

import nfs

ASKED = 0.03  # seconds; more than nfsd takes a time for settled after


def ask(question):
    """Asks for a while; the last answer."""
    until = time.monotonic() + ASKED
    while True:
        answer = question()
        if time.monotonic() > until:
            return answer


def main(path, rounds):
    here = nfs.Client(uid=1000, gid=1000)
    top = here.mnt(path)
    name = os.path.join(path, "file")
    with open(name, "w"):
        pass
    fh = here.lookup(top, "file")

    def may_read():
        return here.access(fh, 1) & 1 == 1

    def names():
        return {e[0] for e in here.entries(top)}

    wrong = []
    for i in range(rounds):
        os.chmod(name, 0o644)
        if not ask(may_read):
            wrong.append("%d: not allowed to read" % i)
        os.chmod(name, 0o600)
        if may_read():
            wrong.append("%d: still allowed to read" % i)
        if b"new" in ask(names):
            wrong.append("%d: listed before it was made" % i)
        with open(os.path.join(path, "new"), "w"):
            pass
        if b"new" not in names():
            wrong.append("%d: made and not listed" % i)
        os.unlink(os.path.join(path, "new"))
        if b"new" in names():
            wrong.append("%d: removed and listed" % i)
    print("\n".join(wrong[:10]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
