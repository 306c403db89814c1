# SPDX-License-Identifier: ISC
"""JAX gives programs to nx as text, with the same results as the other way. Usage: handed_over.py
LIBRARY; see with_jax.py."""

import gc
import time

import with_jax


def programs():
    """Each with whether it is handed over."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    random = np.random.default_rng(1)
    kinds = "float32", "int8", "uint32", "float16"
    large = [jnp.asarray(random.normal(size=(40, 50)) * 9, t) for t in kinds]
    halves = jnp.asarray(large[0], jnp.bfloat16)
    mask = jnp.asarray(random.normal(size=(40, 50)) > 0)
    x = jnp.asarray(random.normal(size=(40, 50)), jnp.float32)
    table = np.asarray(random.normal(size=2000), np.float32)

    yield "simple", lambda x: jnp.tanh(x) + 1, True
    yield "constants", lambda x: [x * jnp.sum(c) + c.astype(jnp.float32) for c in large], True
    yield "booleans", lambda x: jnp.where(mask, x, 0), False
    yield "bfloat16", lambda x: x + halves, False  # which Python's buffers have not
    yield "a loop", lambda x: jax.lax.fori_loop(0, 5, lambda i, v: v * 0.9 + large[0], x), True
    yield "a table", lambda x: jax.lax.cond(x[0, 0] > 0, lambda v: v + table[0],
                                            lambda v: v - jnp.asarray(table)[:50], x), True
    yield "of CHLO", lambda x: jax.scipy.special.erfc(x) + jax.lax.lgamma(x) * jnp.tan(x), True
    yield "of CHLO, complex", lambda x: [jnp.sinh(x), jnp.sinh(jax.lax.complex(x, -x))], True
    yield "squares", lambda x: jnp.square(x) + jnp.square(jax.lax.complex(x, -x)).imag, True
    yield "the largest", lambda x: jax.lax.top_k(x, 3), True
    yield "the largest of others", lambda x: [jax.lax.top_k(v, 3) for v in large], True
    yield "high words", lambda x: jax.lax.mulhi(large[2], large[2] + jnp.uint32(2**31)), True
    yield "a sort", lambda x: jnp.sort(x, axis=1)[:, ::-1], True
    yield "a call", lambda x: jax.jit(lambda v: v @ v.T)(x) - large[0][:, :40], True
    yield "a gradient", jax.grad(lambda x: jnp.sum(jnp.sin(x) * large[0])), True
    yield "factors", lambda x: (jnp.linalg.svd(x), jnp.linalg.slogdet(x[:, :40])), True
    shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("a, b"), jnp.float32)
    exported = jax.export.export(jax.jit(lambda x: x * 2 + x.shape[0]))(shape)
    yield "an export of any shape", exported.call, True
    yield "Python", lambda x: jax.pure_callback(lambda v: v, x, x), False


def run(library):
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax._src import compiler
    from jax.experimental import serialize_executable
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    from nx import callbacks, programs as ours

    callbacks.install(library)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(40, 50)), jnp.float32)
    went = []
    original = compiler.backend_compile_and_load
    compiler.backend_compile_and_load = lambda *a: went.append(1) or original(*a)
    ours.install(library)
    ours.install(library)  # once is enough
    directly = ours._handed_over
    ours._handed_over = None
    wanted = [jax.tree.leaves(jax.jit(f)(x)) for _, f, _ in programs()]
    ours._handed_over = directly
    jax.clear_caches()

    def compiled(function, *arguments):
        lowered = jax.jit(function).lower(*arguments)
        went.clear()
        return lowered.compile(), not went

    for (name, function, direct), want in zip(programs(), wanted):
        made, given = compiled(function, x)
        assert given == direct, f"{name}: {given}"
        for got, value in zip(jax.tree.leaves(made(x)), want):
            assert np.array_equal(np.asarray(got), np.asarray(value), equal_nan=True), name

    constant = jnp.arange(3000.0) ** 2
    made, given = compiled(lambda v: v + constant, constant)
    assert given and float(made(constant)[3]) == 18
    assert "stablehlo.add" in made.as_text() or "add(" in made.as_text()
    stored = serialize_executable.serialize(made)
    again = serialize_executable.deserialize_and_load(*stored, execution_devices=jax.devices()[:1])
    assert float(again(constant)[2999]) == 2 * 2999.0**2
    assert ours._lent and all(number.value == 1 for number, _ in ours._lent)
    del made, again, stored
    jax.clear_caches()
    for _ in range(200):  # threads of the plugin may still hold what they computed last
        gc.collect()
        if not ours._lent:
            break
        time.sleep(0.01)
    assert not ours._lent, "constants stay lent"

    mesh = Mesh(np.array(jax.devices("nx")[:2]), "i")
    parts = jax.device_put(x, NamedSharding(mesh, PartitionSpec("i")))
    made, given = compiled(lambda v: v * 2, parts)
    assert not given and np.array_equal(made(parts), x * 2)

    assert compiled(lambda v: v + 1, jax.device_put(1.0, jax.devices("cpu")[0]))[1] is False
    second = jax.device_put(3.0, jax.devices("nx")[1])
    made, given = compiled(lambda v: v + 1, second)
    assert given and float(made(second)) == 4
    assert made(second).devices() == second.devices()


if __name__ == "__main__":
    with_jax.begin(run, devices=2)
