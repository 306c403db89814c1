# SPDX-License-Identifier: ISC
"""Factors of matrices, equations, and what PyTorch makes of them. Matrices that cannot be factored
are reported as PyTorch does it, by numbers, which its own nodes look at."""

from __future__ import annotations

from .. import _core
from ._lowering import (INT64, Array, Call, arange, calls, cast, full, lowers, operand, refuse)

INT32 = _core.dtypes["int32"]
NAN = calls.NAN_ON_FAILURE


def _turned(x: Array) -> Array:
    return calls.permute(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def _adjoint(x: Array) -> Array:
    return calls.conj(_turned(x)) if x.dtype.kind == "c" else _turned(x)


def _is_transposed(c: Call, a: Array) -> bool:
    """Whether PyTorch factors the transpose, which lies as LAPACK has it; so its gradients know."""
    return c.node.args[0].meta["val"].is_contiguous() and a.dtype.kind != "c"


# ---- LU

def _factored(a: Array) -> tuple[Array, Array, Array, Array]:
    """lu, pivots as PyTorch counts them, from 1, permutation, info."""
    lu, pivots, permutation, info = calls.lu(a)
    return lu, calls.add(pivots, operand(1, INT32)), permutation, info


def _permutation(pivots: Array, n: int) -> Array:
    """The order of n rows after the exchanges of pivots: exchanges are composed by pairs."""
    k = pivots.shape[-1]
    rows, at = arange(INT64, 0, 1, n), calls.reshape(arange(INT64, 0, 1, k), (k, 1))
    to = calls.sub(cast(pivots, INT64), operand(1, INT64))
    to = calls.reshape(to, (*to.shape, 1), calls.MAY_COPY)
    shape = (*pivots.shape, n)
    y = calls.where(calls.cmpeq(rows, at), to, calls.where(calls.cmpeq(rows, to), at, rows))
    y = calls.expand(y, shape)
    while k > 1:
        lead = [slice(None)] * (len(shape) - 2)
        left, right = y[(*lead, slice(0, k // 2 * 2, 2))], y[(*lead, slice(1, None, 2))]
        pairs = calls.gather(left, right, len(shape) - 1)
        y = calls.cat([pairs, y[(*lead, slice(k - 1, None))]], len(shape) - 2) if k % 2 else pairs
        k = (k + 1) // 2
    return calls.reshape(y, (*pivots.shape[:-1], n), calls.MAY_COPY)


@lowers("aten.linalg_lu_factor_ex.default")
def _lu_factor(c: Call, a: Array, *, pivot: bool = True,
               check_errors: bool = False) -> tuple[Array, ...]:
    refuse(not pivot, "LU without pivots")
    lu, pivots, _, info = _factored(a)
    return lu, pivots, info


def _solved(lu: Array, permutation: Array, b: Array, left: bool, adjoint: bool) -> Array:
    """x with A x = b, or x A = b, or of the adjoint of A."""
    flags = calls.ADJOINT * adjoint
    if left:
        return calls.lu_solve(lu, permutation, b, flags | NAN)
    flags = calls.ADJOINT * (not adjoint)
    return _adjoint(calls.lu_solve(lu, permutation, _adjoint(b), flags | NAN))


@lowers("aten.linalg_lu_solve.default")
def _lu_solve(c: Call, lu: Array, pivots: Array, b: Array, *, left: bool = True,
              adjoint: bool = False) -> Array:
    if 0 in c.shape:
        return full(c.shape, c.dtype, 0)
    return _solved(lu, _permutation(pivots, lu.shape[-1]), b, left, adjoint)


@lowers("aten._linalg_solve_ex.default")
def _solve(c: Call, a: Array, b: Array, *, left: bool = True,
           check_errors: bool = False) -> tuple[Array, ...]:
    lu, pivots, permutation, info = _factored(a)
    if 0 in c.shape:
        return full(c.shape, c.dtype, 0), lu, pivots, info
    is_vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    columns = calls.reshape(b, (*b.shape, 1), calls.MAY_COPY) if is_vector else b
    x = _solved(lu, permutation, columns, left or is_vector, False)
    return calls.reshape(x, c.shape, calls.MAY_COPY), lu, pivots, info


def _parity(pivots: Array) -> Array:
    """Whether the exchanges are odd in number."""
    still = arange(INT32, 1, 1, pivots.shape[-1])
    moved = cast(calls.cmpne(pivots, still), INT32)
    count = calls.reduce_sum(moved, [-1])
    return calls.cmpne(calls.mod(count, operand(2, count.dtype)), operand(0, count.dtype))


def _signed(x: Array, pivots: Array) -> Array:
    return calls.where(_parity(pivots), calls.neg(x), x)


@lowers("aten._linalg_det.default")
def _det(c: Call, a: Array) -> tuple[Array, ...]:
    lu, pivots, _, _ = _factored(_turned(a) if _is_transposed(c, a) else a)
    return _signed(calls.reduce_prod(calls.diagonal(lu, 0, -2, -1), [-1]), pivots), lu, pivots


@lowers("aten._linalg_slogdet.default")
def _slogdet(c: Call, a: Array) -> tuple[Array, ...]:
    lu, pivots, _, _ = _factored(_turned(a) if _is_transposed(c, a) else a)
    diagonal = calls.diagonal(lu, 0, -2, -1)
    sign = _signed(calls.reduce_prod(calls.sign(diagonal), [-1]), pivots)
    size = cast(calls.abs(diagonal), c.results[1][0])
    return sign, calls.reduce_sum(calls.log(size), [-1]), lu, pivots


def _beyond(x: Array) -> Array:
    """j - i of the elements (i, j) of a matrix."""
    m, n = x.shape[-2:]
    return calls.sub(arange(INT64, 0, 1, n), calls.reshape(arange(INT64, 0, 1, m), (m, 1)))


def triangle(x: Array, lower: bool, diagonal: int = 0) -> Array:
    """The elements (i, j) with j - i up to diagonal, or from it on; others 0."""
    keep = (calls.cmple if lower else calls.cmpge)(_beyond(x), operand(diagonal, INT64))
    return calls.where(keep, x, operand(0, x.dtype))


def _unpacked(lu: Array) -> tuple[Array, Array]:
    m, n = lu.shape[-2:]
    k = min(m, n)
    lower = triangle(lu, True, -1)[..., :k]
    return calls.add(lower, _ones(lower)), triangle(lu, False)[..., :k, :]


def _ones(x: Array) -> Array:
    """Ones on the diagonal of a matrix of that shape."""
    return cast(calls.cmpeq(_beyond(x), operand(0, INT64)), x.dtype)


def _as_matrix(permutation: Array, like: Array) -> Array:
    """P with A = P L U."""
    n = permutation.shape[-1]
    rows = calls.reshape(arange(INT64, 0, 1, n), (n, 1))
    to = calls.reshape(cast(permutation, INT64), (*permutation.shape[:-1], 1, n), calls.MAY_COPY)
    return cast(calls.cmpeq(rows, to), like.dtype)


@lowers("aten.linalg_lu.default")
def _lu(c: Call, a: Array, *, pivot: bool = True) -> tuple[Array, ...]:
    refuse(not pivot, "LU without pivots")
    lu, _, permutation, _ = _factored(a)
    return _as_matrix(permutation, a), *_unpacked(lu)


@lowers("aten.lu_unpack.default")
def _lu_unpack(c: Call, lu: Array, pivots: Array, unpack_data: bool = True,
               unpack_pivots: bool = True) -> tuple[Array, ...]:
    nothing = [full(shape, dtype, 0) for dtype, shape in c.results]
    p = _as_matrix(_permutation(pivots, lu.shape[-2]), lu) if unpack_pivots else nothing[0]
    return p, *(_unpacked(lu) if unpack_data else nothing[1:])


# ---- other factors

@lowers("aten.linalg_cholesky_ex.default")
def _cholesky(c: Call, a: Array, *, upper: bool = False,
              check_errors: bool = False) -> tuple[Array, Array]:
    return calls.cholesky_info(_adjoint(a) if upper else a, calls.UPPER * upper)


@lowers("aten.linalg_inv_ex.default")
def _inv(c: Call, a: Array, *, check_errors: bool = False) -> tuple[Array, Array]:
    return calls.inv_info(a)


@lowers("aten.linalg_qr.default")
def _qr(c: Call, a: Array, mode: str = "reduced") -> tuple[Array, Array]:
    q, r = calls.qr(a, calls.FULL_MATRICES * (mode == "complete"))
    return full(c.shape, c.dtype, 0) if mode == "r" else q, r


@lowers("aten._linalg_svd.default")
def _svd(c: Call, a: Array, full_matrices: bool = False, compute_uv: bool = True, *,
         driver: str | None = None) -> tuple[Array, ...]:
    if compute_uv:
        return calls.svd(a, calls.FULL_MATRICES * full_matrices | calls.INPUT_PRECISION)
    (du, u), _, (dv, v) = c.results
    return full(u, du, 0), calls.svdvals(a, calls.INPUT_PRECISION), full(v, dv, 0)


@lowers("aten._linalg_eigh.default")
def _eigh(c: Call, a: Array, UPLO: str = "L", compute_v: bool = True) -> tuple[Array, Array]:
    a = a if UPLO.upper() == "L" else _adjoint(a)
    if compute_v:
        return calls.eigh(a, calls.INPUT_PRECISION)
    dtype, shape = c.results[1]
    return calls.eigvalsh(a, calls.INPUT_PRECISION), full(shape, dtype, 0)


@lowers("aten.linalg_eig.default")
def _eig(c: Call, a: Array) -> tuple[Array, ...]:
    return tuple(cast(x, c.dtype) for x in calls.eig(a))


@lowers("aten._linalg_eigvals.default")
def _eigvals(c: Call, a: Array) -> Array:
    return cast(calls.eigvals(a), c.dtype)


@lowers("aten.geqrf.default")
def _geqrf(c: Call, a: Array) -> tuple[Array, Array]:
    return calls.geqrf(a)


@lowers("aten.linalg_householder_product.default")
def _householder(c: Call, a: Array, tau: Array) -> Array:
    return calls.householder_product(a, tau)


@lowers("aten.ormqr.default")
def _ormqr(c: Call, a: Array, tau: Array, other: Array, left: bool = True,
           transpose: bool = False) -> Array:
    flags = calls.ADJOINT * transpose | calls.FROM_RIGHT * (not left)
    return calls.ormqr(a, tau, other, flags)


@lowers("aten.linalg_matrix_exp.default")
def _matrix_exp(c: Call, a: Array) -> Array:
    return calls.expm(a)


# ---- triangles

def _triangular(a: Array, b: Array, upper: bool, flags: int = 0) -> Array:
    return calls.triangular_solve(a, b, calls.UPPER * upper | flags | NAN)


@lowers("aten.linalg_solve_triangular.default")
def _solve_triangular(c: Call, a: Array, b: Array, *, upper: bool, left: bool = True,
                      unitriangular: bool = False) -> Array:
    if 0 in c.shape:
        return full(c.shape, c.dtype, 0)
    flags = calls.UNIT_DIAGONAL * unitriangular | calls.FROM_RIGHT * (not left)
    return _triangular(a, b, upper, flags)


@lowers("aten.triangular_solve.default")
def _old_triangular(c: Call, b: Array, a: Array, upper: bool = True, transpose: bool = False,
                    unitriangular: bool = False) -> tuple[Array, Array]:
    flags = calls.UNIT_DIAGONAL * unitriangular | calls.TRANSPOSED * transpose
    copy = calls.copy(calls.expand(a, c.results[1][1]))
    if 0 in c.shape:
        return full(c.shape, c.dtype, 0), copy
    return _triangular(a, b, upper, flags), copy


@lowers("aten.cholesky_solve.default")
def _cholesky_solve(c: Call, b: Array, factor: Array, upper: bool = False) -> Array:
    if 0 in c.shape:
        return full(c.shape, c.dtype, 0)
    first = _triangular(factor, b, upper, calls.ADJOINT * upper)
    return _triangular(factor, first, upper, calls.ADJOINT * (not upper))


@lowers("aten.cholesky_inverse.default")
def _cholesky_inverse(c: Call, factor: Array, upper: bool = False) -> Array:
    inverse = calls.triangular_inv(factor, calls.UPPER * upper | NAN)
    other = _adjoint(inverse)
    return calls.matmul(inverse, other) if upper else calls.matmul(other, inverse)


# ---- pseudo-inverses

def _column(x: Array) -> Array:
    return calls.reshape(x, (*x.shape, 1), calls.MAY_COPY)


def _inverted(s: Array, a: Array, atol: Array | None, rtol: Array | None) -> Array:
    """1 over singular values, or eigenvalues, and 0 for those that count as 0; as a row."""
    zero, size = operand(0, s.dtype), calls.abs(s)
    least = zero if atol is None else cast(atol, s.dtype)
    if rtol is None:
        epsilon = 2.0 ** (-23 if s.dtype.bits == 32 else -52)
        usual = operand(max(a.shape[-2:]) * epsilon, s.dtype)
        rtol = usual if atol is None else calls.where(calls.cmpgt(least, zero), zero, usual)
    most = calls.reduce_max(size, [-1], calls.KEEPDIMS)
    least = calls.max(_column(least), calls.mul(_column(cast(rtol, s.dtype)), most))
    y = cast(calls.where(calls.cmpgt(size, least), calls.recip(s), zero), a.dtype)
    return calls.reshape(y, (*y.shape[:-1], 1, y.shape[-1]), calls.MAY_COPY)


@lowers("aten.linalg_pinv.atol_rtol_tensor")
def _pinv(c: Call, a: Array, *, atol: Array | None = None, rtol: Array | None = None,
          hermitian: bool = False) -> Array:
    if a.size == 0:
        return full(c.shape, c.dtype, 0)
    if hermitian:
        s, v = calls.eigh(a, calls.INPUT_PRECISION)
        return calls.matmul(calls.mul(v, _inverted(s, a, atol, rtol)), _adjoint(v))
    u, s, vh = calls.svd(a, calls.INPUT_PRECISION)
    return calls.matmul(calls.mul(_adjoint(vh), _inverted(s, a, atol, rtol)), _adjoint(u))
