# SPDX-License-Identifier: ISC
"""Makes the wheel that meson-python built one that runs anywhere: OpenBLAS, which the library opens
by its name, is put beside it, the licences of what is inside are added, and auditwheel brings what
the libraries are linked with and says on which systems the wheel works.

Usage: wheel.py RAW_WHEEL DIRECTORY. The wheel is written to DIRECTORY, and its name printed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Libraries that are opened, with what they are linked with that few systems have.
OPENED = ("libopenblas.so.0", "libgfortran.so.5", "libquadmath.so.0")
# Of what stands inside the wheel in the end, the packages of Debian whose licences go with it.
LICENSED = {
    "libopenblas": "libopenblas0-pthread",
    "libgfortran": "libgfortran5",
    "libquadmath": "libquadmath0",
    "libnx-LLVM": "llvm-19-dev",
    "libxxhash": "libxxhash-dev",
    "libzstd": "libzstd-dev",
}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"wheel.py: {' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def found(name):
    """Where the system's loader finds a library."""
    private = Path("/usr/lib/x86_64-linux-gnu/openblas-pthread") / name
    if private.exists():
        return private.resolve()
    for line in run("/sbin/ldconfig", "-p").splitlines():
        if line.split()[:1] == [name]:
            return Path(line.split()[-1]).resolve()
    sys.exit(f"wheel.py: {name} is not installed")


def add_opened(folder):
    for name in OPENED:
        copy = folder / name
        shutil.copyfile(found(name), copy)
        run("patchelf", "--set-rpath", "$ORIGIN", copy)
        run("strip", "--strip-unneeded", copy)


def add_licences(root):
    info = next(root.glob("*.dist-info")) / "licenses"
    info.mkdir(exist_ok=True)
    names = [p.name for p in root.rglob("*.so*")]
    for start, package in LICENSED.items():
        text = Path("/usr/share/doc") / package / "copyright"
        if any(n.startswith(start) for n in names):
            if not text.exists():
                sys.exit(f"wheel.py: {text} is missing")
            shutil.copyfile(text, info / f"{package}.txt")


def packed(root, directory):
    said = run(sys.executable, "-m", "wheel", "pack", root, "--dest-dir", directory)
    return Path(re.search(r"\S+\.whl", said).group())


def unpacked(wheel, directory):
    run(sys.executable, "-m", "wheel", "unpack", wheel, "--dest", directory)
    return next(Path(directory).iterdir())


def main(raw, directory):
    Path(directory).mkdir(parents=True, exist_ok=True)
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        for name in "raw", "whole", "linked", "last":
            (scratch / name).mkdir()
        root = unpacked(raw, scratch / "raw")
        add_opened(root / "nx/lib/nx")
        whole = packed(root, scratch / "whole")
        # the extension uses the stable ABI: meson-python takes each library for one that does not
        tags = ["--python-tag", "cp311", "--abi-tag", "abi3"]
        run(sys.executable, "-m", "wheel", "tags", "--remove", *tags, whole)
        whole = next((scratch / "whole").iterdir())
        run("auditwheel", "repair", "--wheel-dir", scratch / "linked", whole)
        root = unpacked(next((scratch / "linked").glob("*.whl")), scratch / "last")
        add_licences(root)
        wheel = packed(root, directory)
    print(f"{wheel}: {Path(wheel).stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main(*sys.argv[1:])
