# SPDX-License-Identifier: ISC
"""The arrows between folders as the linker sees them: which folder's object files refer to symbols
of which other folder.

An include shows what a file may use, and a declaration can stand anywhere; an undefined symbol
shows what it does use.

Usage: arrows_test.py SOURCE_ROOT LIBRARY NM. LIBRARY: the static one. The exit status is 77,
skipped, if NM lists no symbols, as with objects for link-time optimisation.
"""

import re
import subprocess
import sys
from pathlib import Path

# What the objects of a folder may refer to, beside their own folder. The longest name that fits a
# file counts.
MAY_USE = {
    "ir/platform": (),
    "ir": ("ir/platform",),
    "passes": ("ir",),
    "codegen_llvm": ("ir/platform", "ir"),
    "codegen_cuda": ("ir/platform", "ir"),
    "runtime": ("ir/platform", "ir", "passes", "codegen_llvm", "codegen_cuda", "runtime"),
    "bindings": ("ir/platform", "ir", "runtime"),
}
# What nobody uses but these folders, beside the folders of devices (private).
PRIVATE = {
    "codegen_llvm": ("codegen_llvm", "runtime/cpu"),
    "codegen_cuda": ("codegen_cuda", "runtime/cuda"),
}
ROW = re.compile(r"nxi_\w+_device")


def sources(root):
    """Object files of Meson have the source's path with _ for /, those of generated sources with
    more before it."""
    tops = ("ir", "passes", "codegen_llvm", "codegen_cuda", "runtime", "bindings")
    files = [
        p.relative_to(root).as_posix()
        for top in tops
        for p in (root / top).rglob("*")
        if p.suffix in (".c", ".cc")
    ]
    return {name.replace("/", "_") + ".o": name for name in files}


def path_of(member, known):
    member = member.rsplit("/", 1)[-1]
    if member in known:
        return known[member]
    for top in ("codegen_cuda", "codegen_llvm", "passes", "runtime", "bindings", "ir"):
        if f"_{top}_" in member:
            return f"{top}/{member.split(f'_{top}_')[-1].removesuffix('.o')}"
    return member


def symbols(root, library, nm):
    """(file, symbol) of what is used, and symbol -> file of what is defined."""
    told = subprocess.run(
        [nm, "-A", "-g", library], capture_output=True, text=True, check=False
    ).stdout
    known, used, defined = sources(root), [], {}
    for line in told.splitlines():
        where, _, rest = line.rpartition(":")
        words = rest.split()
        file = path_of(where.split(":")[-1], known)
        if len(words) == 2 and words[0] == "U":
            used.append((file, words[1]))
        elif len(words) == 3:
            defined[words[2]] = file
    return used, defined


def within(file, folders):
    return any(file == folder or file.startswith(folder + "/") for folder in folders)


def rule_of(file):
    fitting = [folder for folder in MAY_USE if within(file, (folder,))]
    return max(fitting, key=len, default=None)


def private(root):
    """PRIVATE and the folders of devices, which only their own files use: others use the row of
    runtime/devices.def."""
    table = (root / "runtime/devices.def").read_text(encoding="utf-8")
    rows = re.findall(r"^NXI_DEVICE\((\w+)\)", table, re.MULTILINE)
    return PRIVATE | {f"runtime/{name}": (f"runtime/{name}",) for name in rows}


def faults(used, defined, hidden):
    for file, symbol in used:
        target = defined.get(symbol)
        rule = rule_of(file)
        if target is None or rule is None:
            continue
        for folder, users in hidden.items():
            if within(target, (folder,)) and not within(file, users) and not ROW.fullmatch(symbol):
                yield f"{file} uses {symbol} of {target}: only {' and '.join(users)} may"
        if rule_of(target) not in (rule, *MAY_USE[rule]):
            yield (
                f"{file} uses {symbol} of {target}: {rule}/ may use "
                f"{', '.join(MAY_USE[rule]) or 'nothing'} beside itself"
            )


def main():
    root, library, nm = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3]
    used, defined = symbols(root, library, nm)
    if len(defined) < 100:
        print("no symbols to look at")
        return 77
    strangers = {file for file, _ in used if rule_of(file) is None}
    found = sorted(set(faults(used, defined, private(root)))) + [
        f"{file}: of no folder" for file in sorted(strangers)
    ]
    print("\n".join(found) if found else f"{len(used)} references, {len(defined)} symbols")
    return 1 if found else 0


sys.exit(main())
