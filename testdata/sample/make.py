# SPDX-License-Identifier: BSD-3-Clause
"""Make the sample: out-of-fold predictions of small networks on three public data sets that come with scikit-learn.

    python3 make.py [DIRECTORY]        (numpy and scikit-learn; about half a minute; no other argument, no clock, no network)

Writes beside this file (or into DIRECTORY)
    digits_logits.npy         float32 (1797, 10)   logits of a classifier, before the softmax
    digits_labels.npy         uint8   (1797,)
    breast_cancer_probs.npy   float32 (569,)       P(y = 1), 1 is benign as in scikit-learn
    breast_cancer_labels.npy  uint8   (569,)
    diabetes_gaussian.npz     mean, std, observed, float64 (442,) each
    figures.json              what a plain float64 evaluation says of them

Every row was predicted by a model that did not see it: 10 folds, each the test set once. Rows are in the data set's order.

The networks are written out below in numpy: one hidden layer of ReLU units, Adam, seeded minibatches. They are trained for
200 epochs with no weight decay and no early stopping, until the training error is nearly nothing, and so say more than they
know: that is what the sample is there to show. (With 100 epochs and a weight decay of 1e-4 they are well calibrated.)

One thread and fixed instruction sets (set before numpy is imported) make the files the same to the bit in every run with the
same numpy, OpenBLAS and scikit-learn.
"""
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the order of a sum must not depend on the number of cores
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")  # nor on the CPU's generation, among x86-64-v3 CPUs
os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL")

import io
import json
import sys
import warnings
import zipfile

warnings.filterwarnings("ignore", message=".*NPY_DISABLE_CPU_FEATURES.*")  # a CPU without AVX-512 has nothing to disable

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.model_selection import KFold, StratifiedKFold

FOLDS = 10


# ---- the networks

class Network:
    """x -> relu(x W1 + b1) W2 + b2, float64."""

    def __init__(self, rng, inputs, hidden, outputs):
        self.params = [
            rng.standard_normal((inputs, hidden)) * np.sqrt(2.0 / inputs),
            np.zeros(hidden),
            rng.standard_normal((hidden, outputs)) * np.sqrt(1.0 / hidden),
            np.zeros(outputs),
        ]

    def forward(self, x):
        w1, b1, w2, b2 = self.params
        h = np.maximum(x @ w1 + b1, 0.0)
        return h, h @ w2 + b2

    def __call__(self, x):
        return self.forward(x)[1]

    def train(self, rng, x, y, slope, epochs, batch, rate=1e-3):
        """Adam. slope(outputs, y) is the gradient of a row's loss with respect to the outputs."""
        m = [np.zeros_like(p) for p in self.params]
        v = [np.zeros_like(p) for p in self.params]
        step = 0
        for _ in range(epochs):
            order = rng.permutation(len(x))
            for at in range(0, len(x), batch):
                i = order[at : at + batch]
                xb = x[i]
                h, out = self.forward(xb)
                g = slope(out, y[i]) / len(i)
                gh = (g @ self.params[2].T) * (h > 0)
                grads = [xb.T @ gh, gh.sum(axis=0), h.T @ g, g.sum(axis=0)]
                step += 1
                for k, p in enumerate(self.params):
                    d = grads[k]
                    m[k] = 0.9 * m[k] + 0.1 * d
                    v[k] = 0.999 * v[k] + 0.001 * d * d
                    p -= rate * (m[k] / (1 - 0.9**step)) / (np.sqrt(v[k] / (1 - 0.999**step)) + 1e-8)
        return self


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def slope_classes(out, y):
    g = softmax(out)
    g[np.arange(len(y)), y] -= 1.0
    return g


def slope_binary(out, y):
    return 1.0 / (1.0 + np.exp(-out)) - y[:, None]


def slope_gaussian(out, y):
    """out = (mean, ln variance); the loss is (ln variance + (y - mean)^2 / variance) / 2."""
    mean, precision = out[:, 0], np.exp(-out[:, 1])
    return np.stack([(mean - y) * precision, 0.5 * (1.0 - (y - mean) ** 2 * precision)], axis=1)


def standardise(train, test):
    mean, std = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / std, (test - mean) / std


# ---- the three sets

def digits():
    x, y = load_digits(return_X_y=True)
    x = x / 16.0
    logits = np.empty((len(y), 10), np.float32)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=1)
    for fold, (train, test) in enumerate(folds.split(x, y)):
        rng = np.random.default_rng([1, fold])
        net = Network(rng, 64, 64, 10).train(rng, x[train], y[train], slope_classes, epochs=200, batch=32)
        logits[test] = net(x[test])
    return logits, y.astype(np.uint8)


def breast_cancer():
    x, y = load_breast_cancer(return_X_y=True)
    probs = np.empty(len(y), np.float32)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=2)
    for fold, (train, test) in enumerate(folds.split(x, y)):
        rng = np.random.default_rng([2, fold])
        xt, xv = standardise(x[train], x[test])
        net = Network(rng, 30, 16, 1).train(rng, xt, y[train], slope_binary, epochs=200, batch=32)
        probs[test] = 1.0 / (1.0 + np.exp(-net(xv)[:, 0]))
    return probs, y.astype(np.uint8)


def diabetes(members=5):
    """A deep ensemble: members with a mean and a variance each; the mixture's mean and variance are what is predicted."""
    x, y = load_diabetes(return_X_y=True)
    mean, std = np.empty(len(y)), np.empty(len(y))
    folds = KFold(FOLDS, shuffle=True, random_state=3)
    for fold, (train, test) in enumerate(folds.split(x, y)):
        xt, xv = standardise(x[train], x[test])
        centre, scale = y[train].mean(), y[train].std()
        mu, var = [], []
        for member in range(members):
            rng = np.random.default_rng([3, fold, member])
            net = Network(rng, 10, 16, 2).train(rng, xt, (y[train] - centre) / scale, slope_gaussian, epochs=200, batch=32)
            out = net(xv)
            mu.append(out[:, 0])
            var.append(np.exp(out[:, 1]))
        mu, var = np.array(mu), np.array(var)
        mean[test] = centre + scale * mu.mean(axis=0)
        std[test] = scale * np.sqrt(var.mean(axis=0) + mu.var(axis=0))
    return mean, std, y.astype(np.float64)


# ---- figures: a plain evaluation in float64, sharing nothing with candor

def ece15(confidence, hit):
    """15 equal-width bins, edges i*(1/15), each holding its lower edge, the last one both; weights are counts over N."""
    bins = 15
    edges = [i * (1.0 / bins) for i in range(1, bins)]
    total = 0.0
    index = np.array([sum(1 for e in edges if e <= c) for c in confidence])
    for b in range(bins):
        in_bin = index == b
        if in_bin.any():
            total += abs(float(np.sum(hit[in_bin])) - float(np.sum(confidence[in_bin])))
    return total / len(confidence)


def mean(x):
    return float(np.sum(np.asarray(x, np.float64)) / len(x))


def xlogx(p):
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)


def figures_classes(logits, labels, k=5):
    s = logits.astype(np.float64)
    y = labels.astype(int)
    n, classes = s.shape
    rows = np.arange(n)
    top = s.max(axis=1, keepdims=True)
    lse = top[:, 0] + np.log(np.exp(s - top).sum(axis=1))
    p = np.exp(s - lse[:, None])
    said = s.argmax(axis=1)
    hit = (said == y).astype(np.float64)
    rank = [sum(1 for j in range(classes) if s[i, j] > s[i, y[i]] or (s[i, j] == s[i, y[i]] and j < y[i])) for i in range(n)]
    return {
        "rows": n,
        "classes": classes,
        "accuracy": mean(hit),
        "top5_accuracy": mean([r < k for r in rank]),
        "confidence": mean(p.max(axis=1)),
        "nll": mean(lse - s[rows, y]),
        "brier": mean(((p - np.eye(classes)[y]) ** 2).sum(axis=1)),
        "entropy": mean(-xlogx(p).sum(axis=1)),
        "ece15_top_label": ece15(p.max(axis=1), hit),
    }


def figures_binary(probs, labels):
    p = probs.astype(np.float64)
    y = labels.astype(np.float64)
    said = p > 0.5
    # What p leaves to class 0 has the digits that float32 has near 1, but for p next to 0.
    units = p * 2.0**24
    left = np.where(~said & (units >= 1024), np.rint(units) / 2.0**24, p)
    hit = (said == (y == 1)).astype(np.float64)
    confidence = np.where(said, p, 1.0 - p)
    return {
        "rows": len(p),
        "classes": 2,
        "base_rate": mean(y),
        "mean_probability": mean(p),
        "accuracy": mean(hit),
        "top5_accuracy": 1.0,
        "confidence": mean(confidence),
        "nll": mean(-np.log(np.where(y == 1, p, 1.0 - p))),
        "brier": mean((p - y) ** 2),
        "entropy": mean(-xlogx(p) - xlogx(1.0 - p)),
        "ece15_positive": ece15(p, y),
        "ece15_top_label": ece15(np.where(said, p, 1.0 - left), hit),
    }


def figures_gaussian(mean_, std, observed):
    z = (observed - mean_) / std
    return {
        "rows": len(z),
        "rmse": float(np.sqrt(mean((observed - mean_) ** 2))),
        "mae": mean(np.abs(observed - mean_)),
        "mean_variance": mean(std**2),
        "mean_squared_z": mean(z**2),
        "nll": mean(0.5 * np.log(2 * np.pi) + np.log(std) + 0.5 * z**2),
        "coverage_within_1_std": mean(np.abs(z) <= 1),
        "coverage_within_1.96_std": mean(np.abs(z) <= 1.96),
    }


# ---- files

def save_npz(path, **arrays):
    """np.savez with a fixed time stamp, so that two runs give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(name + ".npy", date_time=(1980, 1, 1, 0, 0, 0))
            member.create_system = 3
            member.external_attr = 0o644 << 16
            body = io.BytesIO()
            np.lib.format.write_array(body, array, version=(1, 0), allow_pickle=False)
            z.writestr(member, body.getvalue())


def main():
    here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))

    def path(name):
        return os.path.join(here, name)

    logits, digit = digits()
    np.save(path("digits_logits.npy"), logits)
    np.save(path("digits_labels.npy"), digit)

    probs, benign = breast_cancer()
    np.save(path("breast_cancer_probs.npy"), probs)
    np.save(path("breast_cancer_labels.npy"), benign)

    mu, std, observed = diabetes()
    save_npz(path("diabetes_gaussian.npz"), mean=mu, std=std, observed=observed)

    figures = {
        "how": "Written by make.py: plain numpy in float64 of the stored values. ece15: 15 equal-width bins, edges i*(1/15), "
        "left-closed, the last bin closed. Logarithms are natural. brier: sum over classes for digits, (p-y)^2 for breast_cancer.",
        "digits": figures_classes(logits, digit),
        "breast_cancer": figures_binary(probs, benign),
        "diabetes": figures_gaussian(mu, std, observed),
    }
    with open(path("figures.json"), "w", encoding="ascii", newline="\n") as f:
        json.dump(figures, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
