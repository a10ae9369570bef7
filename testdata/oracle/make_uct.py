# SPDX-License-Identifier: BSD-3-Clause
"""Write uct.json beside this file: calibration errors of normal forecasts as uncertainty-toolbox has them.

    python3 make_uct.py [DIRECTORY]        (needs numpy, scipy and uncertainty-toolbox; no other argument, no clock, no network)

A set has observed numbers y, means and standard deviations; in some a few y are the mean, to the bit. Its values are, by the
number of levels num_bins (100 is the library's own) and the type of proportions, the root mean squared and mean absolute calibration
error and the miscalibration area.
"""
import json
import os
import sys

import numpy as np
import uncertainty_toolbox
from uncertainty_toolbox import metrics_calibration as c


def case(r, n, scale, shift, exact):
    mean = np.round(r.normal(0, 3, n), 3)
    sd = np.round(np.exp(r.normal(0, 0.5, n)), 3) + 0.01
    y = np.round(mean + shift + sd * scale * r.normal(0, 1, n), 6)
    y[:exact] = mean[:exact]
    values = []
    for bins in (100, 11, 2):
        for kind in ("interval", "quantile"):
            values.append({"num_bins": bins, "prop_type": kind,
                           "rms": float(c.root_mean_squared_calibration_error(mean, sd, y, num_bins=bins, prop_type=kind)),
                           "mean": float(c.mean_absolute_calibration_error(mean, sd, y, num_bins=bins, prop_type=kind)),
                           "area": float(c.miscalibration_area(mean, sd, y, num_bins=bins, prop_type=kind))})
    return {"y": y.tolist(), "mean": mean.tolist(), "sd": sd.tolist(), "values": values}


def main():
    here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    r = np.random.default_rng(20260424)
    cases = [case(r, n, scale, shift, exact) for n, scale, shift, exact in [(200, 1, 0, 0), (90, 0.5, 0, 3), (60, 2, 0, 0), (75, 1, 1, 2), (1, 1, 0, 0)]]
    how = "uncertainty-toolbox %s, run by make_uct.py." % uncertainty_toolbox.__version__
    with open(os.path.join(here, "uct.json"), "w", encoding="ascii", newline="\n") as f:
        f.write('{\n"how": ' + json.dumps(how) + ',\n"cases": [\n')
        f.write(",\n".join(json.dumps(x, separators=(",", ":")) for x in cases) + "\n]\n}\n")


if __name__ == "__main__":
    main()
