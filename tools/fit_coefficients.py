#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Fits the polynomials of the function expansions and prints ir/expand/coefficients.h.

    python3 tools/fit_coefficients.py | clang-format-19 > ir/expand/coefficients.h

(needs mpmath; half a minute).

Each row fits P so that weight(x) * |P(x) - g(x)| is least in the maximum norm (Lawson's iteration
of weighted least squares on Chebyshev nodes, 40 digits). Coefficients are rounded to the dtype one
after the other, lowest degree first, and what remains is fitted again around those already rounded.
The weight turns an error of P into a relative error of the function, so the printed bound is that
of the result, before rounding of the evaluation.
"""

import struct
import sys
from mpmath import mp, mpf
import mpmath as m

mp.dps = 45
HALF_LN2 = m.log(2) / 2 * mpf("1.002")


def round_to(value, dtype):
    if dtype == "f64":
        return mpf(float(value))
    # to nearest f32 from the exact value, not by way of f64
    near = struct.unpack("f", struct.pack("f", float(value)))[0]
    bits = struct.unpack("I", struct.pack("f", near))[0]
    options = [struct.unpack("f", struct.pack("I", bits + d))[0] for d in (-1, 0, 1)]
    return min((mpf(o) for o in options), key=lambda o: abs(o - value))


def nodes(low, high, count):
    return [
        (low + high) / 2 + (high - low) / 2 * m.cos(m.pi * (2 * i + 1) / (2 * count))
        for i in range(count)
    ]


def solve(xs, rest, weights, scale, first, last):
    """Weighted least squares for coefficients first..last in powers of x / scale."""
    n = last - first + 1
    powers = [[(x / scale) ** j for j in range(first, last + 1)] for x in xs]
    normal, right = m.matrix(n, n), m.matrix(n, 1)
    for row, value, weight in zip(powers, rest, weights):
        for i in range(n):
            wi = weight * row[i]
            right[i] += wi * value
            for j in range(i, n):
                normal[i, j] += wi * row[j]
    for i in range(n):
        for j in range(i):
            normal[i, j] = normal[j, i]
    return list(m.lu_solve(normal, right))


def fit(g, low, high, degree, weight, dtype, fixed=()):
    scale = max(abs(low), abs(high))
    xs = nodes(mpf(low), mpf(high), 4 * degree + 12)
    values = [g(x) for x in xs]
    wanted = [weight(x) for x in xs]
    done = [mpf(c) for c in fixed]
    lawson = [mpf(1)] * len(xs)
    while len(done) <= degree:
        rest = [v - m.polyval(done[::-1], x) if done else v for v, x in zip(values, xs)]
        for _ in range(12 if not done else 3):
            c = solve(
                xs, rest, [l * w * w for l, w in zip(lawson, wanted)], scale, len(done), degree
            )
            c = [v / scale ** (j + len(done)) for j, v in enumerate(c)]
            full = done + c
            errors = [w * abs(m.polyval(full[::-1], x) - v) for w, x, v in zip(wanted, xs, values)]
            top = max(errors)
            lawson = [l * (e / top + mpf("1e-3")) for l, e in zip(lawson, errors)]
            total = sum(lawson)
            lawson = [l / total for l in lawson]
        done.append(round_to(c[0], dtype))
    grid = [mpf(low) + (mpf(high) - low) * i / 1500 for i in range(1501)]
    bound = max(weight(x) * abs(m.polyval(done[::-1], x) - g(x)) for x in grid if weight(x) > 0)
    return done, bound


def series(f, near):
    """f, but its Taylor series (given coefficients) for |x| < 1e-3, where f would cancel."""

    def g(x):
        return m.polyval(near[::-1], x) if abs(x) < mpf("1e-3") else f(x)

    return g


def taylor(term, count=16):
    return [term(i) for i in range(count)]


def of_square(f):
    """g(s) = f(sqrt s)."""
    return lambda s: f(m.sqrt(s))


F = m.factorial
exp_tail = series(lambda r: (m.expm1(r) - r) / r**2, taylor(lambda i: 1 / F(i + 2)))
log_tail = series(
    lambda f: (m.log1p(f) - f + f * f / 2) / f**3, taylor(lambda i: mpf((-1) ** i) / (i + 3))
)
sin_tail = series(
    of_square(lambda r: (m.sin(r) - r) / r**3), taylor(lambda i: (-1) ** (i + 1) / F(2 * i + 3))
)
cos_tail = series(
    of_square(lambda r: (m.cos(r) - 1 + r * r / 2) / r**4),
    taylor(lambda i: (-1) ** i / F(2 * i + 4)),
)
sinh_tail = series(of_square(lambda r: (m.sinh(r) - r) / r**3), taylor(lambda i: 1 / F(2 * i + 3)))
cosh_tail = series(of_square(lambda r: (m.cosh(r) - 1) / r**2), taylor(lambda i: 1 / F(2 * i + 2)))
asin_tail = series(
    of_square(lambda x: (m.asin(x) - x) / x**3),
    taylor(lambda i: F(2 * i + 2) / (4 ** (i + 1) * F(i + 1) ** 2 * (2 * i + 3))),
)
atan_tail = series(
    of_square(lambda x: (m.atan(x) - x) / x**3),
    taylor(lambda i: mpf((-1) ** (i + 1)) / (2 * i + 3)),
)
atanh_tail = series(
    of_square(lambda x: (m.atanh(x) - x) / x**3), taylor(lambda i: mpf(1) / (2 * i + 3))
)
log_ratio_tail = series(
    of_square(lambda s: (2 * m.atanh(s) / s - 2) / s**2), taylor(lambda i: mpf(2) / (2 * i + 3))
)
asinh_tail = series(
    of_square(lambda x: (m.asinh(x) - x) / x**3),
    taylor(lambda i: (-1) ** (i + 1) * F(2 * i + 2) / (4 ** (i + 1) * F(i + 1) ** 2 * (2 * i + 3))),
)
expm1_2_tail = series(
    lambda r: (m.expm1(2 * r) / 2 - r) / r**2, taylor(lambda i: 2 ** (i + 1) / F(i + 2))
)
two_sqrtpi = 2 / m.sqrt(m.pi)
exp2_tail = series(
    lambda r: (mpf(2) ** r - 1) / r, taylor(lambda i: m.log(2) ** (i + 1) / F(i + 1))
)
cbrt_inverse = lambda f: (1 + f) ** (-mpf(1) / 3)
log2_tail = series(
    lambda f: m.log(1 + f, 2) / f, taylor(lambda i: mpf((-1) ** i) / ((i + 1) * m.log(2)), 20)
)
# log2((1+s)/(1-s)) = 2/ln2 * s * (1 + z/3 + z^2 g(z)), z = s^2; g scaled by 2/ln2
log2_ratio_tail = series(
    of_square(lambda s: 2 / m.log(2) * (m.atanh(s) / s - 1 - s * s / 3) / s**4),
    taylor(lambda i: 2 / m.log(2) / (2 * i + 5)),
)


ERF_FIRST = round_to(2 / m.sqrt(m.pi), "f32")


def erf_root(t):
    """(2 - 2 sqrt(erfc t)) / t, less its first coefficient as f32."""
    if t < mpf("1e-12"):
        return 2 / m.sqrt(m.pi) - ERF_FIRST
    return 2 * (1 - m.sqrt(m.erfc(t))) / t - ERF_FIRST


def erf_root_weight(t):
    """What an error there does to erf, relatively."""
    return m.sqrt(m.pi) / 2 if t < mpf("1e-12") else m.sqrt(m.erfc(t)) * t / m.erf(t)


def erf_fourth(t):
    """(4 - 4 erfc(t)^(1/4) - t 2/sqrt(pi)) / t^2; never at 0 itself."""
    return (4 * (1 - m.root(m.erfc(t), 4)) / t - two_sqrtpi) / t


def erf_fourth_weight(t):
    return m.root(m.erfc(t), 4) ** 3 * t**2 / m.erf(t) if t > 0 else mpf(0)


ERFC_CENTER = mpf(float.fromhex("0x1.ff8p-3"))  # near which the function is close to an f32


def erfc_scaled(v):
    """(x + 5/4) e^x^2 erfc x at 1 / (x + 5/4) = v + ERFC_CENTER."""
    under = 1 / (v + ERFC_CENTER)
    x = max(under - mpf("1.25"), mpf(0))
    return under * m.exp(x * x) * m.erfc(x)


LOG_LOW, LOG_HIGH = m.sqrt(mpf(1) / 2) - 1 - mpf("1e-6"), m.sqrt(mpf(2)) - 1 + mpf("1e-6")
LOG_RATIO = (m.sqrt(2) - 1) / (m.sqrt(2) + 1) * (1 + mpf("1e-6"))
QUARTER_PI2 = (m.pi / 4 * mpf("1.002")) ** 2
LN2H2 = HALF_LN2**2
relative = lambda power: lambda x: abs(x) ** power

ROWS = [  # name, what, g, low, high, degree, weight, dtype
    (
        "exp_f32",
        "(e^r - 1 - r) / r^2, |r| <= ln2/2",
        exp_tail,
        -HALF_LN2,
        HALF_LN2,
        4,
        relative(1),
        "f32",
    ),
    ("exp_f64", "the same", exp_tail, -HALF_LN2, HALF_LN2, 9, relative(1), "f64"),
    (
        "log_f32",
        "(log(1+f) - f + f^2/2) / f^3, sqrt(1/2) <= 1+f <= sqrt 2",
        log_tail,
        LOG_LOW,
        LOG_HIGH,
        7,
        relative(2),
        "f32",
    ),
    (
        "log_wide",
        "the same, for f32 functions that work in f64",
        log_tail,
        LOG_LOW,
        LOG_HIGH,
        8,
        relative(2),
        "f64",
    ),
    (
        "log_f64",
        "(2 atanh s - 2 s) / s^3 in s^2, |s| <= 0.1716",
        log_ratio_tail,
        0,
        LOG_RATIO**2,
        6,
        lambda z: z / 2,
        "f64",
    ),
    (
        "sin_f32",
        "(sin r - r) / r^3 in r^2, |r| <= pi/4",
        sin_tail,
        0,
        QUARTER_PI2,
        3,
        relative(1),
        "f32",
    ),
    ("sin_f64", "the same", sin_tail, 0, QUARTER_PI2, 6, relative(1), "f64"),
    (
        "cos_f32",
        "(cos r - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4",
        cos_tail,
        0,
        QUARTER_PI2,
        2,
        relative(2),
        "f32",
    ),
    ("cos_f64", "the same", cos_tail, 0, QUARTER_PI2, 5, relative(2), "f64"),
    (
        "asin_f32",
        "(asin x - x) / x^3 in x^2, |x| <= 1/2",
        asin_tail,
        0,
        mpf("0.2501"),
        4,
        relative(1),
        "f32",
    ),
    ("asin_f64", "the same", asin_tail, 0, mpf("0.2501"), 12, relative(1), "f64"),
    ("atan_f32", "(atan x - x) / x^3 in x^2, |x| <= 1", atan_tail, 0, 1, 7, relative(1), "f32"),
    ("atan_f64", "the same, |x| <= 1/2", atan_tail, 0, mpf("0.2501"), 13, relative(1), "f64"),
    (
        "sinh_f32",
        "(sinh r - r) / r^3 in r^2, |r| <= ln2/2",
        sinh_tail,
        0,
        LN2H2,
        2,
        relative(1),
        "f32",
    ),
    ("sinh_f64", "the same", sinh_tail, 0, LN2H2, 5, relative(1), "f64"),
    (
        "cosh_f32",
        "(cosh r - 1) / r^2 in r^2, |r| <= ln2/2",
        cosh_tail,
        0,
        LN2H2,
        2,
        relative(1),
        "f32",
    ),
    ("cosh_f64", "the same", cosh_tail, 0, LN2H2, 5, relative(1), "f64"),
    (
        "expm1_2_f32",
        "((e^2r - 1) / 2 - r) / r^2, |r| <= ln2/4",
        expm1_2_tail,
        -HALF_LN2 / 2,
        HALF_LN2 / 2,
        4,
        relative(1),
        "f32",
    ),
    (
        "expm1_2_f64",
        "the same",
        expm1_2_tail,
        -HALF_LN2 / 2,
        HALF_LN2 / 2,
        9,
        relative(1),
        "f64",
    ),
    (
        "atanh_f32",
        "(atanh x - x) / x^3 in x^2, |x| <= 1/3",
        atanh_tail,
        0,
        mpf("0.1112"),
        4,
        relative(1),
        "f32",
    ),
    ("atanh_f64", "the same", atanh_tail, 0, mpf("0.1112"), 9, relative(1), "f64"),
    (
        "asinh_f64",
        "(asinh x - x) / x^3 in x^2, |x| <= 1/2",
        asinh_tail,
        0,
        mpf("0.2501"),
        11,
        relative(1),
        "f64",
    ),
    (
        "erf_f32",
        "(2 - 2 sqrt(erfc t)) / t - 0x1.20dd76p+0, 0 <= t <= 3.9",
        erf_root,
        0,
        mpf("3.9"),
        13,
        erf_root_weight,
        "f32",
    ),
    (
        "erf_f64",
        "(4 - 4 erfc(t)^(1/4) - t 2/sqrt(pi)) / t^2, 0 <= t <= 6",
        erf_fourth,
        0,
        mpf(6),
        25,
        erf_fourth_weight,
        "f64",
    ),
    (
        "erfc_f32",
        "(x + 5/4) e^x^2 erfc x in 1 / (x + 5/4) - 0x1.ff8p-3, x <= 10.07",
        erfc_scaled,
        1 / mpf("11.32") - ERFC_CENTER,
        mpf("0.8") - ERFC_CENTER,
        11,
        lambda v: 1 / erfc_scaled(v),
        "f32",
    ),
    (
        "log2_wide",
        "log2(1+f) / f, for pow f32 in f64",
        log2_tail,
        LOG_LOW,
        LOG_HIGH,
        13,
        relative(0),
        "f64",
    ),
    (
        "exp2_wide",
        "(2^r - 1) / r, |r| <= 1/2",
        exp2_tail,
        mpf("-0.501"),
        mpf("0.501"),
        6,
        relative(1),
        "f64",
    ),
    (
        "exp2_f32",
        "(2^r - 1) / r, |r| <= 1/2",
        exp2_tail,
        mpf("-0.5"),
        mpf("0.5"),
        6,
        relative(1),
        "f32",
    ),
    ("exp2_f64", "the same", exp2_tail, mpf("-0.5"), mpf("0.5"), 11, relative(1), "f64"),
    (
        "cbrt_f32",
        "(1+f)^(-1/3), sqrt(1/2) <= 1+f <= sqrt 2",
        cbrt_inverse,
        LOG_LOW,
        LOG_HIGH,
        4,
        lambda f: (1 + f) ** (mpf(1) / 3),
        "f32",
    ),
    (
        "cbrt_f64",
        "the same",
        cbrt_inverse,
        LOG_LOW,
        LOG_HIGH,
        5,
        lambda f: (1 + f) ** (mpf(1) / 3),
        "f64",
    ),
    (
        "log2_ratio_f64",
        "(log2((1+s)/(1-s)) / s - (1 + s^2/3) 2/ln2) / s^4, |s| <= 0.172",
        log2_ratio_tail,
        0,
        mpf("0.02952"),
        7,
        relative(2),
        "f64",
    ),
]


def main():
    chosen = sys.argv[1:]
    print("/* SPDX-License-Identifier: ISC */")
    print("/* The polynomials of the function expansions, lowest degree first, made by")
    print(
        " * tools/fit_coefficients.py; the bound is the relative error that the polynomial alone "
        "leaves in"
    )
    print(" * the function. */")
    print("#ifndef NXI_EXPAND_COEFFICIENTS_H\n#define NXI_EXPAND_COEFFICIENTS_H\n")
    for name, what, g, low, high, degree, weight, dtype in ROWS:
        if chosen and name not in chosen:
            continue
        c, bound = fit(g, low, high, degree, weight, dtype)
        print("/* %s. Degree %d, bound 2^%.1f */" % (what, degree, m.log(bound, 2)))
        print("static const double nxi_%s[] = {" % name)
        for v in c:
            print("    %s," % float(v).hex())
        print("};")
        print(name, degree, m.nstr(m.log(bound, 2), 5), file=sys.stderr)
    print("\n#endif")


if __name__ == "__main__":
    main()
