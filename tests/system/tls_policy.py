#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What each kind of connection may do with each export, for 73-tls-policy.t.

    tls_policy.py DIRECTORY [PEER EXPORT]

DIRECTORY has tern/ with the certificates, and the exports. Each line is a
status and what was tried. With a peer and an export, makes one call, which must
be refused.
"""
import os
import socket
import struct
import sys

import mount
import rpc
import tls
from nfs import NFSACL, OK, P2, P3, PORT, ROFS, ACCES, sattr2, sattr3
from rpc import auth_sys, call, opaque, u32, u64

TOOWEAK = "T"
ROOT = auth_sys(0, 0)


def arguments3(fh, other):
    """Arguments of every procedure that has a handle."""
    f, g, n = opaque(fh), opaque(other), opaque("made")
    return {
        "GETATTR": f, "SETATTR": f + sattr3() + u32(0), "LOOKUP": f + n,
        "ACCESS": f + u32(63), "READLINK": f, "READ": f + u64(0) + u32(10),
        "WRITE": f + u64(0) + u32(1, 0) + opaque(b"x"),
        "CREATE": f + n + u32(0) + sattr3(), "MKDIR": f + n + sattr3(),
        "SYMLINK": f + n + sattr3() + opaque("to"),
        "MKNOD": f + n + u32(7) + sattr3(), "REMOVE": f + n, "RMDIR": f + n,
        "RENAME": f + n + g + n, "LINK": g + f + n,
        "READDIR": f + u64(0) + u64(0) + u32(1000),
        "READDIRPLUS": f + u64(0) + u64(0) + u32(1000, 4000),
        "FSSTAT": f, "FSINFO": f, "PATHCONF": f,
        "COMMIT": f + u64(0) + u32(0)}


def arguments2(f, g):
    n = opaque("made")
    return {
        "GETATTR": f, "SETATTR": f + sattr2(), "LOOKUP": f + n, "READLINK": f,
        "READ": f + u32(0, 10, 0), "WRITE": f + u32(0, 0, 0) + opaque(b"x"),
        "CREATE": f + n + sattr2(), "REMOVE": f + n, "RENAME": f + n + g + n,
        "LINK": g + f + n, "SYMLINK": f + n + opaque("to") + sattr2(),
        "MKDIR": f + n + sattr2(), "RMDIR": f + n,
        "READDIR": f + u32(0, 1000), "STATFS": f}


def every_call(fh, other):
    """(name, message) of every procedure of both versions with a handle."""
    for name, args in arguments3(fh, other).items():
        yield name, call(tls.NFS, 3, P3[name], args, ROOT)
    for name, args in arguments2(fh, other).items():
        yield name + "2", call(tls.NFS, 2, P2[name], args, ROOT)
    f, none = opaque(fh), u32(0, 0, 0, 0, 0)
    for name, vers, proc, args in (
            ("GETACL", 3, 1, f + u32(15)), ("SETACL", 3, 2, f + none),
            ("GETACL2", 2, 1, fh + u32(15)),
            ("SETACL2", 2, 2, fh + none), ("GETATTR2", 2, 3, fh),
            ("ACCESS2", 2, 4, fh + u32(63))):
        yield "ACL " + name, call(NFSACL, vers, proc, args, ROOT)


def mkdir(fh, name, xid=None, cred=ROOT):
    return call(tls.NFS, 3, P3["MKDIR"],
                opaque(fh) + opaque(name) + sattr3(), cred, xid=xid)


def outcome(reply):
    """One letter: w written, r read-only, - no access, T too weak."""
    if reply.stat == 1:
        return TOOWEAK if (reply.reject, reply.why) == (1, 5) else "?"
    return {OK: "w", ROFS: "r", ACCES: "-"}.get(reply.status(), "?")


def certificate(name):
    return tls.context(f"{T}/tern/clients/{name}.pem", ca=f"{T}/tern/ca.pem")


def connect(peer):
    if peer == "plain":
        return rpc.tcp(PORT)
    if peer == "UDP":
        return rpc.udp(PORT)
    return tls.connect(tls.context(ca=f"{T}/tern/ca.pem")
                       if peer == "TLS" else certificate(peer))


PEERS = "plain", "UDP", "TLS", "laptop", "desk", "guest"


# A letter for each of PEERS.
WANTED = {
    "open": "wwwwww", "tls": "TTwwww", "mtls": "TTTwww", "cert": "TTTwr-",
    "mixed": "rrrwrr", "any": "TTTwww", "print": "TTT-w-", "far": "------"}


def decisions(roots):
    """Every peer in every export, twice: the second time from memory."""
    got = {name: ["", ""] for name in WANTED}
    for again in range(2):
        for peer in PEERS:
            with connect(peer) as c:
                for name, fh in roots.items():
                    got[name][again] += outcome(
                        c.rpc(mkdir(fh, f"{peer}{again}")))
    for name, want in WANTED.items():
        yield got[name] == [want, want], f"{name}: {want} ({got[name]})"


def overheard(roots):
    """A handle that a client with a certificate uses, in other hands."""
    with tls.connect(certificate("laptop")) as c:
        reply = c.rpc(mkdir(roots["cert"], "secret"))
        child = c_fh(reply)
        yield outcome(reply) == "w", "a directory made by the laptop"
    for kind in "plain", "UDP":
        with connect(kind) as c:
            for fh, what in (roots["cert"], "the root"), (child, "it"):
                got = {name: outcome(c.rpc(message))
                       for name, message in every_call(fh, roots["open"])}
                bad = {n: o for n, o in got.items() if o != TOOWEAK}
                yield len(got) == 42 and not bad, \
                    f"in the clear by {kind}, {what} is worth nothing {bad}"
            yield c.rpc(call(tls.NFS, 3, 0)).accept == 0, \
                f"NULL by {kind} is answered"
    with tls.connect(certificate("guest")) as c:
        bad = {name: o for name, o in (
            (name, outcome(c.rpc(message)))
            for name, message in every_call(child, roots["open"])) if o != "-"}
        yield not bad, f"with another certificate it is refused {bad}"
    yield os.listdir(f"{T}/cert/secret") == [], "nothing was made in it"


def c_fh(reply):
    c = reply.results()
    return c.optional(c.opaque)


def reset(c):
    """Closing it will free its port at once."""
    c.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                      struct.pack("ii", 1, 0))


def replies(roots):
    """One xid, one port, one call: a reply is for what the peer proved."""
    with rpc.tcp(PORT) as c:
        message = mkdir(roots["mixed"], "twice", xid=77)
        yield outcome(c.rpc(message)) == "r", "in the clear: read-only"
        source = c.sock.getsockname()
        if c.rpc(tls.probe()).verf != tls.TOKEN:
            raise rpc.Failed("no STARTTLS")
        s = tls.Secure(c.sock, certificate("laptop")).handshake()
        yield outcome(s.rpc(message)) == "w", \
            "the same call by certificate is done"
        yield outcome(s.rpc(message)) == "w", "and its repeat is answered"
        reset(c)
    with rpc.tcp(PORT, source=source) as c:
        reset(c)
        yield outcome(c.rpc(message)) == "r", \
            "from the same port in the clear it is still read-only"
    with tls.connect(certificate("desk"), source=source) as c:
        yield outcome(c.rpc(message)) == "r", "so it is by another certificate"


def users():
    """The certificate names the user, whatever the call says."""
    root = mounted("user")
    for peer, owner in ("ann", (1001, 1001)), ("boss", (65534, 65534)):
        for uid in 0, 1002, 65534:
            name = f"{peer}{uid}"
            with connect(peer) as c:
                done = outcome(c.rpc(mkdir(root, name, cred=auth_sys(uid, 7))))
            st = os.stat(f"{T}/user/{name}") if done == "w" else None
            yield st and (st.st_uid, st.st_gid) == owner, \
                f"{peer} is {owner}, though the call says {uid}"
    with connect("ann") as c:
        shared = c_lookup(c, root, "shared")
        yield outcome(c.rpc(mkdir(shared, "a"))) == "w", "alice has her groups"
    with connect("boss") as c:
        yield outcome(c.rpc(mkdir(shared, "b", cred=auth_sys(0, 0, [1100])))) \
            == "-", "and no other has them by saying so"
    for peer in "unknown", "foreign", "laptop":
        with connect(peer) as c:
            yield outcome(c.rpc(mkdir(root, peer))) == "-", \
                f"{peer} is no user of this machine"
    with connect("plain") as c:
        yield outcome(c.rpc(mkdir(root, "plain"))) == TOOWEAK, \
            "without a certificate there is no user"


def c_lookup(c, fh, name):
    reply = c.rpc(call(tls.NFS, 3, P3["LOOKUP"],
                       opaque(fh) + opaque(name), ROOT))
    return reply.results().opaque()


def crossing():
    """A LOOKUP enters an export inside only for whom that admits."""
    for peer, want in (("ann", OK), ("unknown", ACCES), ("laptop", ACCES)):
        with connect(peer) as c:
            reply = c.rpc(call(tls.NFS, 3, P3["LOOKUP"],
                               opaque(mounted("cross")) + opaque("in"), ROOT))
        yield reply.status() == want, f"LOOKUP of an export inside: {peer}"


def mounted(name):
    try:
        return mount.root(f"{T}/{name}")
    except rpc.Failed:
        return None


def refused(peer, export):
    with connect(peer) as c:
        return outcome(c.rpc(mkdir(mounted(export), "not"))) in "T-"


def main():
    roots = {name: mounted(name) for name in WANTED}
    yield roots.pop("far") is None, "far: not mounted from here"
    del WANTED["far"]
    yield all(roots.values()), "mountd gives every other root in the clear"
    yield mounted("cert/below") is None, "but nothing below by certificate"
    yield mounted("tls/below") is not None, "below by address as ever"
    yield from decisions(roots)
    yield from overheard(roots)
    yield from replies(roots)
    yield from users()
    yield from crossing()


if __name__ == "__main__":
    T = sys.argv[1]
    if sys.argv[2:]:
        sys.exit(not refused(*sys.argv[2:]))
    for good, text in main():
        print(0 if good else 1, text, flush=True)
