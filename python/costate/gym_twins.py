"""Twins of Gymnasium's MuJoCo tasks, version 5: the same files, observations, rewards, ends and starts, without MuJoCo.

    env = gymnasium.make("costate/Hopper-v5")                    # steps as gymnasium.make("Hopper-v5") does, to rounding
    envs = gymnasium.make_vec("costate/Walker2d-v5", num_envs=64)

The files are those of the installed package `gymnasium`. A start draws the same numbers as there: the same seed gives the same state.

Positions and forces that a task reads beside q and v are late there: MuJoCo leaves those of the last evaluation of a step, which is the state
before the last step with Euler's method, and the fourth stage of the last step with RK4. A twin carries them behind the state, as `late`
numbers, and computes them at the same place.
"""
import importlib.util
import pathlib
import re
import tempfile
from xml.etree import ElementTree

import numpy as np
from gymnasium import spaces

from . import rigid
from .error import Error


def model_file(name):
    """The path of a model that Gymnasium ships."""
    package = importlib.util.find_spec("gymnasium")
    found = pathlib.Path(package.origin).parent / "envs/mujoco/assets" / name if package and package.origin else None
    if found is None or not found.exists():
        raise Error(f"the installed Gymnasium has no model '{name}': pip install --upgrade gymnasium")
    return found


def _variant(path, flags):
    """The model with Euler's method, undamped, and more flags: its velocity after a step says the acceleration."""
    tree = ElementTree.parse(path)
    option = tree.getroot().find("option")
    assert option is not None
    option.set("integrator", "Euler")
    ElementTree.SubElement(option, "flag", {name: "disable" for name in ("eulerdamp", *flags)})
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / path.name
        tree.write(file)
        return rigid.load(str(file), onset="none", applied_forces=True)


class Accelerations:
    """Accelerations of states: v' = v + dt a with Euler's method and nothing implicit."""

    def __init__(self, path, worlds, flags=()):
        self.system = _variant(path, flags)
        self.sim = self.system.rollout(1, worlds=worlds, active=[])
        self.nv = self.system.signature.control_size - len(rigid.control_range(rigid.load(str(path), onset="none"))[0])
        self.dt = float(self.system.parameters["dt"])
        self.v = next(f.offset for f in self.system.signature.states if f.name == "v")

    def __call__(self, x, action, force=None):
        applied = np.zeros((len(x), self.nv)) if force is None else np.broadcast_to(force, (len(x), self.nv))
        y = self.sim.simulate(x, np.concatenate([action, applied], axis=1)[:, None, :]).final_state
        return (y[:, self.v:self.v + self.nv] - x[:, self.v:self.v + self.nv]) / self.dt


class Twin:
    """A task for a number of worlds. Below it, each task says what it sees, rewards and ends, of arrays (worlds, ...)."""
    file, frame_skip, steps = "", 1, 1000
    late = 0                     # numbers behind the state that a task reads and MuJoCo computed before the end of the step
    forward = 0                  # for gradients of rollouts: number of v that is the forward speed
    upright: tuple[int, ...] = ()

    def __init__(self, worlds=1, dtype="float64"):
        self.worlds, self.dtype, self.task = worlds, np.dtype(dtype), self
        path = model_file(self.file)
        self.system = rigid.load(str(path), onset="none")
        fields = {f.name: f for f in self.system.signature.states}
        self.nq, self.v, self.nv = fields["q"].size, fields["v"].offset, fields["v"].size
        self.states = self.system.signature.state_size
        self.time_step = float(self.system.parameters["dt"])
        self.dt = self.time_step * self.frame_skip
        self.low, self.high = rigid.control_range(self.system)
        rollout = lambda steps: self.system.rollout(steps, worlds=worlds, hold=steps, dtype=dtype, active=[])  # noqa: E731
        option = ElementTree.parse(path).getroot().find("option")
        self.is_rk4 = option is not None and option.get("integrator") == "RK4"
        if not self.late:
            self.sim = rollout(self.frame_skip)
        elif self.is_rk4:
            self.accelerations = Accelerations(path, worlds)
        else:
            self.before, self.last = rollout(self.frame_skip - 1), rollout(1)

    # Starts. Each draws what Gymnasium draws, in the same order.
    def noise(self, rng):
        """(q, v) of a start."""
        raise NotImplementedError

    def start(self, rng):
        x = np.concatenate(self.noise(rng))
        return np.concatenate([x, self.at_rest(x[None])[0]]).astype(self.dtype)

    def at_rest(self, x):
        """The late numbers of states (worlds, states) in which no step was taken yet."""
        return np.zeros((len(x), 0))

    def q(self, x):
        return x[:, :self.nq]

    def velocity(self, x):
        return x[:, self.v:self.v + self.nv]

    def step(self, state, action):
        """(next state with its late numbers, reward (worlds,), ended (worlds,))."""
        given = np.asarray(action).reshape(self.worlds, len(self.low))  # squared in its own precision, as there
        action = given.astype(self.dtype)
        x, u = np.ascontiguousarray(state[:, :self.states]), action[:, None, :]
        if not self.late:
            y = self.sim.simulate(x, u).final_state
        elif self.is_rk4:
            for _ in range(self.frame_skip):
                x, stage = self.rk4(x, action)
            y = np.concatenate([x, self.seen_late(stage, action)], axis=1)
        else:
            last = self.before.simulate(x, u).final_state
            y = np.concatenate([self.last.simulate(last, u).final_state, self.seen_late(last, action)], axis=1)
        ended = self.ended(y)
        return y, self.reward(state, y, given, ended), ended

    def rk4(self, x, action):
        """A step of RK4 as MuJoCo takes it, which averages angular velocities as if they were plain numbers, and its fourth stage."""
        h, y = self.time_step, x.copy()
        rates, weights = [], []
        for part, weight in ((0, 1), (h / 2, 2), (h / 2, 2), (h, 1)):
            if part:
                y[:, :self.nq] = self.moved(self.q(x), rates[-1][0], part)
                y[:, self.v:self.v + self.nv] = self.velocity(x) + part * rates[-1][1]
            rates.append((self.velocity(y).copy(), self.accelerations(y, action)))
            weights.append(weight / 6)
        end = x.copy()
        end[:, :self.nq] = self.moved(self.q(x), sum(w * v for w, (v, _) in zip(weights, rates)), h)
        end[:, self.v:self.v + self.nv] += h * sum(w * a for w, (_, a) in zip(weights, rates))
        return end, y

    def moved(self, q, v, h):
        return q + h * v

    # What a task is.
    def observation(self, x):
        raise NotImplementedError

    def reward(self, x, y, action, ended):
        raise NotImplementedError

    def ended(self, y):
        return np.zeros(self.worlds, dtype=bool)

    def seen_late(self, x, action):
        """The late numbers, of the state at which MuJoCo computes them."""
        raise NotImplementedError

    def observation_space(self):
        size = self.observation(np.zeros((1, self.states + self.late))).shape[1]
        return spaces.Box(-np.inf, np.inf, (size,), np.float64)

    def action_space(self):
        return spaces.Box(self.low.astype(np.float32), self.high.astype(np.float32), dtype=np.float32)


def _within(value, lowest, highest):
    return (lowest < value) & (value < highest)


class Walker(Twin):
    """What runs along x: q without the place along the track, and v; speed, being alive, and effort."""
    alive, effort, noise_scale, normal_velocity = 0.0, 1e-3, 5e-3, False
    hidden, clip = 1, np.inf

    def noise(self, rng):
        q = self.system.initial_state[:self.nq] + rng.uniform(-self.noise_scale, self.noise_scale, self.nq)
        if self.normal_velocity:
            return q, self.noise_scale * rng.standard_normal(self.nv)
        return q, rng.uniform(-self.noise_scale, self.noise_scale, self.nv)

    def observation(self, x):
        return np.concatenate([x[:, self.hidden:self.nq], np.clip(self.velocity(x), -self.clip, self.clip)], axis=1)

    def reward(self, x, y, action, ended):
        return (y[:, 0] - x[:, 0]) / self.dt + self.alive * ~ended - self.effort * np.sum(action**2, axis=1)


class Hopper(Walker):
    file, frame_skip, alive, clip = "hopper.xml", 4, 1.0, 10.0

    def ended(self, y):
        return ~(_within(y[:, 1], 0.7, np.inf) & _within(y[:, 2], -0.2, 0.2) & np.all(_within(y[:, 2:self.states], -100, 100), axis=1))


class Walker2d(Walker):
    file, frame_skip, alive, clip = "walker2d_v5.xml", 4, 1.0, 10.0

    def ended(self, y):
        return ~(_within(y[:, 1], 0.8, 2.0) & _within(y[:, 2], -1.0, 1.0))


class HalfCheetah(Walker):
    file, frame_skip, effort, noise_scale, normal_velocity = "half_cheetah.xml", 5, 0.1, 0.1, True


class Swimmer(Walker):
    file, frame_skip, effort, noise_scale, hidden = "swimmer.xml", 4, 1e-4, 0.1, 2


class InvertedPendulum(Walker):
    file, frame_skip, noise_scale, hidden, upright = "inverted_pendulum.xml", 2, 0.01, 0, (1, 1)

    def ended(self, y):
        return ~(np.all(np.isfinite(y), axis=1) & (np.abs(y[:, 1]) <= 0.2))

    def reward(self, x, y, action, ended):
        return 1.0 * ~ended


class InvertedDoublePendulum(Walker):
    file, frame_skip, noise_scale, normal_velocity = "inverted_double_pendulum.xml", 5, 0.1, True
    late = 3  # of the tip x and height, and the force of the rail's ends

    def __init__(self, worlds=1, dtype="float64"):
        super().__init__(worlds, dtype)
        self.without_limit = Accelerations(model_file(self.file), worlds, ["limit"])

    def at_rest(self, x):
        x = np.repeat(x, self.worlds, axis=0)
        return self.seen_late(x, np.zeros((self.worlds, 1)))[:1]

    def seen_late(self, x, action):
        tip = rigid.observe(self.system, {"tip": "site/tip"}, x)["tip"]
        free, pushed = (self.without_limit(x, action, force)[:, 0] for force in ([0, 0, 0], [1, 0, 0]))
        rail = (self.accelerations(x, action)[:, 0] - free) / (pushed - free)  # dividing by an element of the inverse of M
        return np.stack([tip[:, 0], tip[:, 2], rail], axis=1)

    def observation(self, x):
        angles = x[:, 1:3]
        return np.concatenate([x[:, :1], np.sin(angles), np.cos(angles), np.clip(self.velocity(x), -10, 10), np.clip(x[:, -1:], -10, 10)],
                              axis=1)

    def ended(self, y):
        return y[:, -2] <= 1

    def reward(self, x, y, action, ended):
        v, place, height = self.velocity(y), y[:, -3], y[:, -2]
        return 10.0 * ~ended - 0.01 * place**2 - (height - 2)**2 - 1e-3 * v[:, 1]**2 - 5e-3 * v[:, 2]**2


class Reacher(Twin):
    file, frame_skip, steps, late = "reacher.xml", 2, 50, 3  # from the target to the fingertip

    def noise(self, rng):
        q = rng.uniform(-0.1, 0.1, self.nq) + self.system.initial_state[:self.nq]
        while np.linalg.norm(goal := rng.uniform(-0.2, 0.2, 2)) >= 0.2:
            pass
        q[-2:] = goal
        v = rng.uniform(-0.005, 0.005, self.nv)
        v[-2:] = 0
        return q, v

    def at_rest(self, x):
        return self.seen_late(x, None)

    def seen_late(self, x, action):
        seen = rigid.observe(self.system, {"tip": "body/fingertip", "target": "body/target"}, x)
        return seen["tip"] - seen["target"]

    def observation(self, x):
        return np.concatenate([np.cos(x[:, :2]), np.sin(x[:, :2]), x[:, 2:4], self.velocity(x)[:, :2], x[:, -3:-1]], axis=1)

    def reward(self, x, y, action, ended):
        return -np.linalg.norm(y[:, -3:], axis=1) - np.sum(action**2, axis=1)


class Pusher(Twin):
    file, frame_skip, steps, late = "pusher_v5.xml", 5, 100, 9  # places of the hand, the object and the goal

    def noise(self, rng):
        q = self.system.initial_state[:self.nq].copy()
        while np.linalg.norm(place := np.concatenate([rng.uniform(-0.3, 0, 1), rng.uniform(-0.2, 0.2, 1)])) <= 0.17:
            pass
        q[-4:-2], q[-2:] = place, 0
        v = rng.uniform(-0.005, 0.005, self.nv)
        v[-4:] = 0
        return q, v

    def at_rest(self, x):
        return self.seen_late(x, None)

    def seen_late(self, x, action):
        seen = rigid.observe(self.system, {name: f"body/{name}" for name in ("tips_arm", "object", "goal")}, x)
        return np.concatenate([seen[name] for name in ("tips_arm", "object", "goal")], axis=1)

    def observation(self, x):
        return np.concatenate([x[:, :7], self.velocity(x)[:, :7], x[:, -9:]], axis=1)

    def reward(self, x, y, action, ended):
        hand, thing, goal = y[:, -9:-6], y[:, -6:-3], y[:, -3:]
        return -np.linalg.norm(thing - goal, axis=1) - 0.1 * np.sum(action**2, axis=1) - 0.5 * np.linalg.norm(thing - hand, axis=1)


class Free(Walker):
    """A body that is not tied to a track, with the wrenches of contact on each of its bodies."""

    def __init__(self, worlds=1, dtype="float64"):
        super().__init__(worlds, dtype)
        self.bodies = [name.split("/")[1] for name in self.system.parameters if re.fullmatch("body/[^/]*/mass", name)]

    def moved(self, q, v, h):
        moved = np.concatenate([q[:, :3] + h * v[:, :3], q[:, 3:7], q[:, 7:] + h * v[:, 6:]], axis=1)
        rotation = h * v[:, 3:6]
        angle = np.linalg.norm(rotation, axis=1, keepdims=True)
        part = np.concatenate([np.cos(angle / 2), 0.5 * np.sinc(angle / (2 * np.pi)) * rotation], axis=1)
        (a, b), (c, d) = (part[:, :1], part[:, 1:]), (q[:, 3:4], q[:, 4:7])
        turned = np.concatenate([c * a - np.sum(d * b, axis=1, keepdims=True), c * b + a * d + np.cross(d, b)], axis=1)
        moved[:, 3:7] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        return moved

    def observed(self, x, parts, action=None):
        """{part: (worlds, bodies, size)} and the common centre of mass."""
        paths = {f"{part} {i}": f"body/{name}{part}" for part in parts for i, name in enumerate(self.bodies)}
        seen = rigid.observe(self.system, {"centre": "subtree/world", **paths}, x, action)
        return {part: np.stack([seen[f"{part} {i}"] for i in range(len(self.bodies))], axis=1) for part in parts}, seen["centre"]

    def wrenches(self, x, action):
        """Torque about the common centre of mass, and force, of the contacts of each body: (worlds, bodies, 6)."""
        seen, centre = self.observed(x, ["", "/contact", "/contact_torque"], action)
        torque = seen["/contact_torque"] + np.cross(seen[""] - centre[:, None], seen["/contact"])
        return np.concatenate([torque, seen["/contact"]], axis=2)


class Ant(Free):
    file, frame_skip, noise_scale, normal_velocity, hidden = "ant.xml", 5, 0.1, True, 2
    late = 2 + 6 * 13  # place of the torso, wrenches

    def at_rest(self, x):
        return np.concatenate([x[:, :2], np.zeros((len(x), self.late - 2))], axis=1)

    def seen_late(self, x, action):
        return np.concatenate([x[:, :2], self.wrenches(x, action).reshape(len(x), -1)], axis=1)

    def observation(self, x):
        return np.concatenate([x[:, 2:self.states], np.clip(x[:, self.states + 2:], -1, 1)], axis=1)

    def ended(self, y):
        return ~(np.all(np.isfinite(y[:, :self.states]), axis=1) & (0.2 <= y[:, 2]) & (y[:, 2] <= 1.0))

    def reward(self, x, y, action, ended):
        speed = (y[:, self.states] - x[:, self.states]) / self.dt
        touch = np.sum(np.clip(y[:, self.states + 2:], -1, 1)**2, axis=1)
        return speed + 1.0 * ~ended - 0.5 * np.sum(action**2, axis=1) - 5e-4 * touch


class Humanoid(Free):
    """Gymnasium's file stops MuJoCo's solver PGS after 50 iterations; the twin solves the same problem to the end."""
    file, frame_skip, noise_scale, hidden = "humanoid.xml", 5, 1e-2, 2
    late = 2 + (10 + 6) * 13 + 17 + 6 * 13  # place of the centre of mass; inertias, velocities; forces of the actuators; wrenches

    def __init__(self, worlds=1, dtype="float64"):
        super().__init__(worlds, dtype)
        root = ElementTree.parse(model_file(self.file)).getroot()
        joints = [joint.get("name") for joint in root.iter("joint") if joint.get("name") not in (None, "root")]
        self.gears = [(joints.index(motor.get("joint")), float(motor.attrib["gear"])) for motor in root.iter("motor") if motor.get("joint")]

    def at_rest(self, x):
        return np.concatenate([self.moving(x), np.zeros((len(x), 17 + 6 * len(self.bodies)))], axis=1)

    def seen_late(self, x, action):
        forces = np.zeros((len(x), 17))
        for i, (joint, gear) in enumerate(self.gears):
            forces[:, joint] = gear * np.clip(action[:, i], self.low[i], self.high[i])
        return np.concatenate([self.moving(x), forces, self.wrenches(x, action).reshape(len(x), -1)], axis=1)

    def moving(self, x):
        """Place of the centre of mass; about it, in the axes of the world, inertia and velocity of each body."""
        axes = ["/xaxis", "/yaxis", "/zaxis"]
        seen, centre = self.observed(x, ["", "/com", "/velocity", "/angular_velocity", *axes])
        arm, turn = seen["/com"] - centre[:, None], np.stack([seen[axis] for axis in axes], axis=3)
        p = self.system.parameters
        mass = np.array([float(p[f"body/{name}/mass"]) for name in self.bodies])
        own = np.array([p[f"body/{name}/inertia"] for name in self.bodies])[:, [[0, 3, 4], [3, 1, 5], [4, 5, 2]]]
        square = np.sum(arm**2, axis=2)[..., None, None] * np.eye(3) - arm[..., :, None] * arm[..., None, :]
        tensor = turn @ own @ np.swapaxes(turn, 2, 3) + mass[:, None, None] * square
        inertia = np.stack([tensor[:, :, i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], axis=2)
        inertia = np.concatenate([inertia, mass[:, None] * arm, np.broadcast_to(mass[:, None], (len(x), len(mass), 1))], axis=2)
        spin = seen["/angular_velocity"]
        velocity = np.concatenate([spin, seen["/velocity"] + np.cross(spin, centre[:, None] - seen[""])], axis=2)
        return np.concatenate([centre[:, :2], inertia.reshape(len(x), -1), velocity.reshape(len(x), -1)], axis=1)

    def observation(self, x):
        return np.concatenate([x[:, 2:self.states], x[:, self.states + 2:]], axis=1)

    def ended(self, y):
        return ~_within(y[:, 2], 1.0, 2.0)

    def reward(self, x, y, action, ended):
        speed = (y[:, self.states] - x[:, self.states]) / self.dt
        effort = np.sum(np.asarray(action, dtype=float)**2, axis=1)
        touch = np.sum(y[:, -6 * len(self.bodies):]**2, axis=1)
        return 1.25 * speed + 5.0 * ~ended - 0.1 * effort - np.minimum(5e-7 * touch, 10.0)


TWINS = {twin.__name__: twin for twin in (Hopper, HalfCheetah, Walker2d, Ant, Humanoid, Swimmer, Reacher, InvertedPendulum,
                                          InvertedDoublePendulum, Pusher)}
