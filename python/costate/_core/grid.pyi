"""Fields on a grid."""

from collections.abc import Sequence

import costate._core


def heat(nx: int = 64, ny: int = 64, *, dx: float = 1.0, dt: float = 0.2, conductivity: float = 1.0, capacity: float = 1.0, source: float = 0.0, west: object = ('gradient', 0.0), east: object = ('gradient', 0.0), south: object = ('gradient', 0.0), north: object = ('gradient', 0.0), heaters: Sequence[int] = []) -> costate._core.System:
    """
    The heat equation capacity dT/dt = div(conductivity grad T) + source on nx x ny cells.

    west, ...  ('temperature', T) on the side, ('gradient', dT/dn) across it, or 'periodic'
    state      'T', (ny * nx,), x fastest
    control    'heater', one number for each of the cells `heaters` (j * nx + i)
    parameter  'conductivity' and 'source' (ny * nx,), 'capacity', 'west', 'east', 'south', 'north', 'dx', 'dt'
    Stable for dt <= capacity dx^2 / (4 conductivity), which is checked.
    """

def wave(nx: int = 64, ny: int = 64, *, dx: float = 1.0, dt: float = 0.5, speed: float = 1.0, damping: float = 0.0, sources: Sequence[int] = []) -> costate._core.System:
    """
    The wave equation u'' = speed^2 lap u - damping u' + source on nx x ny cells, u = 0 outside.

    state      'u', 'v', (ny * nx,) each, x fastest
    control    'source', one number for each of the cells `sources` (j * nx + i)
    parameter  'speed' (ny * nx,), 'damping', 'dx', 'dt'
    Stable for speed dt / dx < 0.7.
    """
