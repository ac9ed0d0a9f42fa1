"""A jug learns to pour, from Python: the gradient of a liquid by the motion of the jug, and an optimiser of one's own choice.

    python coffee_pour.py --picture pour.png       # about as long as ./dev demo; writes pour.html beside the picture
"""
import numpy as np

import costate
from picture import arguments, figure, page_beside


def main(options):
    # [scene]
    settings = {"run.duration": 0.31} if options.quick else {}
    scene = costate.load("coffee.toml", settings)
    print(scene)
    losses = []

    def objective(x):
        value, gradient = scene.value_and_grad(x)
        losses.append(value)
        print(f"loss {value:.4f}", flush=True)
        return value, gradient
    # [/scene]

    # Variables differ in size (metres, radians): Adam takes steps of about `rate` times each one's own scale.
    start, scale = scene.start, scene.scale

    def scaled(z):
        value, gradient = objective(start + scale * z)
        return value, gradient * scale

    result = costate.minimize(scaled, np.zeros(len(start)), "adam", rate=0.3, iterations=1 if options.quick else 14, tolerance=0.0)
    best = start + scale * result.x
    if options.picture:
        runs = scene.run(start), scene.run(best)
        before, after = (run.recording for run in runs)
        print(f"in the mug: {runs[0].fractions} before, {runs[1].fractions} after")
        fig, (left, right) = figure()
        for recording, color, label in ((before, "0.6", "before"), (after, "C1", "after")):
            x = recording.positions[-1]
            left.plot(x[:, 0], x[:, 1], ".", ms=1, color=color, label=label)
        left.set_aspect("equal")
        left.legend(fontsize=7)
        costate.plot.losses(losses, ax=right)
        fig.savefig(options.picture, dpi=100)
        costate.write_replay(page_beside(options.picture), [before, after], title="Learning to pour")
    return losses


if __name__ == "__main__":
    main(arguments(__doc__))
