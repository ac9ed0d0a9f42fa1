"""What dealing costs in Python: blocks that compute nothing, with a gradient of 1000 numbers, by each kind of pool.

    PYTHONPATH=build/python python bench/dealing.py                  threads and processes
    PYTHONPATH=build/python .cache/ray/bin/python bench/dealing.py   Ray too (./dev test --ray makes that environment)

Ranks of MPI: bench/ranks.cpp.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np

import costate.cluster as cluster
from dealing_block import nothing


def milliseconds_per_block(pool, blocks=200, repetitions=5):
    job, theta = cluster.FunctionJob(nothing, worlds=blocks), {"a": np.ones(1000)}
    with pool:
        pool.value_and_grad(job, theta)  # workers start
        best = np.inf
        for _ in range(repetitions):
            began = time.perf_counter()
            pool.value_and_grad(job, theta)
            best = min(best, time.perf_counter() - began)
    return 1e3 * best / blocks


def main():
    pools = {"threads": lambda: cluster.threads(2), "processes": lambda: cluster.processes(2)}
    try:
        import ray  # noqa: F401
        pools["Ray"] = lambda: cluster.ray(workers=2)
    except ImportError:
        print("Ray is not installed here")
    for name, make in pools.items():
        print(f"{name:<12} {milliseconds_per_block(make()):8.3f} ms per block", flush=True)


if __name__ == "__main__":
    main()
