"""Material points: liquids, elastic bodies, sand, snow, muscles. Scene files (costate.load) say more: shapes, vessels, rigid bodies."""
from ._core.mpm import particles

__all__ = ["particles"]
