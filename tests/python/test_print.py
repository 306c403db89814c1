# SPDX-License-Identifier: ISC
"""How arrays are printed, against NumPy; pictures, pickles, types of names."""

import ast
import inspect
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from common import Peer, needs_numpy, np, nx


def arrays():
    rng = np.random.default_rng(0)
    lists = [[], [1, 2, 3], [True, False], [0.1, 0.25], [1e10, 1.0], [1e-5, 1.0], [1e5, 0.1],
             [np.nan, 1.5, np.inf], [[1.0, 2.0], [3.0, 4.5]], 1.5, 3, True, 2 + 3j, [1e-10 + 1j],
             [1 + 2j, 0.5 - 3j], [123456.789, 0.001], [1.0, 1e8], [3e-5], [12345678.0], [-1.5, 2],
             [1 / 3, 2 / 3], [0.0, 0.0], [-0.0], [1e300, 1e-300], [np.inf], [np.nan]]
    yield from map(np.array, lists)
    yield from (np.arange(2000), np.arange(2000.0).reshape(40, 50), rng.random((3, 4, 5)),
                rng.random(20), np.zeros((0, 3)), np.float32([0.1, 1 / 3, 16777216.0]),
                np.float16([0.1, 2.5]), np.ones((11, 11, 11)), np.uint8([1, 200]),
                np.complex64([1 / 3 + 1j]), rng.normal(size=(100, 100)) * 1e6, np.arange(1001),
                rng.integers(-1000, 1000, (7, 30)), np.full((2, 40), 0.123456789012))


@needs_numpy
class Printing(Peer):
    def test_as_numpy(self):
        for a in arrays():
            x = nx.asarray(a, copy=True)
            got = repr(x)
            if np.__version__ < "2" and a.size > 1000:  # NumPy 1 did not write the shape
                got = re.sub(r",\s+shape=\([^)]*\)", "", got)
            self.assertEqual(got, repr(a).replace("array(", "Array("))
            self.assertEqual(str(x), str(a))

    def test_options(self):
        a = np.array([1 / 3, 200.0, 1e-7])
        for options in ({"precision": 3}, {"suppress": True}, {"threshold": 2, "edgeitems": 1}):
            with np.printoptions(**options), nx.printoptions(**options):
                self.assertEqual(str(nx.asarray(a)), str(a), options)
        self.assertEqual(nx.get_printoptions()["precision"], 8)
        with self.assertRaises(TypeError):
            nx.set_printoptions(width=3)

    def test_small_floats(self):
        y = nx.asarray([1 / 3]).astype("bfloat16")
        self.assertEqual(repr(y), "Array([0.334], dtype=bfloat16)")


class Pictures(unittest.TestCase):
    def picture(self, x):
        html = x._repr_html_()
        found = re.search("<svg.*</svg>", html, re.S)
        return html, ElementTree.fromstring(found[0]) if found else None

    def test_graph(self):
        x = nx.sin(nx.asarray([1.0, 2.0])) * 2
        html, svg = self.picture(x + nx.exp(x))
        texts = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")]
        for text in ("input", "sin", "exp", "mul", "add", "f64[2]"):
            self.assertIn(text, texts)
        self.assertIn("shape (2,), float64, cpu", html)

    def boxes(self, svg):
        """(left, top, right, bottom) of the boxes by what is written on them."""
        space, found = "{http://www.w3.org/2000/svg}", {}
        for box, text in zip(svg.iter(space + "rect"), list(svg.iter(space + "text"))[::2]):
            x, y, w, h = (float(box.get(k)) for k in ("x", "y", "width", "height"))
            found[text.text] = (x, y, x + w, y + h)
        return found

    def test_what_stands_where(self):
        x = nx.ones((3, 4)).realize()
        _, svg = self.picture(nx.sum(nx.exp(x) * 2, axis=0) / 3)
        found = self.boxes(svg)
        self.assertEqual(found["full 3"][1], found["reduce_sum"][1])
        self.assertEqual(found["full 2"][1], found["exp"][1])
        self.assertLess(found["exp"][2], found["full 2"][0])
        width = float(svg.get("width"))
        self.assertLess(max(box[2] for box in found.values()), width)

    def test_pages_of_any_colour(self):
        html, _ = self.picture(nx.exp(nx.ones(2).realize()) + 1)
        self.assertEqual(set(re.findall(r'(?:fill|stroke)="([^"]*)"', html)),
                         {"none", "currentColor", "#3b82f6"})

    def test_previews_are_short(self):
        x = nx.ones((20, 20)).realize()
        self.assertLess(len(x._repr_html_()), 600)
        self.assertGreater(len(repr(x)), 1000)

    def test_no_graph(self):
        x = nx.asarray([1.0, 2.0])
        self.assertIsNone(self.picture(x)[1])
        y = x
        for i in range(80):
            y = nx.sin(y)
        html, svg = self.picture(y)
        self.assertIsNone(svg)
        self.assertIn("80 operations", html)

    def test_failure_is_shown(self):
        self.assertIn("LinAlgError", nx.linalg.inv(nx.zeros((2, 2)))._repr_html_())


class Pickles(unittest.TestCase):
    def test_every_dtype(self):
        for name, dtype in nx._core.dtypes.items():
            x = nx.asarray([[0.5, 1.0, 2.0], [1.0, 0.5, 4.0]]).astype(dtype)
            y = pickle.loads(pickle.dumps(x[:, ::-1]))
            self.assertEqual((y.dtype, y.shape), (dtype, (2, 3)), name)
            self.assertEqual(y.tolist(), x[:, ::-1].tolist(), name)
        z = nx.asarray([complex(-0.0, float("nan")), 1j])
        self.assertEqual(repr(pickle.loads(pickle.dumps(z))), repr(z))
        self.assertEqual(pickle.loads(pickle.dumps(nx.zeros((0, 2)))).shape, (0, 2))
        self.assertEqual(pickle.loads(pickle.dumps(nx.asarray(3.0).to_device("interp"))).device,
                         "interp")


class Types(unittest.TestCase):
    def test_every_name_has_a_type(self):
        text = (Path(nx.__file__).parent / "__init__.pyi").read_text()
        missing = [name for name in nx.__all__
                   if not re.search(rf"(?m)(^def {name}\(|^{name}: | as {name}\b)", text)]
        self.assertEqual(missing, [], "bindings/python/gen_stubs.py writes them")

    def test_methods_say_what_they_are(self):
        x = nx.ones((3, 2))
        self.assertIn("sum", dir(x))
        self.assertEqual((x.sum.__doc__, x.sum.__name__), (nx.sum.__doc__, "sum"))
        self.assertEqual([*inspect.signature(x.clip).parameters][:2], ["min", "max"])
        for name in dir(x):
            getattr(x, name)

    def test_files_of_types_are_python(self):
        for path in Path(nx.__file__).parent.glob("*.pyi"):
            ast.parse(path.read_text(), str(path))

    def test_every_method_has_a_type(self):
        tree = ast.parse((Path(nx.__file__).parent / "_core.pyi").read_text())
        array = next(c for c in tree.body if isinstance(c, ast.ClassDef) and c.name == "Array")
        typed = {n.name if isinstance(n, ast.FunctionDef) else n.target.id
                 for n in array.body if isinstance(n, (ast.FunctionDef, ast.AnnAssign))}
        names = {n for n in dir(nx.ones(3)) if not n.startswith("_")}
        self.assertGreater(len(names), 50)
        self.assertEqual(names - typed, set(), "bindings/python/gen_stubs.py writes them")

    @unittest.skipIf(find_spec("mypy") is None, "mypy is not installed")
    def test_a_program_is_checked(self):
        program = """
import nx
from nx import Array

@nx.jit
def step(w: Array, x: Array) -> tuple[Array, Array]:
    error = nx.tanh(x @ w)
    return w - 0.1 * (x.T @ error) / x.shape[0], nx.mean(error * error)

@nx.jit(donate=0, static=["n"])
def power(x: Array, n: int) -> Array:
    return x ** n

class Model:
    @nx.jit
    def __call__(self, x: Array) -> Array:
        return x.sum(0, keepdims=True)

w, loss = step(nx.zeros((8, 2)), nx.random.normal(nx.random.key(0), (4, 8)))
print(float(loss), power(w, n=2).max(), Model()(w), step.traces, step.dump("plan", w, w.T))
a: int = loss  # wrong
w.foo  # wrong
w.sum(axes=1)  # wrong
step("w", w)  # wrong
nx.zero(3)  # wrong
"""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "program.py").write_text(program)
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "program.py"],
                                  cwd=folder, capture_output=True, text=True)
        lines = {int(n) for n in re.findall(r"program\.py:(\d+): error", done.stdout)}
        wrong = {i for i, row in enumerate(program.splitlines(), 1) if "# wrong" in row}
        self.assertEqual(lines, wrong, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
