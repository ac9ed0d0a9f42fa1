"""Workers of a Ray cluster: pip install costate[ray]. A worker is an actor of Ray, which keeps the job and computes one block at a
time; what is computed and added is as everywhere."""
from __future__ import annotations

import pickle
import time

from .. import _core
from ..error import Error
from .pool import Executor, Pool
from .processes import _identity


class _Actor:
    def __init__(self, job):
        self.job = job

    def ready(self, driver):
        _core._require_equal(driver, _identity(self.job), "a worker of Ray")  # type: ignore[attr-defined]

    def compute(self, theta, block, gradient):
        began = time.monotonic()
        return self.job.part(theta, block, gradient), time.monotonic() - began


class _Ray(Executor):
    name = "workers of Ray"

    def __init__(self, address, workers):
        try:
            import ray as module
        except ImportError:
            raise Error("cluster.ray needs Ray: pip install costate[ray]") from None
        self.ray = module
        if not module.is_initialized():
            module.init(address=address, log_to_driver=False)
        self.actor = module.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Actor)  # what is lost is dealt again here
        self.wanted = workers or max(1, int(module.cluster_resources().get("CPU", 1)))
        self.next, self.workers, self.outstanding, self.thetas, self.events = 0, {}, {}, {}, []
        self.job, self.job_bytes = None, None

    def begin(self, job):
        data = pickle.dumps(job)
        if data != self.job_bytes:
            for worker in list(self.workers):
                self.stop(worker, "another job")
            self.job, self.job_bytes, self.identity = self.ray.put(job), data, _identity(job)
        self.thetas = {}
        self.resize(self.wanted)

    def resize(self, workers):
        self.wanted = workers
        for worker in sorted(self.workers)[:max(0, len(self.workers) - workers)]:
            self.stop(worker, "resize")
        while self.job is not None and len(self.workers) < workers:
            self.start()

    def start(self):
        self.workers[self.next] = self.actor.remote(self.job)
        self.outstanding[self.workers[self.next].ready.remote(self.identity)] = self.next, None
        self.next += 1

    def stop(self, worker, why):
        self.ray.kill(self.workers.pop(worker))
        self.outstanding = {answer: task for answer, task in self.outstanding.items() if task[0] != worker}
        self.events.append(("lost", worker, why))

    def send(self, worker, call, point, block, theta, gradient):
        if worker not in self.workers:
            return  # its loss is on the way
        if (call, point) not in self.thetas:
            self.thetas[call, point] = self.ray.put(theta)
        answer = self.workers[worker].compute.remote(self.thetas[call, point], block, gradient)
        self.outstanding[answer] = worker, (call, point, block)

    def wait(self, seconds):
        events, self.events = self.events, []
        if events or not self.outstanding:
            return events
        ready, _ = self.ray.wait(list(self.outstanding), num_returns=1, timeout=max(seconds, 0.001))
        for answer in ready:
            worker, task = self.outstanding.pop(answer)
            try:
                found = self.ray.get(answer)
                events.append(("joined", worker) if task is None else ("finished", worker, *task, *found))
            except self.ray.exceptions.RayActorError as error:
                self.workers.pop(worker, None)
                self.outstanding = {a: t for a, t in self.outstanding.items() if t[0] != worker}
                events.append(("lost", worker, type(error).__name__))
                self.start()
            except self.ray.exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, Error) else error
        return events

    def close(self):
        for worker in list(self.workers):
            self.stop(worker, "the end")


def ray(address: str | None = None, workers: int | None = None, **options) -> Pool:
    """A pool of Ray's workers, one CPU each. address: of a running cluster, "auto" for the one of this machine; None starts one here.
    workers: how many; None: one per CPU of the cluster. Those for which there is no place yet join when there is. Options: log, patience,
    tries, progress."""
    return Pool(_Ray(address, workers), **options)
