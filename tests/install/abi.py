# SPDX-License-Identifier: ISC
"""The interface against the record of the last release, which docs/abi.md promises to keep:
functions with their types and the version of their symbols, values, and structs with their fields.

Usage: abi.py RECORD LIST LIBRARY [--write]. LIST is nx-api.json. What a compiled program relies on
and is gone or changed is a fault, unless NX_ABI has gone up since; what is new is one until it is
in the record. --write records what is there.
"""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

HEAD = """# SPDX-License-Identifier: ISC
# What programs compiled for this release rely on, on machines with 8-byte pointers (docs/abi.md).
# Written by tests/install/abi.py --write.
"""
OWN = re.compile(r"NX_(ABI|VERSION_\w+)")  # macros that say which release it is


def versions(library):
    """Of each exported symbol the node of runtime/exports.map."""
    text = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout
    return dict(re.findall(r" T (nx_\w+)@@(\S+)", text))


def described(api, nodes):
    """Lines as a dictionary: what is named, and what is said of it."""
    lines = {"abi": str(api["abi"])}
    for f in api["functions"]:
        types = ", ".join(p["type"] for p in f["parameters"]) or "void"
        lines[f"function {f['name']}"] = (
            f"{nodes.get(f['name'], 'none')} {f['returns']['type']}({types})"
        )
    for enum in api["enums"]:
        lines |= {f"value {v['name']}": str(v["value"]) for v in enum["values"]}
    lines |= {
        f"macro {name}": text for name, text in api["macros"].items() if not OWN.fullmatch(name)
    }
    for s in api["structs"]:
        lines[f"struct {s['name']}"] = (
            f"{s['size']} bytes, aligned to {s['alignment']}{', sized' if s['sized'] else ''}"
        )
        for field in s["fields"]:
            lines[f"field {s['name']}.{field['name']}"] = (
                f"{field['type']} at {field['offset']}, {field['size']} bytes"
            )
    return lines


def read_record(path):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def has_grown(before, after):
    """Whether a struct that tells its size became larger, and nothing else."""
    sizes = [
        re.fullmatch(r"(\d+) bytes, aligned to (\d+), sized", text) for text in (before, after)
    ]
    return all(sizes) and sizes[0][2] == sizes[1][2] and int(sizes[1][1]) >= int(sizes[0][1])


def broken(record, now):
    """Sentences about what compiled programs would miss."""
    found = []
    for name, text in record.items():
        if name not in now:
            found.append(f"{name} is gone")
        elif now[name] != text and not (name.startswith("struct ") and has_grown(text, now[name])):
            found.append(f"{name} was {text}, and is {now[name]}")
    plain = {
        name.split(" ")[1]
        for name, text in record.items()
        if name.startswith("struct ") and not text.endswith("sized")
    }
    found += [
        f"{name} is new in a struct without a size"
        for name in now
        if name.startswith("field ")
        and name not in record
        and name.split(" ")[1].split(".")[0] in plain
    ]
    return found


def faults(record, now):
    if record["abi"] != now["abi"]:
        return [
            f"the record is of NX_ABI {record['abi']}, and this is {now['abi']}: record the new "
            f"one with --write"
        ]
    found = [
        f"{sentence}: programs compiled for the release break" for sentence in broken(record, now)
    ]
    return found or [
        f"{name} ({text}) is not in the record: an addition is recorded with --write"
        for name, text in now.items()
        if record.get(name) != text
    ]


def unnoticed(api, nodes):
    """Changes that would break programs, made to a copy of the list: those of which the comparison
    says nothing."""
    record, missed = described(api, nodes), []

    def attempt(what, change):
        other = copy.deepcopy(api)
        change(other)
        if not broken(record, described(other, nodes)):
            missed.append(f"nothing is said of {what}")

    plain = next(i for i, s in enumerate(api["structs"]) if not s["sized"])
    sized = next(i for i, s in enumerate(api["structs"]) if s["sized"])
    last = api["structs"][sized]["fields"][-1]
    attempt("a function that is gone", lambda a: a["functions"].pop())
    attempt(
        "a parameter of another type",
        lambda a: a["functions"][0]["parameters"][0].update(type="double"),
    )
    attempt("another value", lambda a: a["enums"][0]["values"][0].update(value=77))
    attempt("a field that is gone", lambda a: a["structs"][sized]["fields"].pop())
    attempt(
        "a field that moved",
        lambda a: a["structs"][sized]["fields"][-1].update(offset=last["offset"] + 8),
    )
    attempt("a smaller struct", lambda a: a["structs"][sized].update(size=8))
    attempt("a larger struct that has no size", lambda a: a["structs"][plain].update(size=96))
    grown = copy.deepcopy(api)
    grown["structs"][sized]["fields"].append(
        last | {"name": "later", "offset": api["structs"][sized]["size"]}
    )
    grown["structs"][sized]["size"] += 8
    return missed + broken(record, described(grown, nodes))


def main():
    path, api, library = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()), sys.argv[3]
    if api["pointer_bytes"] != 8:
        print("the record is of machines with pointers of 8 bytes: skipped")
        return 77
    now = described(api, versions(library))
    if "--write" in sys.argv[4:]:
        record = read_record(path) if path.exists() else {"abi": "none"}
        found = broken(record, now) if record["abi"] == now["abi"] else []
        if not found:
            path.write_text(HEAD + "".join(f"{name}: {text}\n" for name, text in now.items()))
    else:
        found = faults(read_record(path), now) + unnoticed(api, versions(library))
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
