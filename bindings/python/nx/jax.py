# SPDX-License-Identifier: ISC
"""JAX's way to the plugin: JAX calls `initialize` of each installed plugin when it first looks for
devices. `JAX_PLATFORMS=nx` chooses this one."""

from pathlib import Path

__all__ = ["initialize", "skip_keys"]


def initialize() -> None:
    """Tells JAX of the platform nx. Nothing is loaded before a device of it is asked for."""
    from jax._src import xla_bridge

    from . import callbacks, programs

    library = Path(__file__).resolve().parent / "lib" / "libnx_pjrt.so"
    xla_bridge.register_plugin("nx", priority=PRIORITY, library_path=str(library), options=None)
    callbacks.install(library)
    programs.install(library)
    skip_keys()


def skip_keys() -> None:
    """Has JAX make no key of a program that is compiled for nx while there is no cache to look it
    up in. A key is the hash of the program's bytes, constants among them, which JAX has MLIR write
    for that purpose alone: with constants of 19 MB it takes a third of the time to the first step.
    Programs for other platforms, and all programs once a directory is set, have their keys."""
    from jax._src import compiler

    original = getattr(compiler, "_get_cache_key", None)  # not there in some other JAX: no matter
    if original is not None and not hasattr(original, "nx_skips"):
        compiler._get_cache_key = _without_cache(original)


def _without_cache(original):
    from jax._src import compilation_cache, config

    from . import callbacks

    def get_cache_key(options, backend, *arguments, **named):
        cache = getattr(compilation_cache, "_cache", True)
        if cache is None and not config.compilation_cache_dir.value and callbacks.is_nx(backend):
            return None
        return original(options, backend, *arguments, **named)

    get_cache_key.nx_skips = True
    return get_cache_key


# Below that of JAX's own CPU backend (0), which stays the default where none is chosen.
PRIORITY = -1
