"""Rigid bodies with joints and contact."""

import costate._core


def load(path: str, *, keyframe: str | None = None, applied_forces: bool = False, contact: bool | None = None) -> costate._core.System:
    """
    A System from an MJCF or URDF file.

    state      'q' (positions, as MuJoCo's qpos), 'v', 'act'
    control    'ctrl', one per actuator; with applied_forces also 'qfrc', one force per degree of freedom
    parameter  'gravity', 'dt', 'body/<name>/mass', 'joint/<name>/damping', 'geom/<name>/friction', ...
    keyframe   where it starts; None: the reference configuration, at rest
    contact    False lets geoms pass through each other; None: as the file says
    """
