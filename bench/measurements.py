# SPDX-License-Identifier: ISC
"""Measures the rows of nx-bench on this processor, keeps them in docs/measurements/, a file for
each processor, and makes docs/measurements.md and its chart of all these files.

measurements.py run --program FILE --python FILE [--peers P,..] [--group G,..] [--threads N,..]
                    [--isa I,..] [--part I/N] [--rounds N] [--processor NAME]
                    [--seconds N [--hours N]]
measurements.py page
measurements.py gpu --folder DIR
measurements.py generic --program FILE [--isa I,..] [--processor NAME]
measurements.py times [--processor NAME]

gpu takes what ./dev gpu left in a folder (machine.json, bench.json, peers.json) into
docs/measurements/gpu/.

generic runs nx-bench-generic and keeps what it says in docs/measurements/generic/.

A run replaces the rows that it measures, so that it may be split into many short ones: with
--seconds it goes on where the last one stopped, and begins no row after that time. times: how long
each group took."""

import argparse
import datetime
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measurements_generic
import measurements_page

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "measurements"
LIBRARIES = ("numpy", "scipy", "numexpr", "torch", "jax")
ISAS = ("avx512", "avx2", "generic")
KEY = ("group", "name", "isa", "threads")


def cpu_fields():
    fields = {}
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if not name.strip():
            break  # the first processor's are enough
        fields[name.strip()] = value.strip()
    return fields


def memory_gib():
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemTotal:"):
            return round(int(line.split()[1]) / 2**20)
    return 0


def versions(python):
    code = (
        "import importlib.metadata as m, json, sys\n"
        "v = {}\n"
        f"for name in {LIBRARIES!r}:\n"
        "    try: v[name] = m.version(name)\n"
        "    except m.PackageNotFoundError: pass\n"
        "print(json.dumps(dict(v, python=sys.version.split()[0])))"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def machine(python):
    fields = cpu_fields()
    family, model = fields.get("cpu family", "?"), fields.get("model", "?")
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "processor": f"{fields.get('model name', platform.machine())}, family {family}, "
        f"model {model}",
        "processors": len(os.sched_getaffinity(0)),
        "memory_gib": memory_gib(),
        "system": platform.system(),
        "nx": commit.stdout.strip() or "unknown",
        "versions": versions(python),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    }


def file_of(name):
    return FOLDER / (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".json")


def isas_here(program):
    """The widest that the processor has, and narrower ones that are common."""
    told = subprocess.run([program, "--isa"], capture_output=True, text=True, check=True)
    widest = told.stdout.strip()
    return [isa for isa in ISAS[:2] if isa in ISAS[ISAS.index(widest) :]] or [widest]


def names_of(options):
    """The rows that are wanted, as pairs of group and name."""
    command = [options.program, "--list"] + chosen(options)
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [tuple(line.split(" ", 1)) for line in told.splitlines()]


def chosen(options):
    arguments = []
    for name in ("group", "part", "only"):
        if getattr(options, name):
            arguments += [f"--{name}", getattr(options, name)]
    return arguments


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def fresh(rows, options, isa, threads):
    """Rows that were measured not long ago, where a run goes on."""
    if not options.seconds:
        return set()
    least = (now() - datetime.timedelta(hours=options.hours)).isoformat()
    of = [row for row in rows.values() if row["isa"] == isa and row["threads"] == threads]
    return {(row["group"], row["name"]) for row in of if row.get("at", "") >= least}


def rows_of(options, isa, threads, without, seconds):
    command = [options.program, "--json", "--python", options.python, "--peers", options.peers]
    command += ["--threads", str(threads), "--rounds", str(options.rounds), *chosen(options)]
    if seconds:
        command += ["--seconds", str(seconds)]
    left_out = tempfile.NamedTemporaryFile("w", suffix=".txt")
    left_out.write("\n".join(f"{group} {name}" for group, name in without))
    left_out.flush()
    command += ["--without", left_out.name]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, NX_ISA=isa)
    )
    try:
        for line in process.stdout:
            row = json.loads(line)
            print(f"{row['name']} {row['isa']} {row['threads']}: {row['ms']:.4g} ms", flush=True)
            yield row
    except SystemExit:
        process.kill()
        raise
    if process.wait() not in (0, 1):  # 1: a peer got something else, which was said
        sys.exit(f"{command} ended with {process.returncode}")


def read(path):
    """The machine and its rows by key; each row knows of which commit and day it is."""
    if not path.is_file():
        return {}
    old = json.loads(path.read_text(encoding="utf-8"))
    about = {name: old["machine"][name] for name in ("nx", "date")}
    return {tuple(row[k] for k in KEY): about | row for row in old["rows"]}


def write(path, here, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = ",\n".join(json.dumps(row, sort_keys=True) for row in rows)
    head = json.dumps(here, sort_keys=True, indent=1)
    path.write_text(f'{{"machine": {head},\n"rows": [\n{text}\n]}}\n', encoding="utf-8")


def measured(options):
    here, begin = machine(options.python), time.monotonic()
    path = file_of(options.processor or here["processor"])
    rows, left = read(path), 0
    count = here["processors"]
    threads = [int(n) for n in options.threads.split(",")] if options.threads else [count, 1]
    isas = options.isa.split(",") if options.isa else isas_here(options.program)
    about = {name: here[name] for name in ("nx", "date")} | {"rounds": options.rounds}
    wanted = set(names_of(options))
    try:
        for isa, n in [(isa, n) for isa in isas for n in dict.fromkeys(threads)]:
            done = fresh(rows, options, isa, n)
            rest = options.seconds - (time.monotonic() - begin) if options.seconds else 0
            if (not options.seconds or rest > 5) and wanted - done:
                for row in rows_of(options, isa, n, done, rest):
                    rows[tuple(row[k] for k in KEY)] = row | about | {"at": now().isoformat()}
            left += len(wanted - fresh(rows, options, isa, n))
    finally:  # what was measured until then is kept
        write(path, here, [row for _, row in sorted(rows.items())])
    if options.seconds:
        print(f"{left} rows left")


def tell_times(options):
    """How long each group took, by column."""
    found = {}
    for path in sorted(FOLDER.glob("*.json")):
        if options.processor and path != file_of(options.processor):
            continue
        for row in read(path).values():
            key = (path.stem, row["isa"], row["threads"], row["group"])
            rows, seconds = found.get(key, (0, 0))
            found[key] = (rows + 1, seconds + row.get("seconds", 0))
    for (stem, isa, threads, group), (rows, seconds) in found.items():
        print(f"{stem} {isa} {threads} {group}: {rows} rows, {seconds:.0f} s")


def beside(row, old):
    """A row without peers keeps those of before: their times then are not of the same turns."""
    if row["peers"] or not old.get("peers"):
        return row
    ratios = {name: round(ms / row["ms"], 4) for name, ms in old["peers"].items()}
    return row | {"peers": old["peers"], "ratios": ratios, "apart": True}


def take_gpu(folder):
    """Rows that ./dev gpu measured, in their order; those beside peers replace others."""
    here = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    about = {name: here[name] for name in ("nx", "date")} | {"at": now().isoformat()}
    path = FOLDER / "gpu" / file_of(here["gpu"]).name
    old, before = [], {}
    if path.is_file():
        file = json.loads(path.read_text(encoding="utf-8"))
        old, before = file["rows"], file["machine"]
    rows = {(row["group"], row["name"], row["dtype"]): row for row in old}
    here["versions"] = before.get("versions", {}) | here["versions"]
    for name in ("bench.json", "peers.json"):
        file = folder / name
        for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else []:
            row = json.loads(line)
            key = (row["group"], row["name"], row["dtype"])
            rows[key] = beside(row | about, rows.get(key, {}))
    write(path, here, rows.values())


def take_generic(options):
    here = machine(sys.executable)
    rows = []
    for isa in options.isa.split(",") if options.isa else isas_here(options.program):
        rows += measurements_generic.rows_of(options.program, isa)
    path = file_of(options.processor or here["processor"])
    write(FOLDER / "generic" / path.name, here, rows)


def make_page():
    machines, gpus, generics = (
        [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
        for folder in (FOLDER, FOLDER / "gpu", FOLDER / "generic")
    )
    page, chart = measurements_page.page(machines, gpus), measurements_page.chart(machines)
    page += measurements_generic.part(generics)
    (ROOT / "docs" / "measurements.md").write_text(page, encoding="utf-8")
    (ROOT / "docs" / "images" / "measurements.svg").write_text(chart, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("run", "page", "times", "gpu", "generic"))
    for name in ("program", "python", "group", "threads", "isa", "part", "processor", "only"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--peers", default="numpy,scipy,numexpr,torch,jax,fftw")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--hours", type=float, default=24)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends as an exception does
    if options.command == "times":
        tell_times(options)
        return
    if options.command == "run":
        measured(options)
    if options.command == "gpu":
        take_gpu(options.folder)
    if options.command == "generic":
        take_generic(options)
    make_page()


if __name__ == "__main__":
    main()
