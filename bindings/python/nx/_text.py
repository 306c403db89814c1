# SPDX-License-Identifier: ISC
"""Arrays as text and from text, by the interpreter: columns in files, numbers in strings."""

from __future__ import annotations

import io
import operator
import os
import re
from typing import Any, Callable, Iterator

from . import _core
from ._core import Array, DType
from ._lib import arr, reshaped

__all__ = ["array2string", "base_repr", "binary_repr", "fromfile", "fromregex", "fromstring",
           "genfromtxt", "loadtxt", "savetxt"]


# ---- lines of a file


def _opener(path: Any) -> Callable[..., Any]:
    """What opens a file, which is unpacked if its name says so."""
    if not os.fspath(path).endswith(".gz"):
        return open
    from gzip import open as unpacked

    return unpacked


def _lines(source: Any, encoding: str | None) -> Iterator[str]:
    """The lines of a path (.gz is unpacked), of an open file, or of a list, as text."""
    if isinstance(source, (str, os.PathLike)):
        opener = _opener(source)
        with opener(source, "rt", encoding=encoding or "utf-8") as file:
            yield from file
        return
    for line in source:
        yield line.decode(encoding or "utf-8") if isinstance(line, bytes) else line


def _texts(given: Any) -> list[str]:
    if given is None:
        return []
    given = [given] if isinstance(given, (str, bytes)) else given
    return [g.decode() if isinstance(g, bytes) else g for g in given]


def _cut(line: str, comments: list[str]) -> str:
    for mark in comments:
        line = line.split(mark, 1)[0]
    return line.strip("\r\n")


def _number(dtype: DType) -> Callable[[str], Any]:
    """What makes a value of a dtype from a text."""
    if dtype.kind == "f":
        return float
    if dtype.kind == "c":
        return lambda text: complex(text.strip().replace("+-", "-"))
    if dtype.kind == "b":
        return lambda text: bool(int(text))
    return int


def _of_values(rows: list, dtype: DType) -> Array:
    """Rows of numbers as an array; numbers that the dtype lacks are OverflowError."""
    return _core.array(rows, dtype) if rows else _core.empty((0,), dtype)


def _shaped(rows: list, width: int, dtype: DType, ndmin: int, unpack: bool) -> Any:
    """As NumPy: without axes of extent 1, but ndmin of them at least; unpack: columns."""
    if ndmin not in (0, 1, 2):
        raise ValueError(f"ndmin is 0, 1 or 2, not {ndmin}")
    x = _of_values(rows, dtype)
    if rows and x.ndim == 2 and ndmin < 2 and (x.shape[0] == 1 or x.shape[1] == 1):
        x = reshaped(x, [n for n in x.shape if n != 1])
    if x.ndim < ndmin:
        if ndmin == 1:
            x = reshaped(x, (1,))
        else:
            x = reshaped(x, (x.size, width if not rows else 1) if rows else (0, max(width, 1)))
    return x.T if unpack else x


# ---- columns


def loadtxt(fname: Any, /, dtype: Any = float, comments: Any = "#", delimiter: str | None = None,
            converters: Any = None, skiprows: int = 0, usecols: Any = None, unpack: bool = False,
            ndmin: int = 0, encoding: str | None = None, max_rows: int | None = None, *,
            quotechar: str | None = None) -> Any:
    """The numbers of a text with the same number of columns in each line. As NumPy's; the dtype is
    one of an array, not of records."""
    found = _core.dtype(dtype)
    if quotechar is not None:
        raise ValueError("loadtxt: quoted fields are not read")
    rows: list = []
    marks, width = _texts(comments), 0
    for number, line in enumerate(_lines(fname, encoding), 1):
        if max_rows is not None and len(rows) >= max_rows:
            break
        line = _cut(line, marks)
        if number <= skiprows or not line.strip():
            continue
        fields = line.split(delimiter)
        if not rows:
            width = len(fields)
        elif len(fields) != width and usecols is None:
            raise ValueError(f"loadtxt: the number of columns changes from {width} to "
                             f"{len(fields)} at line {number}; usecols chooses some")
        rows.append(_row(fields, usecols, converters, found, number))
    return _shaped(rows, width, found, ndmin, unpack)


def _columns(usecols: Any, n: int, number: int) -> list[int]:
    wanted = [usecols] if isinstance(usecols, int) else list(usecols)
    for c in wanted:
        if not -n <= c < n:
            raise ValueError(f"line {number} has {n} columns, and no column {c}")
    return [c % n for c in wanted]


def _row(fields: list[str], usecols: Any, converters: Any, dtype: DType, number: int) -> list:
    n = len(fields)
    places = range(n) if usecols is None else _columns(usecols, n, number)
    if isinstance(converters, dict):
        own = {c % n: f for c, f in converters.items()}
    else:
        own = {c: converters for c in places} if callable(converters) else {}
    row = []
    for c in places:
        try:
            row.append(own[c](fields[c]) if c in own else _number(dtype)(fields[c].strip()))
        except ValueError as e:
            raise ValueError(f"line {number}, column {c + 1}: {fields[c].strip()!r} is not "
                             f"a number of dtype {dtype.name}") from e
    return row


def genfromtxt(fname: Any, /, dtype: Any = float, comments: Any = "#",
               delimiter: Any = None, skip_header: int = 0, skip_footer: int = 0,
               converters: Any = None, missing_values: Any = None, filling_values: Any = None,
               usecols: Any = None, *, unpack: bool = False, max_rows: int | None = None,
               encoding: str | None = None, ndmin: int = 0, invalid_raise: bool = True) -> Any:
    """As loadtxt, but fields that are missing, or no numbers, become filling_values: NaN of floats,
    -1 of integers, False of bools. delimiter: also a width of all fields, or a list of widths."""
    found = _core.dtype(dtype)
    fill = _filling(filling_values, found)
    marks, missing = _texts(comments), set(_texts(missing_values))
    lines = [_cut(line, marks) for line in list(_lines(fname, encoding))[skip_header:]]
    lines = lines[: len(lines) - skip_footer] if skip_footer else lines
    parts = [_fields(line, delimiter) for line in lines if line.strip()][:max_rows]
    width = len(parts[0]) if parts else 0
    bad = [i for i, p in enumerate(parts) if len(p) != width]
    if bad and invalid_raise:
        raise ValueError(f"genfromtxt: line {bad[0] + 1} of the data has {len(parts[bad[0]])} "
                         f"columns, not {width}")
    own = {c % width: f for c, f in converters.items()} if converters and width else {}
    rows = []
    for number, p in enumerate(parts, 1):
        if len(p) == width:
            places = range(width) if usecols is None else _columns(usecols, width, number)
            rows.append([own[c](p[c]) if c in own else _lenient(p[c], found, missing, fill)
                         for c in places])
    return _shaped(rows, width, found, ndmin, unpack)


def _filling(given: Any, dtype: DType) -> Any:
    if given is not None:
        if isinstance(given, (dict, list, tuple)):
            raise TypeError("genfromtxt: filling_values is one number for all columns")
        return given
    return {"f": float("nan"), "c": complex("nan"), "b": False}.get(dtype.kind, -1)


def _fields(line: str, delimiter: Any) -> list[str]:
    if isinstance(delimiter, int):
        return [line[i : i + delimiter] for i in range(0, len(line), delimiter)]
    if isinstance(delimiter, (list, tuple)):
        ends = [sum(delimiter[: i + 1]) for i in range(len(delimiter))]
        return [line[e - n : e] for e, n in zip(ends, delimiter)]
    return line.split(delimiter)


def _lenient(text: str, dtype: DType, missing: set, fill: Any) -> Any:
    text = text.strip()
    if not text or text in missing:
        return fill
    try:
        return _number(dtype)(text)
    except ValueError:
        return fill


def savetxt(fname: Any, x: Any, /, fmt: Any = "%.18e", delimiter: str = " ", newline: str = "\n",
            header: str = "", footer: str = "", comments: str = "# ",
            encoding: str | None = None) -> None:
    """Computes an array of one or two dimensions and writes its rows as text. fmt: a format for all
    numbers, for each column one, or one for whole rows."""
    x = arr(x)
    if x.ndim not in (1, 2):
        raise ValueError(f"savetxt: rows and columns are needed, not {x.ndim} dimensions")
    width = 1 if x.ndim == 1 else x.shape[1]
    line = _format(fmt, width, x.dtype.kind == "c", delimiter) + newline
    rows = [[v] for v in x.tolist()] if x.ndim == 1 else x.tolist()
    text = io.StringIO()
    text.write(_commented(header, comments, newline))
    for row in rows:
        if x.dtype.kind == "c":
            row = [part for v in row for part in (v.real, v.imag)]
        try:
            text.write(line % tuple(row))
        except TypeError as e:
            raise TypeError(f"savetxt: the format {line!r} does not fit a row of {x.dtype.name}"
                            ) from e
    text.write(_commented(footer, comments, newline))
    if x.dtype.kind == "c":
        whole = text.getvalue().replace("+-", "-")
    else:
        whole = text.getvalue()
    _write_text(fname, whole, encoding)


def _commented(text: str, comments: str, newline: str) -> str:
    return comments + text.replace("\n", "\n" + comments) + newline if text else ""


def _format(fmt: Any, width: int, is_complex: bool, delimiter: str) -> str:
    """The format of a row; of complex numbers, real and imaginary parts follow each other."""
    if isinstance(fmt, (list, tuple)):
        if len(fmt) != width:
            raise AttributeError(f"savetxt: {len(fmt)} formats for {width} columns")
        return delimiter.join(fmt)
    if not isinstance(fmt, str):
        raise ValueError(f"savetxt: {fmt!r} is no format")
    count = fmt.replace("%%", "").count("%")
    if count == 1:
        one = f" ({fmt}+{fmt}j)" if is_complex else fmt
        return delimiter.join([one] * width)
    if count != width * (1 + is_complex):
        raise ValueError(f"savetxt: the format {fmt!r} has {count} numbers for {width} columns")
    return fmt


def _write_text(fname: Any, text: str, encoding: str | None) -> None:
    if isinstance(fname, (str, os.PathLike)):
        opener = _opener(fname)
        with opener(fname, "wt", encoding=encoding or "latin1", newline="") as file:
            file.write(text)
        return
    try:
        fname.write(text)
    except TypeError:
        fname.write(text.encode(encoding or "latin1"))


# ---- numbers in a row


def fromstring(string: str, /, dtype: Any = float, count: int = -1, *, sep: str) -> Array:
    """The numbers of a text between separators; of whitespace any amount counts."""
    found = _core.dtype(dtype)
    if sep == "":
        raise ValueError("fromstring: bytes are for frombuffer")
    parts = string.split() if not sep.strip() else [p.strip() for p in string.split(sep.strip())]
    if parts and not parts[-1]:
        parts.pop()
    if count >= 0:
        if len(parts) < count:
            raise ValueError(f"fromstring: {len(parts)} numbers, not {count}")
        parts = parts[:count]
    try:
        return _of_values([_number(found)(p) for p in parts], found)
    except ValueError as e:
        raise ValueError(f"fromstring: the text is not numbers of dtype {found.name} between "
                         f"{sep!r}: {e}") from e


def fromfile(file: Any, /, dtype: Any = float, count: int = -1, sep: str = "",
             offset: int = 0) -> Array:
    """The elements in a file without a header: its bytes, or, with a separator, its text."""
    found = _core.dtype(dtype)
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            return fromfile(opened, found, count, sep, offset)
    if sep:
        if offset:
            raise TypeError("fromfile: an offset is for files of bytes")
        return fromstring(file.read().decode(), found, count, sep=sep)
    from ._more import frombuffer

    file.seek(offset, os.SEEK_CUR)
    data = file.read() if count < 0 else file.read(count * found.itemsize)
    data = data[: len(data) // found.itemsize * found.itemsize]
    return frombuffer(bytearray(data), found) if data else _core.empty((0,), found)


def fromregex(file: Any, regexp: Any, dtype: Any, /, encoding: str | None = None) -> Array:
    """The numbers that a regular expression finds in a text: of one group a vector, of several one
    row for each place where it fits."""
    found = _core.dtype(dtype)
    text = "".join(_lines(file, encoding))
    pattern = re.compile(regexp if isinstance(regexp, str) else getattr(
        regexp, "pattern", regexp))
    rows = pattern.findall(text)
    number = _number(found)
    values = [[number(v) for v in r] if isinstance(r, tuple) else number(r) for r in rows]
    return _of_values(values, found)


# ---- one number or array as text


def array2string(x: Any, /, max_line_width: int | None = None, precision: int | None = None,
                 suppress_small: bool | None = None, separator: str = " ", *,
                 threshold: int | None = None, edgeitems: int | None = None) -> str:
    """str(x) with other options."""
    from ._print import _body, printoptions

    options = {"linewidth": max_line_width, "precision": precision, "suppress": suppress_small,
               "threshold": threshold, "edgeitems": edgeitems}
    with printoptions(**{k: v for k, v in options.items() if v is not None}):
        return _body(arr(x), 0, separator)


def base_repr(number: int, base: int = 2, padding: int = 0) -> str:
    """An integer in a base from 2 to 36, with zeros in front."""
    if not 2 <= base <= 36:
        raise ValueError(f"base_repr: {base} is not a base from 2 to 36")
    number = operator.index(number)
    digits, n = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", abs(number)
    text = ""
    while n:
        n, d = divmod(n, base)
        text = digits[d] + text
    text = "0" * padding + text
    return ("-" if number < 0 else "") + (text or "0")


def binary_repr(num: int, width: int | None = None) -> str:
    """An integer in base 2; a negative one, with a width, as its two's complement."""
    num = operator.index(num)
    if width is None:
        return f"-{-num:b}" if num < 0 else f"{num:b}"
    least = len(f"{num:b}") if num > 0 else len(f"{-num - 1:b}") + 1 if num < 0 else 1
    if num < -1 and least > width or num >= 0 and least > width:
        raise ValueError(f"binary_repr: {num} needs {least} digits, not {width}")
    return f"{num & ((1 << width) - 1):0{width}b}"
