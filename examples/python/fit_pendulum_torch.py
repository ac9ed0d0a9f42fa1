"""The length of a pendulum from a noisy video of its angle, in a PyTorch training loop.

    python fit_pendulum_torch.py --picture fit.png
"""
import numpy as np
import torch

import costate
import costate.torch
from picture import arguments, figure


# [system]
@costate.system(states=["angle", "rate"], parameters={"length": 1.0, "damping": 0.0, "g": 9.81}, dt=0.01)
def pendulum(angle, rate, length, damping, g):
    return [rate, -g / length * np.sin(angle) - damping * rate]
# [/system]


def main(options):
    rng = np.random.default_rng(0)
    sim = pendulum.rollout(steps=300, keep=10)
    x0 = np.array([1.0, 0.0])
    truth = {"length": 0.62, "damping": 0.25}
    clean = sim.simulate(x0, p=truth)["angle"][:, 0]
    video = torch.from_numpy(clean + 0.02 * rng.standard_normal(clean.shape))

    iterations = 200 if options.quick else 400
    # [training]
    model = costate.torch.Module(sim, learn={"length": 1.0, "damping": 0.05}, positive=["length", "damping"])
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    start = torch.from_numpy(x0)
    losses = []
    for _ in range(iterations):
        optimiser.zero_grad()
        _, states = model(start)
        loss = torch.mean((states[:, 0] - video) ** 2)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    # [/training]
    found = {name: float(value) for name, value in model.physics.items()}
    for name in truth:
        print(f"{name:8} {found[name]:.4f}  (true {truth[name]})")

    if options.picture:
        fig, (left, right) = figure()
        fine = pendulum.rollout(steps=300, keep=1)
        for p, label in (({"length": 1.0, "damping": 0.05}, "first guess"), (found, "fitted")):
            costate.plot.trajectory(fine.simulate(x0, p=p), "angle", ax=left, label=label)
        left.plot(0.01 * np.arange(0, 301, 10), video, "k.", ms=3, label="video")
        left.legend(fontsize=7)
        costate.plot.losses(losses, ax=right)
        fig.savefig(options.picture, dpi=100)
    return found, truth


if __name__ == "__main__":
    main(arguments(__doc__))
