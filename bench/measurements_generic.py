# SPDX-License-Identifier: ISC
"""Code whose extents are parameters beside code that has them as constants: what nx-bench-generic
says is kept in a file for each processor, and told on the page of measurements."""

import json
import os
import subprocess

import measurements_page

BEYOND = 1.1  # what is more than a tenth slower


def rows_of(program, isa):
    """A graph and a type are a row, with both times of each shape, in microseconds."""
    command = [program, "--json"]
    told = subprocess.run(
        command, capture_output=True, text=True, check=True, env=dict(os.environ, NX_ISA=isa)
    )
    rows = {}
    for line in told.stdout.splitlines():
        one = json.loads(line)
        key = (one["graph"], one["dtype"])
        row = rows.setdefault(key, {"graph": key[0], "dtype": key[1], "isa": one["isa"], "us": {}})
        shape = f"{one['rows']}x{one['columns']}"
        row["us"][shape] = [round(one[f"{kind}_us"], 3) for kind in ("generic", "special")]
    return list(rows.values())


def shape_of(text):
    """Columns, and the power of ten that the number of elements is closest to."""
    rows, columns = (int(n) for n in text.split("x"))
    return columns, len(str(rows * columns * 2)) - 1


def ratios(rows, columns):
    return [
        generic / special
        for row in rows
        for shape, (generic, special) in row["us"].items()
        if shape_of(shape)[0] == columns
    ]


def summary(rows, isas, widths):
    text = "| columns | " + " | ".join(f"{isa}: mean | within a tenth | most" for isa in isas)
    text += " |\n" + "|---" * (1 + 3 * len(isas)) + "|\n"
    for width in widths:
        text += f"| {width} "
        for isa in isas:
            found = ratios([row for row in rows if row["isa"] == isa], width)
            within = sum(r <= BEYOND for r in found)
            text += f"| {measurements_page.mean(found):.2f} | {within} of {len(found)} "
            text += f"| {max(found):.2f} "
        text += "|\n"
    return text


def cell(row, width):
    """Of each size the ratio."""
    if row is None:
        return ""
    both = sorted((shape_of(s)[1], t) for s, t in row["us"].items() if shape_of(s)[0] == width)
    return " ".join(f"{generic / special:.2f}" for _, (generic, special) in both)


def part(machines):
    """What the page says of one processor after the other."""
    text = ""
    for m in machines:
        rows, about = m["rows"], m["machine"]
        isas = list(dict.fromkeys(row["isa"] for row in rows))
        widths = sorted({shape_of(s)[0] for row in rows for s in row["us"]})
        text += "\n## Extents as parameters\n\n"
        text += f"{about['processor']}, one thread; nx {about['nx']}, {about['date']}. What code "
        text += "with extents as parameters takes, divided by what code takes that has them as "
        text += "constants ([how](bench.md#extents-as-parameters)): of matrices with so many "
        text += "columns, of 10^5 and of 10^6 elements. First the geometric mean of all graphs, "
        text += "how many are within a tenth, and the largest ratio.\n\n"
        text += summary(rows, isas, widths)
        text += "\n| graph | type | "
        text += " | ".join(f"{isa}, {width}" for isa in isas for width in widths) + " |\n"
        text += "|---" * (2 + len(isas) * len(widths)) + "|\n"
        keys = dict.fromkeys((row["graph"], row["dtype"]) for row in rows)
        by_key = {(row["graph"], row["dtype"], row["isa"]): row for row in rows}
        for graph, dtype in keys:
            cells = [cell(by_key.get((graph, dtype, isa)), w) for isa in isas for w in widths]
            text += f"| {graph} | {dtype} | " + " | ".join(cells) + " |\n"
    return text
