#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Work of programs that rely on locks, for two clients at once.

    lock_load.py sqlite|mbox|append|git DIRECTORY NAME ROUNDS
    lock_load.py check DIRECTORY ROUNDS

sqlite: each transaction reads a counter, raises it and adds a row. mbox: adds
messages, with the locks of mail programs. append: adds a line to a file under
flock(2). git: adds commits to one branch, with the lock files of git. The last
form finds what two clients with so many rounds each must
have left, or says what is wrong.
Runs in: the guest; check on the server.
"""
import fcntl
import mailbox
import os
import sqlite3
import subprocess
import sys
import time


def database(directory):
    db = sqlite3.connect(f"{directory}/db", timeout=900, isolation_level=None)
    db.execute("CREATE TABLE IF NOT EXISTS counter (n INTEGER)")
    db.execute("CREATE TABLE IF NOT EXISTS rows"
               " (client TEXT, round INTEGER, n INTEGER)")
    return db


def sqlite(directory, name, rounds):
    db = database(directory)
    for i in range(rounds):
        db.execute("BEGIN IMMEDIATE")
        row = db.execute("SELECT n FROM counter").fetchone()
        n = row[0] if row else 0
        change = "UPDATE counter SET n = ?" if row else \
            "INSERT INTO counter VALUES (?)"
        db.execute(change, (n + 1,))
        db.execute("INSERT INTO rows VALUES (?, ?, ?)", (name, i, n))
        db.execute("COMMIT")
    db.close()


def mbox(directory, name, rounds):
    for i in range(rounds):
        box = mailbox.mbox(f"{directory}/mbox")
        while True:
            try:
                box.lock()
                break
            except mailbox.ExternalClashError:
                time.sleep(0.01)
        box.add(f"From: {name}\nSubject: {i}\n\n" + "line\n" * (i % 50))
        box.flush()
        box.unlock()
        box.close()


def append(directory, name, rounds):
    for i in range(rounds):
        with open(f"{directory}/lines", "a+b") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.seek(0, os.SEEK_END)
            n = f.tell() // 32
            f.write(f"{n:8} {name} {i}".ljust(31).encode() + b"\n")
            f.flush()
            fcntl.flock(f, fcntl.LOCK_UN)


def repository(directory, *words, **of):
    """What a git command prints, or None if it fails."""
    done = subprocess.run(
        ["git", f"--git-dir={directory}/repo.git", *words], check=False,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=dict(os.environ, GIT_AUTHOR_NAME="x", GIT_AUTHOR_EMAIL="x@y",
                 GIT_COMMITTER_NAME="x", GIT_COMMITTER_EMAIL="x@y"), **of)
    return done.stdout.strip() if done.returncode == 0 else None


def git(directory, name, rounds):
    if rounds == 0:
        repository(directory, "init", "--bare")
    tree = repository(directory, "mktree", input="")
    for i in range(rounds):
        added = None
        while added is None:  # another client was faster
            tip = repository(directory, "rev-parse", "-q", "--verify", "main")
            new = repository(directory, "commit-tree", tree, "-m",
                             f"{name} {i}", *(["-p", tip] if tip else []))
            added = new and repository(directory, "update-ref",
                                       "refs/heads/main", new, tip or "0" * 40)


def check(directory, rounds):
    want = 2 * rounds
    if os.path.exists(f"{directory}/db"):
        db = database(directory)
        said = db.execute("PRAGMA integrity_check").fetchone()[0]
        assert said == "ok", f"sqlite: {said}"
        n = db.execute("SELECT n FROM counter").fetchone()[0]
        assert n == want, f"sqlite: the counter is {n}, not {want}"
        seen = db.execute("SELECT count(*), count(DISTINCT n), max(n)"
                          " FROM rows").fetchone()
        assert seen == (want, want, want - 1), f"sqlite: rows {seen}"
    if os.path.exists(f"{directory}/mbox"):
        box = mailbox.mbox(f"{directory}/mbox")
        seen = {(m["From"], m["Subject"]) for m in box}
        assert len(box) == len(seen) == want, \
            f"mbox: {len(box)} messages, {len(seen)} differ"
    if os.path.exists(f"{directory}/lines"):
        with open(f"{directory}/lines", encoding="ascii") as f:
            lines = f.read().splitlines()
        assert len(lines) == want, f"append: {len(lines)} lines"
        assert [int(line[:8]) for line in lines] == list(range(want)), \
            "append: out of order"
    if os.path.exists(f"{directory}/repo.git"):
        assert repository(directory, "fsck", "--strict") is not None, \
            "git: fsck finds damage"
        seen = repository(directory, "log", "--format=%s", "main").split("\n")
        assert len(seen) == len(set(seen)) == want, \
            f"git: {len(seen)} commits, {len(set(seen))} differ"


if __name__ == "__main__":
    if sys.argv[1] == "check":
        check(sys.argv[2], int(sys.argv[3]))
    else:
        {"sqlite": sqlite, "mbox": mbox, "append": append,
         "git": git}[sys.argv[1]](
            sys.argv[2], sys.argv[3], int(sys.argv[4]))
