# SPDX-License-Identifier: ISC
"""nx: arrays as NumPy's, over a compiler.

    import nx
    x = nx.linspace(0, 1, 1000)
    print(nx.sum(x * x))

Operations are recorded, and computed together when a value is asked for: by printing, float(x),
x.tolist(), memoryview(x), or nx.realize(x). The functions are those of the Python array API
standard, and NumPy's names besides; nx.linalg, nx.fft, nx.random and nx.special have more.

`nx.include()` is the folder of the C headers, `nx.library()` the shared library. `nx.jax` is JAX's
way to the plugin; it needs nothing of the rest.
"""

from importlib import import_module
from os import path as _path
from sys import version_info

__all__ = ["include", "library"]

_HERE = _path.dirname(_path.realpath(__file__))


def include() -> str:
    """The folder that holds nx/nx.h, for -I."""
    return _path.join(_HERE, "include")


def library() -> str:
    """The shared library; its folder is for -L, with -lnx."""
    return _path.join(_HERE, "lib", "libnx.so")


def _why_not(reason: BaseException):
    """What stands for the names of arrays where their extension cannot be loaded: an error with
    the reason, when one is used."""

    def __getattr__(name):
        if name.startswith("__") or name in ("jax", "callbacks", "programs"):
            raise AttributeError(f"module 'nx' has no attribute {name!r}")
        raise AttributeError(f"nx.{name}: arrays are not available here: {reason}")

    return __getattr__


try:
    if version_info < (3, 11):
        raise ImportError("they need Python 3.11 or newer")
    import_module("._core", __name__)
except ImportError as _e:
    __getattr__ = _why_not(_e)
else:
    from ._namespace import *  # noqa: F403
    from ._namespace import __all__ as _names

    __all__ += _names

    # Names that NumPy has, or had, and that are called otherwise here.
    _OTHERWISE = {"trapz": "trapezoid", "in1d": "isin", "row_stack": "vstack", "bool_": "bool",
                  "msort": "sort", "product": "prod", "sometrue": "any", "alltrue": "all",
                  "float_": "float64", "int_": "int64", "complex_": "complex128",
                  "double": "float64", "single": "float32", "rollaxis": "moveaxis",
                  "vectorize": "custom"}

    def __getattr__(name):
        from difflib import get_close_matches

        near = [] if name.startswith("_") else get_close_matches(name, _names, 1)
        near = [_OTHERWISE[name]] if name in _OTHERWISE else near
        raise AttributeError(f"module 'nx' has no attribute {name!r}"
                             + (f"; there is nx.{near[0]}" if near else ""))
