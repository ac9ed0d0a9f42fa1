"""Functions of blocks, where worker processes find them."""
import os
import signal

import time

import numpy as np

import costate


def part(theta, first, count):
    """A sum whose last bits depend on its order."""
    value, gradient = 0.0, np.zeros_like(np.asarray(theta["a"], dtype=float))
    for world in range(first, first + count):
        off = theta["a"] - np.sin(world + np.arange(len(gradient)))
        scale = np.exp(5 * np.cos(world))
        value += 0.5 * scale * float(off @ off)
        gradient = gradient + scale * off
    return value, {"a": gradient}


class Killer:
    """The same; every block ends its first worker."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, theta, first, count):
        mark = os.path.join(self.folder, str(first))
        if not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return part(theta, first, count)


def line(theta, first, count):
    """Measurements of a straight line, five per world: residuals and Jacobian."""
    t = np.arange(5 * first, 5 * (first + count)) * 0.01
    noise = 0.1 * np.sin(100 * t + t * t)
    return theta["a"][0] + theta["a"][1] * t - (2.0 - 3.0 * t + noise), np.stack([np.ones_like(t), t], axis=1)


def slow_part(theta, first, count):
    """The same as `part`, in blocks that take their time."""
    time.sleep(0.03)
    return part(theta, first, count)


def bent(theta, first, count):
    """With a valley that is not straight, so that optimisers take their time."""
    value, found = part(theta, first, count)
    a, b = theta["a"]
    return value + 10 * (b - a * a) ** 2, {"a": found["a"] + np.array([-40 * a * (b - a * a), 20 * (b - a * a)])}


def by_name(theta, first, count):
    return 3 * theta["a"] + theta["b"] + first, {"a": 3.0 + first, "b": 1.0}


def not_a_number(theta, first, count):
    value, found = part(theta, first, count)
    return np.nan if first <= 3 < first + count else value, found


def unlucky(theta, first, count):
    if first <= 2 < first + count:
        raise costate.Error("out of luck")
    return part(theta, first, count)


def standing():
    """A pendulum that learns to stand, in seconds."""
    plant = costate.system(states=["angle", "rate"], controls=["torque"], parameters={"drag": 0.1}, dt=0.05)(
        lambda angle, rate, torque, drag: [rate, 4 * np.sin(angle) - drag * rate + torque])
    return costate.learn.Task(plant=plant, observe=lambda angle, rate: [np.sin(angle), np.cos(angle), rate],
                              reward=lambda angle, rate, torque, alive: np.cos(angle) - 0.05 * rate**2 - 0.01 * torque**2 + alive,
                              alive=lambda angle: 2 - np.abs(angle), hold=2, decisions=60, start=[0, 0], uniform=[1, 0.5], lower=-6, upper=6)
