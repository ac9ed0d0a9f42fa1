"""What a user notices before the first gradient: import time, type stubs, overhead of a call, the command line."""
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import costate
import pendulum

PACKAGE = Path(__file__).resolve().parents[2] / "python/costate"


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, **options).stdout


def test_importing_is_quick_and_pulls_in_nothing_heavy():
    program = ("import time, numpy; start = time.perf_counter(); import costate; print(time.perf_counter() - start);"
               "import sys; print([m for m in ('scipy', 'jax', 'torch', 'matplotlib', 'gymnasium') if m in sys.modules])")
    seconds, heavy = min((python("-c", program).splitlines() for _ in range(3)), key=lambda lines: float(lines[0]))
    assert float(seconds) < 0.2 and heavy == "[]"


def test_the_stubs_are_those_of_the_module(tmp_path):
    python("-m", "nanobind.stubgen", "-q", "-m", "costate._core", "-r", "-O", str(tmp_path))
    for made in (tmp_path / "_core").glob("*.pyi"):
        kept = PACKAGE / "_core" / made.name
        assert kept.read_text() == made.read_text(), f"run: ninja -C build costate_stubs ({made.name} has changed)"
    assert (PACKAGE / "py.typed").exists()


def test_every_public_name_has_a_docstring():
    for name in costate.__all__:
        assert getattr(costate, name).__doc__, name


def test_the_command_line_is_the_module(tool, scenes):
    environment = dict(os.environ, PYTHONPATH=str(Path(costate.__file__).parents[1]))
    assert python("-m", "costate", "--version", env=environment) == subprocess.run(
        [tool, "--version"], capture_output=True, text=True).stdout


def microseconds(f, count=300, rounds=15):
    f()
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            f()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / count


def test_a_call_costs_a_few_microseconds():
    sim, x0 = pendulum.system().rollout(1), np.array([0.1, 0.2])
    loss = costate.loss.final("q")
    # On a quiet machine 3 and 8; the gates leave room for a busy one.
    assert microseconds(lambda: sim.simulate(x0)) < 10
    assert microseconds(lambda: sim.value_and_grad(x0, loss=loss)) < 25


def test_an_installed_package_needs_numpy_alone():
    program = ("import sys; [sys.modules.__setitem__(m, None) for m in ('scipy', 'jax', 'torch', 'matplotlib', 'gymnasium')];"
               "import costate, numpy as np;"
               "print(costate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], rtol=1e-8).y[0, -1])")
    assert float(python("-c", program)) == pytest.approx(np.exp(-1), rel=1e-6)
