"""A closure that is learned inside the solver: turbulence on a grid of 32 x 32 cells, which misses what 128 x 128 cells resolve. A small
convolutional network in JAX pushes the coarse flow at every step, and learns through 12 steps of it at a time.

    python fluid_closure.py --picture closure.png
"""
import jax
import jax.numpy as jnp
import numpy as np
import optax

import costate
import costate.jax
from picture import arguments, figure

jax.config.update("jax_enable_x64", True)
N, FINE, DT, NU, AHEAD, RUN = 32, 128, 0.04, 2e-3, 12, 100
RNG = np.random.default_rng(5)


def flow(n, dt, **options):
    return costate.fluid.flow((n, n), width=2 * np.pi / n, dt=dt, viscosity=NU, **options)


def vortices():
    """Random vortices on the fine grid, two to six waves along the box, of speed 1."""
    k = np.fft.fftfreq(FINE, 1 / FINE)
    kx, ky = np.meshgrid(k, k)
    size = np.hypot(kx, ky)
    psi = np.fft.ifft2(np.where((size >= 2) & (size <= 6), np.exp(2j * np.pi * RNG.random(size.shape)), 0)).real
    u, v = np.roll(psi, -1, 0) - psi, psi - np.roll(psi, -1, 1)  # psi on the corners of cells: no divergence
    scale = np.sqrt(np.mean(u**2 + v**2))
    return np.stack([u, v]) / scale


def coarse(fields):
    """Means over the faces of coarse cells: what flows through them."""
    m = FINE // N
    u = fields[..., 0, :, ::m].reshape(*fields.shape[:-3], N, m, N).mean(-2)
    v = fields[..., 1, ::m, :].reshape(*fields.shape[:-3], N, N, m).mean(-1)
    return np.stack([u, v], axis=-3)


def truth(count):
    """(count, RUN + 1, 2, N, N): fine runs, as the coarse grid sees them."""
    parts = 4
    sim = flow(FINE, DT / parts).rollout(RUN * parts, keep=parts, active=[])
    runs = [sim.simulate(vortices().ravel()).states.reshape(RUN + 1, 2, FINE, FINE) for _ in range(count)]
    return np.stack([coarse(run) for run in runs])


def first_weights():
    sizes = [(16, 2, 5), (16, 16, 3), (2, 16, 3)]
    weights = [RNG.standard_normal((o, i, w, w)) / np.sqrt(i * w * w) for o, i, w in sizes]
    weights[-1] *= 0.01  # at first the network hardly pushes
    return [jnp.asarray(w) for w in weights]


# [network]
def push(weights, fields):
    """What a network of three periodic convolutions pushes the flow with."""
    h = fields[None]
    for w in weights:
        r = w.shape[-1] // 2
        h = jnp.pad(h, ((0, 0), (0, 0), (r, r), (r, r)), mode="wrap")
        h = jax.lax.conv_general_dilated(h, w, (1, 1), "VALID")
        if w is not weights[-1]:
            h = jnp.tanh(h)
    return h[0]


step = costate.jax.rollout(flow(N, DT, push=True).rollout(1, active=[]))


def ahead(weights, start, steps):
    """The coarse flow, which the network pushes at every step: (steps, 2, N, N)."""
    def one(fields, _):
        pushed = push(weights, fields) if weights is not None else jnp.zeros_like(fields)
        fields = step(fields.ravel(), pushed.reshape(1, -1), {}).reshape(2, N, N)
        return fields, fields
    return jax.lax.scan(one, start, None, length=steps)[1]


def error(weights, start, wanted):
    return jnp.mean((ahead(weights, start, AHEAD) - wanted) ** 2)
# [/network]


def distance(weights, run):
    """Relative to the fine run, after every step."""
    found = np.asarray(ahead(weights, run[0], RUN))
    return np.sqrt(((found - run[1:]) ** 2).sum((1, 2, 3)) / (run[1:] ** 2).sum((1, 2, 3)))


def main(options):
    data, unseen = truth(2 if options.quick else 6), truth(1)[0]
    weights = first_weights()
    iterations = 120 if options.quick else 600
    method = optax.adam(optax.cosine_decay_schedule(3e-3, iterations))
    state = method.init(weights)
    learn = jax.jit(jax.value_and_grad(error))
    losses = []
    for _ in range(iterations):
        run, k = RNG.integers(len(data)), RNG.integers(RUN - AHEAD)
        value, gradient = learn(weights, data[run, k], data[run, k + 1:k + 1 + AHEAD])
        change, state = method.update(gradient, state)
        weights = optax.apply_updates(weights, change)
        losses.append(float(value))
    without, with_it = distance(None, unseen), distance(weights, unseen)
    gain = float(without.mean() / with_it.mean())
    print(f"error over {RUN} steps of an unseen run: {without.mean():.3f} without the network, {with_it.mean():.3f} with it ({gain:.1f} times less)")
    if options.picture:
        fig, (left, right) = figure()
        left.plot(DT * np.arange(1, RUN + 1), without, label="coarse grid")
        left.plot(DT * np.arange(1, RUN + 1), with_it, label="and the network")
        left.set(xlabel="time [s]", ylabel="distance from the fine grid")
        left.legend()
        right.semilogy(np.convolve(losses, np.ones(20) / 20, "valid"))
        right.set(xlabel="iteration", ylabel="loss")
        fig.savefig(options.picture, dpi=110)
    return gain


if __name__ == "__main__":
    main(arguments(__doc__))
