# SPDX-License-Identifier: BSD-3-Clause
"""Write laws.json beside this file: Laplace, logistic and Student's t distributions with the standard deviation 1.

    python3 make_laws.py [DIRECTORY]        (needs numpy, scipy and scoringrules; no other argument, no clock, no network)

Of each law: cdf as pairs [z, F(z)], quantile as [p, z] and nll as [z, -ln f(z)] by scipy; crps as [z, score] by scoringrules.
"""
import json
import os
import sys

import numpy as np
import scipy
import scoringrules
from scipy import stats


def main():
    here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    laws = [("laplace", stats.laplace, np.sqrt(2), lambda z, s: scoringrules.crps_laplace(z, 0.0, s)),
            ("logistic", stats.logistic, np.pi / np.sqrt(3), lambda z, s: scoringrules.crps_logistic(z, 0.0, s))]
    for df in (2.5, 3, 5, 30, 400):
        laws.append(("t(df=%g)" % df, stats.t(df), np.sqrt(df / (df - 2)), lambda z, s, df=df: scoringrules.crps_t(z, df, 0.0, s)))
    out = []
    for name, d, unit, crps in laws:
        z = [-40.0, -12.5, -6.0, -3.0, -1.8, -1.7, -1.0, -0.5, -0.01, 0.0, 0.3, 1.2, 1.75, 2.5, 5.0, 9.0]
        p = [1e-7, 1e-4, 0.005, 0.025, 0.05, 0.1, 0.3, 0.45, 0.5, 0.7, 0.9, 0.975, 0.999]
        out.append({"law": name, "cdf": [[v, float(d.cdf(v * unit))] for v in z], "quantile": [[v, float(d.ppf(v) / unit)] for v in p],
                    "nll": [[v, float(-d.logpdf(v * unit) - np.log(unit))] for v in z], "crps": [[v, float(crps(v, 1 / unit))] for v in z]})
    with open(os.path.join(here, "laws.json"), "w", encoding="ascii", newline="\n") as f:
        how = "scipy %s, scoringrules %s, run by make_laws.py." % (scipy.__version__, scoringrules.__version__)
        f.write('{\n"how": ' + json.dumps(how) + ',\n"laws": [\n')
        f.write(",\n".join(json.dumps(x, separators=(",", ":")) for x in out) + "\n]\n}\n")


if __name__ == "__main__":
    main()
