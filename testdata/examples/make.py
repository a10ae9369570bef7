# SPDX-License-Identifier: BSD-3-Clause
"""Make the files of the examples in docs: an ensemble, out-of-distribution rows, samples, and log-likelihoods of posterior draws.

    python3 make.py        (numpy and scikit-learn; a few seconds)

The networks are those of ../sample/make.py. Seeds are fixed.
"""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent / "sample"))
from make import Network, slope_classes, softmax, standardise  # noqa: E402, first, for it sets the number of threads

import numpy as np  # noqa: E402
from sklearn.datasets import load_diabetes, load_digits  # noqa: E402

MEMBERS, SAMPLES, DRAWS = 5, 51, 200


def train(seed, x, y, classes, epochs=100):
    rng = np.random.default_rng(seed)
    return Network(rng, 64, 32, classes).train(rng, x, y, slope_classes, epochs=epochs, batch=32)


def digits():
    """Five networks, each trained on its own 200 digits, and the 897 digits that none has seen."""
    x, y = load_digits(return_X_y=True)
    x, order = x / 16.0, np.random.default_rng(11).permutation(len(y))
    known, test = order[:900], order[900:]
    members = []
    for m in range(MEMBERS):
        own = np.random.default_rng([12, m]).choice(known, 200, replace=False)
        members.append(softmax(train([13, m], x[own], y[own], 10)(x[test])))
    return np.array(members, np.float32), y[test].astype(np.uint8)


def unseen():
    """A network that has learned the digits 0 to 7, on other images of these, and on 8 and 9."""
    x, y = load_digits(return_X_y=True)
    x, order = x / 16.0, np.random.default_rng(14).permutation(len(y))
    known = order[y[order] < 8]
    fit, test, foreign = known[:720], known[720:], order[y[order] >= 8]
    net = train(15, x[fit], y[fit], 8)
    return softmax(net(x[test])).astype(np.float32), y[test].astype(np.uint8), softmax(net(x[foreign])).astype(np.float32)


def samples():
    """51 draws from each of the normal forecasts of ../sample/diabetes_gaussian.npz."""
    f = np.load(here.parent / "sample" / "diabetes_gaussian.npz")
    z = np.random.default_rng(16).standard_normal((len(f["mean"]), SAMPLES))
    return (f["mean"][:, None] + f["std"][:, None] * z).astype(np.float32), f["observed"]


def log_likelihoods():
    """A linear regression with a flat prior: 200 draws from its posterior, and the log-likelihood of each row under each."""
    x, y = load_diabetes(return_X_y=True)
    x = np.column_stack([np.ones(len(y)), standardise(x, x)[0]])
    rng = np.random.default_rng(17)
    beta, (n, k) = np.linalg.lstsq(x, y, rcond=None)[0], x.shape
    s2 = np.sum((y - x @ beta) ** 2) / rng.chisquare(n - k, DRAWS)
    root = np.linalg.cholesky(np.linalg.inv(x.T @ x))
    draws = beta[:, None] + np.sqrt(s2) * (root @ rng.standard_normal((k, DRAWS)))
    return (-0.5 * (np.log(2 * np.pi * s2) + (y[:, None] - x @ draws) ** 2 / s2)).astype(np.float32)


def main():
    np.save(here / "members.npy", (m := digits())[0])
    np.save(here / "member_labels.npy", m[1])
    np.save(here / "network.npy", m[0][0])
    np.save(here / "average.npy", m[0].mean(0, dtype=np.float64).astype(np.float32))
    for name, array in zip(("seen", "seen_labels", "unseen"), unseen()):
        np.save(here / f"{name}.npy", array)
    for name, array in zip(("draws", "observed"), samples()):
        np.save(here / f"{name}.npy", array)
    np.save(here / "loglik.npy", log_likelihoods())


if __name__ == "__main__":
    main()
