# SPDX-License-Identifier: ISC
"""Programs that jax.export makes, against JAX on its CPU backend; skipped where this Python has no
jax. Each is called by a function that has its operands and what JAX gets as constants, and run as
text, as text in general form and, where its operations have a versioned form, as a portable
artifact.

Usage: jax_test.py STABLEHLO_CHECK [NAME..]."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

try:
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    from jax import lax, nn
    from jax import numpy as jnp
    from jax import scipy as jsp
    from jax.interpreters import mlir
    from jaxlib.mlir import ir
except ImportError:
    print("skipped: there is no jax")
    sys.exit(77)
from modules import dense, kind

random = np.random.default_rng(2)
f32, i32 = np.float32, np.int32
programs = {}


def x(*shape, dtype=f32):
    return random.standard_normal(shape).astype(dtype)


def program(name, f, *operands, shapes=None):
    """shapes: of the operands, symbolic; None: those that they have."""
    programs[name] = (f, operands, shapes)


# ---- models


def mlp(p, v):
    h = nn.gelu(v @ p[0] + p[1])
    return nn.log_softmax(h @ p[2])


def attention(v, w):
    q, k, u = jnp.split(v @ w, 3, axis=-1)
    mask = jnp.tril(jnp.ones((v.shape[-2], v.shape[-2]), bool))
    weights = nn.softmax(jnp.where(mask, q @ jnp.swapaxes(k, -1, -2) / 2.0, -1e9))
    y = weights @ u + v
    return (y - y.mean(-1, keepdims=True)) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)


def lstm(v, w):
    def step(c, row):
        h, s = c
        i, f, g, o = jnp.split(jnp.concatenate([row, h]) @ w, 4)
        s = nn.sigmoid(f) * s + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(s)
        return (h, s), h

    return lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), v)


def convolutional(v, w):
    y = lax.conv_general_dilated(v, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = lax.reduce_window(nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return y.mean((1, 2))


def newton(v):
    return lax.while_loop(lambda c: jnp.abs(c * c - v) > 1e-5, lambda c: (c + v / c) / 2, v)


params = [x(5, 7), x(7), x(7, 3)]
program("mlp", mlp, params, x(4, 5))
program("mlp gradient", jax.grad(lambda p, v: (mlp(p, v) ** 2).sum()), params, x(4, 5))
program("attention", attention, x(2, 6, 4), x(4, 12))
program("attention gradient", jax.grad(lambda v, w: (attention(v, w) ** 3).sum(), (0, 1)),
        x(2, 6, 4), x(4, 12))
program("lstm", lstm, x(5, 2), x(5, 12))
program("lstm gradient", jax.grad(lambda v, w: lstm(v, w)[1].sum(), 1), x(5, 2), x(5, 12))
program("convolutional", convolutional, x(2, 8, 8, 3), x(3, 3, 3, 4))
program("convolutional gradient", jax.grad(lambda w, v: convolutional(v, w).sum()),
        x(3, 3, 3, 4), x(2, 8, 8, 3))
program("while", newton, f32(7))
program("cond", lambda p, v: lax.cond(p > 0, jnp.sin, jnp.cos, v), i32(1), x(4))
program("switch", lambda p, v: lax.switch(p, [jnp.sin, jnp.cos, jnp.exp], v), i32(2), x(4))
program("vmap of jacobian", jax.vmap(jax.jacfwd(lambda v: jnp.outer(v, jnp.tanh(v)))), x(2, 3))

# ---- arrays
program("sort", lambda v: (jnp.sort(v, 0), jnp.argsort(v, 1), jnp.median(v)), x(5, 6))
program("scans", lambda v: (jnp.cumsum(v, 0), jnp.cumprod(v, 1), lax.cummax(v, 1)), x(5, 6))
program("indices", lambda v, i: (v[i], v.at[i].add(2.0), v.at[i].set(1.0), v[:, ::-2]),
        x(5, 6), np.array([0, 3, 3, -1], i32))
program("segments", lambda v, i: jax.ops.segment_sum(v, i, 3), x(6, 2),
        np.array([0, 1, 0, 2, 1, 1], i32))
program("top k", lambda v: lax.top_k(v, 3), x(4, 7))
program("unique", lambda v: jnp.unique(v, size=5), np.array([3, 1, 3, 2, 1], i32))
program("bits", lambda v: (v << 3, v >> 1, lax.population_count(v), lax.clz(v), v // 3, v % 5),
        random.integers(-99, 99, 8).astype(i32))
program("types", lambda v: (v.astype(jnp.bfloat16).astype(f32), v.astype(jnp.float16),
                            (v * 9).astype(i32), v.astype(bool)), x(9))
program("keys", lambda: (jax.random.uniform(jax.random.key(3), (7,)),
                         jax.random.randint(jax.random.key(4), (7,), 0, 99),
                         jax.random.normal(jax.random.key(5), (7,)),
                         jax.random.permutation(jax.random.key(6), 9)))

# ---- functions and linear algebra
positive = np.abs(x(9)) + f32(0.5)
program("elementary", lambda v: [g(v) for g in (jnp.sin, jnp.tan, jnp.arctan, jnp.arcsinh, jnp.cbrt,
                                                jnp.expm1, jnp.log1p, jnp.sinc, nn.softplus)],
        positive)
program("special", lambda v: [g(v) for g in (jsp.special.gammaln, jsp.special.digamma,
                                             jsp.special.erf, jsp.special.erfc, jsp.special.i0e,
                                             jsp.special.i1e, jsp.special.i1)], positive)
program("inverse functions", lambda v: (jsp.special.erfinv(v), jsp.special.ndtri(v / 2 + 0.5)),
        np.linspace(-0.9, 0.9, 9, dtype=f32))
program("polygamma", lambda v: (jsp.special.polygamma(1, v), jsp.special.zeta(v + 1.5, v)),
        positive)
program("approximate top k", lambda v: lax.approx_max_k(v, 3), x(4, 7))
program("complex", lambda v: (jnp.fft.fft(v), jnp.fft.irfft(v[:5]), jnp.abs(v), v * v.conj()),
        (x(8) + 1j * x(8)).astype(np.complex64))
square = x(4, 4) + 5 * np.eye(4, dtype=f32)
program("solve", lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.det(a), jnp.linalg.inv(a)),
        square, x(4, 2))
program("cholesky", lambda a: jsp.linalg.cho_solve((jnp.linalg.cholesky(a @ a.T), True), a), square)
program("singular values", lambda a: (jnp.linalg.svd(a, compute_uv=False), jnp.linalg.norm(a)),
        x(5, 3))
program("eigenvalues", lambda a: jnp.linalg.eigvalsh(a + a.T), x(5, 5))
program("least squares", lambda a, b: jnp.linalg.lstsq(a, b)[0], x(6, 3), x(6))
program("matrix exponential", jsp.linalg.expm, x(3, 3) / 4)

# ---- extents that the program leaves open
program("open windows", lambda v: (
    lax.reduce_window(v, 0.0, lax.add, (v.shape[0], 2), (1, 1), "VALID"),
    lax.reduce_window(v, -jnp.inf, lax.max, (2, 2), (2, 1), "SAME"),
    lax.reduce_window((v, v), (1.0, 0.0), lambda a, b: (a[0] * b[0], a[1] + b[1]),
                      (v.shape[0], 1), (1, 1), ((v.shape[0] - 1, 0), (0, 0)))),
        x(5, 4), shapes=("b, 4",))
program("open mlp",
        lambda v, w: nn.softmax(jnp.tanh(v @ w) + jnp.arange(v.shape[0])[:, None]).sum(0),
        x(5, 8), x(8, 4), shapes=("b, 8", "8, 4"))
program("open scan", lambda v: lax.scan(lambda c, r: (c + r, (c * r).sum()),
                                        jnp.zeros(v.shape[1]), v), x(4, 3), shapes=("t, n",))
program("open moves", lambda v: (jnp.concatenate([v, v[::-1]]).reshape(-1, 2), jnp.sort(v, 0),
                                 jnp.pad(v, ((0, 1), (1, v.shape[0]))), v[1:, 1:3]),
        x(6, 4), shapes=("2*n + 2, 4",))
program("open convolution",
        lambda v, w: lax.conv_general_dilated(v, w, (1, 1), "SAME").mean((2, 3)),
        x(2, 3, 5, 7), x(4, 3, 3, 3), shapes=("b, 3, h, w", "4, 3, 3, 3"))
program("open gather", lambda v, i: v[i] + jnp.einsum("bi,ci->b", v, v)[i][:, None],
        x(5, 4), np.array([1, 4, 0], i32), shapes=("b, 4", "k"))
program("open random", lambda v: v + jax.random.normal(jax.random.key(0), v.shape), x(3, 4),
        shapes=("b, 4",))
program("open top k", lambda v: lax.top_k(v, v.shape[-1] // 2), x(3, 8), shapes=("b, 2*n",))
program("open reductions", lambda v: (v.mean(0), v.max(1), jnp.argmax(v, 1)), x(5, 3),
        shapes=("b, n",))


# ---- running them


def export(f, operands, shapes):
    leaves = jax.tree.leaves(operands)
    if shapes is None:
        specs = [jax.ShapeDtypeStruct(np.shape(v), np.asarray(v).dtype) for v in leaves]
    else:
        scope = jax.export.SymbolicScope()
        specs = [jax.ShapeDtypeStruct(jax.export.symbolic_shape(s, scope=scope), v.dtype)
                 for s, v in zip(shapes, leaves)]
    specs = jax.tree.unflatten(jax.tree.structure(operands), specs)
    return jax.export.export(jax.jit(f))(*specs)


def as_module(f, operands, shapes):
    """Text whose main calls the program."""
    made = export(f, operands, shapes)
    text = str(made.mlir_module()).replace("func.func public @main(", "func.func private @program(")
    kept = [np.asarray(v) for v in jax.tree.leaves(operands)]
    kept = [kept[i] for i in made.module_kept_var_idx]
    wanted = [np.asarray(v) for v in jax.tree.leaves(jax.jit(f)(*operands))]
    main = "  func.func public @main() {\n"
    for i, v in enumerate(kept + wanted):
        main += f"    %v{i} = stablehlo.constant {dense(v)}\n"
    names = ", ".join(f"%v{i}" for i in range(len(kept)))
    of, to = (", ".join(kind(v) for v in vs) for vs in (kept, wanted))
    main += f"    %r:{len(wanted)} = call @program({names}) : ({of}) -> ({to})\n"
    for i, v in enumerate(wanted):
        main += f"    stablehlo.custom_call @check.expect_close(%r#{i}, %v{len(kept) + i})"
        main += f" {{has_side_effect = true}} : ({kind(v)}, {kind(v)}) -> ()\n"
    at = text.rindex("}")
    return text[:at] + main + "    return\n  }\n" + text[at:]


def in_general_form(text, k):
    """One in two with locations, in their two forms."""
    with mlir.make_ir_context():
        return ir.Module.parse(text).operation.get_asm(
            print_generic_op_form=True, enable_debug_info=k % 2 == 1, pretty_debug_info=k % 4 == 1)


def as_artifact(text):
    from jaxlib.mlir.dialects import stablehlo

    try:
        return stablehlo.serialize_portable_artifact_str(text, stablehlo.get_current_version())
    except ValueError:
        return None


wrong, artifacts = 0, 0
with tempfile.TemporaryDirectory() as directory:
    files = []
    for k, (name, given) in enumerate(programs.items()):
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        made = as_module(*given)
        files.append(Path(directory) / (name.replace(" ", "_") + ".mlir"))
        files[-1].write_text(made)
        if given[2] is None:  # MLIR refuses a call that closes extents
            files.append(files[-1].with_suffix(".general.mlir"))
            files[-1].write_text(in_general_form(made, k))
        binary = as_artifact(made)
        if binary is not None:
            files.append(Path(directory) / (name.replace(" ", "_") + ".mlirbc"))
            files[-1].write_bytes(binary)
            artifacts += 1
    if os.environ.get("NXT_KEEP"):
        for file in files:
            Path(os.environ["NXT_KEEP"], file.name).write_bytes(file.read_bytes())
    done = subprocess.run([sys.argv[1], *map(str, files)], capture_output=True, text=True)
    print(done.stdout.replace(directory + "/", "") + done.stderr[-1000:])
    print(f"{len(files) - artifacts} texts of programs, {artifacts} of them as artifacts, too")
    sys.exit(done.returncode)
