# SPDX-License-Identifier: ISC
"""Nx's own tests on the engine, where somebody has Nx: its sources are no part of this tree.

Usage: with_nx.py BINDINGS BUILT INCLUDE. BINDINGS is the folder of nx_tensors.ml, BUILT that of
nx_engine.cmxa and META. NXT_NX is a checkout of Nx (raven, 1.0.0~alpha3 or later), NXT_WINDTRAP one
of windtrap 0.1.0, which it tests with; without them it is skipped. dune and the ocamlopt that the
library was built with, 5.2 or later, must be in PATH.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = """(lang dune 3.21)
(name raven)
(using mdx 0.4)
(implicit_transitive_deps false)
(package (name nx) (dir packages/nx) (allow_empty))
(package (name windtrap) (dir windtrap) (allow_empty))
"""
ENGINE = """(library
 (name nx_lazy)
 (implements nx.backend)
 (libraries nx.buffer nx.core nx_engine)
 (private_modules nx_tensors)
 (foreign_stubs (language c) (names backend) (flags (:standard -I{}))))
"""


def without(file, stanza):
    """Leaves out the last stanza of a file of dune."""
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: text.index(stanza)], encoding="utf-8")


def without_ptree(lib):
    """Leaves out a module that OCaml before 5.5 cannot read, and no test needs."""
    version = subprocess.run(["ocamlopt", "-version"], check=True, capture_output=True, text=True)
    if [int(n) for n in version.stdout.split(".")[:2]] >= [5, 5]:
        return
    for file in lib.glob("ptree.ml*"):
        file.unlink()
    for file in (lib / "nx.ml", lib / "nx.mli"):
        text = file.read_text(encoding="utf-8")
        text = re.sub(r"^module Ptree = Ptree\n(\(\*.*?\*\)\n)?", "", text, flags=re.M | re.S)
        file.write_text(text, encoding="utf-8")


def workspace(root, bindings, include):
    """Nx's library and tests, with this engine where they would have the one in C. Gives the folder
    of the tests."""
    source, nx = Path(os.environ["NXT_NX"], "packages/nx"), root / "packages/nx"
    for part in ("lib", "test"):
        shutil.copytree(source / part, nx / part)
    shutil.rmtree(nx / "test/failing", ignore_errors=True)
    shutil.copytree(Path(os.environ["NXT_WINDTRAP"], "lib"), root / "windtrap/lib")
    (root / "dune-project").write_text(PROJECT)
    without(nx / "lib/dune", "(mdx")
    without_ptree(nx / "lib")
    if (source / "vendor").exists():
        # Files of images and archives, by libraries whose builds look for more than there is here.
        shutil.rmtree(nx / "lib/io")
        without(nx / "test/dune", "(test\n (name test_nx_io)")
        (nx / "test/test_nx_io.ml").write_text("")
    engine = root / "engine"
    engine.mkdir()
    for name in ("nx_tensors.ml", "backend.c", "stubs.h"):
        shutil.copy(bindings / name, engine)
    fills = "out:" in (nx / "lib/core/backend_intf.ml").read_text(encoding="utf-8")
    own = "nx_backend.ml" if fills else "nx_backend_results.ml"
    shutil.copy(bindings / own, engine / "nx_backend.ml")
    (engine / "dune").write_text(ENGINE.format(include))
    for file in (nx / "test").rglob("dune"):
        text = file.read_text(encoding="utf-8").replace(" nx.c ", " ")
        text = re.sub(r"\(libraries ([^)]*windtrap)", r"(libraries nx_lazy \1", text)
        file.write_text(text, encoding="utf-8")
    return nx / "test"


def programs(tests):
    """Those that run a suite, without the ending of their sources."""
    sources = sorted(tests.rglob("test_*.ml"))
    return [
        file.with_suffix("")
        for file in sources
        if re.search(r"^let \(\) =", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def main():
    bindings, built, include = (Path(argument).resolve() for argument in sys.argv[1:])
    if not os.environ.get("NXT_NX") or not os.environ.get("NXT_WINDTRAP"):
        print("skipped: NXT_NX and NXT_WINDTRAP name no checkouts")
        return 77
    failed = total = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "workspace")
        root.mkdir()
        tests = workspace(root, bindings, include)
        Path(folder, "packages").mkdir()
        Path(folder, "packages/nx_engine").symlink_to(built)
        os.environ["OCAMLPATH"] = f"{folder}/packages"
        names = [str(p.relative_to(root)) for p in programs(tests)]
        build = ["dune", "build", "--root", ".", *[f"./{name}.exe" for name in names]]
        subprocess.run(build, cwd=root, check=True)
        for name in names:
            program = root / "_build/default" / f"{name}.exe"
            done = subprocess.run([program], cwd=tests, capture_output=True, text=True)
            count = re.search(r"(\d+) tests run", done.stdout + done.stderr)
            total += int(count[1]) if count else 0
            print(f"{Path(name).name}: {count[0] if count else 'ended early'}", flush=True)
            if done.returncode or not count:
                failed += 1
                print(done.stdout + done.stderr)
    print(f"{total} tests, {failed} programs failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
