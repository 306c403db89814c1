# SPDX-License-Identifier: ISC
"""The tests of StableHLO's own interpreter, in stablehlo/tests/interpret and
stablehlo/testdata/quantized of a copy of its repository that STABLEHLO_SOURCE names; skipped
without one. Operations of the dialects `check` and
`interpreter`, which only those tests have, are rewritten as custom calls that stablehlo_check
knows.

Usage: interpret.py STABLEHLO_CHECK [NAME..]."""

import os
import re
import subprocess
import sys
from pathlib import Path

VALUE = r"(%[\w#]+)"
CONSTANT = re.compile(r"check\.expect_(eq|almost_eq)_const\s+" + VALUE
                      + r",\s*(dense<.*?>\s*:\s*(tensor<.*?>+))\s*$", re.M | re.S)
GENERAL = re.compile(r'"check\.expect_(eq|almost_eq)_const"\(' + VALUE
                     + r"\)\s*<\{\s*value = (dense<.*?>\s*:\s*(tensor<.*?>+))\s*\}>[^\n]*$",
                     re.M | re.S)
TWO = re.compile(r"check\.expect_(eq|almost_eq|close)\s+" + VALUE + r",\s*" + VALUE
                 + r"[^:\n]*:\s*(tensor<.*>)")
PARALLEL = re.compile(r'"interpreter\.run_parallel"\((.*?)\)\s*'
                      r"\{\s*(?:infeed\s*=\s*\[(.*?)\],)?\s*programs\s*=\s*(\[.*?\])\s*\}\s*:",
                      re.S)
numbers = iter(range(10**9))


def constant(m):
    value = f"%wanted{next(numbers)}"
    call = f"stablehlo.custom_call @check.expect_{m[1]}({m[2]}, {value})"
    return f"{value} = stablehlo.constant {m[3]}\n    {call} : ({m[4]}, {m[4]}) -> ()"


def two(m):
    kind = m[4] if "," in m[4] else f"{m[4]}, {m[4]}"
    return f"stablehlo.custom_call @check.expect_{m[1]}({m[2]}, {m[3]}) : ({kind}) -> ()"


def parallel(m):
    rows = re.findall(r"\[([^\[\]]*)\]", m[3])
    names = [re.findall(r"@(\w+)", row) for row in rows]
    fed = re.findall(r"@(\w+)", m[2] or "")
    config = " ".join([str(len(rows)), str(len(names[0]))] + sum(names, []) + fed)
    call = f"stablehlo.custom_call @interpreter.run_parallel({m[1]})"
    return f'{call} {{backend_config = "{config}"}} :'


def rewritten(text):
    text = re.sub(r"[ \t]*//(?! -----).*", "", text)
    text = CONSTANT.sub(constant, GENERAL.sub(constant, text))
    return PARALLEL.sub(parallel, TWO.sub(two, text))


root = os.environ.get("STABLEHLO_SOURCE")
if not root:
    print("skipped: STABLEHLO_SOURCE names no copy of StableHLO's repository")
    sys.exit(77)
wrong = right = 0
folders = [Path(root, "stablehlo", f) for f in ("tests/interpret", "testdata/quantized")]
for file in sorted(f for folder in folders for f in folder.rglob("*.mlir")):
    if len(sys.argv) > 2 and file.stem not in sys.argv[2:]:
        continue
    done = subprocess.run([sys.argv[1], "-"], input=rewritten(file.read_text()), text=True,
                          capture_output=True)
    lines = done.stdout.splitlines() or ["0 modules as expected, 1 not"]
    counts = re.match(r"(\d+) modules as expected, (\d+) not", lines[-1])
    right += int(counts[1]) if counts else 0
    wrong += int(counts[2]) if counts else 1
    for line in lines[:-1]:
        print(f"{file.name}{line.removeprefix('-')}")
    if not counts or done.returncode < 0:
        print(f"{file.name}: {done.returncode} {done.stderr[-400:]}")
print(f"{right} modules as expected, {wrong} not")
sys.exit(wrong > 0)
