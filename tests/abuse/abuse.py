#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Runs the abuse cases and prints TAP.

usage: abuse.py [--host ADDRESS --export PATH] [number ...]

Without --host it expects the surroundings that abuse.t makes. With it, the
cases that need nothing of the server's machine run against any NFS server
on this machine, for comparison; its address must be a loopback one.
"""
import argparse
import ipaddress
import os
import sys

import harness
import section_a  # noqa: F401
import section_b  # noqa: F401
import section_c  # noqa: F401
import section_d  # noqa: F401
import section_e  # noqa: F401
import section_f  # noqa: F401
import section_g  # noqa: F401
import section_h  # noqa: F401
import section_i  # noqa: F401
import section_j  # noqa: F401


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--host")
    parser.add_argument("--export")
    parser.add_argument("numbers", nargs="*", type=int)
    args = parser.parse_args()
    env = dict(os.environ)
    if args.host:
        if not ipaddress.ip_address(args.host).is_loopback:
            sys.exit("abuse.py: only loopback addresses are targets")
        env = {"HOST": args.host, "EXPORT": args.export or "/",
               **{k: v for k, v in env.items() if k.endswith("_PORT")}}
    sys.exit(harness.run(harness.World(env), set(args.numbers)))


if __name__ == "__main__":
    main()
