"""Fields on a grid: the wave equation and the heat equation."""
from ._core.grid import heat, wave

__all__ = ["heat", "wave"]
