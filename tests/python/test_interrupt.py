"""Ctrl-C stops a long rollout between steps, and breaks nothing; other threads run meanwhile."""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import costate


def spinning(steps):
    return costate.equations({"x": 1, "y": 1}, "x_dot = y; y_dot = -x", dt=1e-3).rollout(steps, checkpoints=costate.binomial(20))


def test_ctrl_c_interrupts_and_the_rollout_can_be_used_again():
    program = textwrap.dedent("""
        import signal, numpy as np, costate
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        system = costate.equations({"x": 1, "y": 1}, "x_dot = y; y_dot = -x", dt=1e-3)
        long = system.rollout(10**10, checkpoints=costate.binomial(20))
        short = system.rollout(100)
        x0 = np.ones((64, 2))
        before = short.simulate(x0).final_state
        print("ready", flush=True)
        try:
            long.value_and_grad(x0, loss=costate.loss.final("x"))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        assert np.array_equal(short.simulate(x0).final_state, before)
        print("well")
    """)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=30)
    finally:
        child.kill()
    assert out == "interrupted\nwell\n" and child.returncode == 0


def test_a_handler_that_raises_something_else_is_heard():
    class Enough(Exception):
        pass

    def handler(*_):
        raise Enough

    old = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Enough):
            spinning(10**10).simulate([1.0, 0.0])
    finally:
        signal.signal(signal.SIGALRM, old)
    assert spinning(10).simulate([1.0, 0.0]).final_state == pytest.approx([np.cos(0.01), -np.sin(0.01)])


@pytest.fixture
def pressed_soon():
    """Ctrl-C is pressed a moment from now; background jobs of a shell, which ignore it, hear it too."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    yield
    timer.cancel()
    signal.signal(signal.SIGINT, old)


def test_a_long_tangent_is_interrupted(pressed_soon):
    with pytest.raises(KeyboardInterrupt):
        spinning(10**10).jvp([1.0, 0.0], x0_dot=[1.0, 0.0])


@pytest.mark.parametrize("call", [
    lambda sim: sim.hessian_vector([1.0, 0.0], x0_dot=[1.0, 0.0], loss=costate.loss.final("x")),
    lambda sim: sim.pull_back_tangent([1.0, 0.0], x0_dot=[1.0, 0.0], final_state=[1.0, 0.0]),
    lambda sim: sim.jacobian([1.0, 0.0]),
], ids=["hessian_vector", "pull_back_tangent", "jacobian"])
def test_what_keeps_every_state_is_interrupted(call, pressed_soon):
    """A run cannot be endless: many are started, and one of them is interrupted."""
    sim = spinning(100_000)
    with pytest.raises(KeyboardInterrupt):
        while True:
            call(sim)


def test_a_jacobian_that_no_machine_has_room_for_is_refused_at_once():
    with pytest.raises(costate.Error, match="linearize fewer steps"):
        spinning(10**12).jacobian([1.0, 0.0])


def test_other_threads_run_while_a_rollout_does():
    ticks = 0
    worker = threading.Thread(target=lambda: spinning(3_000_000).simulate([1.0, 0.0]))
    worker.start()
    while worker.is_alive():
        ticks += 1
        time.sleep(1e-3)
    worker.join()
    assert ticks > 5  # a loop that held the lock would have let us tick once


def test_a_long_linear_quadratic_problem_is_interrupted(pressed_soon):
    rng = np.random.default_rng(1)
    n, m, steps = 250, 120, 300  # minutes
    parts = dict(A=rng.normal(size=(n, n)) / n**0.5, B=rng.normal(size=(n, m)), Q=np.eye(n), R=0.1 * np.eye(m), x0=np.ones(n),
                 q=rng.normal(size=(steps, n)), lower=-0.1 * np.ones(m), upper=0.1 * np.ones(m))
    with pytest.raises(KeyboardInterrupt):
        costate.control.linear_quadratic(steps, **parts)


def test_other_threads_run_while_forces_are_computed():
    """No thread is made to give up Python's lock here, so another one runs only where the call gives it up."""
    x = np.random.default_rng(1).uniform(0, 60, size=(20000, 3))
    ticks, over = [0], threading.Event()

    def tick():
        while not over.is_set():
            ticks[0] += 1
            time.sleep(0)

    interval, thread = sys.getswitchinterval(), threading.Thread(target=tick)
    thread.start()
    try:
        sys.setswitchinterval(1000)
        seen = False
        for _ in range(100):
            before = ticks[0]
            costate.md.energy_and_forces(x, [{"kind": "lennard_jones", "cutoff": 8.0}])
            seen = ticks[0] > before
            if seen:
                break
    finally:
        sys.setswitchinterval(interval)
        over.set()
        thread.join()
    assert seen
