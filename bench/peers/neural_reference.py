"""The neural ODE that every engine solves: weights, starts and targets made by NumPy, and u(5) and the gradient to ten digits, from RK4
with 300 steps and its transpose in double precision; kept in .cache/peers, since every engine is measured in a process of its own."""
import functools
from pathlib import Path

import numpy as np

KEPT = Path(__file__).resolve().parents[2] / ".cache/peers/neural_reference.npz"

BATCH, TIME, WIDTHS = 256, 5.0, (2, 64, 64, 2)


@functools.cache
def problem():
    """(weights [(out, in) and bias of each layer], u0, target), single precision."""
    rng = np.random.default_rng(0)
    weights = [(rng.standard_normal((o, i)) / i**0.5, np.zeros(o)) for i, o in zip(WIDTHS, WIDTHS[1:])]
    u0 = rng.standard_normal((BATCH, 2))
    turn = np.array([[np.cos(TIME), np.sin(TIME)], [-np.sin(TIME), np.cos(TIME)]])
    single = lambda a: np.asarray(a, dtype=np.float32)
    return [(single(w), single(b)) for w, b in weights], single(u0), single(0.6 * u0 @ turn)


@functools.cache
def reference():
    if not KEPT.exists():
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        u, gradient = solved(300)
        np.savez(KEPT, u=u, gradient=gradient)
    kept = np.load(KEPT)
    return kept["u"], kept["gradient"]


def solved(steps):
    """u(5), and the gradient of mean (u(5) - target)^2 by all weights in one vector."""
    weights, u0, target = problem()
    weights = [(w.astype(float), b.astype(float)) for w, b in weights]
    h = TIME / steps
    bars = [(np.zeros_like(w), np.zeros_like(b)) for w, b in weights]

    def rate(u):
        a = np.tanh(u @ weights[0][0].T + weights[0][1])
        c = np.tanh(a @ weights[1][0].T + weights[1][1])
        return c @ weights[2][0].T + weights[2][1], (u, a, c)

    def pull_back(kept, bar):
        u, a, c = kept
        for layer, (value, before) in zip((2, 1, 0), ((None, c), (c, a), (a, u))):
            if value is not None:
                bar = bar * (1 - value**2)
            bars[layer][0][...] += bar.T @ before
            bars[layer][1][...] += bar.sum(axis=0)
            bar = bar @ weights[layer][0]
        return bar

    def stages(u):
        k1, s1 = rate(u)
        k2, s2 = rate(u + h / 2 * k1)
        k3, s3 = rate(u + h / 2 * k2)
        k4, s4 = rate(u + h * k3)
        return u + h / 6 * (k1 + 2 * (k2 + k3) + k4), (s1, s2, s3, s4)

    path = [u0.astype(float)]
    for _ in range(steps):
        path.append(stages(path[-1])[0])
    bar = 2 * (path[-1] - target) / target.size
    for u in path[-2::-1]:
        s1, s2, s3, s4 = stages(u)[1]
        x4 = pull_back(s4, h / 6 * bar)
        x3 = pull_back(s3, h / 3 * bar + h * x4)
        x2 = pull_back(s2, h / 3 * bar + h / 2 * x3)
        x1 = pull_back(s1, h / 6 * bar + h / 2 * x2)
        bar = bar + x1 + x2 + x3 + x4
    return path[-1], np.concatenate([part.ravel() for pair in bars for part in pair])


def errors(u, gradient):
    """(largest error of u(5), relative error of the gradient); the gradient as [(weights, bias), ...] of the shapes of problem()."""
    exact_u, exact_g = reference()
    got = np.concatenate([np.asarray(part, dtype=float).ravel() for pair in gradient for part in pair])
    return np.abs(np.asarray(u, dtype=float) - exact_u).max(), np.linalg.norm(got - exact_g) / np.linalg.norm(exact_g)
