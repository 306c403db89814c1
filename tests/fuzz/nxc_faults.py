# SPDX-License-Identifier: ISC
"""nxc_faults.py NXC LIBRARY FOLDER: what `nxc run` writes (.npy, .safetensors where it can, a
trace), with every system call that concerns the folder failing once (faulty.h). It says so, with
the file and the reason, or it has worked; old files are there, or new ones, whole; nothing lies
beside them."""

import errno
import os
import pathlib
import shutil
import subprocess
import sys

nxc, library, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
SHORT = -1
FAULTS = [errno.ENOSPC, errno.EIO, errno.EINTR, errno.EMFILE, SHORT]
TEXT = "nxir 2\ngraph @f() -> (%y) {\n  %y = full 1 : f32[500]\n}\n"


def run(out, fault=None):
    environment = dict(os.environ, NX_EXECUTOR="interp", NX_CACHE_DIR="", LD_PRELOAD=library)
    mark = folder / "mark"
    if fault:
        environment.update(NXT_FAULT=f"{out} {fault[0]} {fault[1]}", NXT_FAULT_MARK=str(mark))
    result = subprocess.run(
        [nxc, "run", folder / "f.nxir", "--output", f"y={out}/y.npy", "--trace", f"{out}/t.json"],
        env=environment,
        capture_output=True,
        text=True,
    )
    struck = mark.exists()
    mark.unlink(missing_ok=True)
    return result, struck


def fresh(out):
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for name in ("y.npy", "t.json"):
        (out / name).write_text("old")


def whole(path, new):
    text = path.read_bytes()
    return (
        text == b"old"
        or text == new
        or path.suffix == ".json"
        and text.startswith(b"{")
        and text.endswith(b"\n]}\n")
    )


def main():
    fresh(folder)
    (folder / "f.nxir").write_text(TEXT)
    out = folder / "out"
    fresh(out)
    result, _ = run(out)
    assert result.returncode == 0, result.stderr
    new = (out / "y.npy").read_bytes()
    calls = 0
    for fault in FAULTS:
        number, struck = 0, True
        while struck:
            fresh(out)
            result, struck = run(out, (fault, number))
            where = f"fault {fault} of call {number}: {result.returncode}, {result.stderr}"
            assert result.returncode in (0, 1), where
            if result.returncode:
                assert struck and fault != SHORT, where
                assert str(out) in result.stderr and os.strerror(fault) in result.stderr, where
            assert sorted(p.name for p in out.iterdir()) == ["t.json", "y.npy"], where
            assert all(whole(p, new) for p in out.iterdir()), where
            if result.returncode == 0:
                assert (out / "y.npy").read_bytes() == new, where
            number += 1
        calls = number - 1
    assert calls > 10, calls
    print(f"{calls} calls, each with {len(FAULTS)} faults")
    shutil.rmtree(folder)


main()
