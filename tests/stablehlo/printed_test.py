# SPDX-License-Identifier: ISC
"""Each way in which MLIR prints a program is the same program: what jaxlib's MLIR prints in general
form, with locations and with those printed for readers, is recorded as the graph of its own form.
Of programs that jax.export makes, and of StableHLO's test data where STABLEHLO_SOURCE names a copy
of its repository; skipped where this Python has no jax.

Usage: printed_test.py NXC [FILE..]."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy as np
    from jax import lax
    from jax import numpy as jnp
    from jax.interpreters import mlir
    from jaxlib.mlir import ir
except ImportError:
    print("skipped: there is no jax")
    sys.exit(77)

# What is printed without any of these is what the others are compared with.
WAYS = [
    {"print_generic_op_form": True},
    {"print_generic_op_form": True, "enable_debug_info": True},
    {"print_generic_op_form": True, "enable_debug_info": True, "pretty_debug_info": True},
    {"print_generic_op_form": True, "enable_debug_info": True, "use_local_scope": True},
    {"enable_debug_info": True},
    {"enable_debug_info": True, "pretty_debug_info": True},
    {"enable_debug_info": True, "pretty_debug_info": True, "use_local_scope": True},
    {"enable_debug_info": True, "use_local_scope": True},
]


def recorded(nxc, text, directory):
    """The graph, or the sentence of a refusal without its place."""
    file = Path(directory, "program.mlir")
    file.write_text(text)
    done = subprocess.run([nxc, "import", file], capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout
    return "refused: " + done.stderr.split(": ")[-1]


def without_checks(op):
    """Removes the custom calls by which test data says what is right."""
    for region in op.regions:
        for block in region:
            for inner in list(block):
                without_checks(inner)
                if inner.operation.name == "stablehlo.custom_call" and \
                        "check." in str(inner.attributes["call_target_name"]):
                    inner.operation.erase()


def move_elements(op, number=0):
    """Has elements of constants stand behind the module; how many did so far."""
    for region in op.regions:
        for block in region:
            for inner in block:
                number = move_elements(inner.operation, number)
                if inner.operation.name != "stablehlo.constant":
                    continue
                try:
                    value = inner.operation.attributes["value"]
                    elements = np.array(value)
                except (TypeError, ValueError, BufferError):
                    continue  # of a type that Python's buffers have not
                if value.is_splat:
                    continue  # one for all has no such form
                name = f"of {number}" if number % 2 else f"_{number}.e"
                inner.operation.attributes["value"] = ir.DenseResourceElementsAttr.get_from_buffer(
                    elements.reshape(-1).view(np.uint8), name, value.type, 1 << number % 8)
                number += 1
    return number


def compare(nxc, name, text, directory, ways):
    """Whether all are the same, and what the program is; without a type of jaxlib's: None."""
    with mlir.make_ir_context():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError:
            return None, ""
        without_checks(module.operation)
        wanted = recorded(nxc, module.operation.get_asm(), directory)
        good = True
        for way in ways:
            printed = module.operation.get_asm(**way)
            got = recorded(nxc, printed, directory)
            if got != wanted:
                print(f"{name}: with {', '.join(way)}: {got[:300]}\nexpected {wanted[:300]}")
                good = False
        global moved
        moved += move_elements(module.operation)
        if "dense_resource" in str(module):
            for way in ({}, {"print_generic_op_form": True, "enable_debug_info": True}):
                printed = module.operation.get_asm(**way)
                got = recorded(nxc, printed, directory)
                if got != wanted or "{-#" not in printed:
                    print(f"{name}: with resources: {got[:300]}\nexpected {wanted[:300]}")
                    good = False
        return good, wanted


def step(state, batch):
    def loss(w):
        h = jnp.tanh(batch @ w)
        h = lax.fori_loop(0, 3, lambda _, v: v * 0.5 + jnp.sort(v, 1), h)
        return jnp.where(h > 0, h, lax.cond(h.sum() > 0, jnp.sin, jnp.cos, h)).sum()

    return state - jax.grad(loss)(state)


def windows(v, w, i):
    y = lax.conv_general_dilated(v, w, (1, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    a, b = lax.top_k(y, 2)
    return a[i], b.at[i].add(1), jnp.argmax(y, 1), jnp.cumsum(y, 1), jnp.fft.rfft(y[..., 0])


def made():
    """Programs whose operations have, between them, most forms and kinds of attributes."""
    f, i = jax.ShapeDtypeStruct, jnp.int32
    square = f((4, 4), jnp.float32)
    programs = {
        "step": (step, square, f((3, 4), jnp.float32)),
        "windows": (windows, f((2, 8, 8, 3), jnp.float32), f((3, 3, 3, 4), jnp.float32),
                    f((2,), i)),
        "linear": (lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.svd(a), jnp.linalg.qr(b)),
                   square, square),
        "random": (lambda k: jax.random.normal(jax.random.wrap_key_data(k), (5,)),
                   f((2,), jnp.uint32)),
        "special": (lambda v: (jax.scipy.special.erf(v), jax.scipy.special.gammaln(v),
                               v.astype(jnp.float8_e4m3fn), v.astype(jnp.int4)), square),
    }
    texts = {}
    for name, (function, *operands) in programs.items():
        exported = jax.export.export(jax.jit(function), disabled_checks=[
            jax.export.DisabledSafetyCheck.custom_call("lapack_sgetrf_ffi")])(*operands)
        texts[name] = exported.mlir_module()
    return texts


nxc, files = sys.argv[1], sys.argv[2:]
wrong = same = refused = other = moved = 0
with tempfile.TemporaryDirectory() as directory:
    texts = {} if files else made()
    if not files and os.environ.get("STABLEHLO_SOURCE"):
        data = Path(os.environ["STABLEHLO_SOURCE"], "stablehlo/testdata")
        files = sorted(data.glob("*.mlir"))
    for k, (name, text) in enumerate([*texts.items(), *((f, None) for f in files)]):
        # Of test data one file has one way and general form, which are many.
        ways = [WAYS[0], WAYS[1 + k % 7]] if k >= len(texts) + 60 else WAYS
        good, wanted = compare(nxc, name, text or Path(name).read_text(), directory, ways)
        wrong += good is False
        other += good is None
        same += good is True and not wanted.startswith("refused")
        if wanted.endswith("-> () {\n}\n"):
            print(f"{name}: nothing is recorded")
            wrong += 1
        refused += good is True and wanted.startswith("refused")
        if text and wanted.startswith("refused"):
            print(f"{name}: {wanted}")
            wrong += 1
print(f"{same} programs are the same however they are printed, {refused} are refused alike, "
      f"{other} not read by jaxlib; {wrong} are not as expected; {moved} constants were moved")
sys.exit(wrong > 0 or same == 0 or moved == 0)
