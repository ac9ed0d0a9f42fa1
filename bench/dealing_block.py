"""The block of dealing.py, where worker processes find it."""
import numpy as np


def nothing(theta, first, count):
    return 1.0, {"a": np.ones(1000)}
