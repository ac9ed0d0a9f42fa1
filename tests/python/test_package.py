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


def test_the_reference_page_is_up_to_date():
    python(str(PACKAGE.parent / "reference.py"), "--check")


def test_every_public_name_has_a_docstring():
    for name in costate.__all__:
        assert getattr(costate, name).__doc__, name


def test_the_command_line_is_the_module(tool, scenes):
    environment = dict(os.environ, PYTHONPATH=str(Path(costate.__file__).parents[1]))
    assert python("-m", "costate", "--version", env=environment) == subprocess.run(
        [tool, "--version"], capture_output=True, text=True).stdout


def microseconds(f, clock=time.process_time, count=300, rounds=15):
    """Least time of a call. CPU time, since other programs use the machine too."""
    f()
    best = np.inf
    for _ in range(rounds):
        start = clock()
        for _ in range(count):
            f()
        best = min(best, clock() - start)
    return 1e6 * best / count


def test_a_call_from_numpy_costs_less_than_10_us():
    sim, x0 = pendulum.system().rollout(1), np.array([0.1, 0.2])
    assert microseconds(lambda: sim.simulate(x0)) < 10  # measured: 2
    assert microseconds(lambda: sim.pull_back(x0, final_state=x0)) < 20  # measured: 6


def test_forward_and_backward_from_pytorch_cost_less_than_60_us():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")
    simulate = costate.torch.rollout(pendulum.system().rollout(1))
    x0, bar = torch.tensor([0.1, 0.2], dtype=torch.float64, requires_grad=True), torch.ones(2, dtype=torch.float64)

    def both():
        x0.grad = None
        simulate(x0).backward(bar)

    assert microseconds(both) < 60  # measured: 47, of which PyTorch's own machinery is 19


def test_a_jitted_jax_function_costs_less_than_40_us():
    import jax

    simulate = costate.jax.rollout(pendulum.system().rollout(1))
    f, x0 = jax.jit(lambda x: simulate(x)), jax.numpy.array([0.1, 0.2])
    assert microseconds(lambda: f(x0).block_until_ready(), time.perf_counter) < 40  # measured: 15, JAX's own share 12


def test_an_installed_package_needs_numpy_alone():
    program = ("import sys; [sys.modules.__setitem__(m, None) for m in ('scipy', 'jax', 'torch', 'matplotlib', 'gymnasium')];"
               "import costate, numpy as np;"
               "print(costate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], rtol=1e-8).y[0, -1])")
    assert float(python("-c", program)) == pytest.approx(np.exp(-1), rel=1e-6)
