"""Where is the plate heated? The source of every cell, from the temperature at the end.

    python heat_source.py --picture plate.png
"""
import numpy as np
from scipy.optimize import minimize

import costate
from picture import arguments, figure

N, STEPS = 16, 120


def main(options):
    # 1. A plate whose west side is cold. A band across it conducts badly.
    x, y = np.meshgrid(np.arange(N) + 0.5, np.arange(N) + 0.5)
    # [plate]
    conductivity = np.where(abs(x - 8) < 2, 0.3, 1.0)
    plate = costate.grid.heat(N, N, conductivity=conductivity, west=("temperature", 0.0))
    sim = plate.rollout(STEPS, active=["source"])
    # [/plate]

    # 2. What is measured: the temperature of every cell at the end. Two spots are heated.
    truth = 0.1 * np.exp(-((x - 4) ** 2 + (y - 5) ** 2) / 4)
    truth += 0.05 * np.exp(-((x - 12) ** 2 + (y - 11) ** 2) / 6)
    start = {"T": np.zeros(N * N)}
    measured = sim.simulate(start, p={"source": truth.ravel()})["T"]

    # 3. L-BFGS in the sources of all cells, which cannot be negative.
    # [fit]
    misfit = costate.loss.final("T", measured)
    losses = []

    def objective(source):
        value, gradient = sim.value_and_grad(start, p={"source": source}, loss=misfit)
        losses.append(value)
        return value, gradient.parameters["source"]

    found = minimize(objective, np.zeros(N * N), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (N * N),
                     options={"maxiter": 300, "ftol": 1e-15, "gtol": 1e-9}).x.reshape(N, N)
    # [/fit]
    print(f"largest error of a source: {abs(found - truth).max():.4f}; largest source: {truth.max():.4f}")
    if options.picture:
        fig, (left, right) = figure()
        left.imshow(found, origin="lower")
        left.set_title("source of every cell")
        costate.plot.losses(losses, ax=right)
        fig.savefig(options.picture, dpi=100)
    return found, truth


if __name__ == "__main__":
    main(arguments(__doc__))
