# SPDX-License-Identifier: ISC
"""All public names of arrays, for `from ._namespace import *`: the array API standard 2024.12,
and what NumPy users expect besides."""

import math
from typing import Any

from . import _core, emath, fft, linalg, random, special
from . import _apply, _convolution, _creation, _dtypes, _elementwise, _files, _functions, _grids
from . import _histograms, _indexing, _manipulation, _methods, _more, _nan, _padding, _places
from . import _polynomials, _print, _products, _searching, _sharing, _statistics, _text, _warnings
from . import _ufuncs  # noqa: F401
from ._core import calls, devices, dump, realize, stats
from ._dtypes import __array_namespace_info__
from ._lib import AxisError

_CORE = ("Jit", "jit", *(
    name for name, found in vars(_core).items()
    if isinstance(found, type) and issubclass(found, _core.Error)))
_MODULES = (_dtypes, _creation, _elementwise, _manipulation, _searching, _histograms, _statistics,
            _convolution, _nan, _padding, _products, _polynomials, _places, _grids, _apply, _more,
            _files, _text, _functions, _print, _sharing, _warnings)

__array_api_version__ = "2024.12"
__version__ = _core.version

e = math.e
euler_gamma = 0.5772156649015329
inf = math.inf
nan = math.nan
ndarray = _core.Array
newaxis = None
pi = math.pi

__all__ = ["AxisError", "__array_api_version__", "__array_namespace_info__", "__version__", "calls",
           "devices", "dump", "e", "emath", "euler_gamma", "fft", "inf", "linalg", "nan", "ndarray",
           "newaxis", "pi", "random", "realize", "special", "stats"]


def _export() -> None:
    for name in _CORE:
        globals()[name] = getattr(_core, name)
        __all__.append(name)
    for module in _MODULES:
        for name in module.__all__:
            globals()[name] = getattr(module, name)
        __all__.extend(module.__all__)
    globals()["matrix_transpose"] = linalg.matrix_transpose


def _namespace(version: Any = None) -> Any:
    import nx

    if version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"there is no version {version!r} of the array API here")
    return nx


_export()
_core.hooks(getitem=_indexing.getitem, setitem=_indexing.setitem, repr=_print.array_repr,
            html=_print.array_html, namespace=_namespace, str=_print.array_str,
            attribute=_methods.attribute, names=_methods.names)
