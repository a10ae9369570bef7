"""Writes multicalibration.json: MCGrad's multicalibration error (Guy et al. 2025) of small sets, by the package itself.

pip install mcgrad==0.1.5 numpy pandas; python make_multicalibration.py > multicalibration.json

The cases named test_... are the inputs of the tests of that name in the package's tests/test_metrics.py, whose assertions hold for these
figures; the others are made here by a linear congruential generator, so that no version of numpy moves them. Scores are distinct: the
package evaluates partial sums at every row of equal scores, in an order that its sort leaves open.
"""

import json
import warnings

import pandas as pd
from mcgrad import metrics

warnings.simplefilter("ignore")


class Numbers:
    def __init__(self, seed):
        self.s = seed

    def next(self):
        self.s = (self.s * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.s >> 11) / 2**53


def answers(df, texts, numbers, depth, least):
    m = metrics.MulticalibrationError(df=pd.DataFrame(df), label_column="label", score_column="prediction",
                                      categorical_segment_columns=texts, numerical_segment_columns=numbers, max_depth=depth,
                                      min_samples_per_segment=least, max_n_segments=None, precision_dtype="float64")
    out = {"error": float(m.mce), "relative": float(m.mce_relative), "sigma": float(m.mce_sigma), "p": float(m.mce_pvalue),
           "global": float(m.global_ecce), "global_p": float(m.global_ecce_pvalue), "segments": int(len(m.segments_ecce))}
    return {k: "Infinity" if v == float("inf") else v for k, v in out.items()}


def made(name, seed, rows, values, numbers, shift, missing=0.0):
    r = Numbers(seed)
    df = {"prediction": [], "label": []}
    for c in list(values) + list(numbers):
        df[c] = []
    for _ in range(rows):
        p = r.next() ** 2
        group = {}
        for c, names in values.items():
            group[c] = names[int(len(names) * r.next() ** 1.5)]
            df[c].append(group[c])
        for c, most in numbers.items():
            x = int(most * r.next())
            df[c].append(None if r.next() < missing else x)
        q = min(1, p + (shift if list(group.values())[0] == list(values.values())[0][1] else 0))
        df["prediction"].append(p)
        df["label"].append(int(r.next() < q))
    return {"name": name, "texts": list(values), "numbers": list(numbers), "rows": 10, **{"data": df},
            **answers(df, list(values), list(numbers), 3, 10)}


def given(name, data, texts, figures=None):
    # The package's tests take segments of one row and more.
    return {"name": name, "texts": texts, "numbers": [], "rows": 1, "data": data, **answers(data, texts, None, 0 if not texts else 3, 1)}


ECCE = [([0.6, 0.8, 0.2, 0.4], [0, 1, 0, 1], 0.15, 0.67082), ([0.6, 0.8, 0.2, 0.4], [1, 1, 1, 1], 0.5, 2.23607),
        ([0.6, 0.8, 0.2, 0.4], [0, 1, 0, 0], 0.3, 1.34164)]

cases = [
    given("test_that_multicalibrationerror_is_equal_to_ecce_metric_on_single_segment",
          {"prediction": [0.1, 0.8, 0.3, 0.7], "label": [0, 1, 0, 1], "segment_A": ["a", "a", "b", "b"]}, ["segment_A"]),
    given("test_that_multicalibrationerror_returns_correct_value_on_perfectly_calibrated_data",
          {"prediction": [0.0, 1.0, 0.0, 1.0], "label": [0, 1, 0, 1], "segment_A": ["a", "a", "b", "b"]}, ["segment_A"]),
    given("test_multicalibration_error_mce_returns_absolute_scale",
          {"prediction": [0.1, 0.9, 0.2, 0.8, 0.4, 0.6], "label": [0, 1, 0, 1, 0, 1], "segment": ["a", "a", "b", "b", "c", "c"]}, ["segment"]),
    made("two texts", 1, 400, {"a": ["x", "y"], "b": ["u", "v", "w"]}, {}, 0.3),
    made("rare values", 2, 600, {"a": ["x", "y", "z", "q", "r"], "b": ["u", "v", "w", "t"]}, {}, 0.2),
    made("numbers", 3, 700, {"a": ["x", "y"]}, {"age": 1000, "count": 3}, 0.25),
    made("missing numbers", 4, 500, {"a": ["x", "y", "z"]}, {"age": 50, "count": 9}, 0.0, 0.1),
    made("four columns", 5, 900, {"a": ["x", "y"], "b": ["u", "v", "w"], "c": ["k", "l", "m", "n"]}, {"age": 100000}, 0.15),
]

# test_ecce_gives_expected_result and test_ecce_sigma_gives_expected_result: figures written in the tests themselves, for all rows.
for p, y, e, s in ECCE:
    assert abs(metrics.ecce(__import__("numpy").array(y), __import__("numpy").array(p)) - e) < 1e-7
print(json.dumps({"package": "mcgrad 0.1.5", "cases": cases,
                  "ecce": [{"prediction": p, "label": y, "ecce": e, "sigma": s} for p, y, e, s in ECCE],
                  "pvalue": [[x, float(metrics.ecce_pvalue_from_sigma(x))] for x in (0.3, 0.67082, 1.0, 1.5, 2.0, 2.23607, 3.0, 4.0, 5.0)]}))
