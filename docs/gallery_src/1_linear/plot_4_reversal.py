"""
Asked for the opposite
======================

A network that has learned a map is asked for its negative. Balanced layers would have to pass zero together, which is
a saddle: they go half-way and stop. However small, an imbalance λ lets them through, after a wait of ln(1/λ)/2s.

Vary λ over many powers of ten: the curves are shifted by equal steps.
"""

import matplotlib.pyplot as plt

import festina as fs

figure, axis = plt.subplots(figsize=(5, 3), layout="constrained")
for power, color in zip((1, 2, 4, 6, 8), fs.style.PALETTE, strict=False):
    model = fs.models.Reversal(imbalance=10.0**-power, modes=1, until=16.0, records=120)
    strength = model.run(seeds=1)["strength"].isel(run=0, mode=0)
    axis.plot(strength["time"], strength, color=color, label=f"λ = $10^{{-{power}}}$")
axis.axhline(0, color="0.7", lw=0.8)
axis.set(xlabel="time t / τ", ylabel="strength of the map")
axis.legend()
plt.show()
