"""A neural ODE that learns a spiral: z' = W2 tanh(W1 z^3 + b1) + b2, recorded from NumPy, trained with Adam on mini-batches.

    python neural_ode.py --picture spiral.png
"""
import time

import numpy as np

import costate
from picture import arguments, figure

HIDDEN = 32
RNG = np.random.default_rng(1)
START = {"w1": 0.5 * RNG.standard_normal((HIDDEN, 2)), "b1": np.zeros(HIDDEN),
         "w2": 0.3 * RNG.standard_normal((2, HIDDEN)), "b2": np.zeros(2)}
DT = 0.025


# [network]
@costate.system(states={"z": 2}, parameters=START, dt=DT)
def network(z, p):
    return p.w2 @ np.tanh(p.w1 @ z**3 + p.b1) + p.b2
# [/network]


@costate.system(states={"z": 2}, dt=DT)
def spiral(z):
    a, b = z**3
    return [-0.1 * a + 2 * b, -2 * a - 0.1 * b]


def pack(p):
    return np.concatenate([np.ravel(p[name]) for name in START])


def unpack(x):
    parts = np.split(x, np.cumsum([START[name].size for name in START])[:-1])
    return {name: part.reshape(START[name].shape) for name, part in zip(START, parts)}


def main(options):
    data = spiral.rollout(steps=300, keep=1).simulate([2.0, 0.0]).states
    length, batch = 20, 64
    sim = network.rollout(steps=length)
    rng = np.random.default_rng(2)

    # [loss]
    def loss(x):
        first = rng.integers(0, len(data) - length, batch)
        target = costate.loss.final("z", data[first + length])
        value, grad = sim.value_and_grad(data[first], p=unpack(x), loss=target)
        return value / batch, pack(grad.parameters) / batch
    # [/loss]

    losses, began = [], time.perf_counter()
    result = costate.minimize(loss, pack(START), "adam", rate=0.02, decay=0.998, iterations=1200 if options.quick else 3000,
                              tolerance=0.0, callback=lambda p: losses.append(p.value))
    seconds = time.perf_counter() - began
    learned = network.rollout(steps=300, keep=1).simulate([2.0, 0.0], p=unpack(result.x)).states
    error = np.sqrt(np.mean((learned - data)[:100] ** 2))
    print(f"{len(losses)} iterations of {batch} x {length} steps in {seconds:.2f} s; rms error over the first 100 steps {error:.3f}")

    if options.picture:
        fig, (left, right) = figure()
        left.plot(*data.T, "k", lw=0.8, label="truth")
        left.plot(*learned.T, label="learned")
        left.legend(fontsize=7)
        costate.plot.losses(np.convolve(losses, np.ones(20) / 20, "valid"), ax=right)
        fig.savefig(options.picture, dpi=100)
    return losses, error


if __name__ == "__main__":
    main(arguments(__doc__))
