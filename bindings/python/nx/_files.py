# SPDX-License-Identifier: ISC
"""Arrays in files. What is loaded is mapped into memory, and read when it is needed; what is saved
replaces a file when it is whole."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from . import _core
from ._core import Array, calls
from ._lib import arr, shape_of

__all__ = ["load", "load_metadata", "memmap", "save", "save_safetensors", "savez",
           "savez_compressed"]


def load(path: Any, /, names: Sequence[str] | None = None) -> Any:
    """The array of a .npy file, or the arrays, by their names, of a .npz or .safetensors file: all
    or some. They are read when they are needed; assigned, they get memory of their own."""
    if _magic(path) == b"\x93NUMPY":
        return _core.load_npy(path)
    return _core.load_archive(path, names)[0]


def _magic(path: Any) -> bytes:
    with open(path, "rb") as file:
        return file.read(6)


def load_metadata(path: Any, /) -> dict[str, str]:
    """The texts that a .safetensors file has beside its arrays."""
    return _core.load_archive(path, ())[1]


def save(path: Any, x: Any, /) -> None:
    """Computes an array and writes it as a .npy file."""
    _core.save_npy(arr(x), path)


def savez(path: Any, /, *unnamed: Any, **arrays: Any) -> None:
    """Computes arrays and writes them as a .npz file, not compressed. Those without names are
    called arr_0, arr_1, .."""
    _save_archive(path, unnamed, arrays, False)


def savez_compressed(path: Any, /, *unnamed: Any, **arrays: Any) -> None:
    """savez, compressed: such files are smaller, and cannot be mapped, but are read as a whole."""
    _save_archive(path, unnamed, arrays, True)


def _save_archive(path: Any, unnamed: Sequence[Any], arrays: Mapping[str, Any],
                  compressed: bool) -> None:
    import zipfile  # with all that it imports it would be a tenth of importing nx

    xs = {f"arr_{i}": arr(x) for i, x in enumerate(unnamed)}
    both = xs.keys() & arrays.keys()
    if both:
        raise ValueError(f"savez: {sorted(both)} are names of arrays without names, too")
    xs |= {name: arr(x) for name, x in arrays.items()}
    _core.realize(*xs.values())
    partial = f"{os.fspath(path)}.{os.getpid()}.part"
    try:
        method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
        with zipfile.ZipFile(partial, "w", method, allowZip64=True) as archive:
            for name, x in xs.items():
                _write_member(archive, name, x, partial)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)


def _write_member(archive: Any, name: str, x: Array, partial: str) -> None:
    member = f"{partial}.npy"
    try:
        _core.save_npy(x, member)
        archive.write(member, f"{name}.npy")
    finally:
        if os.path.exists(member):
            os.unlink(member)


def save_safetensors(path: Any, arrays: Mapping[str, Any], /,
                     metadata: Mapping[str, str] | None = None) -> None:
    """Computes arrays, in one run, and writes them, with texts, as a .safetensors file."""
    _core.save_safetensors(path, {name: arr(x) for name, x in arrays.items()},
                           dict(metadata or {}))


_MODES = {"r": "FILE_READ", "c": "FILE_PRIVATE", "r+": "FILE_SHARED", "w+": "FILE_SHARED"}


def memmap(path: Any, /, dtype: Any = "uint8", mode: str = "r", offset: int = 0,
           shape: Any = (-1,), order: str = "C") -> Array:
    """An array over a file without a header. mode: "r", not written; "c", writes stay out of the
    file; "r+", writes are in it; "w+", the same, and the file is made if it is not there. One
    extent may be -1. order "F": the first axis is the dense one."""
    if mode not in _MODES or order not in ("C", "F"):
        raise ValueError(f"memmap: there is no mode {mode!r} and order {order!r}")
    flags = calls.FILE_FORTRAN * (order == "F") | calls.FILE_CREATE * (mode == "w+")
    return _core.import_file(path, _core.dtype(dtype), shape_of(shape),
                             getattr(calls, _MODES[mode]), flags, offset)
