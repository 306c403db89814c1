# SPDX-License-Identifier: ISC
"""What the tests of nxc have in common: its path, files of arrays, and a directory of its own for
each case."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

NXC, SHARED_RUN = (os.path.abspath(sys.argv[i]) for i in (1, 3))
GOLDEN = Path(sys.argv[2])
SOFTMAX = """nxir 2
graph @softmax(%x: f32[256,64]) -> (%y) {
  %m = reduce_max %x axes=[1] keepdims : f32[256,1]
  %d = sub %x, %m : f32[256,64]
  %e = exp %d : f32[256,64]
  %s = reduce_sum %e axes=[1] keepdims : f32[256,1]
  %y = div %e, %s : f32[256,64]
}
"""
CODES = {"<f4": "f", "<f8": "d", "<i4": "i"}


def npy(descr, shape, values, fortran=False):
    head = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    data = struct.pack(f"<{len(values)}{CODES[descr]}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def read_npy(path):
    data = path.read_bytes()
    head = eval(data[10 : 10 + struct.unpack("<H", data[8:10])[0]])  # of a file just written
    body = data[10 + struct.unpack("<H", data[8:10])[0] :]
    code = CODES[head["descr"]]
    return head, struct.unpack(f"<{len(body) // struct.calcsize(code)}{code}", body)


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)
        self.environment = {**os.environ, "NX_CACHE_DIR": str(self.dir / "cache")}
        for name in ("NX_DEBUG", "NX_DUMP_DIR", "NX_SKIP", "NX_EXECUTOR", "NX_ISA", "NX_TRACE"):
            self.environment.pop(name, None)

    def file(self, name, content):
        (self.dir / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    def nxc(self, *arguments, status=0, text=None):
        """Standard output and standard error of nxc in the case's directory."""
        done = subprocess.run([NXC, *arguments], cwd=self.dir, env=self.environment, input=text,
                              capture_output=True, text=True, timeout=120)
        said = f"nxc {' '.join(arguments)}: {done.stdout}{done.stderr}"
        self.assertEqual(done.returncode, status, said)
        return done.stdout, done.stderr

    def refused(self, pattern, *arguments, status=1, text=None):
        """nxc ends with the status, prints nothing and complains in one line that the pattern
        matches."""
        out, err = self.nxc(*arguments, status=status, text=text)
        self.assertEqual(out, "")
        self.assertEqual(err.count("\n"), 1, err)
        self.assertRegex(err, pattern)
