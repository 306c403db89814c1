# SPDX-License-Identifier: ISC
"""Functions of Python in JAX programs on the plugin: values, order, exceptions, transformations and
lifetimes. Usage: callbacks.py LIBRARY [cpu]; see with_jax.py. With `cpu` JAX's own backend is
there, too, and gets the operands of each call."""

import gc
import os
import weakref

import with_jax


def run(library):
    import nx.callbacks

    nx.callbacks.install(library)
    for name, case in list(globals().items()):
        if name.startswith("case_"):
            print(name, flush=True)
            case()
    import jax
    import jax.numpy as jnp

    def last(x):
        jax.debug.print("the last line {}", x)
        return x

    jax.jit(last)(jnp.int32(9))


def seen_by(f, *args):
    """What a function that gets a list to append to has appended when all has run."""
    import jax

    seen = []
    jax.block_until_ready(f(seen, *args))
    jax.effects_barrier()
    return seen


def case_many():
    """More operands and results than an operation has are packed."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    types = [np.float32, np.bool_, np.int8, jnp.bfloat16, np.complex64, jnp.int4, np.uint16]
    xs = [np.arange(i % 4).astype(types[i % 7]) for i in range(20)]
    out = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in xs[::-1]]
    ys = jax.jit(lambda *xs: jax.pure_callback(lambda *xs: xs[::-1], out, *xs))(*xs)
    assert all(np.array_equal(y, x) and y.dtype == x.dtype for x, y in zip(xs[::-1], ys))
    total = jax.ShapeDtypeStruct((), np.float32)
    add = lambda *xs: np.float32(sum(np.sum(x.real, dtype=np.float32) for x in xs))
    y = jax.jit(lambda *xs: jax.pure_callback(add, total, *xs))(*xs[:16])
    assert y == add(*xs[:16]), y
    ys = jax.jit(lambda x: jax.pure_callback(lambda x: [x + i for i in range(17)], [total] * 17, x))
    assert [float(y) for y in ys(np.float32(3))] == [3.0 + i for i in range(17)]
    seen = seen_by(lambda seen: jax.jit(lambda *xs: jax.debug.callback(
        lambda *xs: seen.append(xs), *xs))(*xs))
    assert all(np.array_equal(x, y) for x, y in zip(xs, seen[0]))


def case_sharding():
    import jax
    import numpy as np

    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("d",))
    put = jax.device_put(np.arange(8.0), jax.NamedSharding(mesh, jax.P("d")))
    seen = []
    f = jax.jit(lambda x: (jax.debug.inspect_array_sharding(x, callback=seen.append), x)[1])
    f(put)
    f(np.arange(3.0))
    assert len(seen) == 2, seen
    # results are divided as what they are made of element by element
    g = jax.jit(lambda x: (jax.jit(lambda a: 2 * a)(x) + x[0], x.reshape(1, 8).T, x.sum()))
    p, q, t = g(put)
    assert p.sharding == put.sharding and t.sharding.is_fully_replicated, (p.sharding, t.sharding)
    assert np.array_equal(p, 2 * np.arange(8.0)) and q.shape == (8, 1) and t == 28
    assert jax.jit(lambda x: x + 1, in_shardings=put.sharding)(p)[3] == 7
    square = jax.device_put(np.arange(16.0).reshape(8, 2), jax.NamedSharding(mesh, jax.P("d")))
    r = jax.jit(lambda x: -x.T)(square)
    assert r.sharding.spec == jax.P(None, "d") and r[1, 3] == -7, r.sharding
    assert seen[0].is_fully_replicated and len(seen[0].device_set) == len(jax.devices()), seen


def case_clients():
    import jax
    import nx.callbacks

    class Client:
        def __init__(self, version):
            self.platform_version = version

    # as JAX 0.10 gives it, and JAX 0.11.2
    for ours in ("PJRT C API\nnx 0.2.0", "nx 0.2.0"):
        assert nx.callbacks.is_nx(Client(ours)), ours
    for other in ("PJRT C API\ncuda 13000", "<unknown>", ""):
        assert not nx.callbacks.is_nx(Client(other)), other
    assert nx.callbacks.is_nx(jax.devices("nx")[0].client)


def case_solve():
    """JAX calls SciPy for it, by the name that callbacks have for others."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental.sparse import linalg

    try:
        import scipy  # noqa: F401
    except ImportError:
        return
    data, places = jnp.array([2.0, 1.0, 4.0]), jnp.array([0, 1, 2])
    solve = jax.jit(lambda b: linalg.spsolve(data, places, jnp.arange(4), b))
    assert np.allclose(solve(jnp.array([2.0, 3.0, 8.0])), [1, 3, 2])


def case_values():
    import jax
    import jax.numpy as jnp
    import numpy as np

    types = [np.float32, jnp.bfloat16, jnp.int4, jnp.uint4, np.int8, np.uint32, np.bool_]
    for dtype in [*types, np.complex64, jnp.float4_e2m1fn]:
        x = np.array([[0, 1, 2], [3, 4, 6]]).astype(dtype)
        out = jax.ShapeDtypeStruct((3, 2), dtype)
        y = jax.jit(lambda x, out=out: jax.pure_callback(lambda a: np.asarray(a).T, out, x))(x)
        assert np.array_equal(np.asarray(y), x.T), dtype
    none = jax.ShapeDtypeStruct((0, 2), np.float32)
    y = jax.jit(lambda x: jax.pure_callback(lambda a: a, none, x))(np.zeros((0, 2), np.float32))
    assert y.shape == (0, 2)
    key = jax.random.key(3)
    seen = seen_by(lambda seen: jax.jit(lambda k: jax.debug.callback(seen.append, k))(key))
    assert len(seen) == 1, seen
    # eager, and with a tree of operands and results
    pair = (jax.ShapeDtypeStruct((), np.float32), {"s": jax.ShapeDtypeStruct((2,), np.int32)})
    a, b = jax.pure_callback(lambda t: (t["x"] + 1, {"s": t["y"] * 2}), pair,
                             {"x": np.float32(3), "y": np.arange(2, dtype=np.int32)})  # fmt: skip
    assert a == 4 and list(b["s"]) == [0, 2]


def case_order():
    import jax
    import jax.numpy as jnp
    from jax.experimental import io_callback

    def ordered(seen, x):
        @jax.jit
        def f(x):
            def step(i, x):
                io_callback(lambda i, x: seen.append((int(i), float(x))), None, i, x, ordered=True)
                return x + 1

            x = jax.lax.fori_loop(0, 4, step, x)
            io_callback(lambda x: seen.append(("end", float(x))), None, x, ordered=True)
            return x

        return f(x), f(x + 10)

    want = [(i, float(i)) for i in range(4)] + [("end", 4.0)]
    want += [(i, 10.0 + i) for i in range(4)] + [("end", 14.0)]
    assert seen_by(ordered, jnp.float32(0)) == want


def case_control():
    import jax
    import jax.numpy as jnp

    def scanned(seen):
        def step(c, x):
            jax.debug.callback(lambda c: seen.append(float(c)), c)
            return c + x, c

        return jax.jit(lambda xs: jax.lax.scan(step, 0.0, xs))(jnp.arange(4.0))

    assert sorted(seen_by(scanned)) == [0, 0, 1, 3]

    def branch(seen, p):
        def yes(x):
            jax.debug.callback(lambda x: seen.append(("yes", float(x))), x)
            return x

        return jax.jit(lambda p, x: jax.lax.cond(p, yes, lambda x: -x, x))(p, 2.0)

    assert seen_by(branch, True) == [("yes", 2.0)]
    assert seen_by(branch, False) == []

    def loop(seen):
        def test(x):
            jax.debug.callback(lambda x: seen.append(int(x)), x)
            return x < 3

        return jax.jit(lambda x: jax.lax.while_loop(test, lambda x: x + 1, x))(0)

    assert sorted(seen_by(loop)) == [0, 1, 2, 3]

    def nothing(seen):
        f = jax.jit(lambda: jax.debug.callback(lambda: seen.append(1)))
        f()
        f()
        return 0

    assert seen_by(nothing) == [1, 1]


def case_transformations():
    import jax
    import jax.numpy as jnp
    import numpy as np

    one = jax.ShapeDtypeStruct((), jnp.float32)

    @jax.custom_jvp
    def sine(x):
        return jax.pure_callback(lambda a: np.sin(np.asarray(a)), one, x, vmap_method="sequential")

    sine.defjvp(lambda x, t: (sine(x[0]), jnp.cos(x[0]) * t[0]))
    x = jnp.arange(3.0)
    y = jax.jit(jax.vmap(jax.grad(sine)))(x)
    assert np.allclose(y, np.cos(x)), y
    assert np.allclose(jax.jit(jax.vmap(sine))(x), np.sin(np.asarray(x)))

    def mapped(seen):
        def f(x):
            jax.debug.callback(lambda a: seen.append(float(a)), x)
            return x * 2

        return jax.jit(jax.vmap(f))(x), jax.grad(f)(5.0)

    assert sorted(seen_by(mapped)) == [0, 1, 2, 5]


def case_exceptions():
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_logging_level", "CRITICAL")
    fails = [True]

    def picky(x):
        if fails[0]:
            raise ValueError("no such luck")
        return x

    f = jax.jit(lambda x: jax.pure_callback(picky, jax.ShapeDtypeStruct((), jnp.float32), x))
    g = jax.jit(lambda x: (jax.debug.callback(picky, x), x)[1])
    for h in f, g:
        for bad in True, False, True, False:  # a failure is not the next run's
            fails[0] = bad
            try:
                jax.block_until_ready(h(1.0))
                jax.effects_barrier()
                assert not bad
            except jax.errors.JaxRuntimeError as e:
                assert bad and "ValueError: no such luck" in str(e), e
                jax._src.dispatch.runtime_tokens.clear()

    # nor is it of what comes after it in order
    kind = jax.ShapeDtypeStruct((), jnp.float32)
    after = jax.jit(lambda x: jax.experimental.io_callback(picky, kind, x, ordered=True))
    for bad in False, True, False, False:
        fails[0] = bad
        try:
            assert float(after(3.0)) == 3 and not bad
        except jax.errors.JaxRuntimeError as e:
            assert bad and "ValueError: no such luck" in str(e), e

    class Mute(Exception):
        def __str__(self):
            raise RuntimeError

    # what no sentence can be made of as it is, and what is too long for one
    for error, said in ((Mute(), "Mute"), (OSError("/tmp/\udcff"), "OSError: /tmp/\\udcff"),
                        (KeyError("\xe9" * 300), "KeyError: '\xe9\xe9")):  # fmt: skip

        def fail(x, error=error):
            raise error

        h = jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct((), jnp.float32), x))
        try:
            jax.block_until_ready(h(1.0))
            raise AssertionError("an exception was lost")
        except jax.errors.JaxRuntimeError as e:
            assert said in str(e), e
    wrong = jax.jit(lambda x: jax.pure_callback(lambda a: jnp.ones(3), f.eval_shape(x), x))
    try:
        jax.block_until_ready(wrong(1.0))
        raise AssertionError("a wrong shape was taken")
    except jax.errors.JaxRuntimeError as e:
        assert "float32[3] as result 0" in str(e), e


def case_fork():
    """A child ends while its parent is in a call."""
    import atexit
    import signal
    import threading

    import jax

    entered, left = threading.Event(), threading.Event()

    def wait(x):
        entered.set()
        left.wait(60)

    x = jax.jit(lambda x: (jax.debug.callback(wait, x), x + 1)[1])(1.0)
    entered.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        atexit._run_exitfuncs()
        os._exit(0)  # jaxlib's own threads do not survive more
    assert os.waitpid(child, 0)[1] == 0
    left.set()
    assert x == 2
    jax.effects_barrier()


def case_nested():
    """A call that computes with JAX, on the device that waits for it."""
    import jax
    import jax.numpy as jnp

    inner = jax.jit(lambda x: jnp.sum(x @ x.T))
    out = jax.ShapeDtypeStruct((), jnp.float32)
    f = jax.jit(lambda x: jax.pure_callback(lambda a: inner(a) + 1, out, x))
    for _ in range(3):
        assert f(jnp.ones((3, 3))) == 28


def case_devices():
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import io_callback
    from jax.sharding import NamedSharding, PartitionSpec

    mesh = jax.make_mesh((4,), ("i",), devices=jax.devices("nx"))
    x = jax.device_put(jnp.arange(8.0), NamedSharding(mesh, PartitionSpec("i")))

    def each(seen):
        def f(x):
            jax.debug.callback(lambda a: seen.append(float(a[0])), x)
            return x

        spec = PartitionSpec("i")
        return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec))(x)

    assert sorted(seen_by(each)) == [0, 2, 4, 6]

    def whole(seen):
        def f(x):
            jax.debug.callback(lambda a: seen.append(np.asarray(a).sum()), x)
            y = jax.pure_callback(lambda a: a * 2, jax.ShapeDtypeStruct((8,), jnp.float32), x)
            return y + x

        y = jax.jit(f)(x)
        assert np.array_equal(y, np.arange(8) * 3), y
        return y

    assert seen_by(whole) == [28]

    def sent(seen):
        def call(a):
            seen.append(float(a[3]))
            return a + 1

        def f(x):
            return io_callback(call, jax.ShapeDtypeStruct((8,), jnp.float32), x, ordered=ordered)

        y = jax.jit(f)(x)
        assert np.array_equal(y, np.arange(8) + 1), y
        return y

    for ordered in False, True:
        assert seen_by(sent) == [3]


def case_parts():
    """With partitioned=True each device calls with its part, of what slices give, too; what is not
    known to be divided is whole."""
    import jax
    import numpy as np

    mesh = jax.make_mesh((2,), ("x",), (jax.sharding.AxisType.Auto,), devices=jax.devices()[:2])
    x = np.arange(12, dtype=np.int32).reshape(4, 3)
    rows = jax.device_put(x, jax.NamedSharding(mesh, jax.P("x")))

    def call(seen, *args):
        keep = lambda *values: seen.append([np.asarray(v).tolist() for v in values])
        jax.debug.callback(keep, *args, partitioned=True)

    def each(seen, v):
        @jax.jit
        def program(v):
            called = jax.jit(lambda w: (call(seen, w[:, 1], -w.T), w * 2)[1])
            call(seen, v, v.sum())
            return called(v)

        return program(v)

    seen = seen_by(each, rows)
    want = []
    for part in x[:2], x[2:]:
        want.append([part.tolist(), int(x.sum())])
        want.append([part[:, 1].tolist(), (-part.T).tolist()])
    assert sorted(map(repr, seen)) == sorted(map(repr, want)), seen


def case_results():
    """How a result is divided of which the program does not say it, and its value."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    mesh = jax.make_mesh((2, 2), ("x", "y"), (jax.sharding.AxisType.Auto,) * 2)
    a = np.arange(32, dtype=np.float32).reshape(4, 4, 2)
    lies = jax.device_put(a, jax.NamedSharding(mesh, jax.P("x", "y")))
    one = np.int32(1)
    for f, *spec in (
        (lambda a: a[:, 1], "x", None),
        (lambda a: a[:, ::2], "x", None, None),
        (lambda a: a[::-1], "x", "y", None),
        (lambda a: a.reshape(1, 4, 4, 1, 2), None, "x", "y", None, None),
        (lambda a: a.reshape(16, 2), None, None),
        (lambda a: jax.lax.dynamic_slice(a, (0, one, 0), (4, 2, 2)), "x", None, None),
        (lambda a: jnp.take(a, jnp.array([2, 0, 1]), axis=1), "x", None, None),
        (lambda a: a[jnp.array(1)], "y", None),
        (lambda a: jax.jit(lambda b: b.T * 2)(a[:1]), None, "y", None),
    ):
        y = jax.jit(f)(lies)
        assert y.sharding.is_equivalent_to(jax.NamedSharding(mesh, jax.P(*spec)), y.ndim), (
            spec, y.sharding.spec)  # fmt: skip
        assert np.array_equal(y, f(jnp.asarray(a)))


def case_partitioning():
    """A function of custom_partitioning is itself, whatever its rules are."""
    import jax
    import numpy as np
    from jax.experimental.custom_partitioning import custom_partitioning

    @custom_partitioning
    def total(x):
        return x.sum() * 2

    def never(*_):
        raise AssertionError("nobody divides")

    total.def_partition(never, infer_sharding_from_operands=never, sharding_rule="i -> ")
    mesh = jax.make_mesh((2,), ("x",), (jax.sharding.AxisType.Auto,), devices=jax.devices()[:2])
    x = jax.device_put(np.arange(8.0), jax.NamedSharding(mesh, jax.P("x")))
    assert jax.jit(lambda x: total(x) + 1)(x) == 57


def case_lifetime():
    """The function lives as long as what calls it, and no longer."""
    import jax
    import jax.numpy as jnp

    class Function:
        def __call__(self, x):
            return x + 1

    out = jax.ShapeDtypeStruct((), jnp.float32)

    def compiled():
        function = Function()
        return weakref.ref(function), jax.jit(
            lambda x: jax.pure_callback(function, out, x)
        ).lower(1.0).compile()  # fmt: skip

    gone, call = compiled()
    gc.collect()
    assert call(1.0) == 2
    del call
    jax.clear_caches()
    jax.block_until_ready(jnp.ones(3) + 1)  # releases are done in some later action
    gc.collect()
    assert gone() is None


if __name__ == "__main__":
    with_jax.begin(run, platforms="nx", devices=4, last="the last line 9")
