# SPDX-License-Identifier: ISC
"""DLPack between NumPy and the shared library, both ways: element types, layouts, who sees whose
writes, how long memory lives. Structures without a version where NumPy has no others, and the
versioned ones too where it does (2.1 and later).

Usage: numpy_dlpack.py LIBNX. The exit status is 0 if all is well, 77 (skipped) without NumPy, else
1.
"""

import ctypes
import gc
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

nx = ctypes.CDLL(sys.argv[1])
COPY, SHARED, IMMUTABLE = range(3)
READ, WRITE = 1, 2
READ_ONLY = 9  # status
void, i64, size = ctypes.c_void_p, ctypes.c_int64, ctypes.c_size_t
pointer = ctypes.POINTER(void)
for name, arguments in {
    "nx_context_create": (void, pointer),
    "nx_context_collect": (void,),
    "nx_context_stats": (void, void),
    "nx_from_dlpack": (void, void, ctypes.c_uint32, pointer),
    "nx_from_dlpack_v0": (void, void, ctypes.c_uint32, pointer),
    "nx_to_dlpack": (void, ctypes.c_uint32, i64, pointer),
    "nx_to_dlpack_v0": (void, i64, pointer),
    "nx_read": (void, void, size, void),
    "nx_write": (void, void, size, void),
    "nx_error_take": (void,),
    "nx_tensor_release": (void,),
}.items():
    getattr(nx, name).argtypes = arguments
nx.nx_slice.argtypes, nx.nx_slice.restype = (void, void, void, void, size), void

api = ctypes.pythonapi
api.PyCapsule_GetPointer.argtypes, api.PyCapsule_GetPointer.restype = (
    (ctypes.py_object, ctypes.c_char_p),
    void,
)
api.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
api.PyCapsule_New.argtypes, api.PyCapsule_New.restype = (
    (void, ctypes.c_char_p, void),
    ctypes.py_object,
)
# A destructor gets an object that is being deleted: as a number, so that it is not revived.
is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, void, ctypes.c_char_p)(("PyCapsule_IsValid", api))
get_pointer = ctypes.PYFUNCTYPE(void, void, ctypes.c_char_p)(("PyCapsule_GetPointer", api))

V0, VERSIONED = b"dltensor", b"dltensor_versioned"
DELETER_AT = {V0: 56, VERSIONED: 16}
USED = {V0: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}
NAMES = [V0] + ([VERSIONED] if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1) else [])

context = void()
faults = 0


def check(good, what):
    global faults
    if not good:
        faults += 1
        print("fault:", what)


def must(status, what):
    class Error(ctypes.Structure):
        _fields_ = [
            ("size", size),
            ("status", ctypes.c_int),
            ("op", ctypes.c_char_p),
            ("message", ctypes.c_char_p),
        ]

    e = Error(size=ctypes.sizeof(Error))
    nx.nx_error_take(ctypes.byref(e))
    check(status == 0, f"{what}: {e.message}")
    return status == 0


def live_bytes():
    stats = (ctypes.c_uint64 * 6)(48)
    nx.nx_context_collect(context)
    nx.nx_context_stats(context, stats)
    return stats[3]


# ---- NumPy's arrays here


def take(array, mode, name=V0):
    """A tensor handle of the array, or the status."""
    capsule = array.__dlpack__() if name == V0 else array.__dlpack__(max_version=(1, 0))
    managed, tensor = api.PyCapsule_GetPointer(capsule, name), void()
    call = nx.nx_from_dlpack_v0 if name == V0 else nx.nx_from_dlpack
    status = call(context, managed, mode, ctypes.byref(tensor))
    if status:
        nx.nx_error_take(None)
        return status, None
    api.PyCapsule_SetName(capsule, USED[name])
    return 0, tensor


def read(tensor, like):
    out = np.empty(like.shape, like.dtype)
    must(nx.nx_read(tensor, out.ctypes.data, out.nbytes, None), "read")
    return out


def release(tensor):
    nx.nx_tensor_release(tensor)
    nx.nx_context_collect(context)


def layouts(dtype):
    base = (
        (np.arange(120) % 2 if dtype == np.bool_ else np.arange(120)).astype(dtype).reshape(4, 5, 6)
    )
    yield "C order", base
    yield "Fortran order", np.asfortranarray(base)
    yield "permuted", base.transpose(2, 0, 1)
    yield "backwards", base[::-1, :, ::-1]
    yield "slice", base[1:3, 2:, 1:5]
    yield "steps", base[::2, ::-3, 1::2]
    yield "one column", base[:, 2, 3]
    yield "repeated", np.lib.stride_tricks.as_strided(base, (3, 4), (0, base.itemsize))
    yield "rank 0", base[1, 2, 3:4].reshape(())
    yield "rank 32", base[:, 0, 0].reshape((1,) * 31 + (4,))
    yield "empty", base[:, 5:, :]
    yield "no rows", np.empty((0, 3), dtype)


TYPES = [
    np.bool_,
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
    np.int64,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
]


def exported(array):
    """Older NumPy has no bool in DLPack."""
    try:
        array.__dlpack__()
        return True
    except (BufferError, TypeError):
        return False


def test_taking():
    for dtype in TYPES:
        if not exported(np.zeros(1, dtype)):
            print(f"note: this NumPy ({np.__version__}) has no DLPack for {np.dtype(dtype)}")
            continue
        for label, array in layouts(dtype):
            for mode in COPY, SHARED, IMMUTABLE:
                for name in NAMES:
                    what, before = (
                        f"{np.dtype(dtype)} {label} mode {mode} {name}",
                        sys.getrefcount(array),
                    )
                    status, tensor = take(array, mode, name)
                    if status:
                        check(False, f"{what}: status {status}")
                        continue
                    is_ = read(tensor, array)
                    check(is_.tobytes() == np.ascontiguousarray(array).tobytes(), what)
                    release(tensor)
                    check(sys.getrefcount(array) == before, f"{what}: the array was not let go")


def test_shared_writes():
    for name in NAMES:
        array = np.arange(10, dtype=np.float32)
        _, tensor = take(array[::-2], SHARED, name)
        array[9] = 90
        check(read(tensor, array[::-2])[0] == 90, "the tensor does not see what NumPy wrote")
        values = np.array([5, 4, 3, 2, 1], np.float32)
        must(nx.nx_write(tensor, values.ctypes.data, values.nbytes, None), "write")
        check(array.tolist() == [0, 1, 2, 2, 4, 3, 6, 4, 8, 5], f"NumPy sees {array}")
        release(tensor)
        unaligned = np.frombuffer(
            bytearray(b"x" + np.arange(5, dtype=np.float64).tobytes()), np.float64, 5, 1
        )
        _, tensor = take(unaligned, COPY, name)
        check((read(tensor, unaligned) == np.arange(5)).all(), "unaligned")
        release(tensor)
        check(take(unaligned, SHARED, name)[0] != 0, "an unaligned array was shared")
    if VERSIONED in NAMES:
        array.flags.writeable = False
        check(
            take(array, SHARED, VERSIONED)[0] == READ_ONLY,
            "a read-only array was shared for writing",
        )
        _, tensor = take(array, IMMUTABLE, VERSIONED)
        release(tensor)


# ---- tensors in NumPy


@ctypes.PYFUNCTYPE(None, void)
def destroy(capsule):
    """A capsule that nobody consumed still owns its structure."""
    for name in NAMES:
        if is_valid(capsule, name):
            managed = get_pointer(capsule, name)
            deleter = void.from_address(managed + DELETER_AT[name]).value
            ctypes.CFUNCTYPE(None, void)(deleter)(managed)


class Lent:
    """What a Python frontend's tensor class would do."""

    def __init__(self, tensor, access=READ | WRITE):
        self.tensor, self.access = tensor, access

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        managed = void()
        versioned = max_version is not None and max_version[0] >= 1
        stream = -1 if stream is None else stream
        if versioned:
            status = nx.nx_to_dlpack(self.tensor, self.access, stream, ctypes.byref(managed))
        else:
            status = nx.nx_to_dlpack_v0(self.tensor, stream, ctypes.byref(managed))
        if status:
            nx.nx_error_take(None)
            raise BufferError(status)
        return api.PyCapsule_New(
            managed, VERSIONED if versioned else V0, ctypes.cast(destroy, void)
        )


def test_lending():
    for dtype in TYPES:
        for label, array in layouts(dtype):
            if not exported(np.zeros(1, dtype)):
                continue
            what = f"{np.dtype(dtype)} {label} lent"
            _, tensor = take(array, COPY)
            back = np.from_dlpack(Lent(tensor))
            release(tensor)
            check(
                back.shape == array.shape and back.dtype == array.dtype,
                f"{what}: {back.shape} {back.dtype}",
            )
            check(back.tobytes() == np.ascontiguousarray(array).tobytes(), what)
            check(array.size == 0 or live_bytes() > 0, f"{what}: the memory is gone")
            del back
            check(live_bytes() == 0, f"{what}: {live_bytes()} bytes were not given back")


def test_views():
    array = np.arange(24, dtype=np.int32).reshape(4, 6)
    _, tensor = take(array, SHARED)
    pair = i64 * 2
    view = void(nx.nx_slice(tensor, pair(3, 1), pair(2, 3), pair(-2, 2), 2))
    back = np.from_dlpack(Lent(view))
    check(
        (back == array[3::-2, 1:6:2]).all() and back.strides == (-48, 8),
        f"a view: {back} {back.strides}",
    )
    check(back.ctypes.data == array[3, 1:].ctypes.data, "a view was copied")
    array[3, 1] = 1000
    check(back[0, 0] == 1000, "a view does not share")
    release(view)
    release(tensor)
    before = sys.getrefcount(array)
    del back
    gc.collect()
    nx.nx_context_collect(context)
    check(sys.getrefcount(array) == before - 1, "the array was not let go")


def test_capsules():
    array = np.ones(5, np.float64)
    _, tensor = take(array, COPY)
    capsule = Lent(tensor).__dlpack__()
    release(tensor)
    check(live_bytes() > 0, "the capsule does not keep its memory")
    del capsule
    check(live_bytes() == 0, "the capsule's memory was not given back")
    _, tensor = take(array, IMMUTABLE)
    try:
        Lent(tensor).__dlpack__()
        check(False, "an immutable import was lent for writing")
    except BufferError as e:
        check(e.args[0] == READ_ONLY, f"status {e}")
    if VERSIONED in NAMES:
        back = np.from_dlpack(Lent(tensor, READ))
        check(not back.flags.writeable and back.ctypes.data == array.ctypes.data, "lent read-only")
        del back
        _, other = take(array, COPY)
        back = np.from_dlpack(Lent(other))
        check(back.flags.writeable, "lent for writing")
        back[2] = 9
        check(read(other, array)[2] == 9, "what NumPy wrote is not seen")
        release(other)
    release(tensor)


must(nx.nx_context_create(None, ctypes.byref(context)), "context")
for test in test_taking, test_shared_writes, test_lending, test_views, test_capsules:
    test()
print(f"NumPy {np.__version__}, {' and '.join(n.decode() for n in NAMES)}: {faults} faults")
sys.exit(1 if faults else 0)
