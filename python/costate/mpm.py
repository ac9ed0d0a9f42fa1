"""Material points: liquids, elastic bodies, sand, snow, muscles. Scene files (costate.load) say more: shapes, vessels, rigid bodies."""
from . import _core
from ._recipe import remembered

__all__ = ["particles"]

particles = remembered(_core.mpm.particles, "costate.mpm")
