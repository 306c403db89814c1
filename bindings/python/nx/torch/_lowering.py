# SPDX-License-Identifier: ISC
"""The table of PyTorch's operations that have a form in nx, and what the functions in it share.

A lowering gets the arguments of a node of a graph, tensors as arrays, and gives arrays. What the
result must be is known from the graph (`Call.dtype`, `Call.shape`); the translator compares, and
a node whose result differs, or whose lowering raises `Unsupported`, runs in PyTorch instead."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KIND
from torch._prims_common import elementwise_dtypes

from .. import _core
from .._core import Array, DType, calls

NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
TO_NX: dict[torch.dtype, DType] = {getattr(torch, n): _core.dtypes[n] for n in NAMES}
TO_TORCH: dict[str, torch.dtype] = {n: getattr(torch, n) for n in NAMES}
BOOL = _core.dtypes["bool"]
INT64 = _core.dtypes["int64"]
UINT8 = _core.dtypes["uint8"]
FLOAT32 = _core.dtypes["float32"]
FLOAT64 = _core.dtypes["float64"]
SMALL = frozenset({"float16", "bfloat16"})

TABLE: dict[Any, Callable[..., Any]] = {}
LATE: dict[str, Callable[..., Any]] = {}  # of operations that PyTorch registers when it needs them


class Unsupported(Exception):
    """Why a node has no form in nx."""


class Call:
    """What the graph says of the result of a node: one tensor, or several."""

    def __init__(self, results: Sequence[Any], node: Any = None) -> None:
        self.node = node
        self.results = [(nx_dtype(r.dtype), tuple(r.shape)) if isinstance(r, torch.Tensor) else None
                        for r in results]

    @property
    def dtype(self) -> DType:
        return self.results[0][0]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.results[0][1]


def lowers(*names: str) -> Callable:
    """Enters a function in the table, for operations by their names: "aten.add.Tensor"."""

    def enter(f: Callable) -> Callable:
        for name in names:
            target = overload(name)
            if target is not None:
                TABLE[target] = f
        return f

    return enter


def lowering_of(target: Any) -> Callable[..., Any] | None:
    return TABLE[target] if target in TABLE else LATE.get(str(target))


def overload(name: str) -> Any:
    """The operation of a name; None where this PyTorch has none."""
    at: Any = torch.ops
    for part in name.split("."):
        at = getattr(at, part, None)
        if at is None:
            return None
    return at


def nx_dtype(of: torch.dtype) -> DType:
    if of not in TO_NX:
        raise Unsupported(f"nx has no {of}")
    return TO_NX[of]


# ---- devices

class Place:
    """The device that a graph is computed on: its number, and its name, in nx."""

    def __init__(self, device: torch.device) -> None:
        """ValueError: nx has no such device."""
        self.device, self.number = device, 0
        self.name = str(device) if device.type == "cuda" and device.index else device.type
        if self.is_gpu:
            self.number = [name for name, *_ in _core.devices()].index(self.name)

    @property
    def is_gpu(self) -> bool:
        return self.device.type == "cuda"

    def lifts(self, t: Any) -> bool:
        """Whether it is a number of the host among tensors of a GPU, as PyTorch allows."""
        return (self.is_gpu and isinstance(t, torch.Tensor) and t.ndim == 0
                and t.device.type == "cpu" and t.dtype in TO_NX)

    def __enter__(self) -> None:
        _OPEN.append(self)

    def __exit__(self, *_: Any) -> None:
        _OPEN.pop()


_OPEN = [Place(torch.device("cpu"))]  # what is made of no operands is made on the last of these


def constants(values: Sequence[Any], dtype: DType) -> Array:
    return _core.array(values, dtype=dtype, device=_OPEN[-1].name)


# ---- operands

def full(shape: Sequence[int], dtype: DType, value: Any) -> Array:
    return calls.full(_OPEN[-1].number, dtype, shape, value)


def arange(dtype: DType, start: Any, step: Any, n: int) -> Array:
    return calls.arange(_OPEN[-1].number, dtype, start, step, n)


def cast(x: Array, dtype: DType) -> Array:
    return x if x.dtype == dtype else calls.cast(x, dtype)


def in_line(x: Array) -> Array:
    """The elements in one line, in C order."""
    return calls.reshape(x, (x.size,), calls.MAY_COPY)


def operand(x: Any, dtype: DType) -> Array:
    """An array or a number in a dtype."""
    if isinstance(x, Array):
        return cast(x, dtype)
    if dtype.kind in "iu" and isinstance(x, float):
        x = int(x)
    return full((), dtype, x)


_METAS: dict[tuple[str, bool], torch.Tensor] = {}


def _meta(x: Any) -> Any:
    if not isinstance(x, Array):
        return x
    key = (x.dtype.name, x.ndim > 0)
    if key not in _METAS:
        shape = (1,) if key[1] else ()
        _METAS[key] = torch.empty(shape, dtype=TO_TORCH[key[0]], device="meta")
    return _METAS[key]


def common(kind: KIND, *operands: Any) -> DType:
    """The dtype that PyTorch computes in. Small floats with a number of Python among the operands
    are computed in float32, as the number is not rounded to the small dtype then."""
    given = [_meta(x) for x in operands if x is not None]
    compute, result = elementwise_dtypes(*given, type_promotion_kind=kind)
    numbers = any(not isinstance(x, Array) for x in operands)
    if not numbers and kind is not KIND.ALWAYS_BOOL and result.is_floating_point:
        compute = result
    return nx_dtype(compute)


def both(first: Array, *rest: Array) -> Array:
    """Whether all of them are true."""
    for x in rest:
        first = getattr(calls, "and")(first, x)
    return first


def same_rank(x: Array, rank: int) -> Array:
    """With leading axes of extent 1 up to that rank."""
    return calls.reshape(x, (1,) * (rank - x.ndim) + x.shape) if x.ndim < rank else x


def axis_of(dim: int, rank: int) -> int:
    return dim + rank if dim < 0 else dim


def axes_of(dims: Any, rank: int) -> list[int]:
    """The axes of a list that is None or empty for all; a number is an axis."""
    if isinstance(dims, int):
        dims = [dims]
    if rank == 0 or dims is None or len(dims) == 0:
        return list(range(rank))
    return [axis_of(d, rank) for d in dims]


def refuse(condition: bool, why: str) -> None:
    if condition:
        raise Unsupported(why)


def pairs(of: Any, n: int) -> list[int]:
    """A list of n entries of a number, or of a list of one or n."""
    given = [of] if isinstance(of, int) else list(of)
    return given * n if len(given) == 1 else given
