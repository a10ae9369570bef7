#!/usr/bin/env python3
"""Write a large file of float32 logits and its labels, to measure memory and speed of candor eval.

usage: make_big.py LOGITS.npy LABELS.npy [ROWS] [CLASSES]      1,000,000 x 1,000 (4 GB) unless said

The rows are one block of random rows again and again: what is measured does not depend on their values.
"""
import sys
import numpy as np

logits, labels = sys.argv[1:3]
rows = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
classes = int(sys.argv[4]) if len(sys.argv) > 4 else 1_000
rng = np.random.default_rng(1)
block = min(rows, max(1, 16_000_000 // classes))
x = (rng.standard_normal((block, classes)) * 3).astype(np.float32)
y = rng.integers(0, classes, rows).astype(np.int32)
x[np.arange(block), y[:block]] += 6
with open(logits, "wb") as f:
    np.lib.format.write_array_header_1_0(f, {"descr": "<f4", "fortran_order": False, "shape": (rows, classes)})
    for at in range(0, rows, block):
        f.write(x[: min(block, rows - at)].tobytes())
y[:] = np.tile(y[:block], rows // block + 1)[:rows]
np.save(labels, y)
