# SPDX-License-Identifier: ISC
"""Arrays in files: what NumPy has written is read, and the other way; archives with texts; files
that are not there or are no files of arrays."""

import tempfile
import unittest
from pathlib import Path

from common import DTYPES, Peer, needs_numpy, np, nx, sample


class Folder(Peer):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return Path(self.folder.name) / name


@needs_numpy
class WithNumPy(Folder):
    def test_npy(self):
        rng = np.random.default_rng(1)
        for dtype in DTYPES:
            a = sample(rng, (3, 4), dtype)
            np.save(self.path("a.npy"), a)
            self.same(nx.load(self.path("a.npy")), a)
            np.save(self.path("f.npy"), np.asfortranarray(a))
            self.same(nx.load(str(self.path("f.npy"))), a)
            nx.save(self.path("x.npy"), nx.asarray(a).T)
            np.testing.assert_array_equal(np.load(self.path("x.npy")), a.T)

    def test_npz(self):
        a, b = np.arange(6.0).reshape(2, 3), np.array(7)
        for save in (np.savez_compressed, nx.savez):
            save(self.path("a.npz"), a=a, b=b)
            got = nx.load(self.path("a.npz"))
            self.assertEqual(sorted(got), ["a", "b"])
            self.same([got["a"], got["b"]], [a, b])
        np.testing.assert_array_equal(np.load(self.path("a.npz"))["a"], a)
        self.assertEqual(sorted(p.name for p in Path(self.folder.name).iterdir()), ["a.npz"])

    def test_memmap(self):
        a = np.arange(12, dtype="int32").reshape(3, 4)
        a.tofile(self.path("raw"))
        self.same(nx.memmap(self.path("raw"), "int32", shape=(-1, 4)), a)
        self.same(nx.memmap(self.path("raw"), "int32", shape=(4, 3), order="F"), a.T)
        self.same(nx.memmap(self.path("raw"), "int32", offset=16, shape=(2, 4)), a[1:])
        x = nx.memmap(self.path("raw"), "int32", "r+", shape=(3, 4))
        x[1] = -1
        x.realize()
        a[1] = -1
        np.testing.assert_array_equal(np.fromfile(self.path("raw"), "int32").reshape(3, 4), a)
        with self.assertRaises(nx.NotWritable):
            nx.memmap(self.path("raw"), "int32", shape=(3, 4))[0] = 1


class Archives(Folder):
    def test_safetensors(self):
        x, y = nx.arange(6.0).astype("bfloat16"), nx.asarray([[True], [False]])
        nx.save_safetensors(self.path("a.st"), {"x": x * 2, "y": y}, {"made by": "a test"})
        got = nx.load(self.path("a.st"))
        self.assertEqual((got["x"].dtype, got["x"].tolist()), (nx.bfloat16, (x * 2).tolist()))
        self.assertEqual(got["y"].tolist(), [[True], [False]])
        self.assertEqual(list(nx.load(self.path("a.st"), ["y"])), ["y"])
        self.assertEqual(nx.load_metadata(self.path("a.st")), {"made by": "a test"})
        with self.assertRaises(ValueError):
            nx.load(self.path("a.st"), ["z"])

    def test_what_is_loaded_may_be_assigned(self):
        nx.save(self.path("a.npy"), [1.0, 2.0])
        x = nx.load(self.path("a.npy"))
        x[0] = 5
        self.assertEqual(x.tolist(), [5.0, 2.0])
        self.assertEqual(nx.load(self.path("a.npy")).tolist(), [1.0, 2.0])

    def test_refused(self):
        with self.assertRaises(OSError):
            nx.load(self.path("none.npy"))
        with self.assertRaises(OSError):
            nx.save(self.path("none/a.npy"), [1.0])
        for content in (b"", b"\x93NUMPY\x01\x00", b"not an archive"):
            self.path("a.npy").write_bytes(content)
            with self.assertRaises(nx.Error):
                nx.load(self.path("a.npy"))
        with self.assertRaises(TypeError):
            nx.save(self.path("a.npy"), nx.zeros(2, dtype="int4"))
        with self.assertRaises(TypeError):
            nx.save_safetensors(self.path("a.st"), {"x": [1.0]}, {"key": 1})
        with self.assertRaises(ValueError):
            nx.memmap(self.path("a.npy"), mode="x")


if __name__ == "__main__":
    unittest.main()
