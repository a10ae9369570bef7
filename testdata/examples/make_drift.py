# SPDX-License-Identifier: BSD-3-Clause
"""Make june.csv and july.csv, the files of the example of docs/drift.md: scores and outcomes of a binary task, in two months.

    python3 make_drift.py        (Python alone; no clock, no network)

In July scores are higher, and outcomes follow them less: their log odds are 0.75 times those of the scores. Seeds are fixed.
"""
import math
import pathlib
import random

here = pathlib.Path(__file__).resolve().parent


def month(name, seed, rows, centre, slope):
    r = random.Random(seed)
    with open(here / name, "w", encoding="ascii", newline="\n") as f:
        f.write("p,y\n")
        for _ in range(rows):
            z = centre + 1.5 * r.gauss(0, 1)
            p = round(1 / (1 + math.exp(-z)), 4)
            f.write("%.4f,%d\n" % (p, r.random() < 1 / (1 + math.exp(-slope * z))))


if __name__ == "__main__":
    month("june.csv", 1, 2000, -1.2, 1)
    month("july.csv", 2, 1800, -0.9, 0.75)
