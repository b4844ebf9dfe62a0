#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What the metrics role of nfsd answers.

    scrape.py PORT counts EXPORT    are the calls of "live.py load" there?
    scrape.py PORT value NAME [LABEL=VALUE]...
    scrape.py PORT names PAGE FILE...
                                the page has every name, the files no other
    scrape.py PORT requests         every kind of request gets its answer
    scrape.py PORT labels LABEL     an export has this label, as it is escaped
    scrape.py PORT hostile PID      scrapers that harm the role of this pid; the
                                    others do not wait

Prints a line for each test: 0 or 1, and what was tried.
"""
import os
import re
import sys
import time

import metrics
from process import eventually, proc_status

PORT = int(sys.argv[1])


def say(good, what):
    print(f"{0 if good else 1} {what}")


def counts(export):
    def copied():
        seen = metrics.scrape(PORT)
        return all(metrics.total(seen, f"tern_nfsd_{name}_total") for name in
                   ("reply_cache_misses", "descriptor_cache_hits"))

    # A worker copies what it caches once a second: perhaps after a few calls.
    eventually(copied)
    m = metrics.scrape(PORT)

    def has(name, at_least, **labels):
        got = metrics.total(m, name, **labels)
        say(got is not None and got >= at_least, f"{name} {labels}: {got}")

    has("tern_nfsd_calls_total", 300, version="3", procedure="GETATTR")
    has("tern_nfsd_latency_seconds_count", 40, version="3", procedure="READ")
    has("tern_nfsd_errors_total", 7, version="3", procedure="LOOKUP")
    has("tern_nfsd_export_calls_total", 370, export=export)
    has("tern_nfsd_export_latency_seconds_count", 370, export=export)
    has("tern_nfsd_export_read_bytes_total", 40 * 8192, export=export)
    has("tern_nfsd_export_written_bytes_total", 25 * 8192, export=export)
    has("tern_nfsd_client_calls_total", 370, export=export, client="127.0.0.1")
    has("tern_nfsd_reply_cache_misses_total", 1)
    has("tern_nfsd_descriptor_cache_hits_total", 1)
    has("tern_nfsd_role_up", 1, role="broker")
    has("tern_nfsd_role_up", 1, role="metrics")
    has("tern_nfsd_role_starts_total", 1, role="worker", index="1")
    has("tern_nfsd_locks", 0)
    has("tern_nfsd_start_time_seconds", time.time() - 600)
    has("tern_nfsd_tls_certificate_expires_seconds", time.time())
    has("tern_mountd_up", 1)
    has("tern_mountd_calls_total", 1, version="3", procedure="MNT")
    has("tern_mountd_mounts_granted_total", 1)
    has("tern_mountd_exports", 2)
    has("tern_portmapper_up", 1)
    has("tern_portmapper_calls_total", 1, version="4", procedure="SET")
    has("tern_portmapper_calls_total", 1, version="2", procedure="DUMP")


def names(page, *users):
    text = metrics.ask(PORT)[2].decode("utf-8")
    shown = set(re.findall("^# TYPE (\\S+)", text, re.M))
    histograms = re.findall("^# TYPE (\\S+) histogram", text, re.M)
    with open(page, encoding="utf-8") as f:
        said = re.findall(r"^\.It Li (\w+)$", f.read(), re.M)
    say(sorted(shown) == sorted(said), f"the page has all {len(shown)} names, "
        f"but for {shown.symmetric_difference(said) or 'none'}")
    shown.update(name + "_bucket" for name in histograms)
    for user in users:
        with open(user, encoding="utf-8") as f:
            used = set(re.findall(r"tern_\w+(?:\.\+\w+)?", f.read()))
        other = [u for u in used if not any(re.fullmatch(u, s) for s in shown)]
        say(used and not other, f"{user}: {len(used)} names, unknown: {other}")


def requests():
    host = b"Host: tern\r\n"
    get = b"GET /metrics HTTP/1.1\r\n"
    for want, what, data in (
            (200, "GET /metrics", metrics.HEAD),
            (200, "HTTP/1.0 without Host", b"GET /metrics HTTP/1.0\r\n\r\n"),
            (200, "a whole URL",
             b"GET http://tern:1/metrics HTTP/1.1\r\n" + host + b"\r\n"),
            (404, "another path", b"GET / HTTP/1.1\r\n" + host + b"\r\n"),
            (404, "a path below",
             b"GET /metrics/ HTTP/1.1\r\n" + host + b"\r\n"),
            (405, "another method",
             b"POST /metrics HTTP/1.1\r\n" + host + b"\r\n"),
            (405, "HEAD", b"HEAD /metrics HTTP/1.1\r\n" + host + b"\r\n"),
            (400, "no Host", get + b"\r\n"),
            (400, "two Hosts", get + host + host + b"\r\n"),
            (400, "a body", get + host + b"Content-Length: 5\r\n\r\nhello"),
            (400, "chunks", get + host + b"Transfer-Encoding: chunked\r\n\r\n"),
            (400, "no version", b"GET /metrics\r\n\r\n"),
            (400, "lines without CR",
             b"GET /metrics HTTP/1.1\nHost: a\n\r\n\r\n"),
            (400, "a byte 0", get + b"Host: \0\r\n\r\n"),
            (400, "a folded line", get + host + b" more\r\n\r\n"),
            (400, "TLS", b"\x16\x03\x01\x02\x00\x01" + bytes(200)),
            (505, "HTTP/2", b"GET /metrics HTTP/2.0\r\n" + host + b"\r\n"),
            (431, "a field of a megabyte", get + b"X: " + b"a" * 1000000),
            (431, "4096 bytes of fields", get + b"a: b\r\n" * 700)):
        try:
            got = metrics.ask(PORT, data)[0]
        except (ConnectionError, OSError) as e:
            got = e
        # More than 64 KiB behind the head: the answer may be lost by the reset.
        late = want == 431 and len(data) > 500000 and \
            (got == 0 or isinstance(got, ConnectionError))
        say(got == want or late, f"{what}: {want} ({got})")


def quick(what):
    start = time.monotonic()
    metrics.scrape(PORT)
    took = time.monotonic() - start
    say(took < 3, f"{what}: another scraper waits {took:.2f} s")


def hostile(role):
    before = proc_status(role, "VmRSS")
    held = []
    for _ in range(200):  # they read nothing
        s = metrics.connect(PORT, source="127.0.0.2", room=2048)
        s.sendall(metrics.HEAD)
        held.append(s)
    quick("200 clients that never read")
    loris = []
    for i in range(150):
        s = metrics.connect(PORT, source="127.0.0.3")
        s.sendall(metrics.HEAD[:1 + i % 40])
        loris.append(s)
    quick("150 requests that never end")
    fds = len(os.listdir(f"/proc/{role}/fd"))
    say(fds < 90, f"the role holds {fds} descriptors")
    held[-1].settimeout(60)
    loris[-1].settimeout(60)
    start = time.monotonic()
    while True:  # one byte in a while does not renew the time
        try:
            loris[-1].sendall(b"x")
            time.sleep(0.2)
        except ConnectionError:
            break
        if time.monotonic() - start > 40:
            break
    took = time.monotonic() - start
    say(took < 40, f"a request of a byte now and then ends after {took:.0f} s")
    for s in held + loris:
        s.close()
    say(eventually(lambda: len(os.listdir(f"/proc/{role}/fd")) < 25),
        "all connections are gone")
    grown = proc_status(role, "VmRSS") - before
    say(grown < 20000, f"the role has grown by {grown} KiB")
    for _ in range(50):
        with metrics.connect(PORT) as s:
            s.sendall(metrics.HEAD)  # and goes
    quick("clients that go at once")
    say(os.path.exists(f"/proc/{role}"), "the role is the same process")


def value(name, *labels):
    print(metrics.total(metrics.scrape(PORT), name,
                        **dict(x.split("=", 1) for x in labels)))


def labels(path):
    """The export's label is this path, by the rules of escapes."""
    m = metrics.scrape(PORT)
    found = {dict(have).get("export") for (_, have) in m}
    say(path in found, f"{path} is among {sorted(found - {None})}")


if __name__ == "__main__":
    {"counts": counts, "names": names, "requests": requests, "hostile": hostile,
     "value": value, "labels": labels}[sys.argv[2]](*sys.argv[3:])
