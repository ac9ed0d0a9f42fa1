"""The example scripts run, and find what they should."""
import importlib
import subprocess
import sys
import types
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples/python"


def run(name, tmp_path, monkeypatch, *needed, draws=True):
    for module in needed:
        pytest.importorskip(module, reason=f"{module} is not installed")
    monkeypatch.syspath_prepend(str(FOLDER))
    options = types.SimpleNamespace(quick=True, picture=str(tmp_path / "picture.png") if draws else None)
    sys.modules.pop(name, None)
    result = importlib.import_module(name).main(options)
    assert not draws or (tmp_path / "picture.png").stat().st_size > 5000
    return result


@pytest.mark.parametrize("name, module", [("fit_pendulum_torch", "torch"), ("lennard_jones_optax", "optax"), ("stiff_fit", "numpy")])
def test_parameters_are_found(name, module, tmp_path, monkeypatch):
    found, truth = run(name, tmp_path, monkeypatch, "matplotlib", module)
    for key, value in truth.items():
        assert found[key] == pytest.approx(value, rel=0.05)


def test_a_tossed_cube_tells_its_friction_and_restitution(tmp_path, monkeypatch):
    found, truth = run("toss_identify", tmp_path, monkeypatch, "matplotlib")
    assert found["hard"]["geom/floor/friction"][0] == pytest.approx(truth["friction"], abs=0.003)
    assert found["hard"]["geom/floor/restitution"] == pytest.approx(truth["restitution"], abs=0.01)


def test_the_heated_spots_of_a_plate_are_found(tmp_path, monkeypatch):
    found, truth = run("heat_source", tmp_path, monkeypatch, "matplotlib", "scipy")
    assert abs(found - truth).max() < 0.1 * truth.max()


def test_a_closure_is_learned_inside_the_solver(tmp_path, monkeypatch):
    assert run("fluid_closure", tmp_path, monkeypatch, "matplotlib", "optax", "jax") > 1.2


@pytest.mark.parametrize("name", ["neural_ode", "residual_physics"])
def test_networks_learn(name, tmp_path, monkeypatch):
    losses, error = run(name, tmp_path, monkeypatch, "matplotlib")
    assert losses[-1] < 0.05 * losses[0] and error < 0.5


def test_a_policy_learns_to_hop_through_contact(tmp_path, monkeypatch):
    losses, further = run("hopper_policy", tmp_path, monkeypatch, "matplotlib")
    assert min(losses) < losses[0] - 1 and further > 0.3


def test_a_policy_for_the_ant_learns_in_torch(tmp_path, monkeypatch):
    losses = run("ant_policy_torch", tmp_path, monkeypatch, "matplotlib", "torch")
    assert losses[-1] < losses[0] - 0.1


def test_the_gradient_of_a_liquid_goes_downhill(tmp_path, monkeypatch):
    losses = run("coffee_pour", tmp_path, monkeypatch, draws=False)
    assert len(losses) == 2 and losses[1] < losses[0]


def test_the_first_lines_of_the_readme_run_in_an_empty_folder(tmp_path):
    script = (FOLDER / "first_gradient.py").read_text()
    out = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert out.startswith("loss ") and "mass of the torso" in out


def test_a_pendulum_is_planned_and_held_up():
    done = subprocess.run([sys.executable, str(FOLDER / "plan_pendulum.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "planned: angle 3.14, largest torque 4.0\nafter a push and 4 s: angle 3.14\n"


def test_the_first_half_hour_comes_to_an_upright_pendulum():
    done = subprocess.run([sys.executable, str(FOLDER / "tutorial.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.partition("-1 upright: [")[2].partition("]")[0]) < -0.99
    assert done.stdout.count("pass  ") == 3
