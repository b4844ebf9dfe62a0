# SPDX-License-Identifier: ISC
"""MOUNT (RFC 1094 appendix A, RFC 1813 appendix I)."""
import os

from nfs import OK, STATUS_NAMES, TIMEOUT
from rpc import NOBODY, call, opaque, tcp

MOUNT = 100005
NULL, MNT, DUMP, UMNT, UMNTALL, EXPORT = range(6)
PORT = int(os.environ.get("MOUNT_PORT", "20048"))


def mnt(transport, path, cred=NOBODY):
    """MNT of version 3: the reply, with fh when it was granted."""
    reply = transport.rpc(call(MOUNT, 3, MNT, opaque(path), cred))
    if reply.status() == OK:
        reply.fh = reply.results().opaque()
    return reply


def root(path, cred=NOBODY, **more):
    """The root handle of an export, asked of mountd. Raises Failed."""
    with tcp(PORT, timeout=TIMEOUT, **more) as t:
        reply = mnt(t, path, cred)
    reply.need(STATUS_NAMES)
    return reply.fh
