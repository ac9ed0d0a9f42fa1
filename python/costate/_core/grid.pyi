"""Fields on a grid."""

from collections.abc import Sequence

import costate._core


def wave(nx: int = 64, ny: int = 64, *, dx: float = 1.0, dt: float = 0.5, speed: float = 1.0, damping: float = 0.0, sources: Sequence[int] = []) -> costate._core.System:
    """
    The wave equation u'' = speed^2 lap u - damping u' + source on nx x ny cells, u = 0 outside.

    state      'u', 'v', (ny * nx,) each, x fastest
    control    'source', one number for each of the cells `sources` (j * nx + i)
    parameter  'speed' (ny * nx,), 'damping', 'dx', 'dt'
    Stable for speed dt / dx < 0.7.
    """
