# SPDX-License-Identifier: ISC
"""MOUNT: paths, hosts, ports and the list of mounts."""
import ipaddress
import os
import re
import shutil
import subprocess
import time

from harness import case
from mount import DUMP, EXPORT, MNT, MOUNT, UMNTALL, mnt
from nfs import (ACCES, BADHANDLE, INVAL, NAMETOOLONG, NFS, NOENT, NOTDIR, OK,
                 STALE, Nfs3)
from rpc import NOBODY, auth_sys, call, opaque, tcp, u32
from servers import Server

REFUSALS = (NOENT, ACCES, NAMETOOLONG, NOTDIR, INVAL)  # of mountd
REFUSED = (ACCES, STALE, BADHANDLE)  # by nfsd


@case(33, "paths of 0, 1,024, 1,025 and 2^31 bytes")
def path_lengths(w):
    w.among(w.mnt("").status(), REFUSALS, "empty path")
    w.among(w.mnt("/" + "x" * 1023).status(), REFUSALS, "1,024 bytes")
    reply = w.mnt("/" + "x" * 1024)
    w.true(reply.accept == 4 or reply.status() in REFUSALS, "1,025 bytes")
    with w.tcp(MOUNT) as t:
        reply = t.rpc(call(MOUNT, 3, MNT, u32(1 << 31) + b"/abc"))
        w.equal(reply.accept, 4, "2^31 bytes")


@case(34, "paths with NUL, newline, formats, escapes: refused, log escaped")
def odd_paths(w):
    for odd in (b"\0", b"\n<0>fake: line", b"%n%s%n", b"\x1b[2J", b"\x80\xff"):
        path = (w.dir + "/rw/").encode() + odd
        w.among(w.mnt(path).status(), REFUSALS, repr(odd))
    for log in w.logs:
        with open(log, "rb") as f:
            text = f.read()
        w.true(b"\x1b" not in text and b"\n<0>fake" not in text and
               b"\xff" not in text, f"{log} has raw bytes")


@case(35, "only exact export names are mounted")
def near_names(w):
    for path in ("/rw/../../", "/rwX", "/rw/../outside", "/./rw/..", "",
                 "/rw/../rw/../outside"):
        reply = w.mnt(w.dir + path)
        w.true(reply.status() != OK, f"{path} was mounted")
    w.equal(w.mnt(w.dir + "//rw/").status(), OK, "pure string clean-up")


def mount_as(w, path, cred):
    """The status of MNT by this caller."""
    with w.tcp(MOUNT) as t:
        return mnt(t, path, cred).status()


@case(36, "a subdirectory that the squashed caller cannot reach is refused")
def hidden_subdirectory(w):
    w.true(w.mnt(w.dir + "/rw/hidden/inner").status() != OK, "hidden/inner")
    w.true(w.mnt(w.dir + "/outside").status() != OK, "outside")
    if w.remote:
        return
    # Open to mountd's own user, and closed to some callers.
    shut = w.dir + "/rw/shut"
    os.makedirs(shut + "/inner/deep")
    try:
        os.chown(shut, 1001, 2001)
        for mode, cred, want in (
                (0o707, auth_sys(1002, 2001), ACCES),
                (0o707, auth_sys(1002, 1002, [2001]), ACCES),
                (0o707, auth_sys(1002, 1002), OK),
                (0o677, auth_sys(1001, 1001), ACCES),
                (0o677, auth_sys(1002, 2001), OK),
                (0o677, auth_sys(0, 0), OK)):
            os.chmod(shut, mode)
            for below in ("/inner", "/inner/deep"):
                w.equal(mount_as(w, shut + below, cred), want,
                        f"{below} below mode {mode:o}, {cred!r}")
            if want != OK:
                w.equal(mount_as(w, shut + "/none", cred), want,
                        "a name that does not exist")
            w.equal(mount_as(w, shut, cred), OK, "the directory itself")
        # Squashed callers are the anonymous user.
        os.chown(shut, 65534, 65534)
        os.chmod(shut, 0o077)
        for cred in (auth_sys(0, 0), NOBODY):
            w.equal(mount_as(w, shut + "/inner", cred), ACCES,
                    f"closed to the anonymous user: {cred!r}")
    finally:
        shutil.rmtree(shut)


@case(37, "a symbolic link in the path is refused")
def symlink_path(w):
    for path in ("/rw/escape", "/rw/escape/secret", "/rw/up/outside"):
        w.true(w.mnt(w.dir + path).status() != OK, path)


@case(38, "refused alike, whether the export exists or not")
def same_answer(w):
    real = w.mnt(w.dir + "/other").status()
    none = w.mnt(w.dir + "/nonexistent").status()
    w.equal((real, none), (ACCES, ACCES), "statuses")
    spans = {}
    for path in ("/other", "/nonexistent") * 50:
        started = time.perf_counter()
        w.mnt(w.dir + path)
        spans.setdefault(path, []).append(time.perf_counter() - started)
    real, none = (sorted(v)[len(v) // 2] for v in spans.values())
    w.true(0.25 < real / none < 4, f"medians {real:.6f} {none:.6f}")


def flipped(base, bit):
    """The address that differs from base in this bit, counted from the left;
    bit == length of the address: base itself."""
    bits = base.max_prefixlen
    return base if bit == bits else \
        type(base)(int(base) ^ 1 << (bits - 1 - bit))


def exported(s, host, source, port):
    """The numbers of the exports that EXPORT shows to this source."""
    with tcp(port, host, source=(source, 0)) as t:
        listed = t.rpc(call(MOUNT, 3, EXPORT)).rest
    return {int(n) for n in re.findall(rb"/p(\d+)", listed)}


def check_prefixes(s, base, host):
    """Export number n is for the first n bits of base, plus what differs."""
    bits = base.max_prefixlen
    handles = {}
    for n in range(bits + 1):
        with tcp(s.ports[MOUNT], host, source=(str(base), 0)) as t:
            handles[n] = mnt(t, f"{s.dir}/p{n}").fh
    for bit in range(bits + 1):
        source = str(flipped(base, bit))
        s.equal(exported(s, host, source, s.ports[MOUNT]),
                set(range(bit + 1)), f"exports for {source}")
        c = Nfs3(s.tcp_to(host, source))
        s.equal(c.getattr(handles[bit]).status(), OK, f"{source} in /{bit}")
        if bit < bits:
            s.equal(c.getattr(handles[bit + 1]).status(), ACCES,
                    f"{source} beside /{bit + 1}")
        c.close()


class PrefixServer(Server):
    """One export for each length of a prefix of base, and one with many
    clients: lists of any length are sorted by a process that is sealed."""

    def __init__(self, world, base):
        self.base = base
        super().__init__(world, "\n".join(
            f"{{d}}/p{n} " + str(ipaddress.ip_network(f"{base}/{n}", False)) +
            f"(ro,insecure,fsid={n + 1})"  # names may have the same number
            for n in range(base.max_prefixlen + 1)) +
            "\n{d}/rw 127.0.0.1(rw,insecure,fsid=999)" +
            "".join(f" 10.1.{n}.0/24(ro,fsid=999)" for n in range(200)),
            dirs=[f"p{n}" for n in range(base.max_prefixlen + 1)])
        addresses([flipped(base, bit) for bit in range(base.max_prefixlen + 1)],
                  "add")

    def tcp_to(self, host, source):
        return tcp(self.ports[NFS], host, source=(source, 0))

    def __exit__(self, *how):
        super().__exit__(*how)
        addresses([flipped(self.base, bit)
                   for bit in range(self.base.max_prefixlen + 1)], "del")


def addresses(found, what):
    """Gives them to the loopback interface, or takes them away."""
    text = "".join(f"address {what} {a}/{a.max_prefixlen} dev lo" +
                   (" nodad" if a.version == 6 and what == "add" else "") +
                   "\n" for a in found)
    subprocess.run(["ip", "-batch", "-"], input=text, text=True, check=True)


@case(39, "prefixes of every length, mapped addresses and zones: exact",
      own=True)
def prefixes(w):
    with PrefixServer(w, ipaddress.ip_address("85.170.85.170")) as s:
        check_prefixes(s, s.base, "127.0.0.1")
        mapped = exported(s, "::ffff:127.0.0.1", f"::ffff:{s.base}",
                          s.ports[MOUNT])
        w.equal(mapped, set(range(33)), "exports for a mapped address")
    with PrefixServer(w, ipaddress.ip_address("2a55:aa55::aa55:55aa")) as s:
        check_prefixes(s, s.base, "::1")
    zones(w)


def zones(w):
    """The same link-local address on two cables is two clients."""
    def ip(*words):
        subprocess.run(["ip", *words], check=True)
    ip("link", "add", "zone0", "type", "veth", "peer", "name", "zone1")
    try:
        for n in (0, 1):
            ip("link", "set", f"zone{n}", "up")
            ip("address", "add", f"fe80::7:{n}/64", "dev", f"zone{n}", "nodad")
        with Server(w, "{d}/p0 fe80::7:0%zone0(ro,insecure)\n"
                    "{d}/p1 fe80::7:0%zone1(ro,insecure)\n"
                    "{d}/p2 fe80::7:0(ro,insecure)\n"
                    "{d}/p3 fe80::/10(ro,insecure)\n"
                    "{d}/rw 127.0.0.1(rw,insecure)",
                    dirs=("p0", "p1", "p2", "p3")) as s:
            # Not to itself: EXPORT tells the machine everything.
            w.equal(exported(s, "fe80::7:1%zone0", "fe80::7:0%zone0",
                             s.ports[MOUNT]), {1, 2, 3}, "exports by zone")
    finally:
        ip("link", "del", "zone0")


@case(40, "no name of the client is looked up while serving")
def no_lookups(w):
    for pid in w.snapshot()[0]:
        try:
            with open(f"/proc/{pid}/maps", encoding="utf-8",
                      errors="replace") as f:
                text = f.read()
        except OSError:  # it looked at mounts, and has ended
            continue
        w.true("libnss_dns" not in text, "a role loaded libnss_dns")


@case(41, "a high port on a secure export is refused here and in nfsd")
def high_port(w):
    w.equal(w.mnt(w.dir + "/secure").status(), ACCES, "MNT, a high port")
    reply = w.mnt(w.dir + "/secure", source=("127.0.0.1", 901))
    w.equal(reply.status(), OK, "MNT from port 901")
    low = Nfs3(w.tcp(source=("127.0.0.1", 902)))
    w.equal(low.getattr(reply.fh).status(), OK, "GETATTR from port 902")
    low.close()
    c = w.nfs3()
    w.among(c.getattr(reply.fh).status(), REFUSED, "high port")
    c.close()


@case(42, "a million MNTs leave a bounded list; UMNTALL touches only its own",
      grows=True)
def many_mounts(w):
    count = 1000000 if w.long else 3000
    with w.tcp(MOUNT, source=("127.0.0.7", 0)) as t:
        args = opaque(w.dir + "/rw")
        for reply in t.pipeline(
                call(MOUNT, 3, MNT, args) for _ in range(count)):
            w.equal(reply.status(), OK, "MNT")
    with w.tcp(MOUNT, source=("127.0.0.8", 0)) as t:
        mnt(t, w.dir + "/rw")
        t.rpc(call(MOUNT, 3, UMNTALL))
        listed = t.rpc(call(MOUNT, 3, DUMP)).rest
    w.true(len(listed) < 1 << 20, "the list has no bound")
    w.true(b"127.0.0.7" in listed or len(listed) <= 4, "another's entry went")


@case(43, "EXPORT shows a client only what is exported to it")
def export_list(w):
    # The server itself is shown everything.
    with w.tcp(MOUNT, source=("192.0.2.43", 0)) as t:
        listed = t.rpc(call(MOUNT, 3, EXPORT)).rest
    w.true(b"/other" not in listed, "an export of others is shown")
    w.true(b"10.9.9" not in listed, "another client's network is shown")


@case(44, "a root handle from a host that is not in the list is refused")
def foreign_host(w):
    fh = w.root("only2")
    c = w.nfs3(source=("127.0.0.3", 0))
    w.among(c.getattr(fh).status(), REFUSED, "GETATTR")
    w.among(c.lookup(fh, "f").status(), REFUSED, "LOOKUP")
    c.close()


@case(45, "versions 1 and 2 give whole 32-byte handles")
def old_mounts(w):
    with w.tcp(MOUNT) as t:
        for vers in (1, 2):
            reply = t.rpc(call(MOUNT, vers, MNT, opaque(w.dir + "/rw")))
            w.equal((reply.status(), len(reply.rest)), (OK, 36), f"v{vers}")
            w.equal(reply.rest[4:], w.root(), "same handle as version 3")
