# SPDX-License-Identifier: ISC
"""The types of the package (`.pyi`): every name that they use is defined or imported, and what they
import from the package is there."""

import ast
import builtins
import os
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "bindings" / "python" / "nx"


def defined(body):
    """Names that statements define, those below `if` too."""
    for s in body:
        if isinstance(s, (ast.Import, ast.ImportFrom)):
            yield from (a.asname or a.name.split(".")[0] for a in s.names)
        elif isinstance(s, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield s.name
        elif isinstance(s, (ast.Assign, ast.AnnAssign)):
            targets = s.targets if isinstance(s, ast.Assign) else [s.target]
            yield from (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
        elif isinstance(s, (ast.If, ast.Try)):
            yield from defined([*s.body, *s.orelse])


def annotations(tree):
    for n in ast.walk(tree):
        for found in (getattr(n, "annotation", None), getattr(n, "returns", None)):
            if found is not None:
                yield found


def undefined(text):
    """(name, line) of names that a stub uses and does not have; text in annotations is looked into,
    but not that of Literal."""
    tree = ast.parse(text)
    known = {*dir(builtins), *defined(tree.body)}
    for c in ast.walk(tree):
        if isinstance(c, ast.ClassDef):
            known.update(defined(c.body))
    used = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    for a in annotations(tree):
        literal = {id(n) for s in ast.walk(a) if isinstance(s, ast.Subscript)
                   and getattr(s.value, "id", "") == "Literal" for n in ast.walk(s)}
        for n in ast.walk(a):
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in literal:
                inner = [m for m in ast.walk(ast.parse(n.value)) if isinstance(m, ast.Name)]
                used += [ast.Name(m.id, lineno=n.lineno) for m in inner]
    return sorted({(n.id, n.lineno) for n in used if n.id not in known})


def names_of(module):
    """What can be imported from a module of the package; None: there is none."""
    for path in (FOLDER / f"{module}.pyi", FOLDER / f"{module}.py"):
        if path.exists():
            return set(defined(ast.parse(path.read_text()).body))
    return None


@unittest.skipUnless((FOLDER / "__init__.pyi").exists(), "the sources are elsewhere")
class Stubs(unittest.TestCase):
    def test_undefined_names_are_seen(self):
        text = ("from typing import Any, Literal\nclass C:\n    def f(self) -> 'D': ...\n"
                "    def g(self, x: Literal['no']) -> C: ...\n"
                "def h(x: Mapping[str, Any]) -> int: ...")
        self.assertEqual(undefined(text), [("D", 3), ("Mapping", 5)])

    def test_attributes_that_nobody_assigns(self):
        """They are properties, so that a checker sees `x.shape = ..`, which raises."""
        tree = ast.parse((FOLDER / "_core.pyi").read_text())
        found = {c.name: [ast.unparse(n) for n in c.body if isinstance(n, ast.AnnAssign)]
                 for c in tree.body if isinstance(c, ast.ClassDef)}
        for name in "Array", "DType", "Jit":
            self.assertEqual(found[name], [])

    def test_names_are_defined(self):
        for path in sorted(FOLDER.rglob("*.pyi")):
            with self.subTest(path.name):
                self.assertEqual(undefined(path.read_text()), [])

    def test_imports_are_there(self):
        for path in sorted(FOLDER.rglob("*.pyi")):
            for s in ast.walk(ast.parse(path.read_text())):
                if not isinstance(s, ast.ImportFrom) or s.level == 0:
                    continue
                for a in s.names:
                    with self.subTest(f"{path.name}: {s.module}.{a.name}"):
                        if s.module is None:
                            self.assertTrue((FOLDER / f"{a.name}.py").exists()
                                            or os.path.isdir(FOLDER / a.name))
                        else:
                            self.assertIn(a.name, names_of(s.module) or ())


if __name__ == "__main__":
    unittest.main()
