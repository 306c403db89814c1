# SPDX-License-Identifier: ISC
"""clang-tidy over the C files of the library, bindings, tools and examples. A file that was clean
is not looked at again until something it depends on has other bytes: itself, what it includes,
the compiler's arguments, .clang-tidy, this file, or the version of clang-tidy.

Usage, in the root of the tree: tidy.py BUILD_DIRECTORY. The directory is configured, and what is
generated is there. The exit status is 1 after any warning.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

TIDY, CLANG = "clang-tidy-19", "clang-19"
FILES = re.compile(
    r"(ir|passes|codegen_llvm|codegen_cuda|runtime|bindings|tools|examples)/"
    r"([a-z0-9_]+/)*[a-z0-9_]+\.c$"
)
# The analyzer follows each function through this many states: half of all time is that of the few
# functions, one in a hundred, that have more. 225,000 is its own figure.
STATES = 30000
# Fewer for loops that macros write out for each type; more where 30,000 give false alarms.
STATES_OF = {
    "runtime/library/scatter.c": 10000,
    "ir/interp/interp_kernel.c": 100000,
    "passes/bind/gpu/scans.c": 100000,
    "runtime/record/ops/window.c": 100000,
}
DAY = 24 * 3600


@lru_cache(maxsize=None)
def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).digest()


def arguments(entry):
    """Those of the compiler, without where it writes."""
    words = shlex.split(entry["command"])
    words = words[next(i for i, word in enumerate(words) if word.startswith("-")) :]
    drop = {
        i + d for i, word in enumerate(words) for d in (0, 1) if word in ("-o", "-MF", "-MQ", "-MT")
    }
    return [
        word for i, word in enumerate(words) if i not in drop and word not in ("-c", "-MD", "-MMD")
    ]


def key(entry, common):
    """A name for all that the answer depends on; None where the includes cannot be listed, so that
    clang-tidy says why."""
    words = arguments(entry)
    done = subprocess.run(
        [CLANG, "-M", *words], cwd=entry["directory"], capture_output=True, text=True
    )
    if done.returncode:
        return None
    files = done.stdout.replace("\\\n", " ").split(":", 1)[1].split()
    text = hashlib.sha256(common + json.dumps(words).encode())
    for name in files:
        text.update(name.encode() + digest(os.path.join(entry["directory"], name)))
    return text.hexdigest()


def states(entry):
    path = os.path.relpath(os.path.join(entry["directory"], entry["file"]))
    nodes = f"max-nodes={STATES_OF.get(path, STATES)}"
    words = ("-analyzer-config", nodes)
    return [w for word in words for w in ("--extra-arg=-Xclang", f"--extra-arg={word}")]


def check(entry, build, common):
    """What clang-tidy says; empty if nothing, now or when it last saw these bytes."""
    name = key(entry, common)
    mark = build / "tidy" / str(name)
    if name and mark.exists():
        mark.touch()
        return ""
    done = subprocess.run(
        [TIDY, "-quiet", "-p", str(build), *states(entry), entry["file"]],
        cwd=entry["directory"],
        capture_output=True,
        text=True,
    )
    if done.returncode == 0 and name:
        mark.touch()
        return ""
    return (
        ""
        if done.returncode == 0
        else done.stdout or done.stderr or f"{entry['file']}: clang-tidy fails\n"
    )


def main():
    build = Path(sys.argv[1]).resolve()
    (build / "tidy").mkdir(exist_ok=True)
    for mark in (build / "tidy").iterdir():
        if time.time() - mark.stat().st_mtime > 30 * DAY:
            mark.unlink()
    version = subprocess.run([TIDY, "--version"], capture_output=True, text=True, check=True).stdout
    common = version.encode() + digest(".clang-tidy") + digest(__file__)
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]))
        if FILES.match(path):
            entries[path] = entry
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        said = list(pool.map(lambda e: check(e, build, common), entries.values()))
    lines = {
        line
        for text in said
        for line in text.splitlines()
        if re.search(r"(warning|error):|clang-tidy fails", line)
    }
    print(
        *sorted(lines), *([] if lines or not any(said) else said), f"{len(entries)} files", sep="\n"
    )
    return 1 if any(said) else 0


sys.exit(main())
