"""Writes wards.csv: 2,000 rows of a calibrated risk, but in site south from age 60 on, where the risk is too low by up to 0.25."""

state = 20261125


def number():
    global state
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return (state >> 11) / 2**53


print("p,y,site,age,sex")
for _ in range(2000):
    p = round(0.9 * number() ** 1.5 + 0.02, 4)
    site = ["north", "south", "east", "west"][int(4 * number())]
    age = 18 + int(73 * number())
    sex = "fm"[int(2 * number())]
    risk = min(0.98, p + 0.25) if site == "south" and age >= 60 else p
    print(f"{p:.4f},{int(number() < risk)},{site},{age},{sex}")
