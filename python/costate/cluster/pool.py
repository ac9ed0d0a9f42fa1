"""Pool: what every executor has in common. An executor sends tasks and brings answers; who does what is decided by the engine."""
from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from .. import _core, progress as _progress
from ..error import Error
from ..learn import Policy
from ..optimise import Pack, Point, least_squares as _least_squares


@dataclasses.dataclass
class Report:
    """What a pool has done."""
    executor: str
    workers: int = 0  #: At the end.
    calls: int = 0
    seconds: float = 0.0  #: Of the calls.
    worker_seconds: float = 0.0  #: The same, each as often as there were workers.
    blocks: int = 0  #: That were needed.
    resumed: int = 0  #: Of them, read from the log.
    tasks: int = 0  #: Answers that counted.
    lost: int = 0  #: Workers that left while they computed.
    redone: int = 0  #: Blocks that were dealt again for it.
    copied: int = 0  #: Blocks of stragglers that were computed twice.
    seconds_of_worker: dict[int, float] = dataclasses.field(default_factory=dict)
    blocks_of_worker: dict[int, int] = dataclasses.field(default_factory=dict)

    @property
    def efficiency(self) -> float:
        """Time that workers computed, as a part of the time that they were there for."""
        return sum(self.seconds_of_worker.values()) / self.worker_seconds if self.worker_seconds > 0 else 0.0

    def __str__(self):
        lines = [f"{self.executor}: {self.blocks} blocks in {self.seconds:.3g} s by {self.workers} workers, "
                 f"efficiency {self.efficiency:.2f}"]
        lines += [f"  {self.resumed} blocks were read from the log"] * bool(self.resumed)
        lines += [f"  {self.lost} workers were lost, {self.redone} blocks done again"] * bool(self.lost)
        lines += [f"  {self.copied} blocks of stragglers were computed twice"] * bool(self.copied)
        return "\n".join(lines)


@dataclasses.dataclass
class Fit:
    """The best fit of pool.least_squares."""
    x: Any
    value: float  #: 1/2 |r|^2
    residuals: int
    covariance: np.ndarray  #: Of the numbers of x; infinite where the data do not determine them.
    standard_deviation: Any  #: Of x, in its shape.
    iterations: int
    reason: str
    converged: bool


@dataclasses.dataclass
class Trained:
    """What one run of pool.train came to."""
    options: dict[str, Any]  #: Of the run.
    policy: Policy
    mean_return: float  #: Of episodes without noise.
    mean_length: float


class _Bar:
    """How far a long call is: one bar for all workers, for whoever watches."""

    def __init__(self, began):
        self._due = began + 1.0  # what ends sooner needs none
        self._bar: Any = None

    def show(self, now, part):
        if now < self._due:
            return
        self._due = now + 0.1
        if self._bar is None:
            self._bar = _progress.of_one_call() or False
        if self._bar:
            self._bar.show(part)

    def close(self):
        if self._bar:
            self._bar.close()


class Executor:
    """What a pool asks of its workers. Events are ('joined', worker), ('lost', worker, why) and
    ('finished', worker, call, point, block, part, seconds)."""
    name = "workers"
    copies_stragglers = True

    def begin(self, job) -> None:
        raise NotImplementedError

    def send(self, worker: int, call: int, point: int, block: int, theta, gradient: bool) -> None:
        raise NotImplementedError

    def wait(self, seconds: float) -> list[tuple]:
        raise NotImplementedError

    def end(self) -> None:
        """No more work of this call is of interest."""

    def resize(self, workers: int) -> None:
        """More workers, or fewer: those that came first leave."""
        raise NotImplementedError

    def close(self) -> None:
        pass


class Pool:
    """Workers that compute jobs. Made by threads(), processes() and ray(); `with` ends the workers."""

    def __init__(self, executor: Executor, *, log: str | None = None, patience: float = 1.5, tries: int = 4,
                 progress: Callable[[int, int, int], None] | None = None):
        self._executor, self._log_file, self._patience, self._tries, self._progress = executor, log, patience, tries, progress
        self._log, self._log_job = None, ""
        self._idle: set[int] = set()
        self._busy: dict[int, tuple[int, int, int]] = {}  # with what: call, point, block
        self._events: list[tuple] = []
        self._call, self._closed = 0, False
        self.report = Report(executor.name)  #: What was done so far.
        self.gradient_report: _core.GradientReport | None = None  #: Of the latest value_and_grad.

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Ends the workers. A pool that is closed computes nothing more."""
        self._closed = True
        self._executor.close()

    def resize(self, workers: int) -> None:
        """More workers, or fewer: those that came first leave, and what they were computing is computed again. At any time, also from
        `progress` in the middle of a call. The result does not depend on it."""
        if workers < 1:
            raise Error(f"resize({workers}): a pool has at least one worker")
        self._executor.resize(int(workers))

    # ----------------------------------------------------------------------------------------------------------------

    def value_and_grad(self, job, theta: Mapping[str, Any]) -> tuple[float, dict[str, np.ndarray]]:
        """The sum over all worlds, and its gradient: a dict like theta. An error is that of the lowest block."""
        pack = Pack(theta)
        call = self._run(job, [pack.arrays], True)
        value, sums, self.gradient_report = call.total(0, job.worlds)
        return value, cast(dict[str, np.ndarray], pack.point(sums))

    def value(self, job, theta: Mapping[str, Any]) -> float:
        return self._run(job, [Pack(theta).arrays], False).total(0, job.worlds)[0]

    def population(self, job, thetas: Sequence[Mapping[str, Any]], *, gradient: bool = False):
        """Values of many points, (points,); with gradient=True also their gradients. A point that cannot be simulated is infinite,
        and its gradient is None."""
        call = self._run(job, [Pack(theta).arrays for theta in thetas], gradient)
        values, gradients = np.full(len(thetas), np.inf), []
        for k, theta in enumerate(thetas):
            found = None
            try:
                values[k], sums, _ = call.total(k, job.worlds)
                found = Pack(theta).point(sums) if gradient else None
            except Error as error:
                if error.kind != "numerics":
                    raise
            gradients.append(found)
        return (values, gradients) if gradient else values

    def objective(self, job) -> Callable:
        """For costate.minimize: theta -> (value, gradient). A point that cannot be simulated is stepped back from."""
        def fun(theta):
            values, gradients = self.population(job, [theta], gradient=True)
            nowhere = {name: np.full(np.shape(value), np.nan) for name, value in theta.items()}
            return float(values[0]), nowhere if gradients[0] is None else gradients[0]

        return fun

    def values(self, job, like: Mapping[str, Any]) -> Callable:
        """For costate.minimize(..., "cma_es", batched=True): a generation, whose rows are the numbers of a theta like this one."""
        pack = Pack(like)
        return lambda points: self.population(job, [cast(dict[str, np.ndarray], pack.point(row)) for row in np.asarray(points, dtype=float)])

    def least_squares(self, job, theta0: Mapping[str, Any], *, lower: Point | None = None, upper: Point | None = None,
                      iterations: int = 100, tolerance: float = 1e-10) -> Fit:
        """The least 1/2 |r|^2 of a ResidualJob, by Levenberg-Marquardt on sums of J'r and J'J over blocks."""
        pack = Pack(theta0)
        n = pack.size
        last: dict[bytes, Any] = {}

        def normal(vector):
            key = vector.tobytes()
            if key not in last:
                last.clear()
                value, sums, _ = self._run(job, [Pack(pack.point(vector)).arrays], True).total(0, job.worlds)
                if len(sums) != n + n * (n + 1) // 2 + 1:
                    raise Error("least_squares is for a ResidualJob, whose function returns residuals and their Jacobian")
                H = np.zeros((n, n))
                H[np.triu_indices(n)] = sums[n:-1]
                last[key] = value, sums[:n], H + np.triu(H, 1).T, int(sums[-1])
            return last[key]

        def residuals(vector):
            # n + 1 residuals with the same value, the same J'r and the same J'J as all of them
            value, g, H, _ = normal(vector)
            eigenvalues, V = np.linalg.eigh(H)
            seen = eigenvalues > 1e-14 * max(eigenvalues[-1], 0.0)
            root = np.sqrt(np.where(seen, eigenvalues, 0.0))
            s = np.divide(V.T @ g, root, out=np.zeros(n), where=seen)
            rest = np.sqrt(max(0.0, 2 * value - s @ s))
            return np.append(s, rest), np.vstack([root[:, None] * V.T, np.zeros(n)])

        found = _least_squares(residuals, pack.vector(theta0, "theta0"), lower=pack.bounds(lower, "lower"),
                               upper=pack.bounds(upper, "upper"), iterations=iterations, tolerance=tolerance)
        value, _, H, count = normal(found.x)
        covariance = np.full((n, n), np.inf)
        scale = np.sqrt(np.diag(H))
        enough = count >= n if job.sigma_given else count > n
        if enough and np.all(scale > 0) and np.linalg.cond(H / np.outer(scale, scale)) < 1e14:
            spread = 1.0 if job.sigma_given else 2 * value / (count - n)
            covariance = np.linalg.inv(H / np.outer(scale, scale)) / np.outer(scale, scale) * spread
        return Fit(pack.point(found.x), value, count, covariance, pack.point(np.sqrt(np.diag(covariance))), found.iterations,
                   found.reason, found.converged)

    def train(self, task, runs: Sequence[Mapping[str, Any]], *, folder: str | os.PathLike[str] | None = None,
              worlds: int = 100) -> list[Trained]:
        """One policy for each of `runs`, which are options of costate.learn.Learner: seeds, or settings to compare. A worker trains one of
        them at a time, with the bits that it would have at home.

        task     a costate.learn.Task, or a function without arguments that returns one (for other processes, one of a module)
        folder   where each run saves itself every few seconds, to go on when its worker dies; None: it begins anew
        worlds   episodes that the return is averaged over
        """
        from .training import TrainJob, trained

        job = TrainJob(task, runs, folder, worlds)
        call = self._run(job, [{"run": np.array(float(k))} for k in range(len(job.runs))], True)
        return [trained(job.runs[k], *call.total(k, job.worlds)[:2]) for k in range(len(job.runs))]

    # ----------------------------------------------------------------------------------------------------------------

    def _run(self, job, points, gradient):
        if self._closed:
            raise Error("this pool is closed; make another one, and compute inside of its `with`")
        patience = self._patience if self._executor.copies_stragglers else np.inf
        call = _core._ClusterCall(len(points), job.worlds, job.block, self._tries, patience)  # type: ignore[attr-defined]
        keys = self._resume(job, points, gradient, call)
        self._call += 1
        began = last = time.monotonic()
        there, bar = 0.0, _Bar(began)
        try:
            if not call.complete:
                self._executor.begin(job)
                self._take(self._executor.wait(0.0), call, keys)
            while not call.complete:
                self._deal(call, points, gradient)
                now, workers = time.monotonic(), len(self._idle) + len(self._busy)
                until = min(call.next_look(now), now + 0.1) if self._idle else now + 0.1
                events = self._executor.wait(until - now)
                now = time.monotonic()
                there += (now - last) * workers  # dealing included: workers compute meanwhile
                last = now
                self._take(events, call, keys)
                bar.show(now, call.done / call.blocks)
        finally:
            bar.close()
            self._executor.end()
        self._account(call, time.monotonic() - began, there)
        return call

    def _resume(self, job, points, gradient, call):
        if self._log_file is None:
            return None
        identity = job._identity()
        if self._log is None:
            self._log, self._log_job = _core._ClusterLog(str(self._log_file), identity), identity  # type: ignore[attr-defined]
        if identity != self._log_job:
            raise Error(f"{self._log_file}: a pool with a log computes one job, and this is another; make a second pool")
        keys = [_core._cluster_key(repr([(name, a.shape) for name, a in point.items()]),  # type: ignore[attr-defined]
                                   np.concatenate([a.ravel() for a in point.values()]), gradient) for point in points]
        for point, key in enumerate(keys):
            call.resume(self._log, key, point)
        return keys

    def _deal(self, call, points, gradient):
        for worker in sorted(self._idle):
            task = call.next(worker, len(self._idle) + len(self._busy), time.monotonic())
            if task is None:
                return
            point, block = task
            self._idle.discard(worker)
            self._busy[worker] = self._call, point, block
            self._executor.send(worker, self._call, point, block, points[point], gradient)

    def _take(self, events, call, keys):
        self._events += events  # what an Error leaves here belongs to the next call
        while self._events:
            kind, worker, *rest = self._events.pop(0)
            if kind == "joined":
                self._idle.add(worker)
            elif kind == "lost":
                self._idle.discard(worker)
                self._busy.pop(worker, None)
                call.lost(worker, rest[0])
            else:
                self._accept(worker, rest, call, keys)

    def _accept(self, worker, answer, call, keys):
        number, point, block, part, seconds = answer
        if self._busy.pop(worker, None) != (number, point, block):
            raise Error(f"worker {worker} has answered what it was not asked for")
        self._idle.add(worker)
        if number != self._call or not call.finished(worker, point, block, part, seconds):
            return  # a straggler
        if keys is not None and self._log is not None:
            self._log.append(keys[point], block, part)
        if self._progress is not None:
            self._progress(call.done, call.blocks, len(self._idle) + len(self._busy))

    def _account(self, call, seconds, worker_seconds):
        counts, report = call.counts(), self.report
        report.calls += 1
        report.seconds += seconds
        report.worker_seconds += worker_seconds
        report.workers = len(self._idle) + len(self._busy)
        for name in ("blocks", "resumed", "tasks", "lost", "redone", "copied"):
            setattr(report, name, getattr(report, name) + counts[name])
        for worker, (blocks, busy) in counts["workers"].items():
            report.blocks_of_worker[worker] = report.blocks_of_worker.get(worker, 0) + blocks
            report.seconds_of_worker[worker] = report.seconds_of_worker.get(worker, 0.0) + busy
