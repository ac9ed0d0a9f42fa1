"""What a user waits for besides the physics: the import, the first gradient, the overhead of a call from NumPy, PyTorch and JAX.

    PYTHONPATH=build/python python bench/latency.py --tool build/bin/costate

Prints a table, or with --json one JSON object per line (name, value, unit, aim). The aims are ours; nothing fails where one is missed, because a
busy or older machine misses them too. PyTorch and JAX are left out where they are not installed."""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
IMPORT = "import time, numpy; start = time.process_time(); import costate; print(time.process_time() - start)"
HUMANOID = """import time, numpy, costate; start = time.perf_counter()
sim = costate.rigid.load(costate.scene_file("humanoid.xml")).rollout(steps=100)
sim.value_and_grad(loss=costate.loss.final("q")); print(time.perf_counter() - start)"""
INTERRUPT = """import signal, time, numpy as np, costate
signal.signal(signal.SIGINT, signal.default_int_handler)
long = costate.equations({"x": 1, "y": 1}, "x_dot = y; y_dot = -x", dt=1e-3).rollout(10**10, checkpoints=costate.binomial(20))
print("ready", flush=True)
try:
    long.value_and_grad(np.ones((64, 2)), loss=costate.loss.final("x"))
except KeyboardInterrupt:
    print("interrupted", flush=True)"""


def fresh(program):
    """Seconds that a new process prints."""
    return float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)


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


def wall(command):
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - start


def interrupted():
    """From Ctrl-C in a long gradient to its end."""
    import signal

    child = subprocess.Popen([sys.executable, "-c", INTERRUPT], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    pressed = time.perf_counter()
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    seconds = time.perf_counter() - pressed
    child.wait(30)
    return seconds


def pendulum():
    import costate

    return costate.equations({"q": 1, "v": 1}, "q_dot = v; v_dot = -9.81*sin(q)", dt=0.01)


def calls():
    import costate

    sim, x0 = pendulum().rollout(1), np.array([0.1, 0.2])
    yield "simulate from NumPy", microseconds(lambda: sim.simulate(x0)), 10
    yield "gradient from NumPy", microseconds(lambda: sim.pull_back(x0, final_state=x0)), 20
    try:
        import torch
    except ImportError:
        pass
    else:
        simulate = costate.torch.rollout(pendulum().rollout(1))
        start = torch.tensor([0.1, 0.2], dtype=torch.float64, requires_grad=True)
        bar = torch.ones(2, dtype=torch.float64)

        def both():
            start.grad = None
            simulate(start).backward(bar)

        yield "forward and backward from PyTorch", microseconds(both), 60
    try:
        import jax
    except ImportError:
        return
    jax.config.update("jax_enable_x64", True)
    simulate = costate.jax.rollout(pendulum().rollout(1))
    jitted, at = jax.jit(lambda x: simulate(x)), jax.numpy.array([0.1, 0.2])
    yield "jitted function from JAX", microseconds(lambda: jitted(at).block_until_ready(), time.perf_counter), 40


def measure(tool):
    """(name, value, unit, aim)"""
    yield "import beside NumPy's, CPU", min(fresh(IMPORT) for _ in range(3)), "s", 0.2
    yield "first gradient of a humanoid", min(fresh(HUMANOID) for _ in range(3)), "s", 1.0
    yield "Ctrl-C in a long gradient", interrupted(), "s", 1.0
    if tool:
        problem = str(ROOT / "tests/io/scene/equations/lotka_volterra_final.toml")
        yield "process to first gradient, command line", 1e3 * min(wall([tool, "grad", problem]) for _ in range(20)), "ms", 50
    for name, value, aim in calls():
        yield name, value, "us", aim


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", help="the command line tool; without it, its first gradient is not measured")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    for name, value, unit, aim in measure(arguments.tool):
        if arguments.json:
            print(json.dumps({"name": name, "value": float(f"{value:.4g}"), "unit": unit, "aim": aim}), flush=True)
        else:
            print(f"{name:42} {value:8.3g} {unit:3} (aim {aim:g})", flush=True)
