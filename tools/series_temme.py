#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Prints ir/expand/temme_coefficients.h, the series of Temme's uniform expansion of the incomplete
gamma functions (N. M. Temme, 1979; DLMF 8.12).

    python3 tools/series_temme.py | clang-format-19 > ir/expand/temme_coefficients.h

(needs mpmath). C_0(eta) is 1 / mu - 1 / eta, and C_k(eta) = C_k-1'(eta) / eta + (-1)^k g_k / mu,
where mu - log(1 + mu) is eta^2 / 2, and g_k are the coefficients of gamma's own asymptotic series.
What is below 2^-56 for a = 20 and |mu| = 0.4 is left out.
"""

from mpmath import bernoulli, log, mp, mpf, sqrt

mp.dps = 80
TERMS, ORDERS, LEAST_A = 90, 13, 20
FARTHEST = sqrt(2 * (mpf("-0.4") - log(mpf("0.6"))))


def inverse_of_mu():
    """1 / mu = (r_0 + r_1 eta + ..) / eta. From mu mu' = eta (1 + mu)."""
    m = [mpf(0), mpf(1)]
    for n in range(2, TERMS + 1):
        rest = sum(m[i] * m[n + 1 - i] for i in range(2, n))
        m.append((m[n - 1] * 2 / (n + 1) - rest) / 2)
    r = [mpf(1)]
    for n in range(1, TERMS):
        r.append(-sum(m[j + 1] * r[n - j] for j in range(1, n + 1)))
    return r


def gamma_series():
    """g_k, of the exponential of Stirling's series."""
    log_terms = [mpf(0)] * (ORDERS + 1)
    for k in range(1, ORDERS // 2 + 1):
        log_terms[2 * k - 1] = bernoulli(2 * k) / (2 * k * (2 * k - 1))
    g = [mpf(1)]
    for n in range(1, ORDERS + 1):
        g.append(sum(j * log_terms[j] * g[n - j] for j in range(1, n + 1)) / n)
    return g


def series():
    r, g = inverse_of_mu(), gamma_series()
    c = [r[1:]]
    for k in range(1, ORDERS):
        slope = [(j + 1) * x for j, x in enumerate(c[-1][1:])]
        sign = (-1) ** k * g[k]
        assert abs(slope[0] + sign) < mpf(10) ** -20
        c.append([x + sign * y for x, y in zip(slope[1:], r[1:])])
    return c


def main():
    print("/* SPDX-License-Identifier: ISC */")
    print("/* Series of Temme's expansion of the incomplete gamma functions, by powers of eta, for")
    print(" * each power of 1 / a; made by tools/series_temme.py. */")
    print("#ifndef NXI_EXPAND_TEMME_COEFFICIENTS_H\n#define NXI_EXPAND_TEMME_COEFFICIENTS_H\n")
    rows = []
    for k, c in enumerate(series()):
        sizes = [abs(x) * FARTHEST**j / mpf(LEAST_A) ** k for j, x in enumerate(c[:40])]
        count = max((j + 1 for j, s in enumerate(sizes) if s > mpf(2) ** -56), default=0)
        if count:
            rows.append(c[:count])
    for k, c in enumerate(rows):
        values = ", ".join(float(x).hex() for x in c)
        print("static const double nxi_temme_%d[] = {%s};" % (k, values))
    print("static const struct {\n  const double *c;\n  int count;\n} nxi_temme[] = {")
    print(", ".join("{nxi_temme_%d, %d}" % (k, len(c)) for k, c in enumerate(rows)))
    print("};\n\n#endif")


if __name__ == "__main__":
    main()
