"""mpc.pytorch: time of one linear MPC problem with bounds on the controls, its gradient included, one thread, float64.

usage: python control_mpc.py [--seconds N]
The problem is that of bench_control.cpp: 20 steps, 2 controls in a box, 64 starts as one batch.
"""
import argparse
import json
import time

import numpy as np
import torch
from mpc import mpc

torch.set_num_threads(1)
STEPS, CONTROLS, BATCH = 20, 2, 64


def say(task, metric, value, unit, **more):
    print(json.dumps(dict(peer="mpc.pytorch", version="0.0.6", task=task, metric=metric, value=round(float(value), 4),
                          unit=unit, **more)), flush=True)


def problem(n):
    rng = np.random.default_rng(1)
    A = 0.9 * np.eye(n) + 0.05 * rng.standard_normal((n, n))
    B = 0.3 * rng.standard_normal((n, CONTROLS))
    weights = torch.diag(torch.tensor([1.0] * n + [0.1] * CONTROLS, dtype=torch.float64))
    C = weights.expand(STEPS, BATCH, n + CONTROLS, n + CONTROLS)
    c = torch.zeros(STEPS, BATCH, n + CONTROLS, dtype=torch.float64)
    F = torch.tensor(np.hstack([A, B]), requires_grad=True)
    x0 = torch.tensor(rng.standard_normal((BATCH, n)))
    return F, C, c, x0


def once(n, F, C, c, x0, gradient):
    solver = mpc.MPC(n, CONTROLS, STEPS, u_lower=-0.3, u_upper=0.3, lqr_iter=20, n_batch=BATCH, verbose=-1,
                     exit_unconverged=False, backprop=gradient)
    _, u, _ = solver(x0, mpc.QuadCost(C, c), mpc.LinDx(F.expand(STEPS - 1, BATCH, n, n + CONTROLS)))
    if gradient:
        F.grad = None
        (u ** 2).sum().backward()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    seconds = parser.parse_args().seconds
    for n in (4, 12):
        parts = problem(n)
        for gradient in (False, True):
            best, end, count = float("inf"), time.perf_counter() + seconds, 0
            while count < 3 or time.perf_counter() < end:
                start = time.perf_counter()
                once(n, *parts, gradient)
                best, count = min(best, time.perf_counter() - start), count + 1
            say(f"box MPC, {n} states, 20 steps, 64 starts", "gradient" if gradient else "forward", BATCH / best, "problems/s")


if __name__ == "__main__":
    main()
