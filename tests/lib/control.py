#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Asks a running nfsd by its control socket.

    control.py SOCKET REQUEST...

Prints the answer, and exits with 1 if it is an error.
"""
import socket
import sys


class Refused(Exception):
    """The answer is an error."""


def exchange(path, data):
    """Sends these bytes and returns all that comes back."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(path)
        s.sendall(data)
        with s.makefile("rb") as f:
            return f.read()


def ask(path, request):
    """The text of the answer."""
    head, _, text = exchange(path, request.encode() + b"\n").partition(b"\n")
    word, _, length = head.decode().partition(" ")
    if word not in ("ok", "error") or int(length) != len(text):
        raise ValueError(f"not an answer: {head!r} and {len(text)} bytes")
    if word == "error":
        raise Refused(text.decode().rstrip())
    return text.decode()


if __name__ == "__main__":
    try:
        sys.stdout.write(ask(sys.argv[1], " ".join(sys.argv[2:])))
    except Refused as refused:
        sys.exit(str(refused))
