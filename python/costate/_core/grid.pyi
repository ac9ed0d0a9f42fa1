"""Fields on a grid."""

from collections.abc import Sequence

import costate._core


def system(equation: str, nx: int = 64, ny: int = 64, *, dx: float = 1.0, dt: float = 0.0, parameters: dict = {}, sides: dict = {}, sources: Sequence[int] = []) -> costate._core.System:
    """
    An equation on nx x ny cells of width dx, by its name: 'wave', 'heat', 'shallow_water', 'burgers', 'gray_scott'.

    parameters  by name: one number, or one per cell, x fastest
    sides       {'west': ('temperature', 20.0), 'south': 'periodic', ...}, where the equation has a choice
    sources     cells (j * nx + i), each driven by a number of the control
    dt          0: half of the longest stable step
    """
