# SPDX-License-Identifier: ISC
"""Norms, condition numbers, ranks, diagonals, products of tensors, and what fails quietly, through
the shared library, against numpy: float32, float64, complex64, complex128, and integers where
there are sums of products; batches, views, and matrices without elements or with NaN.

Usage: numpy_matrices.py LIST LIBNX. LIST is nx-api.json. The exit status is 0 if all agree, 77
(skipped) without NumPy, else 1.
"""

import ctypes
import json
import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

api = json.load(open(sys.argv[1]))
nx = ctypes.CDLL(sys.argv[2])
void, i64, i32, size = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_size_t
values = {v["name"]: v["value"] for e in api["enums"] for v in e["values"]}
TYPES = {
    np.dtype(np.bool_): "NX_BOOL",
    np.dtype(np.int32): "NX_I32",
    np.dtype(np.int64): "NX_I64",
    np.dtype(np.float32): "NX_F32",
    np.dtype(np.float64): "NX_F64",
    np.dtype(np.complex64): "NX_C64",
    np.dtype(np.complex128): "NX_C128",
}
DTYPES = {values[name]: t for t, name in TYPES.items()}
for name, result in {
    "nx_from_data": void,
    "nx_flip": void,
    "nx_permute": void,
    "nx_shape": ctypes.POINTER(i64),
    "nx_rank": i32,
    "nx_dtype_of": i32,
}.items():
    getattr(nx, name).restype = result
nx.nx_read.argtypes = (void, void, size, void)
nx.nx_error_take.argtypes = (void,)
nx.nx_shape.argtypes = nx.nx_rank.argtypes = nx.nx_dtype_of.argtypes = (void,)

context = void()
assert nx.nx_context_create(None, ctypes.byref(context)) == 0
faults = 0
checks = 0


def fault(what, text):
    global faults
    faults += 1
    print(f"{what}: {text}")


def longs(numbers):
    return (i64 * max(len(numbers), 1))(*numbers)


def ints(numbers):
    return (i32 * max(len(numbers), 1))(*numbers)


def tensor(a):
    a = np.asarray(a)
    packed = np.ascontiguousarray(a)
    made = nx.nx_from_data(
        context,
        i32(0),
        i32(values[TYPES[a.dtype]]),
        longs(a.shape),
        i32(a.ndim),
        packed.ctypes.data_as(void),
        size(packed.nbytes),
    )
    assert made, nx.nx_error_take(None)
    return void(made)


def array(t):
    """What a tensor holds; the status where it fails."""
    if not t:
        return nx.nx_error_take(None)
    t = void(t) if isinstance(t, int) else t
    rank = nx.nx_rank(t)
    shape = tuple(nx.nx_shape(t)[:rank]) if rank else ()
    out = np.empty(shape, DTYPES[nx.nx_dtype_of(t)])
    if nx.nx_read(t, out.ctypes.data_as(void), size(out.nbytes), None):
        return nx.nx_error_take(None)
    return out


def call(name, *arguments):
    f = getattr(nx, name)
    f.restype = void
    return array(f(*arguments))


def compare(what, is_, want, units=64):
    global checks
    checks += 1
    want = np.asarray(want)
    if isinstance(is_, int):
        return fault(what, f"failed with {is_}")
    if is_.shape != want.shape or is_.dtype != want.dtype:
        return fault(what, f"{is_.dtype}{is_.shape}, not {want.dtype}{want.shape}")
    if want.dtype.kind in "iub":
        good = np.array_equal(is_, want)
    else:
        part = np.zeros((), want.dtype).real.dtype
        finite = np.isfinite(want)
        scale = np.max(np.abs(want[finite]), initial=0)
        good = np.array_equal(np.isnan(is_), np.isnan(want)) and np.array_equal(
            is_[np.isinf(want)], want[np.isinf(want)]
        )
        with np.errstate(all="ignore"):
            off = np.abs(is_[finite].astype(np.complex128) - want[finite])
        good = good and np.all(off <= units * np.finfo(part).eps * scale)
    if not good:
        fault(what, f"{is_} is not {want}")


random = np.random.default_rng(7)


def numbers(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "i":
        return random.integers(-9, 9, shape).astype(dtype)
    x = random.standard_normal(shape)
    return (x + 1j * random.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


FLOATS = (np.float32, np.float64, np.complex64, np.complex128)
NORMS = {"fro": 0, "nuc": 1, 1: 2, -1: 3, 2: 4, -2: 5, np.inf: 6, -np.inf: 7}
NAN, KEEP, INPUT = 128, 1, 64


def vector_norms(dtype):
    x = numbers((3, 4, 5), dtype)
    x[0, 0, 0] = x[1, 2, 3] = 0
    part = x.real.dtype
    for order in (2, 1, 0, np.inf, -np.inf, 3, 0.5, -1, -2):
        for axes in ((1,), (-1,), (0, 2), (0, 1, 2)):
            for keep in (0, KEEP):
                lines = np.moveaxis(x, axes, range(-len(axes), 0))
                lines = lines.reshape(lines.shape[: 3 - len(axes)] + (-1,))
                with np.errstate(all="ignore"):
                    want = np.linalg.norm(np.abs(lines).astype(part), order, axis=-1)
                want = np.asarray(want, part)
                if keep:
                    want = np.expand_dims(want, [a % 3 for a in axes])
                what = f"vector_norm {part} {order} {axes} {keep}"
                is_ = call(
                    "nx_vector_norm",
                    tensor(x),
                    ctypes.c_double(order),
                    ints(axes),
                    size(len(axes)),
                    ctypes.c_uint32(keep),
                )
                compare(what, is_, want)


def matrix_norms(dtype):
    for shape in ((4, 4), (2, 3, 5, 3), (3, 2, 6)):
        a = numbers(shape, dtype)
        part = a.real.dtype
        for order, number in NORMS.items():
            for keep in (0, KEEP):
                want = np.linalg.norm(a, order, axis=(-2, -1), keepdims=bool(keep))
                is_ = call("nx_matrix_norm", tensor(a), i32(number), ctypes.c_uint32(keep))
                compare(f"matrix_norm {a.dtype} {order} {shape}", is_, np.asarray(want, part))
    empty = np.zeros((2, 0, 3), dtype)
    for number in (0, 1):
        is_ = call("nx_matrix_norm", tensor(empty), i32(number), ctypes.c_uint32(0))
        compare("matrix_norm of nothing", is_, np.zeros(2, empty.real.dtype))
    bad = numbers((3, 3, 3), dtype)
    bad[1, 0, 0] = np.nan
    for order in ("nuc", 2, -2):
        want = np.linalg.norm(np.delete(bad, 1, 0), order, axis=(-2, -1))
        want = np.insert(want, 1, np.nan).astype(bad.real.dtype)
        is_ = call("nx_matrix_norm", tensor(bad), i32(NORMS[order]), ctypes.c_uint32(NAN))
        compare(f"matrix_norm {order} with a NaN", is_, want)


def conditions(dtype):
    a = numbers((5, 4, 4), dtype)
    a[1, :, 2] = 0  # singular
    a[2, 3] = 0
    part = a.real.dtype
    for order, number in NORMS.items():
        with np.errstate(all="ignore"):
            regular = np.linalg.cond(a[[0, 3, 4]], order)
        is_ = call("nx_cond", tensor(a), i32(number))
        if isinstance(is_, int):
            fault(f"cond {order}", f"failed with {is_}")
            continue
        compare(f"cond {a.dtype} {order}", is_[[0, 3, 4]], np.asarray(np.real(regular), part), 1e4)
        tiny = np.abs(is_[1:3]) < 1e-3 if order == -2 else ~(is_[1:3] < 1e5)
        if not np.all(tiny):
            fault(f"cond {order}", f"{is_[1:3]} of singular matrices")
        a[0, 0, 0], kept = np.nan, a[0, 0, 0]
        is_ = call("nx_cond", tensor(a), i32(number))
        if not np.isnan(is_[0]) or np.isnan(is_[3]):
            fault(f"cond {order}", f"{is_} with a NaN in the first matrix")
        a[0, 0, 0] = kept
    wide = numbers((2, 3, 5), dtype)
    want = np.asarray(np.real(np.linalg.cond(wide)), part)
    compare("cond of wide ones", call("nx_cond", tensor(wide), i32(4)), want, 1e3)


def ranks(dtype):
    a = numbers((4, 5, 3), dtype)
    a[1, :, 2] = a[1, :, 0] * 2
    a[2] = 0
    for rtol in (-1.0, 0.3, 0.0):
        tolerance = None if rtol < 0 else rtol * np.linalg.svd(a, compute_uv=False)[..., 0]
        want = np.linalg.matrix_rank(a, tolerance) if rtol < 0 else None
        if want is None:
            s = np.linalg.svd(a, compute_uv=False)
            want = (s > rtol * s[..., :1]).sum(-1)
        if rtol == 0:  # rounding decides of the second
            want[1] = call("nx_matrix_rank", tensor(a), ctypes.c_double(rtol))[1]
        is_ = call("nx_matrix_rank", tensor(a), ctypes.c_double(rtol))
        compare(f"matrix_rank {a.dtype} {rtol}", is_, want.astype(np.int32))
    empty = np.zeros((2, 3, 0), dtype)
    is_ = call("nx_matrix_rank", tensor(empty), ctypes.c_double(-1))
    compare("matrix_rank of nothing", is_, np.zeros(2, np.int32))
    s = np.linalg.svd(a[:2], compute_uv=False)
    is_ = call("nx_svdvals", tensor(a[:2]), ctypes.c_uint32(INPUT))
    compare("svdvals", is_, s.astype(a.real.dtype))


def quiet_failures(dtype):
    """Matrices that cannot be done give NaN, and leave the others' bits alone."""
    a, b = numbers((3, 4, 2), dtype), numbers((3, 4, 1), dtype)
    bad = a.copy()
    bad[1, 2, 1] = np.inf
    for name, arguments in {
        "nx_lstsq": (tensor(b), ctypes.c_double(-1)),
        "nx_pinv_flags": (ctypes.c_double(-1),),
    }.items():
        want = call(name, tensor(a), *arguments, ctypes.c_uint32(0))
        is_ = call(name, tensor(bad), *arguments, ctypes.c_uint32(NAN))
        failed = call(name, tensor(bad), *arguments, ctypes.c_uint32(0))
        if failed != values["NX_NO_CONVERGENCE"]:
            fault(name, f"{failed} instead of NX_NO_CONVERGENCE")
        good = not isinstance(is_, int) and np.array_equal(is_[[0, 2]], want[[0, 2]])
        if not good or not np.all(np.isnan(is_[1])):
            fault(name, f"{is_} with an infinite element")


def results_of(name, n, *arguments):
    """What a call gives through n pointers; the status where it fails."""
    out = [void() for _ in range(n)]
    if getattr(nx, name)(*arguments, *map(ctypes.byref, out)):
        return [nx.nx_error_take(None)] * n
    return [array(x) for x in out]


def each_that_fails(dtype):
    """Every function with NX_NAN_ON_FAILURE on a batch whose second matrix cannot be done: all of
    its results are NaN, the others have the bits of a batch in which all can be done, and without
    the flag the call fails."""
    flag, type_1 = ctypes.c_uint32, i32(1)
    a = numbers((3, 5, 5), dtype) + 6 * np.eye(5, dtype=dtype)
    spd = a @ np.conj(np.swapaxes(a, -1, -2))
    zero, nan, minus, spd_nan = a.copy(), a.copy(), spd.copy(), spd.copy()
    zero[1] = 0
    nan[1, 2, 2] = np.nan
    minus[1] *= -1
    spd_nan[1, 3, 1] = np.nan
    b = tensor(numbers((3, 5, 2), dtype))
    bands = numbers((3, 3, 5), dtype) + np.array([0, 9, 0], dtype)[:, None]
    no_bands = bands.copy()
    no_bands[1] = 0
    eye = np.broadcast_to(np.eye(5, dtype=dtype), (3, 5, 5))
    rows = tensor(np.broadcast_to(np.arange(5, dtype=np.int32), (3, 5)))
    cases = {
        "nx_cholesky": (spd, minus, 0, lambda x, f: (x, f)),
        "nx_inv_flags": (a, zero, 0, lambda x, f: (x, f)),
        "nx_solve": (a, zero, 0, lambda x, f: (x, b, f)),
        "nx_triangular_solve": (a, zero, 0, lambda x, f: (x, b, f)),
        "nx_triangular_inv": (a, zero, 0, lambda x, f: (x, f)),
        "nx_lu_solve": (a, zero, 0, lambda x, f: (x, rows, b, f)),
        "nx_lstsq_qr": (a, zero, 0, lambda x, f: (x, b, f)),
        "nx_lstsq": (a, nan, 0, lambda x, f: (x, b, ctypes.c_double(-1), f)),
        "nx_pinv_flags": (a, nan, 0, lambda x, f: (x, ctypes.c_double(-1), f)),
        "nx_banded_solve": (bands, no_bands, 0, lambda x, f: (x, i64(1), i64(1), b, f)),
        "nx_matrix_power": (a, zero, 0, lambda x, f: (x, i64(-2), f)),
        "nx_eigvalsh": (spd, spd_nan, 0, lambda x, f: (x, f)),
        "nx_eigvals_flags": (a, nan, 0, lambda x, f: (x, f)),
        "nx_svdvals": (a, nan, 0, lambda x, f: (x, f)),
        "nx_sqrtm": (a, nan, 0, lambda x, f: (x, f)),
        "nx_logm": (a, zero, 0, lambda x, f: (x, f)),
        "nx_svd": (a, nan, 3, lambda x, f: (x, f)),
        "nx_eigh": (spd, spd_nan, 2, lambda x, f: (x, f)),
        "nx_eig_flags": (a, nan, 2, lambda x, f: (x, f)),
        "nx_eig_left": (a, nan, 3, lambda x, f: (x, f)),
        "nx_schur": (a, nan, 2, lambda x, f: (x, f)),
        "nx_eigh_generalized": (spd, minus, 2, lambda x, f: (tensor(eye), x, type_1, f)),
    }
    for name, (good, bad, n, arguments) in cases.items():
        def results(x, flags):
            given = arguments(tensor(x), flag(flags))
            return results_of(name, n, *given) if n else [call(name, *given)]

        for want, is_, failed in zip(results(good, 0), results(bad, NAN), results(bad, 0)):
            if not isinstance(failed, int):
                fault(name, "did not fail without the flag")
            if isinstance(is_, int) or isinstance(want, int):
                fault(name, f"failed with {is_}, {want}")
                continue
            # of triangular_inv the triangle; the other one is zero all the same
            lost = is_[1][np.tril_indices(5)] if name == "nx_triangular_inv" else is_[1]
            if not np.array_equal(is_[[0, 2]], want[[0, 2]]) or not np.all(np.isnan(lost)):
                fault(name, f"{is_}, not {want}")


def info_of(name, a, flags=None):
    x, info = void(), void()
    arguments = [tensor(a)] + ([ctypes.c_uint32(flags)] if flags is not None else [])
    assert getattr(nx, name)(*arguments, ctypes.byref(x), ctypes.byref(info)) == 0
    return array(x), array(info)


def told_failures(dtype):
    """Small matrices, those of LAPACK, and large ones, which are computed in stages."""
    for n in (0, 3, 20, 300):
        a = numbers((4, n, n), dtype)
        spd = a @ np.conj(np.swapaxes(a, -1, -2)) + n * np.eye(n, dtype=dtype)
        want = np.zeros(4, np.int32)
        if n:
            spd[1, n - 1, n - 1] = -1
            spd[2, n // 2, n // 2] = np.nan
            want[1:3] = n, n // 2 + 1
        for flags in (0, 1):
            x, info = info_of("nx_cholesky_info", spd, flags)
            compare(f"cholesky_info {n}", info, want)
            plain = call("nx_cholesky", tensor(spd), ctypes.c_uint32(flags | NAN))
            if not np.array_equal(x, plain, equal_nan=True):
                fault(f"cholesky_info {n}", "other bits than cholesky")
        want = np.zeros(4, bool)
        if n:
            a[1, :, 1] = 0
            a[3, 2, :] = 0
            want[[1, 3]] = True
        x, info = info_of("nx_inv_info", a)
        compare(f"inv_info {n}", info > 0, want)
        if np.any(info < 0) or np.any(info > n) or not np.all(np.isnan(x[want])):
            fault(f"inv_info {n}", f"{info}")
        plain = call("nx_inv_flags", tensor(a), ctypes.c_uint32(NAN))
        if not np.array_equal(x, plain, equal_nan=True):
            fault(f"inv_info {n}", "other bits than inv")


def diagonals(dtype):
    x = numbers((3, 4, 5), dtype)
    for offset in (0, 1, -2, 4, -3, 9, -9):
        for axes in ((0, 1), (-1, 0), (1, 2), (2, 1)):
            arguments = (tensor(x), i64(offset), i32(axes[0]), i32(axes[1]))
            want = np.diagonal(x, offset, *axes)
            compare(f"diagonal {offset} {axes}", call("nx_diagonal", *arguments), want, 0)
            want = want.sum(-1, dtype=dtype)
            compare(f"trace {offset} {axes}", call("nx_trace", *arguments), want)
    nx.nx_flip.argtypes = (void, ctypes.POINTER(i32), size)
    turned = void(nx.nx_flip(tensor(x), ints((0, 2)), size(2)))
    is_ = call("nx_diagonal", turned, i64(1), i32(0), i32(2))
    compare("diagonal of a view", is_, np.diagonal(x[::-1, :, ::-1], 1, 0, 2), 0)


def products(dtype):
    a, b = numbers(5, dtype), numbers(3, dtype)
    compare("outer", call("nx_outer", tensor(a), tensor(b)), np.outer(a, b))
    x, y = numbers((2, 1, 4, 3), dtype), numbers((5, 4, 3), dtype)
    for axis in (-1, -2):
        want = np.sum(np.conj(x) * y, axis, dtype=dtype)
        compare(f"vecdot {axis}", call("nx_vecdot", tensor(x), tensor(y), i32(axis)), want)
    want = np.cross(np.broadcast_to(x, (2, 5, 4, 3)), y)
    compare("cross", call("nx_cross", tensor(x), tensor(y), i32(-1)), want)
    u, v = np.moveaxis(x, -1, -2), np.moveaxis(y, -1, -2)
    compare("cross -2", call("nx_cross", tensor(u), tensor(v), i32(-2)), np.moveaxis(want, -1, -2))
    for p, q in (((2, 3), (4, 2)), ((3,), (2, 2)), ((2, 1, 3), (4,)), ((), (3,)), ((2, 0), (3, 2))):
        p, q = numbers(p, dtype), numbers(q, dtype)
        compare("kron", call("nx_kron", tensor(p), tensor(q)), np.asarray(np.kron(p, q), dtype))
    p, q = numbers((2, 3, 4, 5), dtype), numbers((5, 3, 6), dtype)
    for axes in (((1,), (1,)), ((3, 1), (0, 1)), ((-1,), (-3,)), ((), ())):
        is_ = call("nx_tensordot", tensor(p), tensor(q), *map(ints, axes), size(len(axes[0])))
        compare(f"tensordot {axes}", is_, np.tensordot(p, q, axes))
    for shapes in (((3, 40), (40, 2), (2, 30)), ((4,), (4, 5), (5, 6), (6,)), ((7, 2), (2,))):
        m = [numbers(s, dtype) for s in shapes]
        pointers = (void * len(m))(*[tensor(x) for x in m])
        is_ = call("nx_multi_dot", pointers, size(len(m)))
        want = m[0]
        for other in m[1:]:
            want = want @ other
        compare(f"multi_dot {shapes}", is_, np.asarray(want, dtype))


CHECKS = vector_norms, matrix_norms, conditions, ranks
FAILURES = quiet_failures, told_failures, each_that_fails
for t in FLOATS:
    for check in CHECKS + FAILURES:
        check(t)
for t in FLOATS + (np.int32, np.int64):
    diagonals(t)
    products(t)
print(f"{checks} comparisons, {faults} faults")
sys.exit(faults > 0)
