# SPDX-License-Identifier: ISC
"""A scraper: one request of HTTP, and a strict reader of Prometheus's text."""
import re
import socket

HEAD = (b"GET /metrics HTTP/1.1\r\nHost: tern\r\nUser-Agent: test\r\n"
        b"Accept: text/plain;version=0.0.4\r\n\r\n")
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')


def connect(port, host="127.0.0.1", source=None, room=None):
    """A connection to the role; room: of its receive buffer."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    s = socket.socket(family)
    s.settimeout(30)
    if room:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    if source:
        s.bind((source, 0))
    s.connect((host, port))
    return s


def rest(s):
    """What comes until the end; None: the connection was reset."""
    data = b""
    try:
        while piece := s.recv(65536):
            data += piece
    except ConnectionError:
        return data or None
    return data


def ask(port, data=HEAD, **how):
    """Sends these bytes. Returns status, fields and body of the answer."""
    with connect(port, **how) as s:
        s.sendall(data)
        answer = rest(s)
    if not answer:
        return 0, {}, b""
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("ascii").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:])
    if int(fields["content-length"]) != len(body):
        raise ValueError(f"{len(body)} bytes, not {fields['content-length']}")
    return int(lines[0].split()[1]), fields, body


def scrape(port, **how):
    """The counters as {(name, labels): value}; labels is a sorted tuple."""
    status, fields, body = ask(port, **how)
    if status != 200 or not fields["content-type"].startswith("text/plain"):
        raise ValueError(f"{status} {fields}")
    return read(body.decode("utf-8"))


def labels_of(text):
    found, at = [], 0
    while at < len(text):
        m = LABEL.match(text, at)
        if not m:
            raise ValueError(f"not labels: {text}")
        found.append(m.group(1, 2))
        at = m.end()
    return tuple(sorted(found))


def read(text):
    """Reads the text, and is as strict as Prometheus is or stricter."""
    types, found, family = {}, {}, None
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    for line in text[:-1].split("\n"):
        word = line.split(" ", 3)
        if word[:2] == ["#", "HELP"]:
            family = word[2]
            if family in types:
                raise ValueError(f"twice: {line}")
            continue
        if word[:2] == ["#", "TYPE"]:
            if word[2] != family or \
                    word[3] not in ("counter", "gauge", "histogram"):
                raise ValueError(line)
            types[family] = word[3]
            continue
        m = SAMPLE.fullmatch(line)
        if not m or family not in types:
            raise ValueError(f"not a sample: {line}")
        name, kind = m.group(1), types[family]
        if kind == "histogram":
            if not re.fullmatch(family + "_(bucket|sum|count)", name):
                raise ValueError(f"not of {family}: {line}")
        elif name != family or (kind == "counter") != name.endswith("_total"):
            raise ValueError(f"not of {family}, a {kind}: {line}")
        key = name, labels_of(m.group(2) or "")
        if key in found:
            raise ValueError(f"twice: {line}")
        found[key] = float(m.group(3))
    histograms(found, types)
    return found


def histograms(found, types):
    """Buckets grow, and the last one has all calls."""
    for name in [n for n, kind in types.items() if kind == "histogram"]:
        for labels in [k[1] for k in found if k[0] == name + "_count"]:
            buckets = sorted(
                (float(dict(k[1])["le"]), v) for k, v in found.items()
                if k[0] == name + "_bucket" and
                tuple(x for x in k[1] if x[0] != "le") == labels)
            counts = [v for _, v in buckets]
            if counts != sorted(counts) or len(buckets) != 24 or \
                    counts[-1] != found[name + "_count", labels] or \
                    (name + "_sum", labels) not in found:
                raise ValueError(f"{name} {labels}: {buckets}")


def total(found, metric, **labels):
    """The sum of the samples that have these labels; None: there is none."""
    hits = [v for (n, have), v in found.items()
            if n == metric and labels.items() <= dict(have).items()]
    return sum(hits) if hits else None
