#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Fits the polynomials of the special functions and prints ir/expand/special_coefficients.h.

    python3 tools/fit_special.py | clang-format-19 > ir/expand/special_coefficients.h

(needs mpmath; some minutes). The method is that of fit_coefficients.py. All of these are evaluated
in f64: tables named _wide are of lower degree, for results that are rounded to f32.
"""

import sys

import mpmath as m
from fit_coefficients import fit
from mpmath import mp, mpf

mp.dps = 45


def ratio(x, k):
    """The variable (x - k) / (x + k), and its inverse."""
    return (mpf(x) - k) / (mpf(x) + k)


def from_ratio(t, k):
    return k * (1 + t) / (1 - t)


def relative(g):
    return lambda x: 1 / abs(g(x))


def erfcx(t):
    x = from_ratio(t, 3)
    return (1 + 2 * x) * m.erfc(x) * m.exp(x * x)


def erfinv_near(t):
    """erfinv(x) / x at -log(1 - x^2) = t + 2.5."""
    w = t + mpf("2.5")
    if w < mpf("1e-12"):
        return m.sqrt(m.pi) / 2 * (1 + w * (m.pi / 12 - mpf(1) / 2 + mpf(1) / 2))
    x = m.sqrt(-m.expm1(-w))
    return m.erfinv(x) / x


def erfinv_root(s):
    """erfinv(x) at sqrt(-log(1 - x^2)) = s."""
    e = m.exp(-s * s)
    log_rest = m.log(e / (1 + m.sqrt(1 - e)))
    return m.findroot(lambda y: m.log(m.erfc(y)) - log_rest, s * mpf("0.95"))


def lgamma_near(t):
    """lgamma(2 + d) / d at d = t - 0.3125."""
    d = t - mpf("0.3125")
    return m.loggamma(2 + d) / d if abs(d) > mpf("1e-15") else 1 - m.euler


def digits(f):
    """f with twice the digits, for differences."""

    def g(x):
        mp.dps = 90
        y = f(x)
        mp.dps = 45
        return +y

    return g


@digits
def stirling(w):
    """(lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)) x at w = 1 / x^2."""
    if w < mpf("1e-12"):
        return mpf(1) / 12 - w / 360 + w * w / 1260
    x = 1 / m.sqrt(w)
    return (m.loggamma(x) - (x - mpf(1) / 2) * m.log(x) + x - m.log(2 * m.pi) / 2) * x


@digits
def stirling_all(t):
    """(lgamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2)) x at 1 / (x + 1/2) = t + 1/3."""
    s = t + mpf(1) / 3
    if s < mpf("1e-12"):
        return mpf(1) / 12
    x = 1 / s - mpf(1) / 2
    return (m.loggamma(x) - (x - mpf(1) / 2) * m.log(x) + x - m.log(2 * m.pi) / 2) * x


ROOT = m.findroot(m.digamma, mpf("1.4616"))


def digamma_near(t):
    """digamma(x) / (x - root) at x = t + 1.5."""
    x = t + mpf("1.5")
    return m.digamma(x) / (x - ROOT)


@digits
def digamma_far(w):
    """(log x - 1 / 2x - digamma(x)) x^2 at w = 1 / x^2."""
    if w < mpf("1e-12"):
        return mpf(1) / 12 - w / 120 + w * w / 252
    x = 1 / m.sqrt(w)
    return (m.log(x) - 1 / (2 * x) - m.digamma(x)) * x * x


def i_small(n):
    """i0(x), or i1(x) / x, at x^2 = w."""

    def g(w):
        if n == 1 and w < mpf("1e-20"):
            return mpf(1) / 2
        x = m.sqrt(w)
        return m.besseli(n, x) / x**n

    return g


def i_large(n):
    """exp(-x) i_n(x) sqrt x at x = 1 / z, z = (t + 1) / 16."""

    def g(t):
        x = 1 / max((t + 1) / 16, mpf("1e-20"))
        return m.besseli(n, x) * m.exp(-x) * m.sqrt(x)

    return g


def j_small(n):
    """j0(x) / (x^2 - z^2), z its first zero, or j1(x) / x, at x^2 = t + 3.4."""
    zero = m.besseljzero(0, 1) ** 2

    def g(t):
        w = t + mpf("3.4")
        if n == 0:
            return m.besselj(0, m.sqrt(w)) / (w - zero)
        return m.besselj(1, m.sqrt(w)) / m.sqrt(w) if w > mpf("1e-20") else mpf(1) / 2

    return g


def j_argument(t):
    """x where 4 / (x + 2) is 0.44 - t."""
    return min(4 / max(mpf("0.44") - t, mpf("1e-12")) - 2, mpf("1e12"))


def modulus(n):
    """sqrt((j_n^2 + y_n^2) x)."""

    def g(t):
        x = j_argument(t)
        return m.sqrt((m.besselj(n, x) ** 2 + m.bessely(n, x) ** 2) * x)

    return g


def phase(n):
    """x times what the phase of j_n + i y_n has above x - (2 n + 1) pi / 4."""

    @digits
    def g(t):
        x = j_argument(t)
        y = m.atan2(m.bessely(n, x), m.besselj(n, x)) - (x - (2 * n + 1) * m.pi / 4)
        return (y - 2 * m.pi * m.nint(y / (2 * m.pi))) * x

    return g


ROWS = []


def row(name, what, g, low, high, wide, double, weight=None):
    """A table of each of the two degrees."""
    weight = weight or relative(g)
    if wide:
        ROWS.append((name + "_wide", what, g, low, high, wide, weight))
    if double:
        ROWS.append((name + "_f64", "the same" if wide else what, g, low, high, double, weight))


row(
    "stirling_all",
    "what Stirling lacks, times x, in 1 / (x + 1/2) - 1/3, x >= 1",
    stirling_all,
    -mpf(1) / 3,
    mpf("0.33334"),
    0,
    17,
    lambda x: 1,
)
HALF_LN2 = m.log(2) / 2 * mpf("1.002")
row(
    "small_exp",
    "(e^r - 1 - r) / r^2, |r| <= ln2/2",
    lambda r: (m.expm1(r) - r) / r**2 if abs(r) > 1e-9 else mpf(1) / 2 + r / 6,
    -HALF_LN2,
    HALF_LN2,
    5,
    0,
    lambda r: r * r,
)
row(
    "small_erf",
    "(erf x - x) / x in x^2, |x| <= 3/4",
    lambda w: m.erf(m.sqrt(w)) / m.sqrt(w) - 1 if w > 1e-20 else 2 / m.sqrt(m.pi) * (1 - w / 3) - 1,
    mpf(0),
    mpf("0.5626"),
    0,
    12,
    lambda w: m.sqrt(w) / m.erfc(m.sqrt(w)),
)
row(
    "erfcx",
    "(1 + 2x) e^x^2 erfc x in t = (x - 3) / (x + 3), 0.75 <= x <= 27.4",
    erfcx,
    ratio("0.7499", 3),
    ratio("27.41", 3),
    0,
    21,
)
row(
    "erfinv_near",
    "erfinv(x) / x in w - 5/2, w = -log(1 - x^2) <= 5",
    erfinv_near,
    mpf("-2.5"),
    mpf("2.501"),
    12,
    23,
)
row(
    "erfinv_middle",
    "erfinv(x) in s - 3.125, s = sqrt(w) up to 4",
    lambda t: erfinv_root(t + mpf("3.125")),
    mpf("2.2355") - mpf("3.125"),
    mpf("4.0005") - mpf("3.125"),
    10,
    20,
)
row(
    "erfinv_far",
    "erfinv(x) in s - 5, s up to 6.01",
    lambda t: erfinv_root(t + 5),
    mpf("-1.0005"),
    mpf("1.01"),
    0,
    17,
)
row(
    "lgamma_near",
    "lgamma(2 + d) / d in d + 0.3125, -0.8 <= d <= 0.2",
    lgamma_near,
    mpf("-0.4876"),
    mpf("0.5126"),
    11,
    21,
)
row(
    "stirling",
    "(lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x in x^-2, x >= 7.2",
    stirling,
    mpf(0),
    1 / mpf("7.19") ** 2,
    3,
    7,
)
row(
    "digamma_near",
    "digamma(x) / (x - root) in x - 3/2, 1 <= x <= 2",
    digamma_near,
    mpf("-0.5"),
    mpf("0.5"),
    12,
    23,
)
row(
    "digamma_far",
    "(log x - 1 / 2x - digamma(x)) x^2 in 1 / x^2, x >= 4",
    digamma_far,
    mpf(0),
    mpf("0.06251"),
    3,
    10,
    lambda w: 12 * w if w > 0 else mpf(0),
)
for n in (0, 1):
    row(
        f"i{n}_small",
        "i0(x) in x^2, |x| <= 8" if n == 0 else "i1(x) / x, likewise",
        i_small(n),
        mpf(0),
        mpf(64),
        11,
        17,
    )
    row(
        f"i{n}_large",
        f"e^-x i{n}(x) sqrt x in 16 / x - 1, x >= 8",
        i_large(n),
        mpf(-1),
        mpf(1),
        7,
        26,
    )
for n in (0, 1):
    row(
        f"j{n}_small",
        "j0(x) / (x^2 - z^2) in x^2 - 3.4, x <= 2.6" if n == 0 else "j1(x) / x, likewise",
        j_small(n),
        mpf("-3.4"),
        mpf("3.365"),
        7,
        13,
    )
    row(
        f"j{n}_modulus",
        f"sqrt((j{n}^2 + y{n}^2) x) in 0.44 - 4 / (x + 2), x >= 2.6",
        modulus(n),
        mpf("-0.43"),
        mpf("0.44"),
        9,
        19,
    )
    row(
        f"j{n}_phase",
        f"(arg(j{n} + i y{n}) - x + {2 * n + 1} pi / 4) x, likewise",
        phase(n),
        mpf("-0.43"),
        mpf("0.44"),
        9,
        20,
    )


def main():
    chosen = sys.argv[1:]
    print("/* SPDX-License-Identifier: ISC */")
    print("/* The polynomials of the special functions, lowest degree first, made by")
    print(" * tools/fit_special.py; the bound is the relative error that the polynomial leaves. */")
    print("#ifndef NXI_EXPAND_SPECIAL_COEFFICIENTS_H\n#define NXI_EXPAND_SPECIAL_COEFFICIENTS_H\n")
    for name, what, g, low, high, degree, weight in ROWS:
        if chosen and name not in chosen:
            continue
        values = {}

        def once(x, g=g, values=values):
            if x not in values:
                values[x] = g(x)
            return values[x]

        c, bound = fit(once, low, high, degree, weight, "f64")
        print("/* %s. Degree %d, bound 2^%.1f */" % (what, degree, m.log(bound, 2)))
        print("static const double nxi_%s[] = {" % name)
        for v in c:
            print("    %s," % float(v).hex())
        print("};", flush=True)
        print(name, degree, m.nstr(m.log(bound, 2), 5), file=sys.stderr, flush=True)
    print("\n#endif")


if __name__ == "__main__":
    main()
