"""Workers of a Ray cluster: pip install costate[ray]. A worker is an actor of Ray, which keeps the job and computes one block at a
time; what is computed and added is as everywhere."""
from __future__ import annotations

import os
import pickle
import sys
import time

from .. import _core
from ..error import Error
from .pool import Executor, Pool
from .processes import _identity


def _alone():
    """A cluster of this process listens on the loopback only, and finds the modules that this process finds."""
    # Otherwise Ray replaces the loopback by an address that other machines reach. Its setting is named after the systems on which it
    # does not; it is read when Ray is imported and by the processes that Ray starts.
    from ray._private import ray_constants
    ray_constants.ENABLE_RAY_CLUSTER = False
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    paths = os.pathsep.join(filter(None, sys.path))
    return {"_node_ip_address": "127.0.0.1", "include_dashboard": False, "runtime_env": {"env_vars": {"PYTHONPATH": paths}}}


class _Actor:
    def ready(self, driver, data):
        """Takes the job. One of another version may not even be read."""
        _core._require_equal(driver[:3], _core._cluster_machine(), "a worker of Ray")  # type: ignore[attr-defined]
        self.job = pickle.loads(data)
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
            module.init(address=address, log_to_driver=False, **({} if address else _alone()))
        self.actor = module.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Actor)  # what is lost is dealt again here
        self.wanted = workers or max(1, int(module.cluster_resources().get("CPU", 1)))
        self.next, self.workers, self.outstanding, self.thetas, self.events = 0, {}, {}, {}, []
        self.job, self.job_bytes, self.failures = None, None, 0

    def begin(self, job):
        data = pickle.dumps(job)
        if data != self.job_bytes:
            for worker in list(self.workers):
                self.stop(worker, "another job")
            self.job, self.job_bytes, self.identity = self.ray.put(data), data, _identity(job)
        self.thetas = {}
        self.resize(self.wanted)

    def resize(self, workers):
        self.wanted = workers
        for worker in sorted(self.workers)[:max(0, len(self.workers) - workers)]:
            self.stop(worker, "resize")
        while self.job is not None and len(self.workers) < workers:
            self.start()

    def start(self):
        self.workers[self.next] = self.actor.remote()
        self.outstanding[self.workers[self.next].ready.remote(self.identity, self.job)] = self.next, None
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
            self.hear(answer, *self.outstanding.pop(answer))
        events, self.events = self.events, []
        return events

    def hear(self, answer, worker, task):
        try:
            found = self.ray.get(answer)
        except self.ray.exceptions.RayActorError as error:
            self.workers.pop(worker, None)
            self.outstanding = {a: t for a, t in self.outstanding.items() if t[0] != worker}
            self.events.append(("lost", worker, type(error).__name__))
            self.failures += task is None
            if self.failures >= 4:  # one after the other, before any of them was ready
                self.failures = 0
                raise Error(f"workers of Ray cannot start: {error}") from None
            self.start()
        except self.ray.exceptions.RayTaskError as error:
            self.stop(worker, "an error")
            cause = error.cause
            if not isinstance(cause, Error):
                cause = Error(f"a worker of Ray cannot go on: {type(cause).__name__}: {cause}; is what the job needs installed there?")
            raise cause from None
        else:
            self.failures = 0
            self.events.append(("joined", worker) if task is None else ("finished", worker, *task, *found))

    def close(self):
        for worker in list(self.workers):
            self.stop(worker, "the end")


def ray(address: str | None = None, workers: int | None = None, **options) -> Pool:
    """A pool of Ray's workers, one CPU each. address: of a running cluster, "auto" for the one of this machine; None starts one here.
    workers: how many; None: one per CPU of the cluster. Those for which there is no place yet join when there is. Options: log, patience,
    tries, progress."""
    return Pool(_Ray(address, workers), **options)
