"""What slow workers, and workers that come and go, cost by the clock: blocks that sleep, so that a busy machine does not matter much.

    PYTHONPATH=build/python python bench/slow_workers.py

straggler   one of the workers is five times slower for good. The blocks that it holds at the end are computed a second time
elastic     one worker; at half time a second one joins, and after three quarters the first one leaves
"""
import functools
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np

import costate.cluster as cluster
from dealing_block import sleeps

SECONDS = 0.5


def job(blocks, **options):
    return cluster.FunctionJob(functools.partial(sleeps, seconds=SECONDS, **options), worlds=blocks)


def wall(pool, work):
    began = time.perf_counter()
    pool.value_and_grad(work, {"a": np.ones(10)})
    return time.perf_counter() - began


def straggler(workers, blocks):
    with cluster.processes(workers) as pool:
        wall(pool, job(workers))  # workers start
        alike = wall(pool, job(blocks))
    with tempfile.TemporaryDirectory() as folder, cluster.processes(workers) as pool:
        wall(pool, job(workers))
        slow = wall(pool, job(blocks, slow_worker=os.path.join(folder, "slow")))
        copied = pool.report.copied
    ideal = SECONDS * blocks / workers
    print(f"straggler    {workers} workers, {blocks} blocks: {alike:.2f} s (ideal {ideal:.2f}), with one that is 5x slower {slow:.2f} s: "
          f"{slow / alike:.2f} times, {copied} blocks copied", flush=True)


def elastic(blocks=40):
    sizes = {}

    def progress(done, *_):
        if done in sizes:
            pool.resize(sizes.pop(done))

    with cluster.processes(1, progress=progress) as pool:
        wall(pool, job(1))
        sizes.update({blocks // 2: 2, 3 * blocks // 4: 1})
        took = wall(pool, job(blocks))
    ideal = SECONDS * (blocks / 2 + blocks / 8 + blocks / 4)  # alone, two, alone
    print(f"elastic      {blocks} blocks: {took:.2f} s, ideal {ideal:.2f} s: {took / ideal:.2f} times", flush=True)


def main():
    for workers, blocks in ((4, 48), (8, 64)):
        straggler(workers, blocks)
    elastic()


if __name__ == "__main__":
    main()
