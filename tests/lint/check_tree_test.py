# SPDX-License-Identifier: ISC
"""The rules of the source tree, on files that are no text. Usage: check_tree_test.py SOURCE_ROOT."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(sys.argv[1])
BYTES = b"\x93NUMPY\x01\x00\xff"


class CheckTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "tests").mkdir()
        (self.root / "tests/meson.build").write_text("# SPDX-License-Identifier: ISC\n")

    def git(self, *words):
        subprocess.run(["git", "-C", str(self.root), *words], check=True, capture_output=True)

    def check(self):
        done = subprocess.run([sys.executable, str(ROOT / "tests/check_tree.py"), str(self.root)], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_what_programs_leave_behind(self):
        self.git("init")
        for name in "nx_fault_12", "tests/nx_fault_12":
            (self.root / name).write_bytes(BYTES)
        self.assertEqual(self.check(), [])
        self.git("add", ".")
        self.assertEqual(self.check(), [f"{name}:1: this is no text in UTF-8" for name in ("nx_fault_12", "tests/nx_fault_12")])

    def test_sources(self):
        for git in False, True:
            if git:
                self.git("init")
            (self.root / "tests/odd.py").write_bytes(b"# SPDX-License-Identifier: ISC\n" + BYTES)
            self.assertEqual(self.check(), ["tests/odd.py:2: this is no text in UTF-8"])


if __name__ == "__main__":
    if not shutil.which("git"):
        print("git is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
