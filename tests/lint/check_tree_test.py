# SPDX-License-Identifier: ISC
"""The rules of the source tree, on small trees. Usage: check_tree_test.py SOURCE_ROOT."""

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
        done = subprocess.run(
            [sys.executable, str(ROOT / "tests/check_tree.py"), str(self.root)],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_what_programs_leave_behind(self):
        self.git("init")
        for name in "nx_fault_12", "tests/nx_fault_12":
            (self.root / name).write_bytes(BYTES)
        self.assertEqual(self.check(), [])
        self.git("add", ".")
        self.assertEqual(
            self.check(),
            [
                f"{name}:1: this is no text in UTF-8"
                for name in ("nx_fault_12", "tests/nx_fault_12")
            ],
        )

    def test_sources(self):
        for git in False, True:
            if git:
                self.git("init")
            (self.root / "tests/odd.py").write_bytes(b"# SPDX-License-Identifier: ISC\n" + BYTES)
            self.assertEqual(self.check(), ["tests/odd.py:2: this is no text in UTF-8"])

    def source(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("/* SPDX-License-Identifier: ISC */\n" + text)

    def test_the_seam(self):
        (self.root / "docs").mkdir()
        (self.root / "docs/porting.md").write_text("`nxi_pause`\n")
        own = (
            "#include <unistd.h>\nvoid nxi_pause(void);\nstatic inline int nxi_more(int n) {\n  "
            "return n;\n}\n"
        )
        self.source("ir/platform/clock.h", own)
        self.source(
            "ir/a.c",
            "#include <stdio.h>\n#include <sys/mman.h>\n/* mmap(2) */\nint f(void) { return "
            "setenv(0, 0, 0); }\n",
        )
        alone = "is for ir/platform/ alone (docs/porting.md)"
        self.assertEqual(
            self.check(),
            [
                f"ir/a.c:3: <sys/mman.h> {alone}",
                f"ir/a.c:5: setenv {alone}",
                "ir/platform/clock.h:4: docs/porting.md does not name nxi_more",
            ],
        )

    def test_headers_inside(self):
        for name in "interp", "steps":
            self.source(f"ir/interp/{name}.h", "int x;\n")
        both = '#include "ir/interp/interp.h"\n#include "ir/interp/steps.h"\n'
        for name in "ir/interp/a.c", "passes/b.c", "tests/c.c":
            self.source(name, both)
        self.assertEqual(
            self.check(),
            [
                "passes/b.c:3: ir/interp/steps.h is for its own folder (OUTWARD in "
                "tests/check_tree.py)"
            ],
        )

    def test_devices(self):
        self.source("runtime/devices.def", "NXI_DEVICE(near)\nNXI_DEVICE(far)\n")
        self.source("runtime/far/far.h", "int x;\n")
        for name in "runtime/far/a.c", "runtime/near/b.c", "runtime/far/in/c.c":
            self.source(name, '#include "runtime/far/far.h"\n')
        fault = "runtime/near/b.c:2: runtime must not include runtime/far/far.h"
        self.assertEqual(self.check(), [fault])

    def test_versions_of_llvm(self):
        text = "#if LLVM_VERSION_MAJOR > 16\n#endif\n"
        for name in "emit.c", "llvm_versions.h":
            self.source(f"codegen_llvm/{name}", text)
        self.assertEqual(
            self.check(),
            [
                "codegen_llvm/emit.c:2: versions of LLVM are told apart in "
                "codegen_llvm/llvm_versions.h alone"
            ],
        )

    def test_decisions(self):
        (self.root / "docs/decisions").mkdir(parents=True)
        page, other = (self.root / f"docs/decisions/{name}.md" for name in ("one", "two"))
        good = "# Decisions: one\n\n**A.** (2026-01-02) Why.\n\n**B** (2026-01-03), why.\n"
        page.write_text(good)
        other.write_text("# Decisions: two\n\n**C.** (2026-01-02) Why.\n")
        self.assertEqual(self.check(), [])
        page.write_text(good + "\n**D.** Why it is so.\n")
        other.write_text("# Two\n\n**A.** (2026-01-02) Why.\n")
        self.assertEqual(
            self.check(),
            [
                "docs/decisions/one.md:7: an entry begins with **bold words.** and its date, "
                "(YYYY-MM-DD)",
                "docs/decisions/two.md:1: the title is '# Decisions: ' and the subject",
                "docs/decisions/two.md:3: a second entry 'A.'",
            ],
        )


if __name__ == "__main__":
    if not shutil.which("git"):
        print("git is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
