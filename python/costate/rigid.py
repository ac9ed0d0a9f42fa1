"""Rigid bodies with joints, actuators and contact, from MJCF and URDF files."""
from ._core.rigid import load

__all__ = ["load"]
