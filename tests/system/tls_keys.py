#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Searches processes for the keys of a session that is open.

    tls_keys.py DIRECTORY MEMSCAN HOLDER,...|- PID...

DIRECTORY has ca/. The client knows the secrets of its session, and derives the
keys of both directions as RFC 8446, 7.3 says. A HOLDER must have one of them;
-: this process is the holder. No other process may have any. Prints a status
and what was tried, one line for each.
"""
import hmac
import os
import subprocess
import sys

import rpc
import tls

SUITES = {"TLS_AES_128_GCM_SHA256": ("sha256", 16),
          "TLS_AES_256_GCM_SHA384": ("sha384", 32),
          "TLS_CHACHA20_POLY1305_SHA256": ("sha256", 32)}


def expand(secret, label, count, digest):
    """HKDF-Expand-Label without context, of one block: RFC 8446, 7.1."""
    name = b"tls13 " + label
    info = (count.to_bytes(2, "big") + bytes([len(name)]) + name + b"\0\1")
    return hmac.digest(secret, info, digest)[:count]


def keys_of(keylog, suite):
    """Secrets, keys and IVs of both directions, in hex."""
    digest, size = SUITES[suite]
    found = []
    with open(keylog, encoding="ascii") as lines:
        for line in lines:
            label, *_, secret = line.split()
            if not label.endswith("_TRAFFIC_SECRET_0"):
                continue  # of the handshake, or a comment
            secret = bytes.fromhex(secret)
            found += [secret, expand(secret, b"key", size, digest),
                      expand(secret, b"iv", 12, digest)]
    return [k.hex() for k in found]


def name_of(pid):
    with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
        return " ".join(f.read().replace("\0", " ").split()[:2])


def main(directory, scan, holders, *others):
    context = tls.context(f"{directory}/ca/laptop.example.org.pem")
    context.keylog_filename = f"{directory}/keylog"
    holders = [str(os.getpid())] if holders == "-" else holders.split(",")
    with tls.connect(context) as c:
        answers = [c.rpc(rpc.call(tls.NFS, 3, 0)).accept for _ in range(3)]
        keys = keys_of(context.keylog_filename, c.tls.cipher()[0])
        found = {pid: subprocess.run([scan, pid, *keys], check=True,
                                     capture_output=True, text=True).stdout
                 for pid in [*holders, *others]}
        answers.append(c.rpc(rpc.call(tls.NFS, 3, 0)).accept)
    print(int(len(keys) != 6 or set(answers) != {0}),
          "a session is open, and its six keys are known")
    print(int(not any(found[pid] for pid in holders)),
          "a search finds them where they must be")
    for pid in others:
        print(int(bool(found[pid])), f"no key of a session in {name_of(pid)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
