# SPDX-License-Identifier: ISC
"""The library for OCaml, and its tests, with an OCaml 5 that is not the compiler of the build:
Debian's is 4.13, and what is written for domains should not wait for another system.

Usage: ocaml5_test.py SOURCE BUILD COMPILER... It looks for OCaml 5 in $OCAML5, a prefix; in the
switch of opam that is active, and in the others; exit status 77 if there is none. Everything is
compiled in a temporary folder.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

STUBS = ("actions", "function", "handles", "memory", "record")
OUTPUTS = "../../bindings/ocaml/nx_backend.ml"
RESULTS = "../../bindings/ocaml/nx_backend_results.ml"
STANDIN = ("standin/nx_buffer.ml", "standin/nx_core.ml", "../../bindings/ocaml/nx_tensors.ml")
VALUES = "backend_values.ml"
PROGRAMS = {  # sources beside check.ml; what stands in for Nx is linked where they name it
    "engine": (),
    "lifetimes": (),
    "misuse": (),
    "domains": (),
    "backend": (*STANDIN, OUTPUTS, VALUES),
    "backend results": (*STANDIN, RESULTS, "standin/nx_backend.ml", VALUES),
}


def prefixes():
    """Where an OCaml may be, the wanted one first."""
    if "OCAML5" in os.environ:
        return [Path(os.environ["OCAML5"])]
    active = os.environ.get("OPAM_SWITCH_PREFIX")
    switches = Path(os.environ.get("OPAMROOT", Path.home() / ".opam"))
    return [*([Path(active)] if active else []), *sorted(switches.glob("*/"), reverse=True)]


def compiler_of_5():
    """The folder of an ocamlopt of version 5; None if there is none."""
    for prefix in prefixes():
        ocamlopt = prefix / "bin/ocamlopt"
        if not ocamlopt.exists():
            continue
        version = subprocess.run([ocamlopt, "-version"], capture_output=True, text=True).stdout
        if version.startswith("5."):
            print(f"{ocamlopt}: {version.strip()}", flush=True)
            return ocamlopt.parent
    return None


class Folder:
    """Where everything is compiled."""

    def __init__(self, folder, bin_folder, source, build, compiler):
        self.path, self.bin, self.source, self.compiler = folder, bin_folder, source, compiler
        (folder / "built").symlink_to(build)
        (folder / "engine").mkdir()
        where = self.output(bin_folder / "ocamlopt", "-where")
        self.flags = ["-O1", "-g", "-fPIC", "-Wall", "-Werror", f"-I{source}/include",
                      "-isystem", where]

    def output(self, *command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def run(self, *command):
        subprocess.run([str(part) for part in command], check=True, cwd=self.path)

    def archive(self, name, sources, *flags):
        objects = []
        for source in sources:
            objects.append(f"{source.stem}.o")
            self.run(*self.compiler, *self.flags, *flags, "-c", source, "-o", objects[-1])
        self.run("ar", "rc", name, *objects)

    def library(self):
        bindings = self.source / "bindings/ocaml"
        self.archive("engine/libnx_ocaml.a", [bindings / f"{name}.c" for name in STUBS])
        self.run("sh", bindings / "compile.sh", self.bin / "ocamlopt", self.bin / "ocamlc",
                 "engine", bindings / "nx_engine.mli", bindings / "nx_engine.ml")
        standin = self.source / "tests/ocaml/standin"
        self.archive("libnx_standin.a", [standin / "nx_buffer_standin.c", bindings / "backend.c"],
                     f"-I{standin}", f"-I{bindings}")

    def program(self, name, parts):
        tests = self.source / "tests/ocaml"
        sources = [tests / "check.ml", *(tests / part for part in parts if part.endswith(".ml"))]
        made = "test_" + name.replace(" ", "_")
        archives = ["libnx_standin.a"] if parts else []
        self.run("sh", tests / "link.sh", self.bin / "ocamlopt", " ".join(self.compiler), "engine",
                 "built", made, f"{made}.p", *sources, *archives,
                 tests / f"test_{name.split()[0]}.ml")
        return self.path / made


def main():
    source, build = (Path(argument).resolve() for argument in sys.argv[1:3])
    found = compiler_of_5()
    if found is None:
        print("skipped: no OCaml 5 in $OCAML5, nor in a switch of opam")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Folder(Path(temporary), found, source, build, sys.argv[3:])
        folder.library()
        for name, parts in PROGRAMS.items():
            status = subprocess.run([folder.program(name, parts)]).returncode
            print(f"{name}: {'ok' if status == 0 else f'status {status}'}", flush=True)
            failed += status != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
