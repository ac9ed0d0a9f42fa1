"""Whom a pool listens to: its own workers, on this machine, in messages that are data."""
import io
import os
import pathlib
import pickle
import re
import struct
import subprocess
import sys

import numpy as np
import pytest

import costate
import costate.cluster as cluster
from costate.cluster import messages

import cluster_blocks
from cluster_jobs import hopper, pendulums, scenes


def _listening(root):
    """Addresses that a process and what it has started listen on."""
    inodes, left = set(), [root]
    while left:
        pid = left.pop()
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            left += map(int, task.read_text().split())
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(link)))
            except OSError:
                pass
    found = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                found.add(words[1].split(":")[0])
    return found


LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


@pytest.mark.parametrize("kind", ["threads", "processes", "ray"])
def test_nothing_listens_beyond_the_loopback(kind):
    if kind == "ray":
        pytest.importorskip("ray")
    job, theta, seen = cluster.FunctionJob(cluster_blocks.part, worlds=4), {"a": np.array([1.0, 2.0])}, []
    with getattr(cluster, kind)(workers=2, progress=lambda *_: seen.append(_listening(os.getpid()))) as pool:
        pool.value(job, theta)
    addresses = set().union(*seen)
    assert seen and addresses <= (LOOPBACK if kind == "ray" else set())
    assert kind != "ray" or addresses  # this test sees what there is


class _Code:
    """Calls print where it is read."""

    def __reduce__(self):
        return print, ("a stranger's code has run",)


def test_a_message_with_code_is_refused_by_the_driver_and_by_a_worker(capfd):
    with pytest.raises(costate.Error, match=r"names builtins\.print, which is not data"):
        messages.read(pickle.dumps(("part", _Code())))
    whole = ("theta", {"a": np.arange(3.0), "b": np.float64(2), "c": np.array(7)}, True)
    assert repr(messages.read(pickle.dumps(whole))) == repr(whole)

    worker = subprocess.Popen([sys.executable, "-m", "costate.cluster.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))))
    data = pickle.dumps(("job", _Code(), 1))
    out, err = worker.communicate(struct.pack("<Q", len(data)) + data)
    assert worker.returncode != 0 and b"which is not data" in err and b"has run" not in out + err
    assert "has run" not in capfd.readouterr().out


@pytest.mark.parametrize("make", [hopper, pendulums, scenes])
def test_models_and_scenes_travel_as_data(make):
    """What a pickled job names are classes and functions of this package and NumPy's arrays: nothing of the program that made it."""
    names = set()

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            names.add(module)
            return super().find_class(module, name)

    Reader(io.BytesIO(pickle.dumps(make()[0]))).load()
    assert {name.split(".")[0] for name in names} <= {"costate", "numpy"}, names


class _Liar(cluster.pool.Executor):
    name = "liars"

    def __init__(self, lie):
        self.lie, self.events = lie, [("joined", 0)]

    def begin(self, job):
        self.job = job

    def send(self, worker, call, point, block, theta, gradient):
        self.events.append(("finished", *self.lie(worker, call, point, block), self.job.part(theta, block, gradient), 0.1))

    def wait(self, seconds):
        events, self.events = self.events, []
        return events


@pytest.mark.parametrize("lie", [lambda w, c, p, b: (w, c, p, b + 1), lambda w, c, p, b: (w, c - 1, p, b), lambda w, c, p, b: (9, c, p, b),
                                 lambda w, c, p, b: (w, c, 5, b)])
def test_a_worker_that_answers_wrongly_is_refused(lie):
    with cluster.Pool(_Liar(lie)) as pool, pytest.raises(costate.Error, match="answered what it was not asked for"):
        pool.value(cluster.FunctionJob(cluster_blocks.part, worlds=4), {"a": np.array([1.0, 2.0])})


def test_a_worker_with_another_model_is_refused_by_name(tmp_path):
    """Not a number of the model differs, but what it does."""
    file = tmp_path / "pendulum.xml"
    text = ('<mujoco><worldbody><body name="b" pos="0 0 1"><joint name="j" axis="{}"/><geom size="0.1" pos="0.3 0 -0.5" mass="1"/>'
            "</body></worldbody></mujoco>")
    file.write_text(text.format("0 1 0"))
    sim = costate.rigid.load(file).rollout(10, active=["gravity"])
    job = cluster.Job(sim, costate.loss.final("q"), worlds=4, block=2)
    theta = {"gravity": np.array([0.0, 0.0, -9.81])}
    file.write_text(text.format("0 -1 0"))
    with cluster.processes(1) as pool, pytest.raises(costate.Error) as refused:
        pool.value(job, theta)
    here, there = re.search(r"its model is (\S+) here and was (\S+) there", str(refused.value)).groups()
    assert here != there and there == job.model and "has its file changed" in str(refused.value)
