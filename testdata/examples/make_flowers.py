# SPDX-License-Identifier: BSD-3-Clause
"""Write flowers.npz, flowers_apart.npz and flowers_normal.npz: what are the four measures of an iris of a known species?

The flowers are Fisher's (1936), as scikit-learn 1.9.1 has them. Every other one of a species is observed. Its forecast is 19 of the other
flowers of the species, drawn without replacement: `members` (75, 19, 4) in cm, `obs` (75, 4). In flowers_apart.npz the members' measures are
those of 19 flowers too, but each is shuffled over the members by itself, so that the measures no longer depend on each other.
flowers_normal.npz states a normal distribution: `mean` (75, 4) and `cov` (75, 4, 4) of the 25 flowers of the species that are not observed.

    python testdata/examples/make_flowers.py
"""

import os

import numpy as np
from sklearn.datasets import load_iris

HERE = os.path.dirname(os.path.abspath(__file__))
r = np.random.default_rng(1936)
x, species = load_iris(return_X_y=True)
seen = np.arange(len(x)) % 2 == 0
members = np.stack([x[r.choice(np.flatnonzero(~seen & (species == s)), 19, replace=False)] for s in species[seen]])
apart = np.stack([np.stack([r.permutation(column) for column in row.T], axis=1) for row in members])
for name, m in (("flowers", members), ("flowers_apart", apart)):
    np.savez_compressed(os.path.join(HERE, name + ".npz"), members=m.astype(np.float32), obs=x[seen].astype(np.float32))

mean = np.stack([x[~seen & (species == s)].mean(axis=0) for s in species[seen]])
cov = np.stack([np.cov(x[~seen & (species == s)].T) for s in species[seen]])
np.savez_compressed(os.path.join(HERE, "flowers_normal.npz"), mean=mean.astype(np.float32), cov=cov.astype(np.float32), obs=x[seen].astype(np.float32))
