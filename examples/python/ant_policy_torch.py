"""A policy for the ant in PyTorch, with the simulation in the middle of the training loop. Where there is a GPU, nothing leaves it.

    python ant_policy_torch.py --picture learning.png
"""
import time

import torch

import costate
import costate.torch
from picture import arguments, figure

HOLD, DECISIONS = 5, 16  # steps of 5 ms that share a decision; decisions of a rollout


def main(options):
    on_gpu = torch.cuda.is_available() and any(d["device"] == "cuda:0" for d in costate.devices())
    device, worlds = ("cuda:0", 16384) if on_gpu else ("cpu", 64)
    torch.manual_seed(0)

    iterations = 12 if options.quick else 60
    # [training]
    ant = costate.rigid.load("ant.xml")
    sim = ant.rollout(HOLD, hold=HOLD, dtype="float32", device=device, on_divergence="mask_world", active=[])
    simulate = costate.torch.rollout(sim)
    policy = torch.nn.Sequential(torch.nn.Linear(29, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8), torch.nn.Tanh()).to(device)
    optimiser = torch.optim.Adam(policy.parameters(), lr=1e-3)
    start = torch.tensor(ant.initial_state.copy(), dtype=torch.float32, device=device).repeat(worlds, 1)
    losses, begin = [], time.perf_counter()
    for _ in range(iterations):
        x = begun = start + 0.01 * torch.randn_like(start)
        for _ in range(DECISIONS):
            x = simulate(x, policy(x)[:, None])
        loss = -(x[:, 0] - begun[:, 0]).mean()  # how far forward
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    # [/training]
    steps = worlds * HOLD * DECISIONS * len(losses) / (time.perf_counter() - begin)
    print(f"way {-losses[0]:.3f} m -> {-losses[-1]:.3f} m, {steps:.2g} steps per second of the whole loop on {device}")

    if options.picture:
        fig, (left, right) = figure()
        right.axis("off")
        left.plot([-loss for loss in losses])
        left.set(xlabel="training step", ylabel="way forward within 0.4 s, m")
        fig.savefig(options.picture, dpi=100)
    return losses


if __name__ == "__main__":
    main(arguments(__doc__))
