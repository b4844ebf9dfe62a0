#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Changes modes and entries, and checks that the next call sees each change.

    changes.py DIRECTORY ROUNDS

After each change the server is asked until the times of the file have settled,
but so briefly that the next change is in the same second.
"""
import os
import sys
import time

import mount
import nfs

ASKED = 0.05  # seconds; times of files settle sooner


def main(path, rounds):
    here, top = nfs.connect(1000, 1000), mount.root(path)
    name, new = (os.path.join(path, n) for n in ("file", "new"))
    with open(name, "w", encoding="ascii"):
        pass
    fh = here.lookup(top, "file").fh
    wrong = []

    def may_read():
        return here.access(fh, 1).granted & 1 == 1

    def is_listed():
        return b"new" in {e.name for e in here.entries(top)}

    def changed(what, question, expected):
        if question() != expected:
            wrong.append(what)
        until = time.monotonic() + ASKED
        while time.monotonic() < until:
            question()  # now it is cached, if ever

    for _ in range(rounds):
        os.chmod(name, 0o644)
        changed("not allowed to read", may_read, True)
        os.chmod(name, 0o600)
        changed("still allowed to read", may_read, False)
        os.close(os.open(new, os.O_CREAT | os.O_WRONLY))
        changed("made and not listed", is_listed, True)
        os.unlink(new)
        changed("removed and listed", is_listed, False)
    print("\n".join(wrong[:10]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
