"""Writes hospitals.csv: 3,000 rows of two models' risks. The new one knows more, but of the patients of hospital Lund."""

from math import exp

state = 20261126


def number():
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 11) / 2**53


def noise():
    return sum(number() for _ in range(12)) - 6


print("old,new,y,hospital")
for _ in range(3000):
    z = 1.4 * noise() - 1.2
    hospital = ["Aalen", "Brest", "Cork", "Delft", "Evora", "Graz", "Lund", "Siena"][int(8 * number())]
    spread = 1.7 if hospital == "Lund" else 0.2
    old, new = z + 0.8 * noise(), z + spread * noise()
    y = int(number() < 1 / (1 + exp(-z)))
    print(f"{1 / (1 + exp(-old)):.4f},{1 / (1 + exp(-new)):.4f},{y},{hospital}")
