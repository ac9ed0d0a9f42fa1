"""Rigid bodies with joints and contact."""

from collections.abc import Mapping
import os

import numpy
import numpy.typing

import costate._core


def load(path: str | os.PathLike, *, keyframe: str | None = None, applied_forces: bool = False, contact: bool | str | None = None, onset: str = 'automatic', restitution: float | None = None, rest_speed: float | None = None, stiffness: float | None = None, damping: float | None = None, aware: bool | None = None, integrator: str | None = None, rtol: float | None = None, atol: float | None = None) -> costate._core.System:
    """
    A System from an MJCF or URDF file.

    state      'q' (positions, as MuJoCo's qpos), 'v', 'act'
    control    'ctrl', one per actuator; with applied_forces also 'qfrc', one force per degree of freedom
    parameter  'gravity', 'dt', 'body/<name>/mass', 'joint/<name>/damping', 'geom/<name>/friction', ...
    keyframe   where it starts; None: the reference configuration, at rest
    contact    'convex' (MuJoCo's), 'event' (impacts at their moment), 'penalty' (springs) or 'hard' (complementarity);
               False lets geoms pass through each other; None: convex where the file has contact
    onset      'split' cuts a step where a contact begins or ends: gradients of the physics, not of the time grid; 'none' does not, as MuJoCo; 'automatic' splits, but not where the model has actuators
    restitution, rest_speed  of 'event' and 'hard': where each geom/<name>/restitution starts (0), and the m/s below which a body stays (0.05)
    stiffness, damping       of 'penalty': N/m (1e4) and s/m (0)
    aware      of 'hard': gradients that can leave a contact at rest (False)
    integrator 'Euler', 'implicitfast', 'RK4', or 'adaptive': parts of steps whose error is held below rtol (1e-6) and atol (1e-9); None: the file's
    """

def control_range(system: costate._core.System) -> tuple[numpy.ndarray, numpy.ndarray]:
    """(lower, upper) of every control, infinite where there is no limit."""

def observe(system: costate._core.System, paths: Mapping[str, str], x: numpy.typing.ArrayLike, u: numpy.typing.ArrayLike | None = None) -> dict:
    """
    Quantities of a model at states (..., states), by name: {name: (..., size)}.

    paths   {'tip': 'site/tip', 'speed': 'body/hand/velocity', 'load': 'body/foot/contact', ...}
    u       controls (..., controls), which forces and accelerations depend on; None: none are asked for
    """

def pull_back_observed(system: costate._core.System, paths: Mapping[str, str], x: numpy.typing.ArrayLike, bars: Mapping[str, numpy.typing.ArrayLike], u: numpy.typing.ArrayLike | None = None) -> tuple[numpy.ndarray, numpy.ndarray, dict]:
    """
    The transpose of observe: (x_bar, u_bar, {parameter: cotangent}) given cotangents of the quantities.

    bars   {name: (..., size)}, of each quantity or of some; parameters are summed over all states
    """

def observed(system: costate._core.System, paths: Mapping[str, str], loss: costate._core.Loss) -> costate._core.Loss:
    """
    A loss on quantities of a model: observed(arm, {'tip': 'site/tip'}, costate.loss.final('tip', [0.4, 0, 0.3])).
    """

def body_poses(system: costate._core.System, x: numpy.typing.ArrayLike) -> numpy.ndarray:
    """
    Position and unit quaternion (w, x, y, z) of every body, (..., bodies, 7), at states (..., states).
    """

def record(system: costate._core.System, x: object, frame_interval: float | None = None, title: str = '') -> costate._core.Recording:
    """
    A Recording of a Trajectory with kept states, or of states (frames, states), for replays.

    frame_interval   s; None: that of the trajectory, or 1/30 for plain states
    """
