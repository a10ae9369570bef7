# SPDX-License-Identifier: BSD-3-Clause
"""Write bets.json beside this file: e-values of calibration, for the tests of binfree.EProcess.

    python3 make_bets.py [DIRECTORY]        (needs nothing but Python; no other argument, no clock, no network)

A case has scores p, outcomes y, and the natural logarithm of E = (1/16) sum over lambda = +-2^-j, j = 1..8, of
prod (1 + lambda (y - p)), multiplied out in decimals of 60 digits, from the exact values of the scores.
"""
import json
import os
import random
import sys
from decimal import Decimal, getcontext

getcontext().prec = 60


def log_e(p, y):
    total = Decimal(0)
    for j in range(1, 9):
        for sign in (1, -1):
            stake = sign * Decimal(2) ** -j
            product = Decimal(1)
            for a, b in zip(p, y):
                product *= 1 + stake * (b - Decimal(a))
            total += product
    return float((total / 16).ln())


def main():
    here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    r = random.Random(20260302)
    cases = []

    def case(name, n, score, rate):
        p = [score() for _ in range(n)]
        y = [int(r.random() < rate(v)) for v in p]
        cases.append({"name": name, "p": p, "y": y, "log": log_e(p, y)})

    case("one row", 1, lambda: 0.3, lambda v: 1)
    case("calibrated", 400, r.random, lambda v: v)
    case("too high", 400, r.random, lambda v: v * v)
    case("rare", 500, lambda: 0.03 * r.random(), lambda v: v)
    case("sure and right", 50, lambda: float(r.random() < 0.5), lambda v: v)
    case("sure and wrong", 50, lambda: float(r.random() < 0.5), lambda v: 1 - v)
    case("beyond float64", 2500, lambda: 0.0, lambda v: 1)
    case("tiny", 300, lambda: 1e-12 * r.random(), lambda v: 0)
    with open(os.path.join(here, "bets.json"), "w", encoding="ascii", newline="\n") as f:
        f.write('{\n"how": "decimals of 60 digits, run by make_bets.py",\n"cases": [\n')
        f.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n}\n")


if __name__ == "__main__":
    main()
