# SPDX-License-Identifier: ISC
"""Linear algebra: the extension of the array API, and what NumPy and SciPy users expect besides.

Matrices are in the last two axes, all others are a batch. Integers become float64. A matrix that
cannot be done raises nx.LinAlgError when the result is computed; nx.Error.index has its number."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from . import _core
from ._core import Array, LinAlgError, calls
from ._lib import (FLOAT64, INT64, KEEPDIMS, arr, axes_of, axis_of, cast, device_number, floating,
                   floats, permuted, product, promoted, real_dtype, reshaped)
from ._products import cross, kron, matmul, outer, tensordot, vecdot
from ._manipulation import matrix_transpose

__all__ = ["LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
           "eigvalsh", "expm", "hessenberg", "inv", "kron", "logm", "lstsq", "lu", "lu_solve",
           "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot",
           "norm", "outer", "pinv", "qr", "schur", "slogdet", "solve", "solve_triangular", "sqrtm",
           "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot",
           "vector_norm"]


class EighResult(NamedTuple):
    """What eigh gives."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """What eig gives."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What qr gives."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """What slogdet gives."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """What svd gives."""

    U: Array
    S: Array
    Vh: Array


class LstsqResult(NamedTuple):
    """What lstsq gives."""

    x: Array
    residuals: Array
    rank: Array
    s: Array


class LUResult(NamedTuple):
    """What lu gives: both factors in one array, and the order of the rows."""

    lu: Array
    permutation: Array


# ---- factors


def cholesky(x: Any, /, *, upper: bool = False) -> Array:
    """The lower triangular L with x = L L^H, or the upper triangular L^H. The lower triangle of x
    is read."""
    return calls.cholesky(floating(x), calls.UPPER * upper)


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """x = Q R; mode: "reduced", "complete" (Q is square), "r" (R alone)."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: there is no mode {mode!r}")
    q, r = calls.qr(floating(x), calls.FULL_MATRICES * (mode == "complete"))
    return r if mode == "r" else QRResult(q, r)


def svd(x: Any, /, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """x = U diag(S) Vh, S descending. compute_uv=False gives S alone."""
    if not compute_uv:
        return svdvals(x)
    flags = calls.FULL_MATRICES * full_matrices | calls.INPUT_PRECISION
    return SVDResult(*calls.svd(floating(x), flags))


def svdvals(x: Any, /) -> Array:
    """The singular values, descending."""
    return calls.svdvals(floating(x), calls.INPUT_PRECISION)


def eigh(x: Any, /) -> EighResult:
    """Eigenvalues, ascending, and vectors, as columns, of symmetric or Hermitian matrices, of
    which the lower triangle is read."""
    return EighResult(*calls.eigh(floating(x), calls.INPUT_PRECISION))


def eigvalsh(x: Any, /) -> Array:
    """The eigenvalues of eigh."""
    return calls.eigvalsh(floating(x), calls.INPUT_PRECISION)


def eig(x: Any, /) -> EigResult:
    """Eigenvalues and vectors, as columns, complex."""
    x = floating(x)
    dtype = _complex_of(x)
    return EigResult(*(cast(y, dtype) for y in calls.eig(x)))


def eigvals(x: Any, /) -> Array:
    """The eigenvalues of eig."""
    x = floating(x)
    return cast(calls.eigvals(x), _complex_of(x))


def _complex_of(x: Array) -> Any:
    from ._lib import complex_dtype

    return complex_dtype(x.dtype)


def lu(x: Any, /) -> LUResult:
    """P x = L U in one array, L below the diagonal with ones on it; row i of P x is row
    permutation[i] of x."""
    factors, _, permutation, _ = calls.lu(floating(x))
    return LUResult(factors, permutation)


def lu_solve(factors: LUResult, b: Any, /) -> Array:
    """The solution of x y = b by the factors that lu gives of x."""
    a, b = floats(factors[0], b)
    return calls.lu_solve(a, factors[1], b)


def schur(x: Any, /) -> tuple[Array, Array]:
    """t and z with x = z t z^H."""
    return calls.schur(floating(x))


def hessenberg(x: Any, /) -> tuple[Array, Array]:
    """h and q with x = q h q^H."""
    return calls.hessenberg(floating(x))


# ---- equations


def solve(x1: Any, x2: Any, /) -> Array:
    """y with x1 y = x2. An x2 of one dimension is a vector, every other one matrices."""
    a, b = floats(x1, x2)
    return calls.solve(a, b)


def solve_triangular(x1: Any, x2: Any, /, *, lower: bool = False,
                     unit_diagonal: bool = False) -> Array:
    """y with x1 y = x2, of which one triangle of x1 is read."""
    a, b = floats(x1, x2)
    flags = calls.UPPER * (not lower) | calls.UNIT_DIAGONAL * unit_diagonal
    return calls.triangular_solve(a, b, flags)


def inv(x: Any, /) -> Array:
    """The inverse."""
    return calls.inv(floating(x))


def det(x: Any, /) -> Array:
    """The determinant."""
    return calls.det(floating(x))


def slogdet(x: Any, /) -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its absolute value."""
    return SlogdetResult(*calls.slogdet(floating(x)))


def _tolerance(x: Array) -> float:
    from ._dtypes import finfo

    return max(x.shape[-2:]) * finfo(x.dtype).eps


def pinv(x: Any, /, *, rtol: Any = None) -> Array:
    """The pseudo-inverse; singular values up to rtol times the largest count as 0."""
    x = floating(x)
    if rtol is None:
        rtol = _tolerance(x)
    if isinstance(rtol, (int, float)):
        return calls.pinv(x, float(rtol))
    return calls.pinv_rtol(x, floating(rtol))


def lstsq(x1: Any, x2: Any, /, rcond: float | None = None, *,
          rtol: float | None = None) -> LstsqResult:
    """The y of least norm that makes |x1 y - x2| least; sums of squares of what remains, the rank,
    and the singular values. rcond is NumPy's name of rtol; below 0 it is the precision."""
    a, b = floats(x1, x2)
    if rtol is None and rcond is not None:
        from ._dtypes import finfo

        rtol = rcond if rcond >= 0 else finfo(a.dtype).eps
    tolerance = _tolerance(a) if rtol is None else float(rtol)
    y = calls.lstsq(a, b, tolerance)
    s = svdvals(a)
    far = (calls.matmul(a, y) - b).__abs__()
    residuals = calls.reduce_sum(calls.square(far), (0,) if b.ndim == 1 else (-2,), 0)
    return LstsqResult(y, residuals, matrix_rank(a, rtol=tolerance), s)


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Array:
    """How many singular values are more than rtol times the largest."""
    x = floating(x)
    if x.ndim < 2:
        raise ValueError(f"matrix_rank: an array of {x.ndim} dimensions is no matrix")
    s = svdvals(x)
    if s.shape[-1] == 0:
        return calls.reduce_sum(calls.cast(s, INT64), (-1,), 0)
    rtol = _tolerance(x) if rtol is None else rtol
    if not isinstance(rtol, (int, float)):
        rtol = cast(arr(rtol), s.dtype)
        rtol = reshaped(rtol, (*rtol.shape, 1))
    most = calls.reduce_max(s, (-1,), KEEPDIMS)
    return calls.reduce_sum(calls.cast(s > most * rtol, INT64), (-1,), 0)


def tensorsolve(a: Any, b: Any, /, axes: Any = None) -> Array:
    """The x with tensordot(a, x, x.ndim) = b; axes of a that come last before that."""
    a, b = floats(a, b)
    if axes is not None:
        moved = axes_of(axes, a.ndim)
        a = calls.permute(a, [i for i in range(a.ndim) if i not in moved] + list(moved))
    shape = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape or product(shape) != b.size:
        raise ValueError(f"tensorsolve: {a.shape} does not go with {b.shape}")
    x = solve(reshaped(a, (b.size, b.size)), reshaped(b, (b.size,)))
    return reshaped(x, shape)


def tensorinv(a: Any, /, ind: int = 2) -> Array:
    """The inverse of a by tensordot over as many axes as it has behind the first `ind`."""
    a = floating(a)
    if ind <= 0:
        raise ValueError(f"tensorinv: {ind} is not a number of axes")
    first, rest = a.shape[:ind], a.shape[ind:]
    n = product(first)
    if n != product(rest):
        raise LinAlgError(f"tensorinv: {first} and {rest} are not as many elements")
    return reshaped(inv(reshaped(a, (n, n))), (*rest, *first))


# ---- norms


_ORDS = {"fro": "FRO", "nuc": "NUC", 1: "1", -1: "MIN_1", 2: "2", -2: "MIN_2",
         math.inf: "INF", -math.inf: "MIN_INF"}


def _ord(ord: Any, what: str) -> int:
    if ord not in _ORDS:
        raise ValueError(f"{what}: there is no norm {ord!r} of matrices")
    return getattr(calls, f"NORM_{_ORDS[ord]}")


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Norms of matrices: "fro", "nuc", 1, -1, 2, -2, inf, -inf."""
    x, which = floating(x), _ord(ord, "matrix_norm")
    if x.ndim >= 2 and 0 in x.shape[-2:] and ord in (1, 2, math.inf):  # the largest of nothing
        which = _ord("fro", "matrix_norm")
    return calls.matrix_norm(x, which, KEEPDIMS * keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """(sum |x|^ord)^(1 / ord) along axes; 0 counts what is not 0."""
    x = floating(x)
    axes, order = axes_of(axis, x.ndim), float(ord)
    if order == math.inf and 0 in x.shape and product(x.shape[a] for a in axes) == 0:
        order = 2.0  # 0, as the largest of nothing
    return calls.vector_norm(x, order, axes, KEEPDIMS * keepdims)


def norm(x: Any, /, ord: Any = None, axis: Any = None, *, keepdims: bool = False) -> Array:
    """NumPy's norm: of all elements, of vectors along one axis, or of matrices in two."""
    x = floating(x)
    if axis is None and (ord is None or x.ndim == 1):
        return vector_norm(x, keepdims=keepdims, ord=2 if ord is None else ord)
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"norm: {len(axes)} axes are neither a vector nor a matrix")
    rest = [i for i in range(x.ndim) if i not in axes]
    y = matrix_norm(permuted(x, [*rest, *axes]), ord="fro" if ord is None else ord)
    return reshaped(y, [1 if i in axes else n for i, n in enumerate(x.shape)]) if keepdims else y


def cond(x: Any, /, p: Any = None) -> Array:
    """The condition number: the norm times that of the inverse."""
    return calls.cond(floating(x), _ord(2 if p is None else p, "cond"))


# ---- functions and parts of matrices


def matrix_power(x: Any, n: int, /) -> Array:
    """x to the power n; of the inverse for n < 0."""
    x = arr(x)
    if x.dtype.kind in "biu" and n >= 0:
        return _whole_power(x, n)
    return calls.matrix_power(floating(x), n)


def _whole_power(x: Array, n: int) -> Array:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power: {x.shape} is no square matrix")
    m = x.shape[-1]
    y = calls.eye(device_number(x.device), x.dtype, m, m, 0)
    y = calls.copy(calls.expand(y, x.shape))
    while n:
        y = calls.matmul(y, x) if n & 1 else y
        x = calls.matmul(x, x) if n > 1 else x
        n >>= 1
    return y


def expm(x: Any, /) -> Array:
    """The exponential of matrices."""
    return calls.expm(floating(x))


def sqrtm(x: Any, /) -> Array:
    """The principal square root of matrices, complex."""
    return calls.sqrtm(floating(x))


def logm(x: Any, /) -> Array:
    """The principal logarithm of matrices, complex."""
    return calls.logm(floating(x))


def multi_dot(arrays: Any, /) -> Array:
    """The product of several matrices in the order that takes the fewest multiplications."""
    xs = promoted(*arrays)
    return xs[0] if len(xs) == 1 else calls.multi_dot(xs)


def diagonal(x: Any, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Array:
    """A view of the elements (i, i + offset) of two axes, as a last axis."""
    return calls.diagonal(arr(x), offset, axis1, axis2)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None, axis1: int = -2,
          axis2: int = -1) -> Array:
    """The sum of diagonal, in the dtype of a sum."""
    from ._statistics import sum

    return sum(diagonal(x, offset=offset, axis1=axis1, axis2=axis2), -1, dtype=dtype)
