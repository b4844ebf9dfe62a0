#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""What a Prometheus on 127.0.0.1:9090 says of Tern.

    judge.py dashboard FILE     every query of the dashboard shows something
    judge.py alerts             every alert is fed by Tern
    judge.py firing NAME        does this alert wait or fire? The exit status

Prints a line for each test: 0 or 1, and what was tried.
"""
import json
import re
import sys
import time
import urllib.parse
import urllib.request

SPAN = 80  # seconds to look back on


def say(good, what):
    print(f"{0 if good else 1} {what}")


def api(what, **args):
    url = f"http://127.0.0.1:9090/api/v1/{what}?" + urllib.parse.urlencode(args)
    try:
        with urllib.request.urlopen(url, timeout=30) as f:
            return json.load(f)["data"]
    except urllib.error.HTTPError as e:
        raise ValueError(f"{args}: {json.load(e)['error']}") from None


def panels(file):
    """The panels of a dashboard, with queries as Grafana would send them."""
    with open(file, encoding="utf-8") as f:
        for panel in json.load(f)["panels"]:
            for t in panel["targets"]:
                t["expr"] = t["expr"].replace("$__rate_interval", "10s") \
                    .replace("$instance", ".+")
            yield panel


def curves(query):
    """Labels and (second, value) pairs of each series of the last SPAN."""
    now = time.time()
    found = api("query_range", query=query, start=now - SPAN, end=now, step=2)
    return [(x["metric"], [(float(t), float(v)) for t, v in x["values"]])
            for x in found["result"]]


def legend(target, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda m: labels.get(m[1], ""),
                  target["legendFormat"])


def dashboard(file):
    for panel in panels(file):
        for target in panel["targets"]:
            shown = [legend(target, labels)
                     for labels, points in curves(target["expr"])
                     if any(v > 0 for _, v in points)]
            say(shown and all(shown), f"{panel['title']}: {sorted(shown)}")


def parts(query):
    """The comparisons of a rule, without what they compare with."""
    for part in re.split(r" and (?:on \(.*?\) )?", query):
        yield re.sub(r" (==|<|>) [\d *]+$", "", part)


def alerts():
    rules = api("rules")["groups"][0]["rules"]
    for rule in rules:
        found = [len(api("query", query=p)["result"])
                 for p in parts(rule["query"])]
        say(rule["health"] == "ok" and all(found),
            f"{rule['name']} looks at {found} series")


def firing(name):
    found = {a["labels"]["alertname"] for a in api("alerts")["alerts"]}
    sys.exit(name not in found)


if __name__ == "__main__":
    {"dashboard": dashboard, "alerts": alerts,
     "firing": firing}[sys.argv[1]](*sys.argv[2:])
