"""Policies in the loop: networks of several layers, observations as functions, ranges of controls, functions of one's own."""
import pickle

import numpy as np
import pytest

import costate

STEPS = 25
RNG = np.random.default_rng(7)


@pytest.fixture(scope="module")
def cart_pole():
    return costate.rigid.load(costate.scene_file("cart_pole.xml"))


def unrolled(plant, policy, x):
    """The same loop, one call of the plant after the other."""
    step = plant.rollout(1)
    for k in range(STEPS):
        x = step.simulate(x, np.reshape(policy(x, 0.01 * k), (1, -1))).final_state
    return x


def seen(q, v):
    return [q[0], np.sin(q[1]), np.cos(q[1]), v]


def test_a_network_of_two_layers_with_observations_and_range(cart_pole):
    system = costate.closed_loop(cart_pole, observe=seen, hidden=(6, 5), controls=(-3.0, 5.0), seed=1)
    w = {name: value for name, value in system.parameters.items() if name.startswith("policy/")}
    assert [w[f"policy/w{i}"].shape for i in (1, 2, 3)] == [(6, 5), (5, 6), (5,)] or w["policy/w1"].shape == (6, 5)

    def policy(x, t):
        h = np.array([x[0], np.sin(x[1]), np.cos(x[1]), x[2], x[3]])
        for i in (1, 2, 3):
            h = np.tanh(np.reshape(w[f"policy/w{i}"], (-1, h.size)) @ h + w[f"policy/b{i}"])
        return 1 + 4 * h

    x0 = np.array([0.1, 0.3, -0.2, 0.4])
    dt = float(cart_pole.parameters["dt"])
    assert dt > 0
    np.testing.assert_allclose(system.rollout(STEPS).simulate(x0).final_state, unrolled(cart_pole, policy, x0), rtol=1e-11)


def test_gradients_of_every_kind_are_right(cart_pole):
    system = costate.closed_loop(cart_pole, observe=seen, hidden=[4, 3], controls=(-2.0, 2.0))
    sim = system.rollout(STEPS, active=["policy/*", "body/pole/mass"])
    x0, loss = np.array([0.1, 0.3, -0.2, 0.4]), costate.loss.final("q") + costate.loss.final("v")
    for check in sim.check(x0, loss=loss):
        assert check, check
    direction = {name: RNG.standard_normal(np.shape(v)) for name, v in system.parameters.items() if name.startswith("policy/")}
    gradient, product = sim.hessian_vector(x0, p_dot=direction, loss=loss)
    h = 1e-5
    values = {name: np.asarray(system.parameters[name]) for name in direction}
    moved = [sim.value_and_grad(x0, p={n: values[n] + s * h * direction[n] for n in values}, loss=loss)[1] for s in (1, -1)]
    for name in values:
        np.testing.assert_allclose(product.parameters[name], (moved[0].parameters[name] - moved[1].parameters[name]) / (2 * h),
                                   rtol=1e-5, atol=1e-6 * np.abs(product.x0).max())


def test_a_function_of_ones_own(cart_pole):
    system = costate.closed_loop(cart_pole, policy=lambda q, v, p, t: [-p.gain @ np.concatenate([q, v]) + p.kick * np.sin(9 * t)],
                                 parameters={"gain": [1.0, 2.0, 0.5, 0.3], "kick": 0.4})
    dt = float(cart_pole.parameters["dt"])
    x0 = np.array([0.1, 0.3, -0.2, 0.4])
    expected = x0
    step = cart_pole.rollout(1)
    for k in range(STEPS):
        u = -np.array([1.0, 2.0, 0.5, 0.3]) @ expected + 0.4 * np.sin(9 * k * dt)
        expected = step.simulate(expected, [[u]]).final_state
    sim = system.rollout(STEPS)
    np.testing.assert_allclose(sim.simulate(x0).final_state, expected, rtol=1e-11)
    again = pickle.loads(pickle.dumps(sim))
    np.testing.assert_array_equal(again.simulate(x0).final_state, sim.simulate(x0).final_state)


def test_weights_are_stored_and_given_per_world(cart_pole, tmp_path):
    system = costate.closed_loop(cart_pole, hidden=(4, 4))
    weights = {name: value for name, value in system.parameters.items() if name.startswith("policy/")}
    np.savez(tmp_path / "weights.npz", **weights)
    stored = dict(np.load(tmp_path / "weights.npz"))
    sim = system.rollout(STEPS, active=["policy/*"])
    np.testing.assert_array_equal(sim.simulate(p=stored).final_state, sim.simulate().final_state)
    many = {name: np.stack([w, 2 * w, 3 * w]) for name, w in weights.items()}
    x0 = np.tile([0.0, 0.2, 0.0, 0.0], (3, 1))
    _, gradient = sim.value_and_grad(x0, p=many, loss=costate.loss.final("q"))
    one = sim.value_and_grad(x0[1], p={name: w[1] for name, w in many.items()}, loss=costate.loss.final("q"))[1]
    for name in weights:
        np.testing.assert_allclose(gradient.parameters[name][1], one.parameters[name], rtol=1e-10, atol=1e-13)


def test_controls_by_the_names_of_actuators():
    hopper = costate.rigid.load(costate.scene_file("hopper.xml"))
    names, sim = ["hip", "knee", "ankle"], hopper.rollout(5)
    u = np.linspace(-0.5, 0.5, 15).reshape(5, 3)
    by_name = sim.simulate(u={name: u[:, i] for i, name in enumerate(names)}).final_state
    np.testing.assert_array_equal(by_name, sim.simulate(u=u).final_state)
    np.testing.assert_array_equal(sim.simulate(u={names[1]: u[:, 1]}).final_state, sim.simulate(u=u * [0, 1, 0]).final_state)
    with pytest.raises(costate.Error, match="both 'ctrl' and the names of actuators"):
        sim.simulate(u={"ctrl": u, names[0]: u[:, 0]})
    with pytest.raises(costate.Error, match="no control is named 'nothing'"):
        sim.simulate(u={"nothing": u[:, 0], names[0]: u[:, 0]})


def test_the_range_of_actuators():
    hopper = costate.rigid.load(costate.scene_file("hopper.xml"))
    lower, upper = costate.rigid.control_range(hopper)
    assert costate.closed_loop(hopper, controls="range").signature.control_size == 0
    assert np.all(np.isfinite(lower) & np.isfinite(upper))


@pytest.mark.parametrize("options, message", [
    ({"observe": lambda z: [z]}, "argument 'z' of observe"), ({"hidden": []}, "at least one layer"), ({"controls": "all"}, "'range'"),
    ({"controls": (-np.inf, 1.0)}, "range"), ({"waves": 2, "hidden": (3, 3)}, "waves"), ({"parameters": {"a": 1.0}}, "policy="),
    ({"policy": lambda x: [x[0], x[1]]}, "2 numbers instead of 1"), ({"policy": lambda x: [x[0]], "observe": ["q"]}, "of a network")])
def test_mistakes(cart_pole, options, message):
    with pytest.raises(costate.Error, match=message):
        costate.closed_loop(cart_pole, **options)
