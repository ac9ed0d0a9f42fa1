"""Fields on a grid: the wave equation."""
from ._core.grid import wave

__all__ = ["wave"]
