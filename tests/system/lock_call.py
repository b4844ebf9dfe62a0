#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""One call of NLM 4 or NSM, or the services of a client that locks files.

    lock_call.py SERVER PROCEDURE FH [NAME=VALUE...]
    lock_call.py SERVER turns FH COUNT [NAME=VALUE...]
    lock_call.py SERVER free NAME [NAME=VALUE...]
    lock_call.py SERVER notify NAME STATE [NAME=VALUE...]
    lock_call.py ADDRESS services FILE [NAME=VALUE...]

The procedure is lock, nm_lock, unlock, test, cancel, share or unshare. Handles
are hex. The answer is one line, such as GRANTED; of test also the lock
in the way. turns locks and unlocks a byte, one call at a time. vers=, proto=
and uid= are of the call, address= and port= of the caller; all others are
fields of the arguments. services answers as the portmapper, NLM and NSM of a
client, and writes a line to the file for each call that comes.
"""
import sys

import nlm
import pmap
from rpc import Cursor, TRANSPORTS, auth_sys, up_from

PROCS = {"lock": nlm.LOCK, "nm_lock": nlm.NM_LOCK, "unlock": nlm.UNLOCK,
         "test": nlm.TEST, "cancel": nlm.CANCEL, "share": nlm.SHARE,
         "unshare": nlm.UNSHARE}


def options(words):
    """Numbers are numbers, all else is text."""
    found = dict(w.split("=", 1) for w in words)
    return {k: int(v) if v.lstrip("-").isdigit() else v
            for k, v in found.items()}


def connect(server, prog, of):
    vers = 1 if prog == nlm.NSM else of.get("vers", 4)
    kind = of.pop("proto", "udp")
    proto = pmap.UDP if kind == "udp" else pmap.TCP
    port = nlm.port_of(server, prog, vers, proto)
    if port == 0:
        sys.exit(f"not registered: {prog}")
    source = (of.pop("address", "::" if ":" in server else ""),
              up_from(of.pop("port", 700)))
    return TRANSPORTS[kind](port, server, source=source, timeout=15)


def ask(server, word, fh, *words):
    of = options(words)
    transport = connect(server, nlm.NLM, of)
    client = nlm.Client(transport, of.pop("vers", 4),
                        auth_sys(of.pop("uid", 0)))
    answer = client.ask(PROCS[word], bytes.fromhex(fh), **of)
    holder = answer.holder
    print(answer, *(() if holder is None else (
        "write" if holder.exclusive else "read", holder.svid, holder.offset,
        holder.length)))


def turns(server, fh, count, *words):
    transport = connect(server, nlm.NLM, options(words))
    client = nlm.Client(transport, 4, auth_sys(0))
    byte = {"svid": 77, "offset": 900, "length": 1}
    for _ in range(int(count)):
        client.ask(nlm.LOCK, bytes.fromhex(fh), exclusive=0, **byte)
        answer = client.ask(nlm.UNLOCK, bytes.fromhex(fh), **byte)
    print(answer)


def free(server, name, *words):
    of = options(words)
    client = nlm.Client(connect(server, nlm.NLM, of), of.pop("vers", 4))
    print(client.free_all(name, **of).describe())


def notify(server, name, state, *words):
    transport = connect(server, nlm.NSM, options(words))
    print(nlm.notify(transport, name, int(state)).describe())


def line(c):
    """What a call of the server says."""
    if c.prog == nlm.NSM and c.proc == nlm.SM_NOTIFY:
        args = Cursor(c.args)
        name = args.opaque().decode()
        return f"notify {name} {args.u32()} from {c.source[0]}"
    if c.prog == nlm.NLM and c.proc in (nlm.GRANTED, nlm.GRANTED_MSG):
        args = Cursor(c.args)
        args.opaque()
        lock = nlm.read_lock(c.vers, args)
        return (f"granted {lock['svid']} {lock['offset']} {lock['length']}"
                f" from {c.source[0]}")
    return f"call {c.prog} {c.vers} {c.proc} from {c.source[0]}"


def services(address, file, *words):
    machine = nlm.Services(address, **options(words))
    told = 0
    with open(file, "w", encoding="utf-8", buffering=1) as out:
        out.write("ready\n")
        while True:
            machine.serve(0.2)
            for c in machine.calls[told:]:
                out.write(line(c) + "\n")
            told = len(machine.calls)


if __name__ == "__main__":
    host, command, *rest = sys.argv[1:]
    if command in PROCS:
        ask(host, command, *rest)
    else:
        {"free": free, "turns": turns, "notify": notify,
         "services": services}[command](host, *rest)
