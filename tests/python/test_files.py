"""Studies and recordings: what Python computes is what the command line prints."""
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import costate


def told(tool, *arguments, cwd=None):
    out = subprocess.run([tool, *arguments, "--json"], capture_output=True, text=True, check=True, cwd=cwd).stdout
    return json.loads(out)


@pytest.mark.parametrize("name", ["bouncing_ball", "lotka_volterra", "robertson", "soft_landing"])
def test_gradients_are_those_of_the_command_line(tool, examples, name):
    file = str(examples / f"{name}.toml")
    expected = told(tool, "grad", file)
    value, gradient = costate.load(file).gradient()
    assert value == pytest.approx(expected["loss"], rel=1e-12)
    assert gradient == pytest.approx(expected["gradient"], rel=1e-12)


def test_a_solution_by_the_names_of_the_file(examples):
    run = costate.load(str(examples / "bouncing_ball.toml")).run()
    assert run["h"].shape == run.t.shape
    assert run["h"][0] == 50 and run.columns == ["t", "h", "v"]
    assert run.events and run.loss == run["h"][-1]
    with pytest.raises(costate.Error, match="no column"):
        run["nothing"]
    assert len(costate.load(str(examples / "lorenz.toml")).run(dense=7).t) == 7


def test_settings_change_the_file(tool, examples):
    file = str(examples / "lotka_volterra.toml")
    changed = costate.load(file, {"parameters.p[1]": 1.25})
    assert ("parameter", "p[1] = 1.25") in changed.facts
    assert changed.gradient()[0] == pytest.approx(told(tool, "grad", file, "--set", "parameters.p[1]=1.25")["loss"])


def test_checks_and_adjoints_agree(examples):
    study = costate.load(str(examples / "lotka_volterra.toml"))
    assert all(study.check())
    exact, forward = study.gradient()[1], study.gradient("forward")[1]
    assert exact == pytest.approx(forward, rel=1e-9)


def test_a_fit_finds_what_the_command_line_finds(tool, examples):
    file = str(examples / "pendulum_fit.toml")
    expected, seen = told(tool, "optimize", file), []
    result = costate.load(file).optimize(progress=lambda i, value, best: seen.append(value))
    assert result["variables"] == pytest.approx(expected["variables"], rel=1e-9)
    assert result["converged"] == expected["report"]["converged"] and len(seen) >= result["iterations"]
    assert set(result["standard_deviation"]) == set(result["variables"])
    stopped = costate.load(file).optimize(progress=lambda i, value, best: i < 2)
    assert stopped["iterations"] <= 2


PADDLE = str(Path(__file__).parent / "paddle.toml")


@pytest.fixture(scope="module")
def scene():
    return costate.load(PADDLE)


def test_a_scene_has_the_gradient_of_the_command_line(tool, scene):
    expected = told(tool, "grad", PADDLE)
    value, gradient = scene.value_and_grad()
    assert value == pytest.approx(expected["loss"], rel=1e-12)
    assert scene.variables == list(expected["gradient"])
    np.testing.assert_allclose(gradient, list(expected["gradient"].values()), rtol=1e-12)
    assert scene.report.steps == scene.steps and "particles" in repr(scene)


def test_a_scenes_gradient_agrees_with_a_difference(scene):
    x, h = scene.start, 1e-6  # over 1e-5 a node begins to touch the paddle
    direction = np.random.default_rng(4).standard_normal(x.size)
    difference = (scene.value_and_grad(x + h * direction)[0] - scene.value_and_grad(x - h * direction)[0]) / (2 * h)
    assert scene.value_and_grad()[1] @ direction == pytest.approx(difference, rel=1e-6)
    assert all(scene.check(steps=20))


def test_a_robot_among_particles_is_a_scene_like_any_other():
    scene = costate.load(costate.scene_file("barista.toml"), {"run.duration": 0.35})
    value, gradient = scene.value_and_grad()
    assert np.isfinite(value) and np.isfinite(gradient).all() and np.abs(gradient).max() > 0


def test_a_scene_is_recorded_and_replayed(scene, tmp_path):
    run = scene.run()
    recording = run.recording
    assert recording.positions.shape[0] == recording.frames and recording.positions.shape[2] == 3
    assert run.loss == pytest.approx(sum(run.terms.values()))
    recording.title = "pour"
    recording.write(str(tmp_path / "pour.rec"))
    again = costate.load(tmp_path / "pour.rec")
    np.testing.assert_array_equal(again.positions, recording.positions)
    recording.write_html(str(tmp_path / "pour.html"))
    costate.write_replay(str(tmp_path / "two.html"), [recording, again], title="Twice")
    assert "<html" in (tmp_path / "two.html").read_text()[:2000].lower()
    assert recording._repr_html_().startswith("<iframe") and "pour" in repr(recording)


def test_a_scene_is_optimised_and_resumed(scene, tmp_path):
    state = str(tmp_path / "state.json")
    seen = []
    first = scene.optimize(state_file=state, progress=lambda i, value, best: seen.append(value) or len(seen) < 3)
    assert first["loss"] <= first["start_loss"] and len(seen) == 3
    again = scene.optimize(state_file=state, resume=True, progress=lambda i, value, best: False)
    assert again["iterations"] >= first["iterations"]
    assert scene.value_and_grad(first["x"])[0] == pytest.approx(first["loss"], rel=1e-6)


def test_a_state_of_another_study_is_not_resumed(tmp_path):
    state = str(tmp_path / "state.json")
    found = costate.load_study("projectile.toml").optimize(state_file=state)
    with pytest.raises(costate.Error, match="another optimisation: the loss of its start was"):
        costate.load_study("projectile.toml", {"parameters.g": 3.7}).optimize(state_file=state, resume=True)
    again = costate.load_study("projectile.toml", {"optimize.iterations": 300}).optimize(state_file=state, resume=True)
    assert again["loss"] == found["loss"]


def test_a_recording_made_in_python(tmp_path):
    r = costate.Recording()
    r.title, r.frame_interval = "orbit", 0.05
    t = np.linspace(0, 2 * np.pi, 40)
    poses = np.zeros((40, 7))
    poses[:, 0], poses[:, 1], poses[:, 2], poses[:, 3] = np.cos(t), np.sin(t), 0.5, 1
    r.add_body("moon", "sphere", [0.1], poses, color=0xffcc00)
    r.add_body("planet", "sphere", [0.3], [0, 0, 0.5, 1, 0, 0, 0])
    r.add_curve("angle", np.arange(40), t, "frame")
    path = str(tmp_path / "orbit.rec")
    r.write(path)
    again = costate.load(path)
    assert again.frames == 40 and again.bodies == ["moon", "planet"]
    np.testing.assert_allclose(again.poses("moon"), poses, atol=1e-6)
    with pytest.raises(costate.Error, match="no body"):
        again.poses("sun")


def test_mistakes_are_errors_with_line_and_column(tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text('[start]\nx = 1.0\n[equations]\nx = "-k*x"\n[run]\nt1 = 1.0\n')
    with pytest.raises(costate.Error) as caught:
        costate.load(file)
    assert "wrong.toml:4" in caught.value.where
    with pytest.raises(costate.Error, match="nothing.toml"):
        costate.load("nothing.toml")


def test_a_model_that_is_not_there_is_told_where_it_was_looked_for(tmp_path):
    (tmp_path / "run.toml").write_text('[model]\nfile = "robot/../none.xml"\n')
    with pytest.raises(costate.Error, match="there is no model file 'robot/../none.xml'") as caught:
        costate.load_study(tmp_path / "run.toml")
    assert caught.value.where.endswith("run.toml:2:8") and str(tmp_path / "none.xml") in caught.value.advice


def test_a_scene_of_the_package_is_loaded_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an empty folder
    assert costate.load("hopper.xml").initial_state.size > 0
    assert costate.load("swing_up.toml").facts
    (tmp_path / "hopper.xml").write_text("<nonsense/>")  # a file that is here comes first
    with pytest.raises(costate.Error, match="hopper.xml"):
        costate.load("hopper.xml")
    with pytest.raises(costate.Error, match="missing.toml"):
        costate.load("missing.toml")


def test_a_file_without_a_known_ending_is_refused_with_the_endings_that_are(tmp_path):
    (tmp_path / "model.txt").write_text("<mujoco/>")
    with pytest.raises(costate.Error, match=r"model.txt: the ending says what is in a file: .xml or .urdf \(a model\)"):
        costate.load(str(tmp_path / "model.txt"))
