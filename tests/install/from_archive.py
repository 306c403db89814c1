# SPDX-License-Identifier: ISC
"""A project around nx, which has it as a Meson subproject, from an archive that `meson dist` makes;
and what that project installs.

The archive is of the last commit. Nothing of the tree around it is used, and one build serves both.
Usage: from_archive.py SOURCE_ROOT BUILD_ROOT SCRATCH. BUILD_ROOT is a configured build of the tree;
SCRATCH is emptied.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import consumer
import installed

EMBEDDER = """
project('embedder', 'c')
nx = dependency('nx', version: '>=0.2', fallback: 'nx')
executable('first', 'first.c', dependencies: nx, install: true)
"""
WRAP = "[wrap-file]\ndirectory = nx\n\n[provide]\nnx = nx_dep\n"


def archive(source, build, scratch):
    """Unpacks what `meson dist` makes; None: there is no git to make it from."""
    asked = subprocess.run(
        ["git", "-C", str(source), "rev-parse", "HEAD"], capture_output=True, text=True
    )
    if asked.returncode:
        return None
    changed = consumer.run("git", "-C", source, "status", "--porcelain")
    if changed:
        print(f"the archive lacks what is not committed:\n{changed}", end="")
    consumer.run("meson", "dist", "-C", build, "--no-tests", "--formats", "gztar", "--allow-dirty")
    file = max((build / "meson-dist").glob("nx-*.tar.gz"), key=lambda path: path.stat().st_mtime)
    with tarfile.open(file) as tar:
        tar.extractall(scratch / "subprojects")
    os.rename(
        scratch / "subprojects" / file.name.removesuffix(".tar.gz"), scratch / "subprojects/nx"
    )
    return scratch / "subprojects/nx"


def embed(scratch, source, prefix):
    """Builds and installs the embedder with all options as they are, but for what makes the
    compiler quick."""
    (scratch / "meson.build").write_text(EMBEDDER)
    (scratch / "subprojects/nx.wrap").write_text(WRAP)
    (scratch / "first.c").write_text(consumer.fenced(source / "README.md", "c"))
    build = scratch / "build"
    # Whatever nx is installed on this machine is not the one that is meant. Meson takes lib64 where
    # it finds no dpkg-architecture.
    quick = [
        "--force-fallback-for=nx",
        f"--prefix={prefix}",
        "--libdir=lib64",
        "-Dbuildtype=plain",
        "-Dwerror=true",
        "-Dnx:werror=true",
    ]
    said = consumer.run("meson", "setup", build, scratch, *quick)
    warnings = [line for line in said.splitlines() if "WARNING" in line]
    consumer.check(not warnings, "\n".join(warnings))
    tests = json.loads(consumer.run("meson", "introspect", "--tests", build))
    targets = {
        t["name"] for t in json.loads(consumer.run("meson", "introspect", "--targets", build))
    }
    consumer.check(
        not tests and not {"example-first", "nx-bench"} & targets,
        f"tests, examples or benchmarks are built: {targets}",
    )
    consumer.run("ninja", "-C", build)
    consumer.check(
        consumer.is_softmax(consumer.run(build / "first")), "the embedder prints something else"
    )
    consumer.run("meson", "install", "-C", build, "--no-rebuild", "--quiet")
    return build


def is_left_alone(scratch, name="odd"):
    """What a project around nx does with its own files, joining them and taking warnings for
    errors, it does not do with nx's."""
    text = EMBEDDER.replace("'c')", "'c', default_options: ['werror=true', 'unity=on'])")
    (scratch / "meson.build").write_text(text)
    consumer.run(
        "meson", "setup", scratch / name, scratch, "--force-fallback-for=nx", "-Dnx:llvm=disabled"
    )
    commands = json.loads((scratch / name / "compile_commands.json").read_text())
    strange = [
        c["file"]
        for c in commands
        if "subprojects" in c["output"] and ("unity" in c["file"] or "-Werror" in c["command"])
    ]
    consumer.check(
        len(commands) > 100 and not strange, f"compiled as the embedder's own: {strange[:9]}"
    )


def main():
    source, around, scratch = (Path(argument).resolve() for argument in sys.argv[1:4])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    unpacked = archive(source, around, scratch)
    if unpacked is None:
        print("this tree is not in git, so there is no `meson dist`: skipped")
        return 77
    consumer.run("meson", "setup", scratch / "alone", unpacked, "-Dtests=disabled")
    print("the archive configures alone: good")
    prefix = scratch / "prefix"
    build = embed(scratch, unpacked, prefix)
    print("subproject: good", flush=True)
    there = consumer.Installed(
        unpacked, prefix, installed.options(build)["libdir"], scratch / "work"
    )
    there.everything()
    consumer.check(
        consumer.is_softmax(there.run(prefix / "bin/first")),
        "the installed embedder prints something else",
    )
    # The same objects in a static library, which is then all that there is.
    consumer.run("meson", "configure", build, "-Dnx:default_library=static")
    consumer.run("ninja", "-C", build, "first")
    consumer.check(
        "libnx.so.1" not in consumer.needed(build / "first")[0],
        "default_library=static links the shared library",
    )
    consumer.check(
        consumer.is_softmax(consumer.run(build / "first")),
        "the static embedder prints something else",
    )
    print("static subproject: good")
    is_left_alone(scratch)
    print("options of the project around it: good")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except consumer.Failure as failure:
        sys.exit(str(failure))
