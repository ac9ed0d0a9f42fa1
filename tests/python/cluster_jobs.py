"""Jobs that several tests deal out, and the sum of what a pool says about them."""
import hashlib

import numpy as np

import costate
import costate.cluster as cluster


def sha(value, gradient):
    digest = hashlib.sha256(np.float64(value).tobytes())
    for name, array in gradient.items():
        digest.update(name.encode() + np.asarray(array, dtype=float).tobytes())
    return digest.hexdigest()


def hopper():
    """Rigid bodies with contact, 50 worlds that start at different heights, in blocks of 8: the last has 2."""
    hopper = costate.rigid.load(costate.scene_file("hopper.xml"))
    sim = hopper.rollout(40, active=["geom/*/friction", "gravity"])
    x0 = np.repeat(sim.simulate().final_state[None], 50, axis=0)
    x0[:, 1] += np.linspace(0.0, 0.2, 50)
    _, g = sim.value_and_grad(loss=costate.loss.final("q"))
    friction = next(name for name in g.parameters if name.endswith("friction"))
    theta = {friction: np.full_like(g.parameters[friction], 0.7), "gravity": np.array([0.0, 0.0, -9.0])}
    return cluster.Job(sim, costate.loss.final("q"), worlds=50, block=8, x0=x0), theta


def pendulums():
    """Equations, 37 worlds of different lengths."""
    system = costate.equations({"q": 1, "v": 1}, "q_dot = v; v_dot = -k/l*sin(q)", parameters={"k": 4.0, "l": 1.0}, dt=0.01)
    sim = system.rollout(100, active=["k"])
    targets = np.sin(np.arange(37.0))[:, None]
    return (cluster.Job(sim, costate.loss.final("q", targets), worlds=37, block=5, x0=np.array([1.0, 0.0]),
                        p={"l": np.linspace(0.5, 2.0, 37)[:, None]}), {"k": 3.0})


def scenes():
    """An identification from a scene file."""
    job = cluster.SceneJob([costate.scene_file("double_pendulum_identify.toml")])
    return job, job.start
