"""Fields on a grid: the wave equation."""
from . import _core
from ._recipe import remembered

__all__ = ["wave"]

wave = remembered(_core.grid.wave, "costate.grid")
