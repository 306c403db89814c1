# SPDX-License-Identifier: ISC
"""Programs in StableHLO that nxc imports, and what it refuses to. Usage: as nxc_test.py."""

import sys
import unittest

from nxc_case import Case


class Import(Case):
    def test_kept(self):
        """What each step of a loop hands on as it is, is no result of the loop."""
        t = "tensor<9xi32>, tensor<i1>"
        self.file("l.mlir", f"""func.func @main(%x: tensor<9xi32>, %c: tensor<i1>) -> ({t}) {{
  %l:2 = stablehlo.while(%a = %x, %b = %c) : {t} cond {{ stablehlo.return %b : tensor<i1> }}
  do {{ %n = stablehlo.not %b : tensor<i1> stablehlo.return %a, %n : {t} }}
  return %l#0, %l#1 : {t} }}""")
        self.assertIn("-> (%0, %2)", self.nxc("import", "l.mlir")[0])

    def test_what_is_no_program(self):
        """An import takes whatever it is given for StableHLO, and so refuses what is not."""
        for text in ("", "((((", "nxir 2\ngraph @f(%a: f32[]) -> (%a) {\n}\n", "\u00e9\0\1"):
            self.file("n.mlir", text)
            out, error = self.nxc("import", "n.mlir", status=1)
            self.assertEqual("", out)
            self.assertIn("n.mlir: line ", error)

    def test_builtin_module(self):
        f = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"
        for begin in ("", "// a comment\n"):
            self.file("b.mlir", f"{begin}builtin.module @m {{ {f} }}")
            self.assertIn("-> (%0)", self.nxc("import", "b.mlir")[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
