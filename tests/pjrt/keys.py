# SPDX-License-Identifier: ISC
"""JAX makes keys of programs for nx only while there is a cache. Usage: keys.py LIBRARY; see
with_jax.py."""

import os
import tempfile

import with_jax


def run(library):
    import jax
    import nx.jax
    from jax._src import cache_key

    made = []
    original = cache_key.get
    cache_key.get = lambda module, *a, **k: made.append(module) or original(module, *a, **k)

    def keys(function, platform="nx"):
        made.clear()
        x = jax.device_put(3.0, jax.devices(platform)[0])
        low = jax.jit(function).lower(x)
        made.clear()
        assert float(low.compile()(x)) == function(3.0)
        return len(made)

    assert keys(lambda x: x + 1) == 1, "JAX no longer makes a key of each program"
    nx.jax.skip_keys()
    nx.jax.skip_keys()  # once is enough
    assert keys(lambda x: x + 2) == 0
    assert keys(lambda x: x + 3, "cpu") == 1
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        assert keys(lambda x: x + 4) == 1
        assert any(name.endswith("-cache") for name in os.listdir(folder))
        assert keys(lambda x: x + 4) == 1  # found
        assert keys(lambda x: x + 5, "cpu") == 1


if __name__ == "__main__":
    with_jax.begin(run)
