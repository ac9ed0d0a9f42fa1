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
<gyro name="gyro" site="tip"/></sensor></mujoco>"""


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
    with pytest.raises(costate.Error, match="gyro"):
        costate.rigid.observe(arm, {"g": "sensor/gyro"}, state)
    with pytest.raises(costate.Error, match="did you mean|for instance"):
        costate.rigid.observe(arm, {"g": "sensor/angel"}, state)


def test_losses_on_them_have_right_gradients(arm, state):
    sim = arm.rollout(20)
    for name, path in QUANTITIES.items():
        loss = costate.rigid.observed(arm, {name: path}, costate.loss.final(name, [0.3, -0.2, 0.5] if "energy" not in path else [0.7]))
        for check in sim.check(state, loss=loss):
            assert check, (name, check)
