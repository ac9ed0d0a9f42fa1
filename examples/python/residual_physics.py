"""Physics plus a residual network: a pendulum whose friction nobody modelled. The known part stays as it is; a small network learns the torque
that is missing, from trajectories alone.

    python residual_physics.py --picture residual.png        # also writes residual.html, a replay of both pendulums
"""
import numpy as np

import costate
from picture import arguments, figure, page_beside

DT = 0.02
HIDDEN = 12
RNG = np.random.default_rng(3)
START = {"w1": 0.5 * RNG.standard_normal((HIDDEN, 2)), "b1": 0.1 * RNG.standard_normal(HIDDEN),
         "w2": 0.05 * RNG.standard_normal(HIDDEN)}


def friction(rate):
    return -0.6 * np.tanh(8 * rate) - 0.15 * rate * np.abs(rate)


@costate.system(states=["q", "v"], dt=DT)
def truth(q, v):
    return [v, -9.81 * np.sin(q) + friction(v)]


# [hybrid]
@costate.system(states=["q", "v"], parameters=START, dt=DT)
def hybrid(q, v, p):
    known = -9.81 * np.sin(q)
    missing = p.w2 @ np.tanh(p.w1 @ np.stack([np.sin(q), v]) + p.b1)
    return [v, known + missing]
# [/hybrid]


def pack(p):
    return np.concatenate([np.ravel(p[name]) for name in START])


def unpack(x):
    parts = np.split(x, np.cumsum([START[name].size for name in START])[:-1])
    return {name: part.reshape(START[name].shape) for name, part in zip(START, parts)}


def swinging(name, angles, color):
    """A bob on a rod of 1 m, from its angles: a recording."""
    film = costate.Recording()
    film.title, film.frame_interval, film.ground = name, DT, -1.3
    turned = np.zeros((len(angles), 7))
    turned[:, 0], turned[:, 2] = np.sin(angles), -np.cos(angles)
    turned[:, 3], turned[:, 5] = np.cos(angles / 2), -np.sin(angles / 2)
    film.add_body("bob", "sphere", [0.08], turned, color=color)
    half = turned.copy()
    half[:, :3] /= 2
    film.add_body("rod", "cylinder", [0.012, 0.5], half)
    return film


def main(options):
    starts = np.stack([RNG.uniform(-2, 2, 16), RNG.uniform(-2, 2, 16)], axis=1)
    steps = list(range(10, 61, 10))
    data = truth.rollout(60, keep=10).simulate(starts).states  # (7, 16, 2)
    sim = hybrid.rollout(60)
    targets = data[1:].transpose(1, 0, 2)  # (worlds, steps, states)
    loss = costate.loss.track("q", steps, targets[..., :1]) + costate.loss.track("v", steps, targets[..., 1:], weight=0.1)

    def objective(x):
        value, grad = sim.value_and_grad(starts, p=unpack(x), loss=loss)
        return value, pack(grad.parameters)

    losses = []
    result = costate.minimize(objective, pack(START), iterations=120 if options.quick else 500,
                              callback=lambda p: losses.append(p.value))
    unseen = np.array([[1.2, 1.5], [-1.7, 0.3]])
    far = [s.rollout(150, keep=1).simulate(unseen, p=p)["q"] for s, p in ((truth, None), (hybrid, unpack(result.x)))]
    error = np.sqrt(np.mean((far[0] - far[1]) ** 2))
    print(f"loss {losses[0]:.3g} to {losses[-1]:.3g}; on unseen starts, twice as long: rms error of the angle {error:.3f} rad")

    if options.picture:
        fig, (left, right) = figure()
        v = np.linspace(-3, 3, 100)
        p = unpack(result.x)
        features = np.stack([np.zeros_like(v), v])
        left.plot(v, friction(v), "k", label="true friction")
        left.plot(v, p["w2"] @ np.tanh(p["w1"] @ features + p["b1"][:, None]), "--", label="learned")
        left.set_xlabel("rate")
        left.set_ylabel("torque")
        left.legend(fontsize=7)
        t = DT * np.arange(151)
        right.plot(t, far[0][:, :, 0], "k", lw=0.8)
        right.plot(t, far[1][:, :, 0], "--")
        right.set_xlabel("time")
        right.set_ylabel("angle, unseen starts")
        fig.savefig(options.picture, dpi=100)
        names = ("the truth", "known laws and the learned torque")
        costate.write_replay(page_beside(options.picture), [swinging(name, q[:, 0, 0], color) for name, q, color in zip(names, far, (0x4F86C6, 0xD98B5F))],
                             title="A pendulum whose friction was learned")
    return losses, error


if __name__ == "__main__":
    main(arguments(__doc__))
