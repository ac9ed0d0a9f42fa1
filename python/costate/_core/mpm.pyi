"""Material points: liquids, elastic bodies, sand, snow."""

from collections.abc import Sequence

import numpy.typing

import costate._core


def particles(x: numpy.typing.ArrayLike, volume: numpy.typing.ArrayLike, materials: list, *, dx: float, nodes: Sequence[int], dt: float, v: numpy.typing.ArrayLike | None = None, material: Sequence[int] = [0], actuator: Sequence[int] = [-1], gravity: numpy.typing.ArrayLike | None = None, origin: numpy.typing.ArrayLike | None = None, kernel: str = 'quadratic', walls: str = 'separate', friction: float = 0.0) -> costate._core.System:
    """
    A System of material points in a box of nodes origin + dx (i, j, k), i < nodes[0], ...

    x          (particles, 2) or (particles, 3), two cells inside the walls; v: how fast
    volume     of a particle at rest: one number, or one for each
    materials  [{'kind': 'neo_hookean', 'density': 1000.0, 'E': 1e5, 'nu': 0.3}, ...]; kinds: liquid, fixed_corotated, neo_hookean,
               stvk_hencky, von_mises, drucker_prager, snow, muscle (docs/materials.md)
    material   which of them a particle is of; actuator: which control moves it, if it is a muscle
    walls      none, sticky, slip, separate, coulomb (with friction)
    state 'particle/x', 'particle/v', 'particle/C', 'particle/F'; control 'actuation'; parameters 'gravity', 'dt', 'material/<name>/E', ...
    Scene files (costate.load) also have shapes to fill, vessels that move, and rigid bodies.
    """
