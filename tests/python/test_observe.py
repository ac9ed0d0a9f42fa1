"""What a robot measures: centres of mass, energies and sensors, and losses on them."""
import numpy as np
import pytest

import costate

XML = """<mujoco><option timestep="0.0002" integrator="RK4"><flag contact="disable"/></option><worldbody>
<body name="upper" pos="0 0 1"><joint name="a" type="hinge" axis="0 1 0" armature="0.02"/><geom type="capsule" fromto="0 0 0 0.3 0 -0.4" size="0.04"/>
 <body name="lower" pos="0.3 0 -0.4"><joint name="b" type="hinge" axis="0 1 0.3"/><geom type="box" size="0.1 0.05 0.2" pos="0.05 0 -0.2"/>
 <site name="tip" pos="0.1 0 -0.4"/></body></body>
<body name="free" pos="1 0 1"><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.05"/></body></worldbody>
<sensor><jointpos name="angle" joint="a"/><jointvel name="rate" joint="b"/><framepos name="tip_at" objtype="site" objname="tip"/>
<framelinvel name="tip_speed" objtype="site" objname="tip"/><subtreecom name="com" body="upper"/><framepos name="com_of_lower" objtype="body" objname="lower"/>
<gyro name="gyro" site="tip"/><accelerometer name="felt" site="tip"/><clock name="clock"/></sensor></mujoco>"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    file = tmp_path_factory.mktemp("model") / "arm.xml"
    file.write_text(XML)
    return costate.rigid.load(file)


@pytest.fixture
def state(arm):
    x = arm.initial_state.copy()
    x[:2] = 0.4, -0.7
    x[-8:] = 1.3, -0.8, 0.2, 0.1, 0.5, 0.7, -1.1, 0.4
    return x


QUANTITIES = {"kinetic": "energy/kinetic", "gravity": "energy/gravity", "com": "subtree/upper", "com_speed": "subtree/upper/velocity",
              "all": "subtree/world", "lower": "body/lower/com", "lower_speed": "body/lower/com/velocity"}


def test_energy_is_conserved_and_momentum_is_that_of_the_weight(arm, state):
    sim = arm.rollout(500, keep=100)
    seen = costate.rigid.observe(arm, QUANTITIES, sim.simulate(state).states)
    total = (seen["kinetic"] + seen["gravity"])[:, 0]
    assert np.ptp(seen["kinetic"]) > 0.1 and np.ptp(total) < 1e-9 * np.abs(seen["kinetic"]).max()


def test_centres_are_weighted_means_and_velocities_their_rates(arm, state):
    p = arm.parameters
    at = costate.rigid.observe(arm, {"u": "body/upper/com", "l": "body/lower/com", **QUANTITIES}, state)
    masses = float(p["body/upper/mass"]), float(p["body/lower/mass"])
    np.testing.assert_allclose(at["com"], (masses[0] * at["u"] + masses[1] * at["l"]) / sum(masses), rtol=1e-13)
    x = arm.rollout(2, keep=1).simulate(state).states
    moved = costate.rigid.observe(arm, QUANTITIES, x)
    for name in ("com", "lower"):
        np.testing.assert_allclose((moved[name][2] - moved[name][0]) / (2 * 0.0002), moved[f"{name}_speed"][1], rtol=1e-5, atol=1e-5)


def test_sensors_are_the_quantities_they_measure(arm, state):
    pairs = {"angle": "joint/a", "rate": "joint/b/velocity", "tip_at": "site/tip", "tip_speed": "site/tip/velocity", "com": "subtree/upper",
             "com_of_lower": "body/lower/com"}
    ours = costate.rigid.observe(arm, pairs, state)
    for name, value in costate.rigid.observe(arm, {n: f"sensor/{n}" for n in pairs}, state).items():
        np.testing.assert_array_equal(value, ours[name])
    with pytest.raises(costate.Error, match="(?s)clock.*rangefinder"):
        costate.rigid.observe(arm, {"g": "sensor/clock"}, state)
    with pytest.raises(costate.Error, match="did you mean|for instance"):
        costate.rigid.observe(arm, {"g": "sensor/angel"}, state)


def test_losses_on_them_have_right_gradients(arm, state):
    sim = arm.rollout(20)
    for name, path in QUANTITIES.items():
        loss = costate.rigid.observed(arm, {name: path}, costate.loss.final(name, [0.3, -0.2, 0.5] if "energy" not in path else [0.7]))
        for check in sim.check(state, loss=loss):
            assert check, (name, check)


FOOT = """<mujoco><option timestep="0.004"/><worldbody><geom name="floor" type="plane" size="3 3 0.1" friction="0.7"/>
<body name="leg" pos="0 0 0.28"><freejoint/><geom name="shank" type="capsule" fromto="0 0 0 0.05 0 -0.2" size="0.03"/><site name="imu" quat="0.9 0.2 0.3 0.1"/>
 <body name="foot" pos="0.05 0 -0.22"><joint name="ankle" axis="0 1 0" damping="0.2"/><geom name="sole" type="sphere" size="0.06" friction="0.9"/>
 <site name="pad" type="sphere" size="0.08"/></body></body></worldbody>
<actuator><motor name="motor" joint="ankle" gear="3"/></actuator>
<sensor><touch name="pressed" site="pad"/><accelerometer name="felt" site="imu"/><force name="held" site="pad"/></sensor></mujoco>"""
FORCES = {"load": "body/foot/contact", "pressed": "sensor/pressed", "felt": "sensor/felt", "held": "sensor/held", "motor": "actuator/motor",
          "moves": "geom/sole/acceleration"}


@pytest.fixture(scope="module")
def foot(tmp_path_factory):
    file = tmp_path_factory.mktemp("model") / "foot.xml"
    file.write_text(FOOT)
    return costate.rigid.load(file, onset="none")


@pytest.fixture
def standing(foot):
    x = foot.initial_state.copy()
    x[2] = 0.277
    x[-7:] = 0.3, 0.1, -0.2, 0.4, -0.3, 0.2, 0.5
    return x


def test_masses_times_accelerations_are_contact_and_weight(foot, standing):
    u = 0.3 * np.sin(np.arange(200.0))[:, None]
    x = foot.rollout(200, keep=10).simulate(standing, u).states[:-1]
    paths = {"leg": "body/leg/com/acceleration", "foot": "body/foot/com/acceleration", "floor": "geom/floor/contact"}
    seen = costate.rigid.observe(foot, paths, x, u[::10])
    mass = {name: float(foot.parameters[f"body/{name}/mass"]) for name in ("leg", "foot")}
    inertia = sum(mass[name] * (seen[name] + [0, 0, 9.81]) for name in mass)
    assert np.ptp(seen["floor"][:, 2]) > 1 and np.abs(seen["floor"]).max() > 5
    np.testing.assert_allclose(inertia, -seen["floor"], atol=1e-10)


def test_forces_are_observed_with_controls_in_any_shape(foot, standing):
    x, u = np.broadcast_to(standing, (2, 3, standing.size)), np.linspace(-1, 1, 6).reshape(2, 3, 1)
    seen = costate.rigid.observe(foot, FORCES, x, u)
    np.testing.assert_allclose(seen["motor"], 3 * u / 3, rtol=1e-14)  # the force before the gear
    assert seen["load"].shape == (2, 3, 3) and seen["pressed"].shape == (2, 3, 1) and seen["pressed"].min() > 0
    one = costate.rigid.observe(foot, FORCES, standing, u[1, 2])
    np.testing.assert_array_equal(seen["held"][1, 2], one["held"])
    with pytest.raises(costate.Error, match="(?s)forces depend on the controls.*give u"):
        costate.rigid.observe(foot, FORCES, standing)
    with pytest.raises(costate.Error, match=r"u has the shape \(3,\) instead of \(1,\)"):
        costate.rigid.observe(foot, FORCES, standing, np.zeros(3))


def test_the_transpose_of_observe_matches_differences(foot, standing):
    rng, u, h = np.random.default_rng(3), np.array([0.4]), 1e-6
    at = costate.rigid.observe(foot, FORCES, standing, u)
    bars = {name: rng.normal(size=value.shape) / (1 + np.abs(value)) for name, value in at.items()}
    x_bar, u_bar, p_bar = costate.rigid.pull_back_observed(foot, FORCES, standing, bars, u)

    def value(x, u):
        seen = costate.rigid.observe(foot, FORCES, x, u)
        return sum(float(bars[name] @ seen[name]) for name in bars)
    for i in range(standing.size):
        e = np.eye(standing.size)[i] * h
        assert abs((value(standing + e, u) - value(standing - e, u)) / (2 * h) - x_bar[i]) < 1e-5 * (1 + abs(x_bar[i])), i
    assert abs((value(standing, u + h) - value(standing, u - h)) / (2 * h) - u_bar[0]) < 1e-6
    assert abs(p_bar["body/foot/mass"][0]) > 1e-3 and p_bar["gravity"].shape == (3,)
    with pytest.raises(costate.Error, match="'lode' is not among the quantities"):
        costate.rigid.pull_back_observed(foot, FORCES, standing, {"lode": np.zeros(3)}, u)


def test_losses_on_forces_have_right_gradients(foot, standing):
    sim = foot.rollout(6)
    u = np.full((6, 1), 0.2)
    loss = costate.rigid.observed(foot, FORCES, costate.loss.expression(
        "1e-3*load[2]^2 + 1e-2*felt[0]*felt[1] + sin(motor) + 1e-3*held[2]*held[0] + 1e-2*pressed", when=[0, 2, 5]))
    for check in sim.check(standing, u, loss=loss):
        assert check, check
    last = costate.rigid.observed(foot, FORCES, costate.loss.final("motor", [1.0]))
    with pytest.raises(costate.Error, match="(?s)no control.*ask at earlier steps"):
        sim.value(standing, u, loss=last)


def test_a_closed_loop_and_impulses_have_no_forces_to_observe(foot, standing, tmp_path):
    loop = costate.closed_loop(foot, observe=["q"])
    with pytest.raises(costate.Error, match="closed loop"):
        loop.rollout(2).value(standing, loss=costate.rigid.observed(loop, {"f": "actuator/motor"}, costate.loss.track("f", [0], [[0.0]])))
    file = tmp_path / "foot.xml"
    file.write_text(FOOT)
    hard = costate.rigid.load(file, contact="hard")
    with pytest.raises(costate.Error, match="(?s)exchange impulses.*use contact 'convex'"):
        costate.rigid.observe(hard, {"f": "body/foot/contact"}, standing, np.zeros(1))


def test_formulas_of_a_study_see_forces(tmp_path):
    (tmp_path / "foot.xml").write_text(FOOT)
    (tmp_path / "stand.toml").write_text("""
[model]
file = "foot.xml"
[contact]
onset = "none"
[run]
duration = 0.04
[start]
velocity = {ankle = 0.5}
[controls.motor]
values = [0.1, -0.2, 0.3]
[[loss]]
formula = "1e-3*load[2]^2 + motor^2 + 0.01*felt[0]"
quantities = {load = "body/foot/contact", motor = "actuator/motor", felt = "sensor/felt"}
from = 0.0
to = 0.036
every = 0.004
[optimize]
variables = [{name = "controls.motor"}, {name = "start.velocity.ankle"}, {name = "parameters.body/foot/mass"}]
""")
    study = costate.load_study(tmp_path / "stand.toml")
    value, gradient = study.gradient()
    assert value > 0 and abs(gradient["controls.motor[1]"]) > 0.01
    for check in study.check():
        assert check, check


def test_a_state_that_is_no_number_has_no_forces(foot, standing):
    u = np.array([0.2])
    for x in (np.full(standing.size, np.nan), np.where(np.arange(standing.size) == 1, np.inf, standing), np.zeros(standing.size)):
        rows = costate.rigid.observe(foot, FORCES, np.stack([standing, x]), np.stack([u, u]))
        assert all(np.isfinite(value[0]).all() and np.isnan(value[1]).all() for value in rows.values())
    x_bar, _, _ = costate.rigid.pull_back_observed(foot, FORCES, np.full(standing.size, np.nan), {"load": np.ones(3)}, u)
    assert np.isnan(x_bar).all()
