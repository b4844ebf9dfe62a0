#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Draws panels of the dashboard, as Prometheus on 127.0.0.1 has seen them.

    draw.py DASHBOARD PICTURE   the first four panels, as SVG
"""
import math
import sys
from xml.sax.saxutils import escape

from judge import SPAN, curves, legend, panels

PANELS, CURVES = 4, 7
WIDTH, HEIGHT = 560, 280  # of a panel
LEFT, TOP, RIGHT, BOTTOM = 70, 40, 130, 30  # its margins
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9",
          "#7f7f7f")
UNITS = {"ops": ((1, "/s"),), "Bps": ((1e6, " MB/s"), (1e3, " kB/s")),
         "s": ((1, " s"), (1e-3, " ms"), (1e-6, " \u00b5s"))}
HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" \
font-family="system-ui, sans-serif" font-size="13" role="img" \
aria-labelledby="t">
<title id="t">The dashboard of a Tern that a few clients use</title>
<style>
  .bg {{ fill: #fff }}
  text {{ fill: #57606a }}
  .name {{ font-weight: 600; fill: #1f2328 }}
  .grid {{ stroke: #d0d7de; stroke-width: 1 }}
  @media (prefers-color-scheme: dark) {{
    .bg {{ fill: #0d1117 }}
    text {{ fill: #9da7b3 }}
    .name {{ fill: #e6edf3 }}
    .grid {{ stroke: #30363d }}
  }}
  polyline {{ fill: none; stroke-width: 1.5; stroke-linejoin: round }}
</style>
<rect class="bg" width="{w}" height="{h}"/>
"""


def series(panel):
    """The largest curves of a panel: (name, points)."""
    found = [(legend(t, labels), [p for p in points if p[1] == p[1]])
             for t in panel["targets"] for labels, points in curves(t["expr"])]
    found = [x for x in found if any(v > 0 for _, v in x[1])]
    found.sort(key=lambda x: -max(v for _, v in x[1]))
    return found[:CURVES]


def top_of(highest):
    """A round number that is not below."""
    size = 10.0 ** math.floor(math.log10(highest))
    return size * next(f for f in (1, 1.2, 1.6, 2, 3, 4, 6, 8, 10)
                       if f * size >= highest)


def label(value, high, units):
    size, unit = next((u for u in units if high >= u[0]), units[-1])
    return f"{value / size:g}{unit}"


def draw(panel, x, y, now):
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    lines = series(panel)
    most = top_of(max(v for _, points in lines for _, v in points))
    units = UNITS[panel["fieldConfig"]["defaults"]["unit"]]
    out = [f'<g transform="translate({x} {y})">',
           f'<text class="name" x="{LEFT}" y="24">'
           f'{escape(panel["title"])}</text>']
    for i in range(3):
        at = TOP + high - i * high // 2
        out.append(f'<line class="grid" x1="{LEFT}" y1="{at}" '
                   f'x2="{LEFT + wide}" y2="{at}"/>'
                   f'<text x="{LEFT - 6}" y="{at + 4}" text-anchor="end">'
                   f'{label(most * i / 2, most, units)}</text>')
    for at in (0, SPAN // 2, SPAN):
        out.append(f'<text x="{LEFT + wide * at // SPAN}" y="{HEIGHT - 12}" '
                   f'text-anchor="middle">{at} s</text>')
    for i, (name, points) in enumerate(lines):
        path = " ".join(
            f"{LEFT + wide * (t - now + SPAN) / SPAN:.0f},"
            f"{TOP + high * (1 - v / most):.0f}" for t, v in points)
        out.append(f'<polyline stroke="{COLORS[i]}" points="{path}"/>'
                   f'<text x="{LEFT + wide + 8}" y="{TOP + 12 + 18 * i}" '
                   f'style="fill: {COLORS[i]}">{escape(name)}</text>')
    return "\n".join(out + ["</g>\n"])


def main(dashboard, picture):
    shown = list(panels(dashboard))[:PANELS]
    now = max(t for _, points in curves(shown[0]["targets"][0]["expr"])
              for t, _ in points)
    with open(picture, "w", encoding="utf-8") as f:
        f.write(HEAD.format(w=2 * WIDTH, h=PANELS // 2 * HEIGHT))
        for i, panel in enumerate(shown):
            f.write(draw(panel, i % 2 * WIDTH, i // 2 * HEIGHT, now))
        f.write("</svg>\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
