#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Tables and a chart from the lines that tests/bench/run wrote.

    report.py bench.jsonl OUTDIR

Prints the table, writes bench.md and bench.svg. The median of the rounds is
shown; a line with errors is no result.
Runs in: make bench.
"""
import json
import os
import platform
import statistics
import sys
import time

FIELDS = ("units_s", "cpu_us_op", "p50_us", "p99_us", "rss_kib", "ops_s",
          "mb_s")


def read(path):
    """{spec: {server: {field: median}}} in the order of the file."""
    runs, order, servers, bad = {}, [], [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            run = json.loads(line)
            spec, server = run["spec"], run["server"]
            if spec not in order:
                order.append(spec)
            if server not in servers:
                servers.append(server)
            if run.get("why") or run.get("errors"):
                bad.append(f"{server} {spec}: "
                           f"{run.get('why') or run['first_error']}")
                continue
            runs.setdefault((spec, server), []).append(run)
    table = {}
    for spec in order:
        table[spec] = {}
        for server in servers:
            if (spec, server) in runs:
                found = runs[spec, server]
                cell = {f: statistics.median(r[f] for r in found)
                        for f in FIELDS}
                if not spec.startswith("readdirplus"):
                    cell["units_s"] = cell["ops_s"]
                cell["bytes_op"] = cell["mb_s"] * 1e6 / max(cell["ops_s"], 1)
                cell["cpu"] = (cell["cpu_us_op"] * cell["ops_s"] /
                               max(cell["units_s"], 1))
                table[spec][server] = cell
    return table, servers, sorted(set(bad))


def ratio(a, b, field="units_s"):
    return f"{a[field] / b[field]:.2f}" if a and b and b[field] else "-"


def number(value):
    return f"{value:,.0f}"


def main_table(table, servers):
    peers = [s for s in servers if s in ("ganesha", "unfs3")]
    shown = ["tern"] + peers + ["limit"]
    head = ["workload"] + [f"{s} op/s, CPU us" for s in shown]
    head += ["p50 us", "p99 us"] + [f"x {p}" for p in peers] + ["x limit"]
    rows = [head]
    for spec, cells in table.items():
        ours, limit = cells.get("tern"), cells.get("limit")
        row = [spec]
        for server in shown:
            c = cells.get(server)
            row.append(f"{number(c['units_s'])}, {c['cpu']:.1f}" if c else "-")
        row += [f"{ours['p50_us']:.0f}", f"{ours['p99_us']:.0f}"] \
            if ours else ["-", "-"]
        row += [ratio(ours, cells.get(p)) for p in peers]
        row.append(ratio(ours, limit))
        rows.append(row)
    return rows


def variant_table(table, servers):
    """The cost of synced names, the modes and the system call filter."""
    titles = {"names": "names synced", "squash": "squash mode",
              "open": "without seccomp"}
    variants = [s for s in titles if s in servers]
    rows = [["workload", "multi-user op/s, CPU us"] +
            [titles[v] for v in variants]]
    for spec, cells in table.items():
        if not any(v in cells for v in variants):
            continue
        rows.append([spec] + [
            f"{number(cells[s]['units_s'])}, {cells[s]['cpu']:.1f}"
            if s in cells else "-" for s in ["tern"] + variants])
    return rows if len(rows) > 1 and variants else []


def tls_table(table, servers):
    """What encryption costs, beside a tunnel in front of the same server."""
    names = {"tern": "plain", "tls": "TLS", "stunnel": "stunnel, Tern",
             "ganesha": "ganesha, plain", "gstunnel": "stunnel, ganesha"}
    shown = [s for s in names if s in servers]
    if "tls" not in shown:
        return []
    rows = [["workload"] + [f"{names[s]} op/s, CPU us" for s in shown] +
            ["CPU, TLS / plain", "TLS, CPU s/GB", "of it the relay's"]]
    for spec, cells in table.items():
        ours = cells.get("tls")
        if not ours:
            continue
        row = [spec] + [f"{number(c['units_s'])}, {c['cpu']:.1f}" if c else "-"
                        for c in map(cells.get, shown)]
        clear = cells.get("tern")
        row.append(ratio(ours, clear, "cpu"))
        per_gb = 1e3 / ours["bytes_op"] if ours["bytes_op"] > 1000 else None
        row.append(f"{ours['cpu_us_op'] * per_gb:.2f}" if per_gb else "-")
        # what it costs more than the same operation in the clear
        more = ours["cpu_us_op"] - clear["cpu_us_op"] if clear else None
        row.append(f"{more * per_gb:.2f}" if per_gb and clear else "-")
        rows.append(row)
    return rows


def memory(table, servers):
    rows = [["server", "largest resident memory, MiB"]]
    for s in servers:
        peak = max((c[s]["rss_kib"] for c in table.values() if s in c),
                   default=0)
        rows.append([s, f"{peak / 1024:.1f}"])
    return rows


def markdown(rows):
    lines = ["| " + " | ".join(rows[0]) + " |",
             "|---|" + "--:|" * (len(rows[0]) - 1)]
    lines += ["| " + " | ".join(r) + " |" for r in rows[1:]]
    return "\n".join(lines)


def plain(rows):
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(
        cell.ljust(w) if i == 0 else cell.rjust(w)
        for i, (cell, w) in enumerate(zip(row, widths))) for row in rows)


def chart(table, servers):
    """A bar chart of units per second, as parts of the limit's."""
    colours = {"tern": "#1769aa", "ganesha": "#c77700", "unfs3": "#888888"}
    shown = [s for s in ("tern", "ganesha", "unfs3") if s in servers]
    specs = [s for s, c in table.items() if "limit" in c and "tern" in c]
    step, left, width = 14 * len(shown) + 10, 170, 760
    height = 50 + step * len(specs)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
           f'height="{height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           '<text x="10" y="18" font-weight="bold">Operations per second, '
           "as a part of the bare loop's</text>"]
    for i, s in enumerate(shown):
        out.append(f'<rect x="{430 + i * 100}" y="8" width="12" height="12" '
                   f'fill="{colours[s]}"/><text x="{446 + i * 100}" y="18">'
                   f"{s}</text>")
    scale = (width - left - 60) / 1.2
    out.append(f'<line x1="{left + scale}" x2="{left + scale}" y1="28" '
               f'y2="{height}" stroke="#999" stroke-dasharray="4"/>')
    for n, spec in enumerate(specs):
        y = 36 + n * step
        out.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">'
                   f"{spec}</text>")
        for i, s in enumerate(shown):
            if s not in table[spec]:
                continue
            part = table[spec][s]["units_s"] / \
                max(table[spec]["limit"]["units_s"], 1)
            bar = min(part, 1.2) * scale
            out.append(f'<rect x="{left}" y="{y + i * 14}" height="12" '
                       f'width="{bar:.1f}" fill="{colours[s]}"/>'
                       f'<text x="{left + bar + 4:.1f}" y="{y + i * 14 + 10}" '
                       f'font-size="10">{part:.2f}</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    table, servers, bad = read(sys.argv[1])
    where = (f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} CPUs, "
             f"Linux {platform.release().split('-')[0]}, loopback, "
             "ext4 in memory, full sandbox, median of the rounds")
    parts = [("Units per second and server CPU per unit", main_table),
             ("What mode and filter cost", variant_table),
             ("What TLS costs", tls_table), ("Memory", memory)]
    text = [where, ""]
    for title, make in parts:
        rows = make(table, servers)
        if rows:
            print(f"\n{title} ({where})\n\n{plain(rows)}")
            text += [f"**{title}**", "", markdown(rows), ""]
    for line in bad:
        print("no result:", line)
    out = sys.argv[2]
    with open(os.path.join(out, "bench.md"), "w", encoding="utf-8") as f:
        f.write("\n".join(text))
    with open(os.path.join(out, "bench.svg"), "w", encoding="utf-8") as f:
        f.write(chart(table, servers))
    print(f"\nwritten: {out}/bench.md, {out}/bench.svg")
    return 1 if any(b.startswith("tern") for b in bad) else 0


if __name__ == "__main__":
    sys.exit(main())
