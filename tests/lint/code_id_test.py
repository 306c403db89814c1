# SPDX-License-Identifier: ISC
"""The code id, which compiled kernels on disk depend on: the same for the same sources, another for
any edit.

Usage: code_id_test.py SOURCE_ROOT.
"""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv[1])


class CodeId(unittest.TestCase):
    def setUp(self):
        self.dir = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)
        self.root = self.dir / "a tree"
        for name in "codegen_llvm", "include", "ir", "passes", "runtime":
            shutil.copytree(ROOT / name, self.root / name)

    def made(self, *words):
        header, depfile = self.dir / "code_id.h", self.dir / "code_id.d"
        subprocess.run(
            [sys.executable, ROOT / "tools/code_id.py", self.root, header, depfile, *words],
            check=True,
        )
        self.assertRegex(header.read_text(), r'#define NX_CODE_ID "[0-9a-f]{32}"\n$')
        return header.read_text(), depfile.read_text()

    def test_same_sources(self):
        first = self.made("gcc", "12")
        moved = self.dir / "elsewhere"
        self.root.rename(moved)
        self.root = moved
        self.assertEqual(first[0], self.made("gcc", "12")[0])
        self.assertNotEqual(first[0], self.made("gcc", "13")[0])

    def test_edits(self):
        seen = {self.made()[0]}
        for name in (
            "ir/scalar_ops.def",
            "ir/kernel/kernel.c",
            "ir/kernel/kernel.h",
            "passes/bind/cpu/map.c",
            "ir/expand/exp_log.c",
            "passes/kernel/legalize.c",
            "codegen_llvm/emit.c",
            "ir/kernel_abi.h",
            "runtime/cache/kernel.c",
        ):
            path = self.root / name
            path.write_bytes(path.read_bytes() + b"\n")
            seen.add(self.made()[0])
        (self.root / "passes/another.c").write_text("")
        seen.add(self.made()[0])
        (self.root / "passes/another.c").rename(self.root / "passes/renamed.c")
        seen.add(self.made()[0])
        self.assertEqual(len(seen), 12)
        (self.root / "runtime/context.c").write_text("")  # generates no code
        self.assertIn(self.made()[0], seen)

    def test_the_build_looks_at_all_of_them(self):
        depfile = self.made()[1]
        self.assertTrue(depfile.startswith("code_id.h: "))
        for name in "ir/op.h", "codegen_llvm", "passes/pass_list.def", "ir/kernel_abi.h":
            self.assertIn(f"{self.root}/{name}".replace(" ", "\\ "), depfile)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
