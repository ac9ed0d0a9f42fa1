"""Models from files: closed forms, differences, and the command line's view of the same file."""
import json
import subprocess

import numpy as np
import pytest

import costate


def test_a_model_has_the_names_of_its_file(scenes):
    s = costate.rigid.load(str(scenes / "cart_pole.xml"))
    assert [f.name for f in s.signature.states][:2] == ["q", "v"]
    assert s.initial_state.shape == (s.signature.state_size,)
    assert any(f.name.endswith("/mass") for f in s.signature.parameters)
    assert s.parameters["gravity"].tolist() == [0, 0, -9.81]


def test_a_small_swing_has_the_period_of_a_compound_pendulum(scenes):
    s = costate.rigid.load(str(scenes / "pendulum.xml"))
    damping = {n: 0.0 for n in s.parameters if n.endswith("/damping")}
    dt = float(s.parameters["dt"])
    sim = s.rollout(int(4 / dt), keep=1)
    q = sim.simulate({"q": [1e-3]}, p=damping)["q"][:, 0]
    crossings = np.flatnonzero((q[:-1] > 0) & (q[1:] <= 0))
    period = (crossings[-1] - crossings[0]) * dt / (len(crossings) - 1)
    # The same from the model's own numbers: T = 2 pi sqrt(I / (m g c)), by a difference of the angular acceleration.
    tiny = s.rollout(1)
    rate = lambda angle: (tiny.simulate({"q": [angle]}, p=damping).final_state[1]) / dt
    omega = np.sqrt(-(rate(1e-4) - rate(-1e-4)) / 2e-4)
    assert period == pytest.approx(2 * np.pi / omega, rel=2e-3)


@pytest.mark.parametrize("name", ["cart_pole.xml", "double_pendulum.xml", "arm7.xml"])
def test_gradients_agree_with_differences(scenes, name):
    s = costate.rigid.load(str(scenes / name))
    sim = s.rollout(30)
    rng = np.random.default_rng(3)
    x0 = s.initial_state + 0.1 * rng.standard_normal(s.signature.state_size)
    u = 0.1 * rng.standard_normal((30, s.signature.control_size))
    loss = costate.loss.final("q", weight=1.0) + costate.loss.final("v", weight=0.1)
    _, grad = sim.value_and_grad(x0, u, loss=loss)
    assert all(sim.check(x0, u, loss=loss, step=1e-4))
    mass = next(n for n in s.parameters if n.startswith("body/") and n.endswith("/mass") and s.parameters[n] > 0)
    h = 1e-5

    def along(value):
        f = [value(k * h) for k in (-3, -2, -1, 1, 2, 3)]
        return (45 * (f[3] - f[2]) - 9 * (f[4] - f[1]) + (f[5] - f[0])) / (60 * h)

    m = float(s.parameters[mass])
    assert float(grad.parameters[mass]) == pytest.approx(
        along(lambda e: sim.value(x0, u, {mass: m + e}, loss=loss)), rel=1e-6, abs=1e-9)
    d = rng.standard_normal(u.shape)
    assert np.sum(grad.controls * d) == pytest.approx(along(lambda e: sim.value(x0, u + e * d, loss=loss)), rel=1e-6)


def test_masses_are_those_of_the_command_line(scenes, tool):
    file = str(scenes / "arm7.xml")
    told = json.loads(subprocess.run([tool, "info", "--json", file], capture_output=True, text=True, check=True).stdout)
    s = costate.rigid.load(file)
    assert told["counts"]["nv"] == s.signature.state_size // 2
    total = sum(float(v) for n, v in s.parameters.items() if n.startswith("body/") and n.endswith("/mass"))
    assert total == pytest.approx(told["mass"], rel=1e-12)


def test_a_missing_file_is_an_error():
    with pytest.raises(costate.Error, match="nowhere.xml"):
        costate.rigid.load("nowhere.xml")


def test_points_of_a_model_have_losses(scenes):
    s = costate.rigid.load(str(scenes / "cart_pole.xml"))
    paths = {"tip": "site/tip"}
    x = s.initial_state.copy()
    x[0], x[1] = 0.3, 0.4
    np.testing.assert_allclose(costate.rigid.observe(s, paths, x)["tip"],
                               [0.3 + 0.6 * np.sin(0.4), 0, 1 + 0.6 * np.cos(0.4)], atol=1e-12)
    target = np.array([0.5, 0.0, 1.4])
    loss = costate.rigid.observed(s, paths, costate.loss.final("tip", target))
    sim = s.rollout(20)
    value, grad = sim.value_and_grad(x, loss=loss)
    end = costate.rigid.observe(s, paths, sim.simulate(x).final_state)["tip"]
    assert value == pytest.approx(0.5 * np.sum((end - target) ** 2), rel=1e-12)
    h, d = 1e-6, np.array([0.3, -0.2, 0.5, 0.1])
    assert grad.x0 @ d == pytest.approx((sim.value(x + h * d, loss=loss) - sim.value(x - h * d, loss=loss)) / (2 * h), rel=1e-6)
    with pytest.raises(costate.Error, match="nose"):
        sim.value(x, loss=costate.rigid.observed(s, {"tip": "site/nose"}, costate.loss.final("tip")))


def test_a_motion_is_recorded(scenes, tmp_path):
    s = costate.rigid.load(str(scenes / "cart_pole.xml"))
    states = s.rollout(40, keep=2).simulate({"q": [0.0, 0.5]}).states
    poses = costate.rigid.body_poses(s, states)
    assert poses.shape[0] == 21 and poses.shape[2] == 7
    np.testing.assert_allclose(np.linalg.norm(poses[..., 3:], axis=-1), 1, rtol=1e-12)
    recording = costate.rigid.record(s, states, frame_interval=0.02, title="swing")
    assert recording.frames == 21 and "pole" in " ".join(recording.bodies)
    recording.write_html(str(tmp_path / "swing.html"))


def test_contact_holds_a_hopper_up_and_has_gradients(scenes):
    s = costate.rigid.load(str(scenes / "hopper.xml"))
    sim = s.rollout(50)
    rng = np.random.default_rng(1)
    u = 0.1 * rng.standard_normal((50, 3))
    falls = costate.rigid.load(str(scenes / "hopper.xml"), contact=False).rollout(50).simulate(u=u).final_state
    stands = sim.simulate(u=u).final_state
    assert stands[1] > falls[1]
    _, grad = sim.value_and_grad(u=u, loss=costate.loss.final_value("v", 0))
    d, h = rng.standard_normal(u.shape), 1e-6
    value = lambda e: sim.value(u=u + e * d, loss=costate.loss.final_value("v", 0))
    assert np.sum(grad.controls * d) == pytest.approx((value(h) - value(-h)) / (2 * h), rel=1e-4)


BALL = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody><geom type="plane" size="0 0 1"/>
  <body pos="0 0 0.1"><joint name="z" type="slide" axis="0 0 1"/><geom name="ball" type="sphere" size="0.1" mass="1"/></body>
  </worldbody></mujoco>"""


@pytest.mark.parametrize("contact", ["event", "hard"])
def test_an_elastic_wall_turns_the_start_around(tmp_path, contact):
    file = tmp_path / "ball.xml"
    file.write_text(BALL)
    s = costate.rigid.load(str(file), contact=contact, restitution=1.0)
    value, g = s.rollout(200).value_and_grad({"q": [0.7031], "v": [-1.0]}, loss=costate.loss.final_value("q"))
    assert value == pytest.approx(2 - 0.7031, abs=1e-12)
    assert g.x0[0] == pytest.approx(-1, abs=1e-12)


def test_adaptive_steps_hold_a_tolerance_whatever_dt_is(tmp_path):
    file = tmp_path / "ball.xml"
    file.write_text(BALL)
    for dt in (0.008, 0.002):
        s = costate.rigid.load(file, integrator="adaptive", rtol=1e-6)
        _, g = s.rollout(round(2 / dt)).value_and_grad({"q": [0.7031], "v": [-1.0]}, p={"dt": dt}, loss=costate.loss.final_value("q"))
        # MuJoCo's default contact: minus the ratio of the speeds after and before the impact.
        assert g.x0[0] == pytest.approx(-0.136, abs=2e-3)
    with pytest.raises(costate.Error, match="rtol has no effect"):
        costate.rigid.load(file, rtol=1e-6)
    with pytest.raises(costate.Error, match="'implicitfast', 'adaptive'"):
        costate.rigid.load(file, integrator="verlet")
    with pytest.raises(costate.Error, match="tolerance is positive"):
        costate.rigid.load(file, integrator="adaptive", atol=0.0).rollout(1)


def test_contact_models_have_names(tmp_path):
    file = tmp_path / "ball.xml"
    file.write_text(BALL)
    assert "contact/stiffness" in costate.rigid.load(str(file), contact="penalty", stiffness=2e4).parameters
    with pytest.raises(costate.Error, match="'convex', 'event', 'penalty', 'hard', or False"):
        costate.rigid.load(str(file), contact="springs")
    through = costate.rigid.load(str(file), contact=False).rollout(200).simulate({"q": [0.7], "v": [-1.0]})
    assert through.final_state[0] == pytest.approx(-1.3)


def test_smoothed_gradients_of_three_orders_agree_on_a_smooth_loss(scenes):
    sim = costate.rigid.load(str(scenes / "cart_pole.xml")).rollout(15)
    loss = costate.loss.final("q", [0.2, 0.1])
    options = dict(u=np.zeros((15, 1)), loss=loss, sigma=0.05, samples=512)
    first, _ = sim.smoothed_gradient(order="first", **options)
    zeroth, told = sim.smoothed_gradient(order="zeroth", **options)
    mixed, share = sim.smoothed_gradient(**options)
    exact = sim.value_and_grad(u=np.zeros((15, 1)), loss=loss)[1].controls
    size = np.linalg.norm(exact)
    assert np.linalg.norm(first.controls - exact) < 0.05 * size
    assert np.linalg.norm(zeroth.controls - exact) < 4 * told["standard_error"] * size
    assert 0 <= share["first_order_share"] <= 1 and np.linalg.norm(mixed.controls - exact) < 0.1 * size
    with pytest.raises(costate.Error, match="order = 'third'"):
        sim.smoothed_gradient(order="third", **options)


@pytest.mark.parametrize("seed, index", [(3, 160), (8, 108), (9, 182)])
def test_a_split_step_knows_nothing_of_the_steps_before_it(tmp_path, seed, index):
    """A corner that rests while another one pushes, and then moves: how long its parts are depends on nothing but this step."""
    body = '<body pos="{} 0 0"><freejoint/><geom type="box" size="0.1 0.08 0.06" friction="0.4"/></body>'
    file = tmp_path / "boxes.xml"
    file.write_text('<mujoco><option timestep="0.004" cone="elliptic"/><worldbody><geom type="plane" size="5 5 0.1" friction="0.4"/>'
                    + body.format(0) + body.format(0.5) + "</worldbody></mujoco>")
    boxes = costate.rigid.load(file, contact="convex", onset="split")
    rng, starts = np.random.default_rng(seed), []
    for _ in range(index + 1):
        x = boxes.initial_state.copy()
        for at in (3, 10):
            q = np.array([1, *(0.15 * rng.normal(size=3) * rng.choice([0.01, 0.1, 1]))])
            x[at:at + 4] = q / np.linalg.norm(q)
            x[at - 1] = 0.06 + rng.uniform(-0.002, 0.03)
        x[14:] = rng.normal(size=12) * np.tile([0.5, 0.5, 0.3, 1, 1, 1], 2)
        starts.append(x)
    before, here = (boxes.rollout(8).simulate(x).final_state for x in starts[-2:])
    used = boxes.rollout(1)
    used.simulate(before)
    np.testing.assert_array_equal(used.simulate(here).final_state, boxes.rollout(1).simulate(here).final_state)
