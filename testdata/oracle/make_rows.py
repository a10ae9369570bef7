# SPDX-License-Identifier: BSD-3-Clause
"""Write rows.json and scalar.json beside this file: exact answers for the tests of the kernels.

    python3 make_rows.py [DIRECTORY]        (needs mpmath; takes a few seconds; no other argument, no clock, no network)

rows.json    rows of logits and of probabilities, float32, with everything that is known of a row to 25 digits.
scalar.json  arguments and correctly rounded results of exp, log and log1p in float64.

Arithmetic is mpmath's at 60 decimal digits, and every formula below is arranged so that nothing cancels: a row's terms are
exp(s - top), the top's own term is held out as exactly 1, and 1 - p is the sum of the others. So a tail of e^-200 keeps all
its digits. Every result is computed a second time at 140 digits, and the script stops if one written digit or bit differs.

Definitions, for scores s_0..s_{K-1}, label y, t = the first index of the largest score:
    lse      ln sum exp(s)                  (logits only)
    top      p_t                            tail     1 - p_t
    label_p  p_y                            nll      -ln p_y, "Inf" where p_y is 0
    rest     sum of p_j^2 over j != t       entropy  -sum p ln p in nats, 0 ln 0 = 0
    brier    sum over classes of (p_j - [j = y])^2
    argmax   t                              rank     #{s_j > s_y} + #{j < y: s_j = s_y}
Rows of probabilities are taken as given and never renormalised; they carry besides
    sum      sum of p                       others   sum of p over j != t (equal to tail only if the sum is 1)
"""
import json
import math
import os
import random
import struct
import sys
from fractions import Fraction

import mpmath
from mpmath import mp, mpf

DIGITS, CHECK = 60, 140
INF = float("inf")
TINY = "1e-9000"  # what is smaller is written as 0: readers with 32-bit exponents must not choke on exp(-6e38)


# ---- float32 and float64 as bits

def bits32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def from32(b):
    return struct.unpack("<f", struct.pack("<I", b))[0]


def f32(x):
    """The float32 nearest to x, as a Python float."""
    return from32(bits32(x))


def bits64(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def from64(b):
    return struct.unpack("<d", struct.pack("<Q", b))[0]


# ---- exact answers for a row

def text(x):
    if x == INF:
        return "Inf"
    if abs(x) < mpf(TINY):
        return "0"
    return mpmath.nstr(x, 25).replace(".0e", "e")


def order(row, y):
    t = max(range(len(row)), key=lambda j: (row[j], -j))
    rank = sum(1 for j, s in enumerate(row) if s > row[y] or (s == row[y] and j < y))
    return t, rank


def logits_row(row, y):
    t, rank = order(row, y)
    s = [mpf(v) for v in row]
    gap = [s[t] - v if v != -INF else mpf("inf") for v in s]  # >= 0
    e = [mpmath.exp(-g) if g != mpf("inf") else mpf(0) for g in gap]
    side = mpmath.fsum(e[j] for j in range(len(e)) if j != t)
    z = 1 + side
    lnz = mpmath.log1p(side)
    p = [v / z for v in e]
    rest = mpmath.fsum(p[j] ** 2 for j in range(len(p)) if j != t)
    tail = side / z
    if y == t:
        brier = tail ** 2 + rest
    else:
        brier = (1 - p[y]) ** 2 + mpmath.fsum(p[j] ** 2 for j in range(len(p)) if j != y)
    return {
        "lse": text(s[t] + lnz),
        "top": text(p[t]),
        "tail": text(tail),
        "label_p": text(p[y]),
        "nll": text(gap[y] + lnz),
        "rest": text(rest),
        "entropy": text(mpmath.fsum(p[j] * (gap[j] + lnz) for j in range(len(p)) if p[j] != 0)),
        "brier": text(brier),
        "argmax": t,
        "rank": rank,
    }


def probs_row(row, y):
    t, rank = order(row, y)
    p = [mpf(v) for v in row]
    others = [j for j in range(len(p)) if j != t]
    return {
        "top": text(p[t]),
        "tail": text(1 - p[t]),
        "others": text(mpmath.fsum(p[j] for j in others)),
        "label_p": text(p[y]),
        "nll": text(-mpmath.log(p[y])) if p[y] > 0 else "Inf",
        "rest": text(mpmath.fsum(p[j] ** 2 for j in others)),
        "entropy": text(-mpmath.fsum(v * mpmath.log(v) for v in p if v > 0)),
        "brier": text(mpmath.fsum((v - (j == y)) ** 2 for j, v in enumerate(p))),
        "sum": text(mpmath.fsum(p)),
        "argmax": t,
        "rank": rank,
    }


def case(name, row, y, answer):
    row = [f32(v) for v in row]
    mp.dps = CHECK
    check = answer(row, y)
    mp.dps = DIGITS
    out = answer(row, y)
    assert out == check, (name, out, check)
    return {"name": name, "k": len(row), "label": y, "row": [bits32(v) for v in row], **out}


# ---- which rows

def normal(r, k, scale=3.0, offset=0.0):
    return [f32(f32(r.gauss(0, 1) * scale) + offset) for _ in range(k)]


def first_max(row):
    return order(row, 0)[0]


def wrong(r, row):
    """A label that is not the arg max."""
    t = first_max(row)
    return (t + 1 + r.randrange(len(row) - 1)) % len(row)


def logit_cases():
    r = random.Random(20240301)
    out = []

    def add(name, row, y):
        out.append(case("%s/k%d" % (name, len(row)), row, y, logits_row))

    for v in (0.0, -0.0, 2.5, -1000.0, 1e6, 3e38, -3e38):
        add("one_class", [v], 0)

    for k in (2, 3, 5, 10, 31, 32, 33, 64, 100):
        row = normal(r, k)
        add("normal_right", row, first_max(row))
        row = normal(r, k)
        add("normal_wrong", row, wrong(r, row))
        for offset in (100.0, -1000.0, 1e6):
            row = normal(r, k, 3.0, offset)
            add("offset%+g" % offset, row, r.choice([first_max(row), wrong(r, row)]))
        v = f32(r.gauss(0, 3))
        add("all_equal", [v] * k, r.randrange(k))
        row = normal(r, k)  # two tops equal, the label on the first, on the second
        a, b = sorted(r.sample(range(k), 2))
        row[a] = row[b] = f32(max(row) + 0.5)
        add("two_tops_label_first", row, a)
        add("two_tops_label_second", row, b)
        for gap in (30.0, 60.0, 200.0):
            row = normal(r, k, 1.0)
            t = r.randrange(k)
            row[t] = f32(max(row) + gap)
            add("dominates_%g_right" % gap, row, t)
            if gap == 60.0:
                add("dominates_%g_wrong" % gap, row, wrong(r, row))
        row = normal(r, k)
        masked = r.sample(range(k), max(1, k // 3))
        for j in masked:
            row[j] = -INF
        add("masked", row, first_max(row))
        add("masked_label_inf", row, masked[0])
        row = [-INF] * k
        t = r.randrange(k)
        row[t] = f32(r.gauss(0, 3))
        add("one_finite_right", row, t)
        add("one_finite_label_inf", row, wrong(r, row))
        row = normal(r, k)
        a, b = r.sample(range(k), 2)
        row[a], row[b] = 3e38, -3e38
        add("huge", row, r.choice([a, b]) if k == 2 else r.choice([a, b, wrong(r, row)]))

    # cases that need one width only
    add("huge_both_ends_label_low", [3e38, -3e38], 1)
    add("huge_tops_tied", [1.0, 3e38, -3e38, 3e38, 0.0], 3)
    add("all_huge_negative", [-3e38, -3e38, -3e38], 2)
    add("largest_float32", [from32(0x7F7FFFFF), from32(0xFF7FFFFF), 0.0], 2)
    add("one_ulp_apart_at_3e38", [3e38, from32(bits32(3e38) + 1)], 0)
    add("signed_zeros", [-0.0, 0.0, -0.0], 1)
    add("subnormals", [from32(1), from32(2), from32(0x80000001), 0.0, from32(0x007FFFFF)], 3)
    add("ascending", [0.25 * j for j in range(33)], 32)
    add("descending", [-0.25 * j for j in range(33)], 32)
    add("first_masked", [-INF, -INF, 1.0, 2.0, 0.5], 0)
    for offset in (2e6, -2e6, 1e7):  # past the point where a 21-bit exponent runs out
        row = normal(r, 10, 3.0, offset)
        add("offset%+g" % offset, row, wrong(r, row))
    row = normal(r, 10, 1.0)
    row[3] = f32(row[0] + 2047.5)
    add("nll_below_2048", row, 0)
    row[3] = f32(row[0] + 2048.5)
    add("nll_above_2048", row, 0)
    row = normal(r, 64, 1.0)
    row[63] = f32(max(row) + 87.5)  # the others' terms near the end of float32's normal range
    add("others_near_2^-126", row, 63)
    row = normal(r, 64, 1.0)
    row[0] = f32(max(row) + 103.0)  # and in its subnormal range
    add("others_subnormal", row, 0)
    row = [math.log(v) for v in dirichlet(r, 10)]  # log-probabilities: lse is 0 within rounding
    add("log_probabilities", row, first_max(row))
    row = normal(r, 1000)
    add("normal_wrong", row, wrong(r, row))
    row = [f32(0.002 * v) for v in normal(r, 1000)]  # running maxima late and early, all near 20
    row = [f32(v + 20.0) for v in row]
    row[997] = 32.0
    add("dominates_late_right", row, 997)
    return out


def dirichlet(r, k, a=1.0):
    g = [r.gammavariate(a, 1.0) + 1e-300 for _ in range(k)]
    s = math.fsum(g)
    return [v / s for v in g]


def softmax(row):
    m = max(row)
    e = [math.exp(v - m) for v in row]
    s = math.fsum(e)
    return [v / s for v in e]


def half(x):
    """x rounded to float16."""
    return struct.unpack("<e", struct.pack("<e", x))[0]


def prob_cases():
    r = random.Random(20240302)
    out = []

    def add(name, row, y):
        out.append(case("%s/k%d" % (name, len(row)), row, y, probs_row))

    add("one_class", [1.0], 0)
    add("one_class_short", [from32(0x3F7FFFFF)], 0)
    for k in (2, 3, 5, 10, 31, 32, 33, 64, 100):
        row = softmax(normal(r, k))
        add("softmax_right", row, first_max([f32(v) for v in row]))
        row = softmax(normal(r, k))
        add("softmax_wrong", row, wrong(r, [f32(v) for v in row]))
        row = softmax(normal(r, k, 12.0))
        add("peaked", row, r.randrange(k))
        row = [1.0 / k] * k
        add("uniform", row, r.randrange(k))
        t = r.randrange(k)
        row = [0.0] * k
        row[t] = 1.0
        add("one_hot_right", row, t)
        if k in (2, 5, 33):
            add("one_hot_wrong", row, (t + 1) % k)
        row = [2.0 ** -24 / (k - 1)] * k
        row[t] = 1 - 2.0 ** -24
        add("one_ulp_under_1", row, r.choice([t, (t + 1) % k]))
        row = dirichlet(r, k)
        a, b = sorted(r.sample(range(k), 2))
        row[a] = row[b] = (row[a] + row[b]) / 2 + 1
        s = math.fsum(row)
        add("two_tops", [v / s for v in row], r.choice([a, b]))
        if k <= 33:
            row = [half(v) for v in softmax(normal(r, k))]
            add("from_float16", row, r.randrange(k))

    add("decimals", [0.7, 0.2, 0.1], 1)
    add("decimals", [0.1] * 10, 9)
    add("decimals", [0.91, 0.05, 0.04], 2)
    add("subnormals", [from32(1), 1.0, from32(0x007FFFFF)], 0)
    add("smallest_normal", [1.0, from32(0x00800000)], 1)
    add("sum_over_1", [from32(0x3F800001), from32(0x34000000)], 0)
    add("sum_under_1", [0.5, 0.499998, 0.0], 1)
    add("zero_label", [0.25, 0.75, 0.0, 0.0], 3)
    add("signed_zeros", [1.0, -0.0, 0.0], 1)
    add("sparse_dirichlet", dirichlet(r, 1000, 0.05), 17)
    return out


# ---- scalar functions

def round64(x):
    """The float64 nearest to the mpf x, ties to even, subnormals and overflow included, in integer arithmetic."""
    if x == 0:
        return 0.0
    sign, man, exp, bc = x._mpf_
    if not man:
        return INF if x > 0 else -INF
    lead = exp + bc - 1  # 2^lead <= |x| < 2^(lead+1)
    if lead > 1100 or lead < -1100:  # far out: exp(1e300) has no business being shifted into place
        v = INF if lead > 0 else 0.0
        return -v if sign else v
    q = max(lead - 52, -1074)  # the exponent of the last place
    shift = q - exp
    if shift <= 0:
        n = man << -shift
    elif shift > bc + 2:
        n = 0
    else:
        n, low = man >> shift, man & ((1 << shift) - 1)
        mid = 1 << (shift - 1)
        if low > mid or (low == mid and n & 1):
            n += 1
    if n.bit_length() + q > 1024:
        v = INF
    else:
        v = math.ldexp(n, q)
        f = Fraction(man) * Fraction(2) ** exp  # a second opinion: Python's own correctly rounded division
        assert v == float(f), (x, v)
    return -v if sign else v


def distance_to_middle(x):
    """How far x lies from the middle of two neighbouring float64, in units of their last place: small is hard to round."""
    man, bc = x._mpf_[1], x._mpf_[3]
    if bc <= 54:
        return 1.0
    return abs(float(Fraction(man, 1 << (bc - 53)) % 1) - 0.5)


FUNCTIONS = {"exp": mpmath.exp, "log": mpmath.log, "log1p": mpmath.log1p}


def around(x, n=2):
    """x and its n neighbours on both sides."""
    out = [x]
    up = down = x
    for _ in range(n):
        up, down = math.nextafter(up, INF), math.nextafter(down, -INF)
        out += [up, down]
    return out


def hard(r, name, draw, tries, keep):
    """The arguments of many random ones whose results lie nearest to the middle between two float64."""
    f = FUNCTIONS[name]
    best = sorted((distance_to_middle(f(mpf(x))), x) for x in (draw() for _ in range(tries)))
    return [x for _, x in best[:keep]]


def exp_arguments():
    r = random.Random(20240303)
    xs = [1e-300, -1e-300, 5e-324, -5e-324, 2.2250738585072014e-308, 1.0, -1.0, 1 + 2.0 ** -52, 1 - 2.0 ** -53, -1 - 2.0 ** -52]
    for k in (1, 2, 3, 5, 8, 13, 20, 26, 27, 28, 30, 40, 51, 52, 53, 54, 55, 60, 100, 500, 1000):
        xs += [2.0 ** -k, -(2.0 ** -k)]
    for edge in (709.782712893384, -708.3964185322641, -744.4400719213812, -745.1332191019411):  # overflow, last normal, subnormal, zero
        xs += around(edge, 4)
    xs += [709.0, 709.5, 709.7, 710.0, 1000.0, 1e300, -709.0, -710.0, -720.0, -730.0, -740.0, -744.0, -745.0, -746.0, -1000.0, -1e300]
    for k in (1, -1, 2, -2, 3, 7, -7, 50, -50, 333, -333, 1021, -1021, 1023, -1022):  # where an argument reduction switches
        xs += around(k * math.log(2), 1) + around((k + 0.5) * math.log(2), 1)
    xs += [float(k) for k in range(-40, 41, 4)]
    xs += [r.uniform(-745.2, 709.8) for _ in range(110)]
    xs += [r.uniform(-1, 1) for _ in range(70)]
    xs += [r.uniform(-745.2, -708.3) for _ in range(40)]
    xs += [math.ldexp(r.uniform(0.5, 1) * r.choice((1, -1)), r.randrange(-60, 10)) for _ in range(90)]
    xs += hard(r, "exp", lambda: r.uniform(-700, 700), 6000, 40)
    xs += hard(r, "exp", lambda: r.uniform(-1, 1), 6000, 40)
    return xs


def log_arguments():
    r = random.Random(20240304)
    xs = [1e-300, 1e300, 1.7976931348623157e308, 2.2250738585072014e-308, 2.225073858507201e-308, 5e-324, 1e-323, 1.5e-323, 1e-310, 3.3e-315]
    for x in (1.0, math.sqrt(0.5), math.sqrt(2), 2.0, 0.5, math.e, 2 / 3, 4 / 3, 0.75, 1.5, 10.0):
        xs += around(x, 4)
    xs += [2.0 ** k for k in range(-1074, 1024, 61)]
    for k in range(1, 53, 3):
        xs += [1 + 2.0 ** -k, 1 - 2.0 ** -k]
    for k in (1, -1, 10, -10, 300, -300, 1000, -1000):
        xs += around(math.ldexp(math.sqrt(0.5), k), 1)
    xs += [float(k) for k in range(3, 40, 2)]
    xs += [from64(r.randrange(1, 1 << 52)) for _ in range(30)]  # subnormal
    xs += [from64(r.randrange(1 << 52, 0x7FF << 52)) for _ in range(120)]
    xs += [r.uniform(0.5, 2) for _ in range(80)]
    xs += [1 + r.uniform(-1, 1) * 2.0 ** -r.randrange(1, 40) for _ in range(50)]
    xs += hard(r, "log", lambda: r.uniform(0.5, 2), 6000, 50)
    xs += hard(r, "log", lambda: from64(r.randrange(1 << 52, 0x7FF << 52)), 6000, 40)
    return xs


def log1p_arguments():
    r = random.Random(20240305)
    xs = [1e-300, -1e-300, 5e-324, -5e-324, 2.2250738585072014e-308, -2.2250738585072014e-308, 1e300, 1.7976931348623157e308]
    for k in range(-60, 61):
        xs.append(2.0 ** k)
        if k < 0:
            xs.append(-(2.0 ** k))
    for x in (1.0, 2.0, -0.5, math.sqrt(2) - 1, math.sqrt(0.5) - 1, 0.5, 1e-16, -1e-16, 0.1, -0.1):
        xs += around(x, 2)
    xs += [1 + 2.0 ** -52, -1 + 2.0 ** -53, -1 + 2.0 ** -52]  # the first two floats above -1 among them
    for k in (3, 5, 8, 13, 20, 26, 30, 40, 45, 50):
        xs += around(-1 + 2.0 ** -k, 1)
    for k in (52, 53, 54, 55, 100, 500, 1000):
        xs += [2.0 ** k, 1.5 * 2.0 ** k, 2.0 ** -k * 1.25, -(2.0 ** -k) * 1.25]
    xs += [math.ldexp(r.uniform(0.5, 1), r.randrange(-60, 60)) for _ in range(90)]
    xs += [-math.ldexp(r.uniform(0.5, 1), r.randrange(-60, 0)) for _ in range(50)]
    xs += [r.uniform(-1, 1) for _ in range(60)]
    xs += hard(r, "log1p", lambda: r.uniform(-0.999, 1), 6000, 50)
    xs += hard(r, "log1p", lambda: math.ldexp(r.uniform(0.5, 1) * r.choice((1, -1)), r.randrange(-40, -3)), 6000, 40)
    return xs


def scalar(name, xs):
    f, out, seen = FUNCTIONS[name], [], set()
    for x in xs:
        b = bits64(x)
        if b in seen:
            continue
        seen.add(b)
        mp.dps = CHECK
        check = round64(f(mpf(x)))
        mp.dps = DIGITS
        y = round64(f(mpf(x)))
        assert bits64(y) == bits64(check), (name, x)
        out.append([b, bits64(y)])
    return out


NAN = 0x7FF8000000000000
SPECIAL = {  # by IEEE 754's recommended functions; any NaN equals any other
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (INF, INF), (1.0, 0.0), (-5e-324, None), (-1.0, None), (-INF, None)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-1.0, -INF), (math.nextafter(-1.0, -INF), None), (-2.0, None), (-INF, None)],
}


def special(name):
    out = [[bits64(x), NAN if y is None else bits64(y)] for x, y in SPECIAL[name]]
    return out + [[NAN, NAN]]


def dump(path, head, lists):
    """JSON with one case a line."""
    with open(path, "w", encoding="ascii", newline="\n") as f:
        f.write("{\n" + '"how": ' + json.dumps(head))
        for name, rows in lists.items():
            f.write(",\n" + json.dumps(name) + ": [\n")
            f.write(",\n".join(json.dumps(v, separators=(",", ":")) for v in rows) + "\n]")
        f.write("\n}\n")


def main():
    here = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    mp.dps = DIGITS
    dump(
        os.path.join(here, "rows.json"),
        "Made by make_rows.py, mpmath %s at %d digits, each digit confirmed at %d. row: float32 bits as uint32. Values: 25 digits, "
        "\"Inf\" where infinite, \"0\" below %s. Definitions are in the script." % (mpmath.__version__, DIGITS, CHECK, TINY),
        {"logits": logit_cases(), "probs": prob_cases()},
    )
    dump(
        os.path.join(here, "scalar.json"),
        "Made by make_rows.py, mpmath %s at %d digits, confirmed at %d. Pairs [argument, result] of float64 bits as uint64, the result "
        "correctly rounded (to nearest, ties to even; subnormals kept). *_special: IEEE special values, NaN as %d; compare NaN as a "
        "class." % (mpmath.__version__, DIGITS, CHECK, NAN),
        {
            "exp": scalar("exp", exp_arguments()),
            "log": scalar("log", log_arguments()),
            "log1p": scalar("log1p", log1p_arguments()),
            "exp_special": special("exp"),
            "log_special": special("log"),
            "log1p_special": special("log1p"),
        },
    )


if __name__ == "__main__":
    main()
