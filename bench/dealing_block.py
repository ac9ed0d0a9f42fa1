"""The blocks of dealing.py and slow_workers.py, where worker processes find them."""
import os
import time

import numpy as np


def nothing(theta, first, count):
    return 1.0, {"a": np.ones(1000)}


def sleeps(theta, first, count, seconds=0.1, slow_worker=""):
    """A block that takes its time without a processor. `slow_worker`: a file; whose worker finds it first is five times slower
    for good."""
    if slow_worker:
        try:
            with open(slow_worker, "x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            pass
        with open(slow_worker) as file:
            seconds *= 5 if file.read() == str(os.getpid()) else 1
    time.sleep(seconds)
    return 0.0, {"a": np.zeros_like(theta["a"])}
