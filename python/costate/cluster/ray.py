"""Workers of a Ray cluster: pip install costate[ray]. Ray moves the tasks; what is computed and added is as everywhere."""
from __future__ import annotations

import time

from .. import _core
from ..error import Error
from .pool import Executor, Pool
from .processes import _identity


def _compute(job, theta, block, gradient, driver):
    _core._require_equal(driver, _identity(job), "a worker of Ray")  # type: ignore[attr-defined]
    began = time.monotonic()
    return job.part(theta, block, gradient), time.monotonic() - began


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
        self.compute = module.remote(max_retries=0)(_compute)  # what is lost is dealt again here
        self.wanted = workers or max(1, int(module.cluster_resources().get("CPU", 1)))
        self.next, self.slots, self.outstanding, self.thetas, self.events = 0, set(), {}, {}, []

    def begin(self, job):
        self.job, self.thetas, self.identity = self.ray.put(job), {}, _identity(job)
        while len(self.slots) < self.wanted:
            self.join()

    def join(self):
        self.slots.add(self.next)
        self.events.append(("joined", self.next))
        self.next += 1

    def resize(self, workers):
        self.wanted = workers
        for worker in sorted(self.slots)[:max(0, len(self.slots) - workers)]:
            self.slots.discard(worker)
            self.events.append(("lost", worker, "resize"))
            for answer in [a for a, (who, *_) in self.outstanding.items() if who == worker]:
                del self.outstanding[answer]
                self.ray.cancel(answer, force=True)
        while len(self.slots) < workers:
            self.join()

    def send(self, worker, call, point, block, theta, gradient):
        if (call, point) not in self.thetas:
            self.thetas[call, point] = self.ray.put(theta)
        answer = self.compute.remote(self.job, self.thetas[call, point], block, gradient, self.identity)
        self.outstanding[answer] = worker, call, point, block

    def wait(self, seconds):
        events, self.events = self.events, []
        if events or not self.outstanding:
            return events
        ready, _ = self.ray.wait(list(self.outstanding), num_returns=1, timeout=max(seconds, 0.001))
        for answer in ready:
            worker, call, point, block = self.outstanding.pop(answer)
            try:
                part, busy = self.ray.get(answer)
                events.append(("finished", worker, call, point, block, part, busy))
            except (self.ray.exceptions.WorkerCrashedError, self.ray.exceptions.NodeDiedError,
                    self.ray.exceptions.ObjectLostError) as error:
                self.slots.discard(worker)
                events.append(("lost", worker, type(error).__name__))
                self.join()
            except self.ray.exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, Error) else error
        return events


def ray(address: str | None = None, workers: int | None = None, **options) -> Pool:
    """A pool of Ray's workers. address: of a running cluster, "auto" for the one of this machine; None starts one here. workers: how
    many blocks are computed at a time; None: one per CPU of the cluster. Options: log, patience, tries, progress."""
    return Pool(_Ray(address, workers), **options)
