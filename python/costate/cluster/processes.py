"""Workers that are processes of this machine, started by this one. What is pickled goes from a parent to its own child, over a pipe
that nobody else can open."""
from __future__ import annotations

import os
import pickle
import selectors
import signal
import struct
import subprocess
import sys
from typing import Any

from .. import _core
from ..error import Error
from . import messages
from .pool import Executor, Pool


def _identity(job) -> list[str]:
    return [*_core._cluster_machine(), job.model]  # type: ignore[attr-defined]


class _Worker:
    def __init__(self, environment):
        self.process = subprocess.Popen([sys.executable, "-m", "costate.cluster.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment)
        self.output: Any = self.process.stdout
        os.set_blocking(self.output.fileno(), False)
        self.arrived, self.ready, self.theta = bytearray(), False, None

    def messages(self):
        """What has arrived as a whole; None: it has ended."""
        ended = False
        while not ended:
            try:
                chunk = os.read(self.output.fileno(), 1 << 20)
            except BlockingIOError:
                break
            ended = not chunk
            self.arrived += chunk
        whole = []
        while len(self.arrived) >= 8:
            length = struct.unpack_from("<Q", self.arrived)[0]
            if len(self.arrived) < 8 + length:
                break
            message, self.arrived = bytes(self.arrived[8:8 + length]), self.arrived[8 + length:]
            try:
                whole.append(messages.read(message))
            except Error:
                raise
            except Exception as error:
                raise Error(f"a worker has sent what is not a message: {type(error).__name__}: {error}") from None
        return whole, ended


class _Processes(Executor):
    name = "processes"

    def __init__(self, workers):
        self.wanted, self.workers, self.next = workers, {}, 0
        self.selector, self.job, self.job_bytes, self.events = selectors.DefaultSelector(), None, None, []

    def begin(self, job):
        try:
            data = pickle.dumps(job)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise Error(f"this job cannot be sent to another process: {error}; define its functions in a module, not inside "
                        "another function, or use cluster.threads()") from None
        if data != self.job_bytes:
            for worker in list(self.workers):
                self.stop(worker)
                self.events.append(("lost", worker, "another job"))
        self.job, self.job_bytes = job, data
        while len(self.workers) < self.wanted:
            self.start()

    def start(self):
        # The package that this process has, and the modules that its job refers to.
        paths = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), *filter(None, sys.path)]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
        worker, made = self.next, _Worker(environment)
        self.next += 1
        self.workers[worker] = made
        self.selector.register(made.output, selectors.EVENT_READ, worker)
        threads = max(1, (os.cpu_count() or 1) // self.wanted)
        self.tell(worker, ("job", self.job_bytes, threads))

    def resize(self, workers):
        self.wanted = workers
        for worker in sorted(self.workers)[:max(0, len(self.workers) - workers)]:
            self.stop(worker)
            self.events.append(("lost", worker, "resize"))
        while self.job is not None and len(self.workers) < workers:
            self.start()

    def tell(self, worker, message):
        try:
            messages.write(self.workers[worker].process.stdin, message)
        except BrokenPipeError:
            pass  # it has died: wait() will see it

    def stop(self, worker):
        made = self.workers.pop(worker)
        self.selector.unregister(made.output)
        made.process.kill()
        code = made.process.wait()
        made.output.close()
        try:
            made.process.stdin.close()
        except BrokenPipeError:
            pass
        return f"signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exit code {code}"

    def send(self, worker, call, point, block, theta, gradient):
        if worker not in self.workers:
            return  # its loss is on the way
        if self.workers[worker].theta != (call, point):
            self.workers[worker].theta = call, point
            self.tell(worker, ("theta", theta, gradient))
        self.tell(worker, ("task", call, point, block))

    def wait(self, seconds):
        if not self.events:
            for key, _ in self.selector.select(seconds):
                self.hear(key.data)
        events, self.events = self.events, []
        return events

    def hear(self, worker):
        messages, ended = self.workers[worker].messages()
        for kind, *rest in messages:
            if kind == "error":
                self.stop(worker)
                raise Error(*rest)
            if kind == "hello":
                try:
                    _core._require_equal(_identity(self.job), rest[0], f"worker {worker}")  # type: ignore[attr-defined]
                except Error:
                    self.stop(worker)
                    raise
                self.workers[worker].ready = True
                self.events.append(("joined", worker))
            else:
                self.events.append(("finished", worker, *rest))
        if not ended:
            return
        ready = self.workers[worker].ready
        why = self.stop(worker)
        if not ready:
            raise Error(f"a worker ended before it was ready, by {why}: what it printed says why")
        self.events.append(("lost", worker, why))
        self.start()

    def close(self):
        for worker in list(self.workers):
            self.stop(worker)


def processes(workers: int | None = None, **options) -> Pool:
    """A pool of processes; None: one per core. A worker that dies is replaced, and its block computed again. Options: log, patience,
    tries, progress."""
    if workers is not None and workers < 1:
        raise Error(f"processes({workers}): a pool has at least one worker")
    return Pool(_Processes(workers or os.cpu_count() or 1), **options)
