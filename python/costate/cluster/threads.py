"""Workers that are threads of this process: the engine leaves Python's lock alone while it computes."""
from __future__ import annotations

import os
import queue
import threading
import time

from ..error import Error
from .pool import Executor, Pool


class _Threads(Executor):
    name = "threads"
    copies_stragglers = False

    def __init__(self, workers):
        self.events: queue.Queue = queue.Queue()
        self.tasks: dict[int, queue.Queue] = {}
        self.next = 0
        self.resize(workers)

    def resize(self, workers):
        for worker in sorted(self.tasks)[:max(0, len(self.tasks) - workers)]:
            self.tasks.pop(worker).put(None)
            self.events.put(("lost", worker, "resize"))
        while len(self.tasks) < workers:
            self.tasks[self.next] = queue.Queue()
            threading.Thread(target=self.serve, args=(self.next, self.tasks[self.next]), daemon=True).start()
            self.events.put(("joined", self.next))
            self.next += 1

    def serve(self, worker, tasks):
        while (task := tasks.get()) is not None:
            job, call, point, block, theta, gradient = task
            began = time.monotonic()
            part = job.part(theta, block, gradient)
            self.events.put(("finished", worker, call, point, block, part, time.monotonic() - began))

    def begin(self, job):
        self.job = job

    def send(self, worker, call, point, block, theta, gradient):
        if worker in self.tasks:  # otherwise its loss is on the way
            self.tasks[worker].put((self.job, call, point, block, theta, gradient))

    def wait(self, seconds):
        try:
            events = [self.events.get(timeout=seconds) if seconds > 0 else self.events.get_nowait()]
        except queue.Empty:
            return []
        while not self.events.empty():
            events.append(self.events.get_nowait())
        # A thread cannot be stopped: what one that has left still answers is dropped, and was dealt again.
        return [event for event in events if event[0] == "lost" or event[1] in self.tasks]

    def close(self):
        for tasks in self.tasks.values():
            tasks.put(None)


def threads(workers: int | None = None, **options) -> Pool:
    """A pool of threads; None: one per core. Options: log, progress."""
    if workers is not None and workers < 1:
        raise Error(f"threads({workers}): a pool has at least one worker")
    return Pool(_Threads(workers or os.cpu_count() or 1), **options)
