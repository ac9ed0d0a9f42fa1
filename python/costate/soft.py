"""Masses and springs, some of them muscles."""
from ._core.soft import mass_spring

__all__ = ["mass_spring"]
