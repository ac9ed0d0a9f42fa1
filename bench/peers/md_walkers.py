"""Langevin walkers in a double well a (x^2 - 1)^2 by BAOAB: kT = 0.5, friction 1, dt = 0.01, 10,000 walkers, 1000 steps;
d(mean x_end^2)/da by reverse mode through the loop, the noise drawn on the way.

    python md_walkers.py torch f32
    python md_walkers.py jax f32        jax-checkpoint: recomputes every step"""
import math
import sys

from ode_common import best, cap_memory, emit, timed

WALKERS, STEPS, DT, KT, FRICTION = 10_000, 1000, 0.01, 0.5, 1.0
KEEP = math.exp(-FRICTION * DT)
KICK = math.sqrt(KT * (1 - KEEP * KEEP))


def baoab(x, v, a, noise):
    v = v - 0.5 * DT * 4 * a * x * (x * x - 1)
    x = x + 0.5 * DT * v
    v = KEEP * v + KICK * noise
    x = x + 0.5 * DT * v
    return x, v - 0.5 * DT * 4 * a * x * (x * x - 1)


def with_torch(dtype):
    import torch

    torch.set_default_dtype(torch.float64 if dtype == "f64" else torch.float32)
    a = torch.tensor(1.0, requires_grad=True)

    def loss():
        torch.manual_seed(0)
        x, v = torch.ones(WALKERS), torch.zeros(WALKERS)
        for _ in range(STEPS):
            x, v = baoab(x, v, a, torch.randn(WALKERS))
        return (x * x).mean()

    def forward():
        with torch.no_grad():
            return loss()

    def gradient():
        a.grad = None
        loss().backward()
        return float(a.grad)

    return forward, gradient


def with_jax(dtype, remat):
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", dtype == "f64")

    def loss(a, key):
        def step(carry, k):
            return baoab(*carry, a, jax.random.normal(jax.random.fold_in(key, k), (WALKERS,))), None

        start = jnp.ones(WALKERS), jnp.zeros(WALKERS)
        (x, _), _ = jax.lax.scan(jax.checkpoint(step) if remat else step, start, jnp.arange(STEPS))
        return jnp.mean(x * x)

    a, key = jnp.ones(()), jax.random.PRNGKey(0)
    forward, gradient = jax.jit(loss), jax.jit(jax.grad(loss))
    return lambda: forward(a, key).block_until_ready(), lambda: float(gradient(a, key))


if __name__ == "__main__":
    cap_memory()
    peer, dtype = sys.argv[1:]
    forward, gradient = with_torch(dtype) if peer == "torch" else with_jax(dtype, "checkpoint" in peer)
    package, task = peer.split("-")[0], f"walkers, BAOAB, {peer} {dtype}"
    emit(package, task, "first gradient", timed(gradient)[0], "s")
    emit(package, task, "forward", WALKERS * STEPS / best(forward), "walker-steps/s")
    emit(package, task, "gradient", WALKERS * STEPS / best(gradient), "walker-steps/s")
