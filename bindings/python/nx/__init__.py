# SPDX-License-Identifier: ISC
"""Where the library nx is that was installed with this package.

`nx.include()` is the folder of its C headers, `nx.library()` the shared library. Importing this
package loads nothing.
"""

from pathlib import Path

__all__ = ["include", "library"]

_HERE = Path(__file__).resolve().parent


def include() -> str:
    """The folder that holds nx/nx.h, for -I."""
    return str(_HERE / "include")


def library() -> str:
    """The shared library; its folder is for -L, with -lnx."""
    return str(_HERE / "lib" / "libnx.so")
