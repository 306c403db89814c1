# SPDX-License-Identifier: ISC
"""Arrays from text and as text, and in files, beside NumPy's functions; and what is refused."""

import io
import os
import tempfile
import unittest
import warnings

from common import Peer, layouts, needs_numpy, np, nx


@needs_numpy
class Text(Peer):
    def read(self, call, text, **words):
        self.same(getattr(nx, call)(io.StringIO(text), **words),
                  getattr(np, call)(io.StringIO(text), **words), f"{call} {text!r} {words}")

    def test_loadtxt(self):
        for text in ("1 2 3\n4 5 6\n", "# head\n1 2\n\n3 4 # rest\n", "1\n2\n3", "7", "1 2 3"):
            for words in ({}, {"dtype": "int32"}, {"ndmin": 2}, {"ndmin": 1}, {"unpack": True},
                          {"max_rows": 1}):
                self.read("loadtxt", text, **words)
        self.read("loadtxt", "a,b\n1,2.5\n-3,1e3\n", delimiter=",", skiprows=1)
        self.read("loadtxt", "1,2,3\n4,5,6", delimiter=",", usecols=(0, -1))
        self.read("loadtxt", "1,2,3\n4,5,6", delimiter=",", usecols=1)
        self.read("loadtxt", "1;2 % c\n3;4", delimiter=";", comments="%")
        self.read("loadtxt", "nan inf\n-inf 1e-400")
        self.read("loadtxt", "(1+2j) 3j\n1 -1-1j", dtype=complex)
        self.read("loadtxt", "10 11\n12 13", converters={0: lambda s: float(s) * 2})
        self.same(nx.loadtxt(["1 2", "3 4"]), np.loadtxt(["1 2", "3 4"]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.read("loadtxt", "")
        self.refused(
            (ValueError, lambda m, of: m.loadtxt(["1 2", "3"])),
            (ValueError, lambda m, of: m.loadtxt(["1 x"])),
            (ValueError, lambda m, of: m.loadtxt(["1.5"], dtype="int32")),
            (ValueError, lambda m, of: m.loadtxt(["1 2"], usecols=5)),
            (ValueError, lambda m, of: m.loadtxt(["1"], ndmin=3)),
            (FileNotFoundError, lambda m, of: m.loadtxt("/no/such/file")))
        with self.assertRaises((OverflowError, ValueError)):
            nx.loadtxt(["300"], dtype="int8")

    def test_genfromtxt(self):
        for text, words in (("1,2\n3,4", {}), ("1,,3\n4,x,6", {}), ("h\n1,2\n3,4\nend", {
                "skip_header": 1, "skip_footer": 1}), ("1,NA\n2,3", {"missing_values": "NA",
                "filling_values": -9.0}), ("1,2,3", {"usecols": (0, 2)}),
                ("1,2\n3,4", {"unpack": True}), ("1,\n,4", {"dtype": "int64"})):
            self.read("genfromtxt", text, delimiter=",", **words)
        self.read("genfromtxt", "123456\n  7  8", delimiter=3)
        self.read("genfromtxt", "1234\n5678", delimiter=[1, 3])
        self.refused((ValueError, lambda m, of: m.genfromtxt(["1 2", "3"])))

    def test_savetxt(self):
        rng = np.random.default_rng(15)
        for dtype in ("int32", "float32", "float64", "complex128"):
            for name, x, a in layouts(rng, dtype):
                if a.ndim == 0:
                    continue
                for words in ({}, {"delimiter": ","}, {"header": "a\nb", "footer": "c"},
                              {"fmt": "%.3f"}, {"newline": "\r\n", "comments": "; "}):
                    ours, theirs = io.StringIO(), io.StringIO()
                    nx.savetxt(ours, x, **words)
                    np.savetxt(theirs, a, **words)
                    self.assertEqual(ours.getvalue(), theirs.getvalue(), f"{dtype} {name} {words}")
        a = np.arange(6).reshape(2, 3)
        for fmt in (["%d", "%x", "%5.1f"], "%d-%d and %d"):
            ours, theirs = io.BytesIO(), io.BytesIO()
            nx.savetxt(ours, nx.asarray(a), fmt=fmt)
            np.savetxt(theirs, a, fmt=fmt)
            self.assertEqual(ours.getvalue(), theirs.getvalue())
        self.refused((ValueError, lambda m, of: m.savetxt(io.StringIO(), of(np.zeros((1, 1, 1))))),
                     (ValueError, lambda m, of: m.savetxt(io.StringIO(), of(a), fmt="%d %d")),
                     (AttributeError, lambda m, of: m.savetxt(io.StringIO(), of(a), fmt=["%d"])))

    def test_files(self):
        a = np.arange(12, dtype=np.int16)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.bin")
            a.tofile(path)
            self.same(nx.fromfile(path, "int16"), a)
            self.same(nx.fromfile(path, "int16", 3, offset=2), np.fromfile(path, "int16", 3,
                                                                           offset=2))
            text = os.path.join(folder, "a.txt.gz")
            nx.savetxt(text, nx.asarray(a))
            np.testing.assert_array_equal(np.loadtxt(text), a)
            self.same(nx.loadtxt(text), a.astype(float))
            archive = os.path.join(folder, "a.npz")
            nx.savez_compressed(archive, nx.asarray(a), b=nx.asarray(a[:2]))
            with np.load(archive) as found:
                self.assertEqual(sorted(found), ["arr_0", "b"])
                np.testing.assert_array_equal(found["arr_0"], a)
            self.same(nx.load(archive)["b"], a[:2])
            with self.assertRaises(ValueError):
                nx.savez(archive, a, arr_0=a)

    def test_strings(self):
        for text, sep in (("1 2  3", " "), ("1,2,3", ","), ("1, 2,3,", ","), ("", " ")):
            self.same(nx.fromstring(text, sep=sep), np.fromstring(text, sep=sep), text)
        self.same(nx.fromstring("1 2 3", "int32", 2, sep=" "),
                  np.fromstring("1 2 3", "int32", 2, sep=" "))
        self.assertRaises(ValueError, nx.fromstring, "1 x", sep=" ")
        found = nx.fromregex(io.StringIO("1 a 2\n3 b 4"), r"(\d) \w (\d)", "int64")
        self.assertEqual(found.tolist(), [[1, 2], [3, 4]])

    def test_numbers(self):
        for n in (0, 1, 5, -5, 255, -256, 10**20):
            for base in (2, 3, 16, 36):
                self.assertEqual(nx.base_repr(n, base), np.base_repr(n, base), f"{n} {base}")
            self.assertEqual(nx.binary_repr(n), np.binary_repr(n), n)
            if abs(n) < 2**20:
                self.assertEqual(nx.binary_repr(n, 12), np.binary_repr(n, 12), n)
        self.assertRaises(ValueError, nx.base_repr, 3, 40)
        a = np.array([[1.5, 2.25], [1 / 3, 4]])
        self.assertEqual(nx.array2string(nx.asarray(a), separator=", "),
                         np.array2string(a, separator=", "))
        self.assertEqual(nx.array2string(nx.asarray(a), precision=2),
                         np.array2string(a, precision=2))


if __name__ == "__main__":
    unittest.main()
