"""Depth and width of a Lennard-Jones potential from where seven atoms went: a JAX function, fitted with optax.

    python lennard_jones_optax.py --picture atoms.png
"""
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import costate
import costate.jax
from picture import arguments, figure

jax.config.update("jax_enable_x64", True)
ATOMS, DT = 7, 0.004
PAIRS = np.array([(i, j) for i in range(ATOMS) for j in range(i)])


# [atoms]
def acceleration(x, epsilon, sigma):
    x = x.reshape(ATOMS, 2)
    d = x[PAIRS[:, 0]] - x[PAIRS[:, 1]]
    r2 = np.sum(d * d, axis=1)
    s6 = (sigma * sigma / r2) ** 3
    pull = (24 * epsilon * (2 * s6 * s6 - s6) / r2)[:, None] * d
    return INCIDENCE @ pull


INCIDENCE = np.zeros((ATOMS, len(PAIRS)))
INCIDENCE[PAIRS[:, 0], np.arange(len(PAIRS))] = 1
INCIDENCE[PAIRS[:, 1], np.arange(len(PAIRS))] = -1


@costate.system(states={"x": 2 * ATOMS, "v": 2 * ATOMS}, parameters={"epsilon": 1.0, "sigma": 1.0, "h": DT}, method="next")
def atoms(x, v, epsilon, sigma, h):  # velocity Verlet
    middle = v + 0.5 * h * acceleration(x, epsilon, sigma).ravel()
    there = x + h * middle
    return {"x": there, "v": middle + 0.5 * h * acceleration(there, epsilon, sigma).ravel()}
# [/atoms]


def main(options):
    angle = 2 * np.pi * np.arange(6) / 6
    hexagon = 1.15 * np.stack([np.r_[0, np.cos(angle)], np.r_[0, np.sin(angle)]], axis=1)
    rng = np.random.default_rng(4)
    x0 = np.r_[(hexagon + 0.03 * rng.standard_normal(hexagon.shape)).ravel(), np.zeros(2 * ATOMS)]
    simulate = costate.jax.rollout(atoms.rollout(steps=300, keep=30))
    truth = {"epsilon": 1.3, "sigma": 1.04}
    seen = simulate(x0, None, truth)[1][:, :2 * ATOMS]

    iterations = 150 if options.quick else 400
    # [fit]
    @jax.jit
    @jax.value_and_grad
    def loss(p):
        return jnp.mean((simulate(x0, None, p)[1][:, :2 * ATOMS] - seen) ** 2)

    p: Any = {"epsilon": jnp.asarray(1.0), "sigma": jnp.asarray(1.0)}
    optimiser = optax.adam(0.02)
    state = optimiser.init(p)
    losses = []
    for _ in range(iterations):
        value, gradient = loss(p)
        updates, state = optimiser.update(gradient, state)
        p = optax.apply_updates(p, updates)
        losses.append(float(value))
    # [/fit]
    found = {name: float(p[name]) for name in truth}
    for name in truth:
        print(f"{name:8} {found[name]:.4f}  (true {truth[name]})")

    if options.picture:
        fig, (left, right) = figure()
        path = atoms.rollout(steps=300, keep=2).simulate(x0, p=found)["x"].reshape(-1, ATOMS, 2)
        left.plot(path[..., 0], path[..., 1], lw=1)
        left.plot(*np.asarray(seen).reshape(-1, ATOMS, 2).transpose(2, 0, 1), "k.", ms=2)
        left.set_aspect("equal")
        costate.plot.losses(losses, ax=right)
        fig.savefig(options.picture, dpi=100)
    return found, truth


if __name__ == "__main__":
    main(arguments(__doc__))
