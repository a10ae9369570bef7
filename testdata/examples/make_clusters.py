# SPDX-License-Identifier: BSD-3-Clause
"""Make visits.csv, the file of the example of docs/clusters.md: scores and outcomes of a binary task, several visits of each patient.

    python3 make_clusters.py        (Python alone; no clock, no network)

Visits of a patient have scores, and outcomes beyond what the scores say, in common. The seed is fixed.
"""
import math
import pathlib
import random

here = pathlib.Path(__file__).resolve().parent

if __name__ == "__main__":
    r = random.Random(6)
    with open(here / "visits.csv", "w", encoding="ascii", newline="\n") as f:
        f.write("patient,p,y\n")
        for patient in range(80):
            own, unseen = r.gauss(0, 1), r.gauss(0, 1)
            for _ in range(r.randint(4, 16)):
                z = own + 0.7 * r.gauss(0, 1) - 0.3
                p = round(1 / (1 + math.exp(-z)), 4)
                f.write("P%03d,%.4f,%d\n" % (patient, p, r.random() < 1 / (1 + math.exp(-z - unseen))))
