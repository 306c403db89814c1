# SPDX-License-Identifier: ISC
"""Arrays on a GPU, with the fake driver of the tests (NX_CUDA): indexing; DLPack with another
library's memory of the GPU both ways, on streams as its version 1 says. Work is delayed by chance,
so that a wait of streams that is missing gives wrong numbers."""

import ctypes
import os
import unittest

from common import needs_numpy, np, nx

NEW, OLD = b"dltensor_versioned", b"dltensor"
GPU, FLOAT = 2, 2
driver = ctypes.CDLL(os.environ["NX_CUDA"])
python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
python.PyCapsule_GetName.restype = ctypes.c_char_p
python.PyCapsule_GetName.argtypes = (ctypes.py_object,)


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("number", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("manager", ctypes.c_void_p), ("deleter", Deleter), ("flags", ctypes.c_uint64),
                ("tensor", Tensor)]


class Plain(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("manager", ctypes.c_void_p), ("deleter", Deleter)]


def check(result):
    if result != 0:
        raise RuntimeError(f"the driver says {result}")


def pointer(of=None):
    return ctypes.c_void_p(of)


class Other:
    """Another library on the GPU of that number: n numbers 0, 1, .., made on its own stream."""

    def __init__(self, n, device=0, old=False):
        self.n, self.device, self.old = n, device, old
        self.asked, self.deleted, self.kept = [], 0, []
        self.stream, self.memory = pointer(), ctypes.c_uint64()
        context = pointer()
        check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.context = context
        self.enter()
        check(driver.cuStreamCreate(ctypes.byref(self.stream), 1))
        check(driver.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(4 * n)))
        values = (ctypes.c_float * n)(*range(n))
        check(driver.cuMemcpyHtoDAsync_v2(self.memory, values, ctypes.c_size_t(4 * n), self.stream))
        self.leave()

    def enter(self):
        check(driver.cuCtxPushCurrent_v2(self.context))

    def leave(self):
        check(driver.cuCtxPopCurrent_v2(ctypes.byref(pointer())))

    def close(self):
        self.enter()
        driver.cuMemFree_v2(self.memory)
        driver.cuStreamDestroy_v2(self.stream)
        self.leave()
        driver.cuDevicePrimaryCtxRelease_v2(self.device)

    def spoil(self):
        """Writes over its memory, on its stream."""
        self.enter()
        check(driver.cuMemsetD8Async(self.memory, 0x7F, ctypes.c_size_t(4 * self.n), self.stream))
        self.leave()

    def make_ready(self, stream):
        """That stream waits for its own."""
        event = pointer()
        self.enter()
        check(driver.cuEventCreate(ctypes.byref(event), 2))
        check(driver.cuEventRecord(event, self.stream))
        check(driver.cuStreamWaitEvent(pointer(stream), event, 0))
        driver.cuEventDestroy_v2(event)
        self.leave()

    def __dlpack_device__(self):
        return GPU, self.device

    def __dlpack__(self, *, stream=None, **more):
        if self.old and more:
            raise TypeError("what is max_version?")
        self.asked.append((stream, more))
        self.make_ready(stream)

        def delete(_):
            self.deleted += 1

        shape, deleter = (ctypes.c_int64 * 1)(self.n), Deleter(delete)
        tensor = Tensor(self.memory.value, GPU, self.device, 1, FLOAT, 32, 1, shape, None, 0)
        made = (Plain(tensor, None, deleter) if self.old
                else Versioned(1, 0, None, deleter, 0, tensor))
        self.kept += [shape, deleter, made]
        return python.PyCapsule_New(ctypes.addressof(made), OLD if self.old else NEW, None)

    def read(self, capsule, stream):
        """The numbers of a capsule of nx, by copies on that stream; the capsule is used up."""
        name = python.PyCapsule_GetName(capsule)
        kind = Versioned if name == NEW else Plain
        at = python.PyCapsule_GetPointer(capsule, name)
        made = kind.from_address(at)
        n = made.tensor.shape[0]
        values = (ctypes.c_float * n)()
        self.enter()
        first = ctypes.c_uint64(made.tensor.data + made.tensor.offset)
        size = ctypes.c_size_t(4 * n)
        check(driver.cuMemcpyDtoHAsync_v2(values, first, size, pointer(stream)))
        self.leave()
        return (made.tensor.type, made.tensor.number), list(values)


class Taking(unittest.TestCase):
    def test_is_copied_on_our_stream(self):
        for round_ in range(12):
            other = Other(100, device=round_ % 2, old=round_ % 3 == 2)
            x = nx.from_dlpack(other)
            other.spoil()
            self.assertEqual(x.device, "cuda" if other.device == 0 else "cuda:1")
            self.assertEqual(x.tolist(), [float(i) for i in range(100)])
            ((stream, more),) = other.asked
            self.assertGreater(stream, 2)
            self.assertEqual(more, {} if other.old else {"max_version": (1, 0)})
            self.assertEqual(other.deleted, 1)
            other.close()

    def test_goes_where_it_is_wanted(self):
        other = Other(5)
        x = nx.from_dlpack(other, device="cpu")
        self.assertEqual((x.device, x.tolist()), ("cpu", [0, 1, 2, 3, 4]))
        self.assertEqual(nx.asarray(other).tolist(), [0, 1, 2, 3, 4])
        other.close()

    def test_refuses(self):
        other = Other(5)
        with self.assertRaises(BufferError):
            nx.from_dlpack(other, copy=False)
        other.device = 7
        with self.assertRaisesRegex(BufferError, "no device is DLPack's"):
            nx.from_dlpack(other)
        other.device = 0
        self.assertEqual((other.asked, other.deleted), ([], 0))
        other.close()


class Indexing(unittest.TestCase):
    """Lists are checked at once, and go to the device; arrays there are checked when used."""

    def setUp(self):
        self.x = nx.arange(6.0).reshape(3, 2).to_device("cuda").realize()

    def test_lists(self):
        x = self.x
        self.assertEqual(x[[0, 2]].tolist(), [[0, 1], [4, 5]])
        for key in ([0, 5], ([0, 1], [0, 2])):
            with self.assertRaises(IndexError):
                x[key] = 1
        x[[1]] = 7
        self.assertEqual(x.tolist(), [[0, 1], [7, 7], [4, 5]])
        self.assertEqual(x[[True, False, True], 1].tolist(), [1, 5])
        self.assertEqual(x[[]].shape, (0, 2))

    def test_functions(self):
        x = self.x
        self.assertEqual(nx.take(x, [0, 2], axis=0).tolist(), [[0, 1], [4, 5]])
        self.assertEqual(nx.take_along_axis(x, [[1], [0], [1]], axis=1).tolist(), [[1], [2], [5]])
        x.put([0], 5)
        nx.put_along_axis(x, [[1], [0], [1]], 9.0, axis=1)
        self.assertEqual(x.tolist(), [[5, 9], [9, 3], [4, 9]])
        self.assertEqual(x.device, "cuda")

    def test_sums_of_windows_and_keys(self):
        a, v, key = nx.arange(300.0), nx.arange(140.0), nx.random.key(0)
        b, u, there = (x.to_device("cuda") for x in (a, v, key))
        for n in (3, 140):
            y = nx.convolve(b, u[:n], "same")
            self.assertEqual(y.tolist(), nx.convolve(a, v[:n], "same").tolist())
            self.assertEqual(y.device, "cuda")
        for i in (7, 2**40, nx.asarray(2**40)):
            k = nx.random.fold_in(there, i)
            self.assertEqual((k.tolist(), k.device), (nx.random.fold_in(key, i).tolist(), "cuda"))

    def test_arrays_of_the_device(self):
        places = nx.asarray([0, 9]).to_device("cuda").realize()
        y = self.x[places]
        with self.assertRaises(IndexError):
            y.realize()


class Giving(unittest.TestCase):
    def test_is_ready_on_the_consumers_stream(self):
        other = Other(1)
        for round_ in range(12):
            x = nx.arange(50, dtype="float32", device="cuda")
            y = (x * x + round_).realize()
            for _ in range(10):  # work that is under way
                y = (y + 1).realize()
            words = {"max_version": (1, 0)} if round_ % 2 else {}
            stream = (other.stream.value, 1, 2, None)[round_ % 4]
            capsule = y.__dlpack__(stream=stream, **words)
            self.assertEqual(y.__dlpack_device__(), (GPU, 0))
            if round_ >= 6:
                y += 1  # what was given stays
                y.realize()
            place, values = other.read(capsule, stream if stream is not None else 1)
            self.assertEqual(place, (GPU, 0))
            self.assertEqual(values, [float(i * i + round_ + 10) for i in range(50)])
            del capsule
        other.close()

    def test_streams(self):
        x = nx.arange(3, dtype="float32", device="cuda")
        for stream in 0, -2:
            with self.assertRaises(ValueError):
                x.__dlpack__(stream=stream)
        with self.assertRaises(TypeError):
            x.__dlpack__(stream="one")
        x.__dlpack__(stream=-1)  # no waits: ours
        for words in {"copy": False}, {"dl_device": (GPU, 1)}, {"dl_device": (10, 0)}:
            with self.assertRaises(BufferError):
                x.__dlpack__(**words)

    @needs_numpy
    def test_the_host(self):
        x = nx.arange(3, dtype="float32", device="cuda") + 1
        capsule = x.__dlpack__(dl_device=(1, 0), max_version=(1, 0))
        self.assertEqual(nx.from_dlpack(capsule).tolist(), [1, 2, 3])
        self.assertEqual(nx.arange(3).__dlpack_device__(), (1, 0))
        self.assertEqual(np.asarray(x).tolist(), [1, 2, 3])
        if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
            self.assertEqual(np.from_dlpack(x, device="cpu").tolist(), [1, 2, 3])

    def test_itself(self):
        x = nx.arange(6, dtype="float32", device="cuda")
        y = nx.from_dlpack(x)
        x += 1
        self.assertEqual((y.device, y.tolist()), ("cuda", [0, 1, 2, 3, 4, 5]))


if __name__ == "__main__":
    unittest.main()
