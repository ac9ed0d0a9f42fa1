"""Rigid bodies with joints, actuators and contact, from MJCF and URDF files."""
import os

from . import _core
from ._core.rigid import body_poses, control_range, observe, pull_back_observed, record
from ._recipe import remembered
from ._scenes import existing

__all__ = ["body_poses", "control_range", "load", "observe", "observed", "pull_back_observed", "record"]

load = remembered(_core.rigid.load, "costate.rigid", lambda path, **options: ((os.path.abspath(path),), options), existing)
observed = remembered(_core.rigid.observed, "costate.rigid")
