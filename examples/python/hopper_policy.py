"""A policy for a one-legged hopper, trained by gradients through its contacts: analytic policy gradients.

A network with one hidden layer sees the state and a clock, and drives three motors. Its loss is how far the hopper got, and how low it sank; the gradient
by all weights comes from one backward pass through 600 steps of rigid bodies with contact.

    python hopper_policy.py --picture hopper.png        # also writes hopper.html, a replay before and after
"""
import time

import numpy as np

import costate
from picture import arguments, figure, page_beside


def main(options):
    # [policy]
    hopper = costate.rigid.load("hopper.xml")
    policy = costate.closed_loop(hopper, observe=["q", "v"], hidden=16, waves=4, omega=4 * np.pi, seed=1)
    sim = policy.rollout(steps=600, active=["policy/w*", "policy/b*"], checkpoints=costate.segments())
    # As far as possible, upright (q[2] is the pitch) and no lower than a man's hip.
    loss = (costate.loss.final_value("q", 0, -1.0)
            + costate.loss.expression("0.3*max(1.1 - q[1], 0)^2 + 0.02*q[2]^2", when=range(0, 600, 5)))
    # [/policy]
    names = sim.active
    start = {name: np.asarray(policy.parameters[name]) for name in names}
    sizes = np.cumsum([start[name].size for name in names])[:-1]
    pack = lambda p: np.concatenate([np.ravel(p[name]) for name in names])
    unpack = lambda x: dict(zip(names, np.split(x, sizes)))
    rng = np.random.default_rng(0)
    x0 = hopper.initial_state + 0.005 * rng.standard_normal((8, hopper.signature.state_size))

    # [gradient]
    def objective(x):
        value, grad = sim.value_and_grad(x0, p=unpack(x), loss=loss)
        gradient = pack(grad.parameters) / len(x0)
        return value / len(x0), gradient * min(1.0, 1.0 / np.linalg.norm(gradient))  # contacts make some of them large
    # [/gradient]

    losses, began = [], time.perf_counter()
    result = costate.minimize(objective, 0.3 * pack(start), "adam", rate=0.01, decay=0.995, iterations=25 if options.quick else 150,
                              tolerance=0.0, callback=lambda p: losses.append(p.value))
    shown = policy.rollout(steps=600, keep=10)
    before, after = (shown.simulate(x0[0], p=unpack(x)).states for x in (0.3 * pack(start), result.x))
    print(f"loss {losses[0]:.3f} to {result.value:.3f} in {time.perf_counter() - began:.0f} s; "
          f"distance {before[-1, 0]:.2f} m before, {after[-1, 0]:.2f} m after")

    if options.picture:
        fig, (left, right) = figure()
        for states, label in ((before, "before"), (after, "after")):
            left.plot(states[:, 0], states[:, 1], label=label)
        left.set_xlabel("way [m]")
        left.set_ylabel("height of the torso [m]")
        left.legend(fontsize=7)
        costate.plot.losses(losses, ax=right)
        fig.savefig(options.picture, dpi=100)
        interval = 10 * float(np.ravel(hopper.parameters["dt"])[0])
        films = [costate.rigid.record(hopper, states[:, :hopper.signature.state_size], interval, title)
                 for states, title in ((before, "before"), (after, "after training"))]
        costate.write_replay(page_beside(options.picture), films, title="A hopper, trained by gradients through its contacts")
    return losses, after[-1, 0] - before[-1, 0]


if __name__ == "__main__":
    main(arguments(__doc__))
