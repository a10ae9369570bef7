# SPDX-License-Identifier: BSD-3-Clause
"""Write crps.json beside this file: the continuous ranked probability scores of distributions, for the tests of closed forms.

    python3 make_crps.py [DIRECTORY]        (needs mpmath; takes a minute; no other argument, no clock, no network)

A number is the integral of (F(x) - 1[x >= y])^2 over x, F from mpmath. Mixtures are integrated by quadrature at 30 digits. The
others are the textbook's closed forms at 40 to 700 digits, each compared with the quadrature where |z| <= 40, and for Student's t
in 20 cases from 0.75 to 10 degrees of freedom: they agree to 1e-14, or the script stops.
"""
import json
import os
import sys

import mpmath
from mpmath import mp, mpf, quad, exp, log, sqrt, erfc, erf, beta, betainc, pi, inf

mp.dps = 40


def normal_closed(t):
    return t * erf(t / sqrt(mpf(2))) + 2 * exp(-t * t / 2) / sqrt(2 * pi) - 1 / sqrt(pi)


def normal_tail(x):
    return erfc(x / sqrt(mpf(2))) / 2


def logistic_closed(t):
    return t + 2 * mpmath.log1p(exp(-t)) - 1


def logistic_tail(x):
    return 1 / (1 + exp(x))


def laplace_closed(t):
    return t + exp(-t) - mpf(3) / 4


def laplace_tail(x):
    return exp(-x) / 2 if x > 0 else 1 - exp(x) / 2


def student_tail(n):
    def tail(x):
        if x < 0:
            return 1 - tail(-x)
        return betainc(n / 2, mpf(1) / 2, 0, n / (n + x * x), regularized=True) / 2
    return tail


def student_closed(t, n):
    b = beta(mpf(1) / 2, n / 2)
    f = (1 + t * t / n) ** (-(n + 1) / 2) / (sqrt(n) * b)
    q = student_tail(n)(t)
    start = 2 * sqrt(n) / (n - 1) * beta(mpf(1) / 2, n - mpf(1) / 2) / b**2
    return t * (1 - 2 * q) + 2 * f * (n + t * t) / (n - 1) - start


def integral(tail, t):
    """2 * the integral of Q^2 above t, and that of Q^2 + (1-Q)^2 from 0 to t; of what is symmetric about 0."""
    cuts = [t + c for c in (0, 1, 2, 4, 8, 16, 64, 1024, 10**6, 10**12, 10**30)] + [inf]
    s = 2 * quad(lambda x: tail(x) ** 2, cuts)
    if t > 0:
        inner = [mpf(0)] + [c for c in (mpf(1), mpf(3), mpf(8), mpf(30), mpf(100)) if c < t] + [t]
        s += quad(lambda x: tail(x) ** 2 + (1 - tail(x)) ** 2, inner)
    return s


def number(v):
    return mpmath.nstr(v, 20)


def check(a, b, what):
    assert abs(a - b) <= mpf(10) ** -14 * abs(b), (what, a, b)


def simple(closed, tail):
    out = []
    for t in (0.0, 1e-300, 1e-8, 0.0625, 0.3, 0.5, 1.0, 1.7, 2.5, 4.0, 6.5, 9.0, 20.0, 37.0, 40.0, 1e3, 1e6, 1e15, 1e100, 1e300):
        mp.dps = 40 if t < 1e15 else 700
        v = closed(mpf(t))
        mp.dps = 30
        if t <= 40:
            check(integral(tail, mpf(t)), v, t)
        out.append([t, number(v)])
    return out


def student():
    out = []
    for n in (0.5 + 2.0**-30, 0.501, 0.55, 0.75, 0.76, 0.999, 1 - 2.0**-40, 1.0, 1 + 2.0**-52, 1 + 1e-12, 1 + 1e-8, 1.0001, 1.01, 1.1, 1.25, 1.4375,
              1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.5, 10.0, 30.0, 33.0, 100.0, 1e3, 1e5, 1e7):
        for t in (0.0, 1e-8, 0.1, 0.5, 0.99, 1.01, 2.0, 3.5, 5.6, 6.0, 9.0, 12.0, 40.0, 1e3, 1e8, 1e20, 1e100):
            if n > 1e3 and t > 40:
                continue
            mp.dps = 80
            m = mpf(n) if n != 1 else 1 + mpf(10) ** -30  # the limit, to 1e-30
            v = student_closed(mpf(t), m)
            if n in (0.75, 1.0, 1.5, 3.0, 10.0) and t in (0.0, 0.5, 2.0, 9.0):
                mp.dps = 25
                check(integral(student_tail(mpf(n)), mpf(t)), v, (n, t))
            out.append([n, t, number(v)])
    return out


def mixture():
    out = []
    for w, m, s in (
        ([1.0], [0.25], [2.0]),
        ([0.5, 0.5], [-1.0, 1.0], [1.0, 1.0]),
        ([0.125, 0.5, 0.375], [-3.0, 0.5, 4.0], [0.25, 1.0, 3.0]),
        ([3.0, 1.0], [0.0, 10.0], [0.5, 0.5]),
        ([0.875, 0.125], [0.0, 0.0], [1.0, 16.0]),
    ):
        for y in (-30.0, -1.0, 0.0, 0.375, 2.0, 10.0, 100.0):
            mp.dps = 30
            total = sum(mpf(x) for x in w)

            def upper(x):
                return sum(mpf(a) / total * normal_tail((x - b) / c) for a, b, c in zip(w, m, s))

            def lower(x):
                return sum(mpf(a) / total * normal_tail((b - x) / c) for a, b, c in zip(w, m, s))

            ends = [mpf(-200)] + sorted(mpf(b) + k * mpf(c) for b, c in zip(m, s) for k in (-8, -4, -2, -1, 0, 1, 2, 4, 8)) + [mpf(200)]
            below = [e for e in ends if e < y] + [mpf(y)]
            above = [mpf(y)] + [e for e in ends if e > y]
            v = quad(lambda x: lower(x) ** 2, below) + quad(lambda x: upper(x) ** 2, above)
            out.append([y, w, m, s, number(v)])
    return out


def main():
    here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    lists = {
        "normal": simple(normal_closed, normal_tail),
        "logistic": simple(logistic_closed, logistic_tail),
        "laplace": simple(laplace_closed, laplace_tail),
        "student": student(),
        "mixture": mixture(),
    }
    how = ("Made by make_crps.py, mpmath %s. Scores of a standard distribution, 20 digits: [|z|, score]; of Student's t [df, |z|, score]; "
           "of mixtures of normals [y, weights, means, sds, score]." % mpmath.__version__)
    with open(os.path.join(here, "crps.json"), "w", encoding="ascii", newline="\n") as f:
        f.write("{\n" + '"how": ' + json.dumps(how))
        for name, rows in lists.items():
            f.write(",\n" + json.dumps(name) + ": [\n" + ",\n".join(json.dumps(v, separators=(",", ":")) for v in rows) + "\n]")
        f.write("\n}\n")


if __name__ == "__main__":
    main()
