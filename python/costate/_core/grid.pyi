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

def own(rates: dict, nx: int = 64, ny: int = 64, *, dx: float = 1.0, dt: float = 0.1, parameters: dict = {}, controls: Sequence[str] = [], sides: dict = {}) -> costate._core.System:
    """
    An equation of your own on nx x ny cells of width dx, as text, in three stages of SSP-RK3 per step.

    rates       {'c': 'D*lap_c - w*c_x + r*c*(1 - c)'}: the rate of every field, of c, c_x, c_y, c_xx, c_yy and lap_c
                of every field c, of parameters, controls, and x and y, the middle of a cell
    parameters  by name: one number, or one per cell, x fastest
    controls    names of numbers that are given for every step
    sides       {'west': 'closed', 'east': 'zero'}; others are periodic. Closed: as inside; zero: 0 on the side

    state       every field, (ny * nx,), x fastest
    parameter   those given, 'dx', 'dt'
    """
