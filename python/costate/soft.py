"""Masses and springs, some of them muscles."""
from . import _core
from ._recipe import remembered

__all__ = ["mass_spring"]

mass_spring = remembered(_core.soft.mass_spring, "costate.soft")
