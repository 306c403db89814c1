# SPDX-License-Identifier: ISC
"""SciPy's forms, where it has one that NumPy lacks or does better."""

import os

import numpy as np
import scipy.fft
import scipy.linalg
import scipy.ndimage
import scipy.special
import with_numpy

threads = int(os.environ.get("OMP_NUM_THREADS", "1"))


def gelu(x):
    t, root, half, one = np.empty_like(x), *(x.dtype.type(v) for v in (0.5**0.5, 0.5, 1))

    def run():
        np.multiply(x, root, out=t)
        scipy.special.erf(t, out=t)
        np.add(t, one, out=t)
        np.multiply(t, x, out=t)
        return np.multiply(t, half, out=t)

    return run


def normal(x, t):
    np.multiply(x, 0.5**0.5, out=t)
    scipy.special.erf(t, out=t)
    np.add(t, 1, out=t)
    return np.multiply(t, 0.5, out=t)


def blackscholes(price, strike, time):
    t = np.empty_like(price)

    def run():
        scale = 0.3 * np.sqrt(time)
        d1 = (np.log(price / strike) + 0.065 * time) / scale
        first = price * normal(d1, t)
        return first - strike * np.exp(-0.02 * time) * normal(d1 - scale, t)

    return run


def one(f):
    """Of one matrix; SciPy has no loop over many for these."""
    return lambda a, b: (lambda: f(a[0], b[0])) if len(a) == 1 else None


LINALG = {
    "cholesky": one(lambda a, b: scipy.linalg.cholesky(a, lower=True, check_finite=False)),
    "qr": one(lambda a, b: scipy.linalg.qr(a, mode="economic", check_finite=False)),
    "svd": one(lambda a, b: scipy.linalg.svd(a, full_matrices=False, check_finite=False)),
    "eigh": one(lambda a, b: scipy.linalg.eigh(a, driver="evd", check_finite=False)),
    "eig": one(lambda a, b: scipy.linalg.eig(a, check_finite=False)),
    "triangular": one(
        lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True, check_finite=False)
    ),
    "solve": one(lambda a, b: scipy.linalg.solve(a, b, check_finite=False)),
    "inv": one(lambda a, b: scipy.linalg.inv(a, check_finite=False)),
}
FORMS = {
    "erf": with_numpy.into(scipy.special.erf),
    "gelu": gelu,
    "blackscholes": blackscholes,
    "stencil2": lambda x: (
        lambda t: lambda: scipy.ndimage.uniform_filter(x, 3, mode="constant", output=t)
    )(np.empty_like(x)),
}


class Library(with_numpy.Library):
    forms, linalg = FORMS, LINALG
    transforms = staticmethod(with_numpy.transform(scipy.fft, workers=threads))
