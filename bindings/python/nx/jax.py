# SPDX-License-Identifier: ISC
"""JAX's way to the plugin: JAX calls `initialize` of each installed plugin when it first looks for
devices. `JAX_PLATFORMS=nx` chooses this one."""

from pathlib import Path

__all__ = ["initialize"]


def initialize() -> None:
    """Tells JAX of the platform nx. Nothing is loaded before a device of it is asked for."""
    from jax._src import xla_bridge

    from . import callbacks

    library = Path(__file__).resolve().parent / "lib" / "libnx_pjrt.so"
    xla_bridge.register_plugin("nx", priority=PRIORITY, library_path=str(library), options=None)
    callbacks.install(library)


# Below that of JAX's own CPU backend (0), which stays the default where none is chosen.
PRIORITY = -1
