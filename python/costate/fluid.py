"""Incompressible flow in two and three dimensions: walls, inflows, obstacles, and what the flow carries along."""
from . import _core
from ._recipe import remembered

__all__ = ["flow"]

flow = remembered(_core.fluid.flow, "costate.fluid")
