#!/bin/sh
# Wrote the states of version 8, with the documents of that version. They must not be written again: a new version adds its own files, under
# its own number, and these stay readable.
set -eu
cd "$(dirname "$0")/../.."
candor=${1:?name the command}
here=testdata/states
python3 - "$here" <<'P'
import random, sys, csv
r = random.Random(8)
def row(f):
    p = min(max(r.betavariate(1.2, 2), 1e-9), 1 - 1e-9)
    p = round(p, 2) if r.random() < 0.3 else p
    if name == "grid":  # in few cells
        p = 0.41 + 0.02 * r.random()
    f.writerow([repr(p), int(r.random() < p), repr(round(r.random() + 0.5, 3))])
for name, n in (("binary", 400), ("weights", 60), ("grid", 270000)):
    with open(f"{sys.argv[1]}/{name}.csv", "w") as out:
        f = csv.writer(out)
        f.writerow(["p", "y", "w"])
        for _ in range(n):
            row(f)
with open(f"{sys.argv[1]}/classes.csv", "w") as out:
    f = csv.writer(out)
    f.writerow(["a", "b", "c", "y"])
    for _ in range(300):
        z = [r.expovariate(1) for _ in range(3)]
        p = [v / sum(z) for v in z]
        f.writerow([repr(v) for v in p] + [r.choices("abc", p)[0]])
P
cp "$here/weights.csv" "$here/squares.csv" # with the squares of the weights, which the first states of weighted rows do not have
for name in binary weights squares grid classes; do
  case $name in
    classes) set -- --prob a,b,c --classes a,b,c ;;
    weights | squares) set -- --prob p --weights w ;;
    *) set -- --prob p ;;
  esac
  "$candor" eval "$here/$name.csv" --labels y "$@" --state "$here/v8-$name.state" --json >"$here/v8-$name.json"
  rm "$here/$name.csv"
done
