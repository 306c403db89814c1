# SPDX-License-Identifier: ISC
"""The page and the chart of what was measured: every row, also those that a peer wins."""

import math
import re

GROUPS = {
    "overhead": "Overhead",
    "first": "First times",
    "shapes": "Shapes met for the first time",
    "elementwise": "Elementwise",
    "reductions": "Reductions",
    "rows": "Softmax and the like",
    "scans": "Scans",
    "moves": "Moves",
    "images": "Images of bytes",
    "indexed": "Elements by number",
    "products": "Products",
    "windows": "Convolutions",
    "models": "Models",
    "sort": "Sorting",
    "fft": "Fourier transforms",
    "linalg": "Linear algebra",
}
GPU_GROUPS = {
    "overhead": "Overhead of a GPU",
    "calls": "Calls to a GPU",
    "arrays": "Arrays on a GPU",
    "shapes": "More types and shapes on a GPU",
    "copies": "Copies to and from a GPU",
    "products": "Products on a GPU",
    "models": "Attention and convolutions on a GPU",
    "linalg": "Linear algebra on a GPU",
}
NO_PEERS = ("written whole",)


def best(row):
    """The quickest peer: its name, and its time divided by that of nx."""
    peers = {name: r for name, r in row["ratios"].items() if name not in NO_PEERS and r > 0}
    name = min(peers, key=peers.get, default=None)
    return (name, peers[name]) if name else None


def mean(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios)) if ratios else 0


def digits(x):
    """Three significant digits."""
    if x == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(x))))
    return f"{x:.{places}f}"


def columns_of(machines):
    """A processor with an instruction set and a number of threads is a column."""
    found = []
    for number, m in enumerate(machines):
        keys = {(row["isa"], row["threads"]) for row in m["rows"]}
        order = sorted(keys, key=lambda k: (-k[1], {"avx512": 0, "avx2": 1}.get(k[0], 2)))
        found += [(number, isa, threads) for isa, threads in order]
    return found


def rows_by_name(machines, group):
    """Rows of a group by name, in the order of their names: for each the cells by
    column."""
    named = {}
    for number, m in enumerate(machines):
        for row in m["rows"]:
            if row["group"] == group:
                cells = named.setdefault(row["name"], {})
                cells[(number, row["isa"], row["threads"])] = row
    return dict(sorted(named.items(), key=lambda item: natural(item[0])))


def natural(name):
    """Numbers by value, also 1.6e7."""
    pieces = re.split(r"(\d+(?:\.\d+)?(?:e\d+)?)", name)
    return [(1, float(p), "") if i % 2 else (0, 0, p) for i, p in enumerate(pieces)]


def cell(row):
    if row is None:
        return ""
    text = digits(row["ms"])
    if row["limit_ms"] > 0:
        text += f"; {row['of_limit']:.2f}"
    peer = best(row)
    if peer:
        text += f"; {peer[0]} {digits(peer[1])}" + "*" * bool(row.get("apart"))
    return text


def peers_of(m):
    return sorted({name for row in m["rows"] for name in row["ratios"]} - set(NO_PEERS))


def said(m, name):
    """The commits or the days of the rows, in the order in which they were measured."""
    rows = sorted(m["rows"], key=lambda row: row.get("at", ""))
    return ", ".join(dict.fromkeys(row.get(name, m["machine"][name]) for row in rows))


def described(number, m):
    v = m["machine"]
    libraries = ", ".join(f"{name} {text}" for name, text in v["versions"].items())
    rounds = sorted({row["rounds"] for row in m["rows"] if "rounds" in row})
    commits, days = said(m, "nx"), said(m, "date")
    several = f", medians of {' or '.join(str(n) for n in rounds)} rounds" if rounds else ""
    return (
        f"{number + 1}. {v['processor']}: {v['processors']} processors, {v['memory_gib']} GiB, "
        f"{v['system']}; nx {commits}, {libraries}; {days}{several}. "
        f"Beside {', '.join(peers_of(m))}.\n"
    )


def title(column):
    number, isa, threads = column
    return f"{number + 1}: {isa}, {threads} thread{'s' if threads > 1 else ''}"


def summary(machines, columns):
    """By group and column: rows with a peer, those where nx is ahead, the mean of nx / peer."""
    lines = [
        "| rows | " + " | ".join(title(c) for c in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    totals = {c: [] for c in columns}
    for group, text in GROUPS.items():
        named, cells = rows_by_name(machines, group), []
        for c in columns:
            peers = [best(r[c]) for r in named.values() if c in r]
            ratios = [p[1] for p in peers if p]
            totals[c] += ratios
            cells.append(counted(ratios))
        if any(cells):
            lines.append(f"| {text} | " + " | ".join(cells) + " |")
    lines.append("| **all** | " + " | ".join(counted(totals[c]) for c in columns) + " |")
    return "\n".join(lines) + "\n"


def counted(ratios):
    if not ratios:
        return ""
    ahead = sum(r >= 1 for r in ratios)
    return f"{ahead} of {len(ratios)}; {digits(1 / mean(ratios))}"


def gpu_name(m):
    return m["machine"]["gpu"].removeprefix("NVIDIA ")


def described_gpu(m):
    v = m["machine"]
    versions = ", ".join(f"{name} {text}" for name, text in v["versions"].items())
    days, commits = said(m, "date"), said(m, "nx")
    return (
        f"{gpu_name(m)}: {v['gpu']}, {v['memory']}, driver {v['driver']}; nx {commits}, "
        f"{versions}; {days}.\n"
    )


def gpu_part(gpus):
    """Rows of nx-bench-gpu; what the groups hold is as on processors."""
    if not gpus:
        return ""
    text = "\n## On GPUs\n\n" + "\n".join(described_gpu(m) for m in gpus)
    if any(row.get("apart") for m in gpus for row in m["rows"]):
        text += "\nPeers of rows with a * were measured at another time, on the same kind of GPU.\n"
    groups = dict.fromkeys(row["group"] for m in gpus for row in m["rows"])
    for group in dict.fromkeys([*filter(groups.__contains__, GPU_GROUPS), *groups]):
        rows = {}
        for number, m in enumerate(gpus):
            for row in m["rows"]:
                if row["group"] == group:
                    rows.setdefault((row["name"], row["dtype"]), {})[number] = row
        text += f"\n### {GPU_GROUPS.get(group, group)}\n\nMilliseconds; the part of the limit that "
        text += "is reached, where there is one; the best peer, and its time divided by that of nx."
        text += "\n\n| row | type | " + " | ".join(gpu_name(m) for m in gpus) + " |\n"
        text += "|---" * (len(gpus) + 2) + "|\n"
        for (name, dtype), cells in rows.items():
            text += f"| {name} | {dtype} | "
            text += " | ".join(cell(cells.get(i)) for i in range(len(gpus))) + " |\n"
    return text


def page(machines, gpus=()):
    columns = columns_of(machines)
    text = """<!-- SPDX-License-Identifier: ISC -->
# Measurements

Made by `bench/measurements.py` of the files in `docs/measurements/`, one for each processor;
[measuring speed](bench.md) says how the figures come about. `./dev bench --save` adds a processor.

![How much of the best peer's time nx takes, by group](images/measurements.svg)

"""
    for number, m in enumerate(machines):
        text += described(number, m)
    text += """
In how many rows nx is ahead of every peer, of those that a peer has; then the geometric mean of
the time of nx divided by that of the best peer, so that less than 1 is faster:

"""
    text += summary(machines, columns)
    for group, name in GROUPS.items():
        named = rows_by_name(machines, group)
        if not named:
            continue
        text += f"\n## {name}\n\nMilliseconds; the part of the limit that is reached, where there "
        text += "is one; the best peer, and its time divided by that of nx.\n\n"
        text += "| row | type | " + " | ".join(title(c) for c in columns) + " |\n"
        text += "|---" * (len(columns) + 2) + "|\n"
        for row, cells in named.items():
            dtype = next(iter(cells.values()))["dtype"]
            text += f"| {row} | {dtype} | "
            text += " | ".join(cell(cells.get(c)) for c in columns) + " |\n"
    return text + gpu_part(gpus)


# ---- the chart: a bar a group, its mean, and a point a row, on a logarithmic scale

LEFT, RIGHT, TOP, STEP = 190, 30, 66, 30
WIDTH = 760
LEAST, MOST = 1 / 32, 16


def place(x):
    part = math.log(min(max(x, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def bars(machines, column):
    found = []
    for group, name in GROUPS.items():
        peers = [best(r[column]) for r in rows_by_name(machines, group).values() if column in r]
        ratios = [p[1] for p in peers if p]
        if ratios:
            found.append((name, ratios))
    return found


def rows_in(machines, column):
    number, isa, threads = column
    return sum(row["isa"] == isa and row["threads"] == threads for row in machines[number]["rows"])


def chart(machines):
    columns = columns_of(machines)
    column = max(columns, key=lambda c: rows_in(machines, c), default=None)
    groups = bars(machines, column) if column else []
    beside = ", ".join(peers_of(machines[column[0]])) if column else "none"
    height = TOP + STEP * len(groups) + 34
    bottom = TOP + STEP * len(groups)
    parts = [
        f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" \
aria-labelledby="title about" font-family="system-ui, 'DejaVu Sans', sans-serif">
  <!-- SPDX-License-Identifier: ISC -->
  <title id="title">The time of nx beside that of the best peer, by group of rows</title>
  <desc id="about">For each group a bar to the geometric mean of the time of nx divided by that of \
the best of {beside}, and a point for each row. \
Left of 1 nx is faster; points beyond the ends lie on them.</desc>
  <!-- Colours are of middle brightness, so that the chart can be read on white and on black. -->
  <style>
    .head {{ font-size: 15px; font-weight: 600; fill: #808a94; }}
    .name {{ font-size: 13px; fill: #808a94; text-anchor: end; }}
    .axis {{ font-size: 12px; fill: #808a94; text-anchor: middle; }}
    .line {{ stroke: #808a94; stroke-width: 0.5; stroke-dasharray: 2 3; }}
    .one {{ stroke: #808a94; stroke-width: 1.5; }}
    .bar {{ fill: #2f7dc0; fill-opacity: 0.55; }}
    .row {{ fill: #2f9e6b; }}
    .lost {{ fill: #d9534f; }}
  </style>"""
    ]
    if column:
        number, isa, threads = column
        about = f"{machines[number]['machine']['processor']}, {isa}, {threads} threads"
        parts.append(
            f'  <text class="head" x="{LEFT}" y="20">time of nx / time of the best peer'
            f'</text>\n  <text class="axis" x="{LEFT}" y="38" text-anchor="start" '
            f'style="text-anchor: start">{about}; a point a row, a bar the mean</text>'
        )
    for tick in (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16):
        x, kind = place(tick), "one" if tick == 1 else "line"
        label = f"1/{round(1 / tick)}" if tick < 1 else f"{tick}"
        parts.append(f'  <path class="{kind}" d="M{x:.1f} {TOP - 6} V{bottom}"/>')
        parts.append(f'  <text class="axis" x="{x:.1f}" y="{bottom + 18}">{label}</text>')
    for i, (name, ratios) in enumerate(groups):
        y = TOP + STEP * i
        end, one = place(1 / mean(ratios)), place(1)
        parts.append(f'  <text class="name" x="{LEFT - 12}" y="{y + 17}">{name}</text>')
        parts.append(
            f'  <rect class="bar" x="{min(end, one):.1f}" y="{y + 4}" '
            f'width="{abs(end - one):.1f}" height="{STEP - 10}" rx="2"/>'
        )
        for k, r in enumerate(sorted(ratios)):
            kind = "row" if r >= 1 else "lost"
            dy = y + STEP / 2 - 1 + (k % 3 - 1) * 5
            parts.append(
                f'  <circle class="{kind}" cx="{place(1 / r):.1f}" cy="{dy:.1f}" r="2.4"/>'
            )
    parts.append("</svg>\n")
    return "\n".join(parts)
