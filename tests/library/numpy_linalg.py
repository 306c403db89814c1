# SPDX-License-Identifier: ISC
"""Linear algebra against numpy.linalg: what is unique must be equal but for rounding, what is
unique up to signs must give the operand back. Operands come as they are and as views: transposed,
flipped, cut out, repeated along the batch; batches and matrices without elements too. On the device
"cpu" and on "interp", which must agree to the last bit.

Usage: numpy_linalg.py NXC. The exit status is 0 if all agree, 77 (skipped) without NumPy or LAPACK,
else 1.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# NumPy's OpenBLAS reads it when it is loaded: threads that wait for its next product would take the
# processor from the programs that are started here, which do not inherit it.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    import numpy as np
except ImportError:
    sys.exit(77)
del os.environ["OPENBLAS_NUM_THREADS"]

faults = 0


def fault(label, text):
    global faults
    faults += 1
    print(f"{label}: {text}")


def run(nxc, body, inputs, outputs, device):
    """The outputs of a graph; None with the message printed if it fails."""
    types = {"float32": "f32", "float64": "f64"}
    heads = [
        f"%{n}: {types[a.dtype.name]}[{','.join(map(str, a.shape))}]" for n, a in inputs.items()
    ]
    text = (
        "nxir 2\ngraph @f("
        + ", ".join(heads)
        + ") -> ("
        + ", ".join("%" + o for o in outputs)
        + ") {\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "f.nxir"
        file.write_text(text + body + "}\n")
        command = [nxc, "run", str(file), "--device", device]
        for name, array in inputs.items():
            np.save(f"{folder}/{name}.npy", array)
            command += ["--input", f"{name}={folder}/{name}.npy"]
        for name in outputs:
            command += ["--output", f"{name}={folder}/{name}.out.npy"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip() or "failed"
        return {name: np.load(f"{folder}/{name}.out.npy") for name in outputs}


# What stands between the input %x and the operand %a: the text, the shape that gives (batch, m, n),
# the same in NumPy.
LAYOUTS = {
    "plain": ("  %a = copy %x\n", lambda b, m, n: (b, m, n), lambda x: x),
    "transposed": (
        "  %a = permute %x axes=[0,2,1]\n",
        lambda b, m, n: (b, n, m),
        lambda x: x.transpose(0, 2, 1),
    ),
    "flipped": (
        "  %a = flip %x axes=[0,2]\n",
        lambda b, m, n: (b, m, n),
        lambda x: x[::-1, :, ::-1],
    ),
    "cut": (None, lambda b, m, n: (b, m + 3, n + 2), lambda x: x[:, 1:-2, 2:]),
    "repeated": (None, lambda b, m, n: (1, m, n), None),
    "computed": (
        "  %t = mul %x, %x\n  %a = sub %x, %t\n",
        lambda b, m, n: (b, m, n),
        lambda x: x - x * x,
    ),
}


def operand(layout, b, m, n, dtype, rng):
    """Text, input and value of an operand of shape (b, m, n)."""
    text, shape, view = LAYOUTS[layout]
    x = (rng.random(shape(b, m, n)) * 2 - 1).astype(dtype)
    if layout == "cut":
        text = f"  %a = shrink %x start=[0,1,2] stop=[{b},{m + 1},{n + 2}]\n"
    if layout == "repeated":
        return f"  %a = expand %x shape=[{b},{m},{n}]\n", x, np.broadcast_to(x, (b, m, n))
    return text, x, view(x)


def near(label, what, is_, wanted, scale):
    wanted = np.asarray(wanted)
    if is_.shape != wanted.shape:
        fault(label, f"{what} has the shape {is_.shape}, not {wanted.shape}")
        return
    if is_.size == 0:
        return
    unit = 2.0**-23 if is_.dtype == np.float32 else 2.0**-52
    error = np.abs(is_ - wanted).max()
    bound = 200 * scale * unit * (1 + np.abs(wanted).max())
    if not error <= bound:
        fault(label, f"{what} is off by {error:g}, more than {bound:g}")


def check_any(label, r, a):
    """qr and svd of any matrix."""
    a = a.astype(np.float64)
    n = sum(a.shape[1:]) + 1
    for full in ("", "f"):
        near(label, "q r", r["q" + full] @ r["r" + full], a, n)
        q, wanted = r["q" + full], np.linalg.qr(a, mode="complete" if full else "reduced")
        near(label, "|r|", np.abs(r["r" + full]), np.abs(wanted[1]), n)
        u, s, v = r["u" + full], r["s" + full], r["v" + full]
        near(label, "s", s.astype(r["q"].dtype), np.linalg.svd(a, compute_uv=False), n)
        k = s.shape[-1]
        near(label, "u s v", (u[..., :k] * s[..., None, :]).astype(u.dtype) @ v[..., :k, :], a, n)
        assert q.shape == wanted[0].shape
        eye = np.eye(v.shape[-2])
        near(
            label, "v v^T", v @ v.swapaxes(1, 2), np.broadcast_to(eye, (a.shape[0], *eye.shape)), n
        )


ANY = """  %q = qr %a reduced=1 result=0
  %r = qr %a reduced=1 result=1
  %qf = qr %a
  %rf = qr %a result=1
  %u = svd %a
  %s = svd %a result=1
  %v = svd %a result=2
  %uf = svd %a full=1
  %sf = svd %a full=1 result=1
  %vf = svd %a full=1 result=2
"""

SQUARE = """  %d = add %a, %e
  %l = cholesky %h
  %up = cholesky %h upper=1
  %w = eigh %h
  %z = eigh %h result=1
  %w2 = eigvalsh %h
  %i = inv %d
  %x1 = solve %d, %b
  %x2 = triangular_solve %d, %b
  %x3 = triangular_solve %d, %b upper=1 transpose=1
  %x4 = triangular_solve %d, %b upper=1 unit_diag=1
  %det = det %d
  %sign = slogdet %d
  %log = slogdet %d result=1
"""


def check_square(label, r, a, e, h, b):
    a, e, h, b = (x.astype(np.float64) for x in (a, e, h, b))
    d, n = a + e, 4 * a.shape[-1] + 1
    full = np.tril(h) + np.tril(h, -1).swapaxes(1, 2)
    solve = np.linalg.solve
    near(label, "l", r["l"], np.linalg.cholesky(full), n)
    near(label, "u", r["up"], np.linalg.cholesky(full).swapaxes(1, 2), n)
    near(label, "eigh", r["w"].astype(r["l"].dtype), np.linalg.eigvalsh(full), n)
    near(label, "eigvalsh", r["w2"].astype(r["l"].dtype), np.linalg.eigvalsh(full), n)
    near(
        label,
        "z w z^T",
        (r["z"] * r["w"][:, None, :]).astype(r["z"].dtype) @ r["z"].swapaxes(1, 2),
        full,
        n,
    )
    near(label, "inv", r["i"], np.linalg.inv(d), n)
    near(label, "solve", r["x1"], solve(d, b), n)
    near(label, "lower", r["x2"], solve(np.tril(d), b), n)
    near(label, "upper transposed", r["x3"], solve(np.triu(d).swapaxes(1, 2), b), n)
    near(
        label,
        "unit",
        r["x4"],
        solve(np.triu(d, 1) + np.eye(d.shape[-1]), b),
        n * 2.0 ** a.shape[-1],
    )
    sign, log = np.linalg.slogdet(d)
    with np.errstate(over="ignore"):
        det = np.linalg.det(d).astype(r["det"].dtype)
    if not np.array_equal(r["det"], det):  # infinities are equal
        near(label, "det", r["det"], det, n)
    near(label, "sign", r["sign"], sign, n)
    near(label, "log", r["log"], log, n)


GENERAL = """  %w = eig %a
  %v = eig %a result=1
  %w2 = eigvals %a
  %left = eig_left %a result=1
"""


def check_general(label, r, a):
    """eig: vectors by their definition, values beside those of NumPy, each with the nearest."""
    n = a.shape[-1]
    for k in range(a.shape[0]):
        w, scale = r["w"][k], np.abs(a[k]).sum(axis=1).max()
        v, u, bound = r["v"][k], r["left"][k], 1e-14 * (n + 10) * scale
        for what, error in (
            ("A v - w v", np.abs(a[k] @ v - v * w).max()),
            ("u^H A - w u^H", np.abs(u.conj().T @ a[k] - w[:, None] * u.conj().T).max()),
            ("lengths", scale * np.abs(np.linalg.norm([v, u], axis=1) - 1).max()),
        ):
            if not error <= bound:
                fault(label, f"{what} is off by {error:g}, more than {bound:g}")
        condition = 1 / np.abs((u.conj() * v).sum(axis=0)).min()
        for values in (w, r["w2"][k]):
            left = list(np.linalg.eigvals(a[k]))
            for value in values:
                nearest = min(range(len(left)), key=lambda i: abs(left[i] - value))
                if not abs(left.pop(nearest) - value) <= bound * condition:
                    fault(label, f"{value} is no value")


def both(nxc, label, body, inputs, outputs):
    cpu, interp = (run(nxc, body, inputs, outputs, device) for device in ("cpu", "interp"))
    for r in (cpu, interp):
        if isinstance(r, str):
            if "LAPACK cannot be used" in r:
                sys.exit(77)
            fault(label, r)
            return None
    for name in outputs:
        if cpu[name].tobytes() != interp[name].tobytes():
            fault(label, f"{name} has other bits on interp")
    return cpu


def main():
    nxc, rng = sys.argv[1], np.random.default_rng(7)
    names = ["q", "r", "qf", "rf", "u", "s", "v", "uf", "sf", "vf"]
    for dtype in (np.float32, np.float64):
        for layout in LAYOUTS:
            for b, m, n in ((2, 5, 3), (3, 4, 6), (1, 40, 40), (0, 3, 3), (2, 0, 4), (2, 3, 0)):
                label = f"{layout} {np.dtype(dtype).name} {b}x{m}x{n}"
                text, x, a = operand(layout, b, m, n, dtype, rng)
                r = both(nxc, label, text + ANY, {"x": x}, names)
                if r:
                    check_any(label, r, a)
            for b, n, k in ((2, 5, 3), (3, 1, 1), (1, 40, 7), (0, 3, 3), (2, 0, 4), (2, 4, 0)):
                label = f"{layout} {np.dtype(dtype).name} {b}x{n}x{n}"
                text, x, a = operand(layout, b, n, n, dtype, rng)
                e = np.broadcast_to((3 * n * np.eye(n)).astype(dtype), (b, n, n)).copy()
                h = (rng.random((b, n, n)) + e).astype(dtype)
                right = rng.random((b, n, k)).astype(dtype)
                outputs = "l up w z w2 i x1 x2 x3 x4 det sign log".split()
                r = both(nxc, label, text + SQUARE, {"x": x, "e": e, "h": h, "b": right}, outputs)
                if r:
                    check_square(label, r, a, e, h, right)
    for layout in LAYOUTS:
        for b, n in ((2, 5), (3, 1), (2, 64), (1, 131), (2, 200), (0, 3), (2, 0), (0, 300)):
            label = f"{layout} eig {b}x{n}x{n}"
            text, x, a = operand(layout, b, n, n, np.float64, rng)
            r = both(nxc, label, text + GENERAL, {"x": x}, ["w", "v", "w2", "left"])
            if r and a.size:
                check_general(label, r, a)
    print(f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
