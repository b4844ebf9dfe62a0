#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Runs the abuse cases and prints TAP.

usage: abuse.py [--own | --shared] [number ...]
       abuse.py --host ADDRESS --export PATH [number ...]

Without --host it expects the surroundings that abuse.t or faults.t makes;
--own runs the cases that start daemons of their own, --shared the others. With
--host, the cases that need nothing of the server's machine run against any NFS
server on this machine, for comparison; its address must be a loopback one.
More of them run when the export is the one that abuse.t makes.
"""
import argparse
import importlib
import ipaddress
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../lib"))
import harness  # noqa: E402

for subject in ("framing", "portmapper", "mounts", "handles", "names",
                "identity", "extremes", "errors", "replay", "exhaustion",
                "storage", "clocks", "roles", "start", "strangers",
                "encrypted", "waits", "locks"):
    importlib.import_module(subject)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--host")
    parser.add_argument("--export")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("numbers", nargs="*", type=int)
    args = parser.parse_args()
    env = dict(os.environ)
    if args.host:
        if not ipaddress.ip_address(args.host).is_loopback:
            sys.exit("abuse.py: only loopback addresses are targets")
        export = args.export or "/"
        env = {"HOST": args.host, "EXPORT": export,
               **{k: v for k, v in env.items() if k.endswith("_PORT")}}
        if export.endswith("/rw") and os.path.exists(export + "/big"):
            env["T"] = export[:-3]
    cases = [c for c in harness.CASES
             if (not args.numbers or c.number in args.numbers) and
             (c.own if args.own else not c.own if args.shared else True)]
    sys.exit(harness.run(harness.World(env), cases))


if __name__ == "__main__":
    main()
