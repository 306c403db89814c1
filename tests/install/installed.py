# SPDX-License-Identifier: ISC
"""Installs a build into an empty folder, moves that elsewhere, and uses it from there as a stranger
does (consumer.py).

Usage: installed.py SOURCE_ROOT BUILD_ROOT
"""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import consumer


def options(build):
    return {
        o["name"]: o["value"]
        for o in json.loads(consumer.run("meson", "introspect", "--buildoptions", build))
    }


def main():
    source, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    if not all(map(shutil.which, ("meson", "pkg-config", "cc", "readelf"))):
        print("needs meson, pkg-config, cc and readelf: skipped")
        return 77
    set_to = options(build)
    with tempfile.TemporaryDirectory() as folder:
        staged, moved = Path(folder) / "staged", Path(folder) / "moved"
        consumer.run(
            "meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", staged
        )
        inside = staged / set_to["prefix"].lstrip("/")
        # As packages are made: what lies in the staging folder is for the prefix, and nx.pc says
        # so.
        flags = consumer.run(
            "pkg-config",
            "--cflags",
            "--libs",
            "nx",
            more={
                "PKG_CONFIG_PATH": str(inside / set_to["libdir"] / "pkgconfig"),
                "PKG_CONFIG_SYSROOT_DIR": str(staged),
            },
        )
        consumer.check(
            f"-I{inside}/include" in flags and f"-L{inside}" in flags,
            f"pkg-config with a sysroot: {flags}",
        )
        os.rename(inside, moved)
        consumer.check(
            not [p for p in staged.rglob("*") if p.is_file()],
            "something is installed outside of the prefix",
        )
        consumer.Installed(
            source,
            moved,
            set_to["libdir"],
            Path(folder) / "scratch",
            [f"--define-variable=prefix={moved}"],
        ).everything()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except consumer.Failure as failure:
        sys.exit(str(failure))
