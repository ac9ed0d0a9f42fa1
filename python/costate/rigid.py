"""Rigid bodies with joints, actuators and contact, from MJCF and URDF files."""
from ._core.rigid import body_poses, control_range, load, observe, observed, record

__all__ = ["body_poses", "control_range", "load", "observe", "observed", "record"]
