"""Can an optimiser use the gradient? Walkers of Gymnasium and dm_control with everybody's defaults, 200 steps under small random controls.

    pip install gymnasium dm_control
    PYTHONPATH=build/python python bench/usefulness.py [--onset split] [--fit 10000] [ant ...]

prints the table of docs/usefulness.md. The loss is where the body is at the end, along x. Each row is the median over five seeds, with the least and the
most:

  sign    how often, of 40 random directions d (a normal number for each control), the slope <g, d> has the sign of the secant
          (L(u + h d) - L(u - h d)) / 2h, h = 0.01
  size    the length of g beside what the secants say, rms <g, d> / rms secant
  trust   over which change of the controls the loss keeps to the gradient's straight line within 10 %: along the gradient, and the least of four
          random directions
  best    the same two of the best linear prediction there is: least squares over N (--fit) pairs of rollouts at u +- h d, tried on the 40 directions,
          which it has not seen; `explained` is the share of the variance of left-out secants that it predicts. Bounds from below: N is finite
"""
import argparse
import importlib.util
import pathlib

import numpy as np

import costate

STEPS, SEEDS, DIRECTIONS, CHANGE = 200, 5, 40, 1e-2
MODELS = {
    "half cheetah": ("gymnasium", "envs/mujoco/assets/half_cheetah.xml"),
    "quadruped": ("dm_control", "suite/quadruped.xml"),
    "hopper": ("gymnasium", "envs/mujoco/assets/hopper.xml"),
    "walker2d": ("gymnasium", "envs/mujoco/assets/walker2d.xml"),
    "humanoid": ("gymnasium", "envs/mujoco/assets/humanoid.xml"),
    "ant": ("gymnasium", "envs/mujoco/assets/ant.xml"),
}


def file_of(name):
    package, path = MODELS[name]
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise SystemExit(f"there is no {package}: pip install gymnasium dm_control")
    return pathlib.Path(list(spec.submodule_search_locations)[0]) / path


class Task:
    """The final position along x, of controls u (steps, actuators)."""

    def __init__(self, name, onset):
        self.system = costate.rigid.load(str(file_of(name)), **({} if onset is None else {"onset": onset}))
        self.loss = costate.loss.final_value("q", 0)
        self.shape = (STEPS, self.system.signature.control_size)
        self.many = self.system.rollout(STEPS, active=[], on_divergence="mask_world")

    def controls(self, seed):
        rng = np.random.default_rng(seed)
        return np.linspace(0.05, 0.1, SEEDS)[seed % SEEDS] * rng.standard_normal(self.shape)

    def positions(self, u):
        return self.many.simulate(u=u).final_state[..., 0]

    def secants(self, u, directions):
        change = CHANGE * directions.reshape(-1, *self.shape)
        both = self.positions(np.concatenate([u + change, u - change]))
        return (both[:len(change)] - both[len(change):]) / (2 * CHANGE)


def agreement(slopes, secants):
    """Sign and size of slopes beside secants."""
    good = np.isfinite(secants)
    return np.mean(np.sign(slopes[good]) == np.sign(secants[good])), np.sqrt(np.mean(slopes[good]**2) / np.mean(secants[good]**2))


def best_linear(task, u, count, seed):
    """Least squares with the ridge that predicts left-out rollouts best."""
    numbers, rng = u.size, np.random.default_rng([seed, 7])
    batch = 500
    d, s = [], []
    for _ in range(0, count, batch):
        d.append(rng.standard_normal((batch, numbers)))
        s.append(task.secants(u, d[-1]))
    d, s = np.concatenate(d), np.concatenate(s)
    good = np.isfinite(s)
    d, s = d[good], s[good]
    kept = len(d) // 5
    train, test = slice(kept, None), slice(None, kept)
    values, vectors = np.linalg.eigh(d[train].T @ d[train])
    right = vectors.T @ (d[train].T @ s[train])
    ridges = np.geomspace(1e-4, 1e4, 33) * np.mean(values)
    errors = [np.mean((d[test] @ (vectors @ (right / (np.maximum(values, 0) + r))) - s[test])**2) for r in ridges]
    best = int(np.argmin(errors))
    return vectors @ (right / (np.maximum(values, 0) + ridges[best])), 1 - errors[best] / np.mean(s[test]**2)


def of_seed(task, seed, count):
    u = task.controls(seed)
    rng = np.random.default_rng([seed, 3])
    d = rng.standard_normal((DIRECTIONS, u.size))
    secants = task.secants(u, d)
    one = task.system.rollout(STEPS, active=[])
    _, gradient = one.value_and_grad(u=u, loss=task.loss)
    row = {"label": gradient.report.label, "|g|": float(np.linalg.norm(gradient.controls))}
    row["sign"], row["size"] = agreement(d @ gradient.controls.ravel(), secants)
    trust = next(t for t in one.trust(u=u, loss=task.loss) if t.inputs == "controls")
    row["trust"], row["trust random"] = trust.along_gradient, trust.random
    if count:
        g, row["explained"] = best_linear(task, u, count, seed)
        row["best sign"], row["best size"] = agreement(d @ g, secants)
    return row


def text(rows, key, form="{:.2f}"):
    values = [row[key] for row in rows]
    middle, least, most = (form.format(v) for v in (np.median(values), min(values), max(values)))
    return f"{middle} ({least} .. {most})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="of " + ", ".join(MODELS))
    parser.add_argument("--onset", help="instead of the default")
    parser.add_argument("--fit", type=int, default=0, help="pairs of rollouts for the best linear prediction")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    chosen = parser.parse_args()
    for name in chosen.models or MODELS:
        task = Task(name, chosen.onset)
        rows = [of_seed(task, seed, chosen.fit) for seed in range(chosen.seeds)]
        cells = [name, text(rows, "sign"), text(rows, "size"), text(rows, "|g|", "{:.2g}"), text(rows, "trust", "{:.1g}"),
                 text(rows, "trust random", "{:.1g}")]
        if chosen.fit:
            cells += [text(rows, "best sign"), text(rows, "best size"), text(rows, "explained")]
        print("| " + " | ".join([*cells, ", ".join(sorted({row["label"] for row in rows}))]) + " |", flush=True)


if __name__ == "__main__":
    main()
