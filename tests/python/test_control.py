"""Planning, control and estimation: the same answers as in C++ and as NumPy's."""
import numpy as np
import pytest

import costate
from costate import control

A = np.array([[1, 0.1, 0], [-0.2, 0.95, 0.3], [0, 0, 0.8]])
B = np.array([[0, 0.005], [0, 0.1], [0.5, 0]])
Q, R = np.diag([1, 0.5, 0.1]), np.array([[0.2, 0.05], [0.05, 0.4]])
X0 = np.array([1, -0.5, 0.25])


def pendulum():
    return costate.equations(["angle", "rate"], "angle_dot = rate; rate_dot = torque - 9.81/length*sin(angle) - 0.1*rate",
                             controls=["torque"], parameters={"length": 1.0}, dt=0.05)


def test_a_regulator_solves_its_equation_and_differentiates_it():
    r = control.lqr(A, B, Q, R)
    closed = A - B @ r.K
    np.testing.assert_allclose(r.P, Q + r.K.T @ R @ r.K + closed.T @ r.P @ closed, atol=1e-13)
    assert abs(0.5 * X0 @ r.P @ X0 - 4.3140882719137794) < 1e-13
    assert abs(r.radius - max(abs(np.linalg.eigvals(closed)))) < 1e-13
    bar = r.vjp(P=np.outer(X0, X0) / 2)
    assert abs(bar["A"][0, 0] - 39.4006572256843092) < 1e-11


def test_a_box_problem_and_its_gradient_in_a_batch():
    parts = dict(A=A, B=B, Q=Q, R=R, Qf=np.diag([10.0, 1, 1]), lower=[-0.25, -0.25], upper=[0.25, 0.25])
    one = control.linear_quadratic(10, x0=X0, **parts)
    assert abs(one.value - 4.513401077519211) < 1e-12 and one.u.shape == (10, 2)
    bar = one.vjp(u=one.u)
    np.testing.assert_allclose(bar["x0"], [.254790351200057, .37067638100423067, .27066812077779], atol=1e-9)
    batch = control.linear_quadratic(10, x0=np.stack([X0, 2 * X0, X0]), **parts)
    assert batch.u.shape == (3, 10, 2) and batch.value.shape == (3,)
    np.testing.assert_array_equal(batch.u[2], one.u)
    shared = batch.vjp(u=np.stack([one.u, 0 * one.u, one.u]))
    np.testing.assert_allclose(shared["Q"], 2 * bar["Q"], atol=1e-15)
    assert shared["x0"].shape == (3, 3)


def test_states_keep_between_walls_and_gradients_go_through_them():
    parts = dict(A=A, B=B, Q=Q, R=R, Qf=np.diag([10.0, 1, 1]), x_upper=np.array([np.inf, np.inf, 0.2]))
    one = control.linear_quadratic(10, x0=X0, **parts)
    held = np.flatnonzero(np.abs(one.x[1:, 2] - 0.2) < 1e-12)
    assert len(held) >= 1 and one.x[1:, 2].max() < 0.2 + 1e-12
    bar = one.vjp(x=one.x, u=one.u)

    def loss(**moved):
        there = control.linear_quadratic(10, **{**dict(x0=X0, **parts), **moved})
        return 0.5 * np.sum(there.x**2) + 0.5 * np.sum(there.u**2)

    h = 1e-5
    for name, at in (("x_upper", (2,)), ("A", (1, 2)), ("R", (0, 0)), ("x0", (1,))):
        up, down = (np.array({**parts, "x0": X0}[name], dtype=float) for _ in range(2))
        up[at] += h
        down[at] -= h
        assert bar[name][at] == pytest.approx((loss(**{name: up}) - loss(**{name: down})) / (2 * h), rel=1e-7, abs=1e-8)
    with pytest.raises(costate.Error, match="the bounds of the states cannot be met"):
        control.linear_quadratic(10, x0=X0, lower=[-0.1, -0.1], upper=[0.1, 0.1], **{**parts, "x_upper": np.array([0.5, np.inf, np.inf])})


def test_a_controller_takes_new_parameters_and_kept_plans():
    system = pendulum()
    loss = costate.loss.expression("(angle - 1)^2 + 0.1*rate^2 + 0.001*torque^2", "each_step")
    first, second = (control.mpc(system, loss, steps=20) for _ in range(2))
    second.set_parameters({"length": 2.0})
    there = control.plan(system, loss, 20, x0=[0, 0], p={"length": 2.0}, iterations=5)
    np.testing.assert_allclose(second.update([0, 0]).u, there.u, atol=1e-12)
    kept = first.update([0, 0])
    third = control.mpc(system, loss, steps=20)
    third.start(kept)
    np.testing.assert_array_equal(third.control([0.1, 0]), first.control([0.1, 0]))
    with pytest.raises(costate.Error, match="over the same steps"):
        control.mpc(system, loss, steps=21).start(kept)


def test_a_plan_swings_up_and_its_rollout_agrees():
    system = pendulum()
    loss = (costate.loss.expression("10*((angle - 3.141592653589793)^2 + rate^2)")
            + costate.loss.expression("0.001*torque^2", "each_step"))
    for method in ("ilqr", "ddp"):
        plan = control.plan(system, loss, 60, x0=[0, 0], method=method, lower=-5, upper=5)
        assert plan.converged, plan.reason
        assert abs(plan.x[-1, 0] - np.pi) < 0.1 and np.abs(plan.u).max() <= 5
        assert plan.K.shape == (60, 1, 2)
        sim = system.rollout(steps=60)
        value, grad = sim.value_and_grad([0, 0], plan.u, loss=loss)
        assert abs(value - plan.value) < 1e-10
        assert np.abs(plan.u - np.clip(plan.u - grad.controls, -5, 5)).max() < 1e-6  # nothing is left to gain
    met = control.plan(system, loss, 60, x0=[0, 0], method="ddp", lower=-5, upper=5, goal=[np.pi, 0])
    assert met.violation < 1e-8
    np.testing.assert_allclose(met.x[-1], [np.pi, 0], atol=1e-8)
    sampled = control.plan(system, loss, 60, x0=[0, 0], method="mppi", sigma=2.0, temperature=5.0, iterations=20, hold=5)
    assert sampled.u.shape == (60, 1) and sampled.K.shape == (0, 1, 2)


def test_collocation_is_exact_for_the_double_integrator():
    loss = costate.loss.expression("0.5*u^2", "each_step")
    field = costate.equations(["x", "v"], "x_dot = v; v_dot = u", controls=["u"], method="euler", dt=1)
    if not control.has_ipopt():
        with pytest.raises(costate.Error, match="built without it"):
            control.collocate(field, loss, 7)
        pytest.skip("built without Ipopt")
    found = control.collocate(field, loss, 7, scheme="hermite_simpson", h=1 / 7, x_last=[1, 0])
    t = np.linspace(0, 1, 8)
    assert found.converged and abs(found.value - 6) < 1e-11 and found.violation < 1e-11
    np.testing.assert_allclose(found.u[:, 0], 6 - 12 * t, atol=1e-9)
    np.testing.assert_allclose(found.u_mid[:, 0], 6 - 12 * (t[:-1] + 1 / 14), atol=1e-9)
    np.testing.assert_allclose(found.x[:, 0], t * t * (3 - 2 * t), atol=1e-11)
    slow = control.collocate(field, loss, 7, scheme="trapezoidal", h=1 / 7, x_last=[1, 0], x_upper=[np.inf, 1.2])
    assert slow.converged and slow.x[:, 1].max() <= 1.2 and slow.x_mid.shape == (0, 2)
    with pytest.raises(costate.Error, match="use one of: steps, trapezoidal, hermite_simpson"):
        control.collocate(field, loss, 7, scheme="simpson")


def test_collocation_of_steps_is_the_plan_of_ddp():
    if not control.has_ipopt():
        pytest.skip("built without Ipopt")
    system = pendulum()
    loss = costate.loss.expression("(angle - 0.5)^2 + 0.1*rate^2 + 0.01*torque^2", "each_step")
    plan = control.plan(system, loss, 30, x0=[0, 0], method="ddp", lower=-1, upper=1)
    found = control.collocate(system, loss, 30, x0=[0, 0], lower=-1, upper=1)
    assert plan.converged and found.converged, found.reason
    assert abs(plan.value - found.value) < 1e-9
    np.testing.assert_allclose(found.u, plan.u, atol=1e-5)


def test_plans_of_rigid_models_count_in_rotations():
    drone = costate.load("quadrotor.xml")
    x0 = np.zeros(13)
    x0[[2, 3]] = 1
    hover = np.full((40, 4), 1.962)
    loss = (costate.loss.expression("5*((q[0] - 0.3)^2 + q[1]^2 + (q[2] - 1)^2 + v[0]^2)")
            + costate.loss.expression("0.001*((ctrl[0] - 1.962)^2 + (ctrl[1] - 1.962)^2 + (ctrl[2] - 1.962)^2"
                                      " + (ctrl[3] - 1.962)^2)", "each_step"))
    plan = control.plan(drone, loss, 40, x0=x0, u=hover, lower=0, upper=5)
    assert plan.K.shape == (40, 4, 12) and plan.x.shape == (41, 13)
    sim = drone.rollout(steps=40)
    value, grad = sim.value_and_grad(x0, plan.u, loss=loss)
    assert abs(value - plan.value) < 1e-10 and value < 0.5 * sim.value(x0, hover, loss=loss)
    assert np.abs(plan.u - np.clip(plan.u - grad.controls, 0, 5)).max() < 1e-6


def test_model_predictive_control_holds_the_pendulum_up():
    system = pendulum()
    near = "(angle - 3.141592653589793)^2 + 0.1*rate^2"
    loss = costate.loss.expression(near + " + 0.01*torque^2", "each_step") + costate.loss.expression(f"20*({near})")
    mpc = control.mpc(system, loss, 20, lower=-12, upper=12)
    x, step = np.array([3.0, 0.5]), system.rollout(steps=1)
    for k in range(60):
        mpc.update(x, 1 if k else 0)
        x = step.simulate(x, mpc.control(x)[None]).final_state
    assert abs(x[0] - np.pi) < 0.05


@pytest.mark.parametrize("method", ["extended", "unscented"])
def test_a_filter_follows_and_its_likelihood_has_a_gradient(method):
    system = pendulum()
    truth = system.rollout(steps=80, keep=1).simulate([1.0, 0.0], p={"length": 1.3})["angle"][:, 0]
    y = truth + 0.02 * np.random.default_rng(1).standard_normal(truth.shape)
    problem = dict(measured=[costate.loss.expression("angle")], process_noise=np.diag([1e-8, 1e-6]),
                   measurement_noise=[[4e-4]], x0=[0.9, 0], P0=np.diag([0.04, 0.04]), method=method)
    smoothed = control.smooth(system, y[:, None], p={"length": 1.3}, **problem)
    assert np.sqrt(np.mean((smoothed.x[:, 0] - truth) ** 2)) < 0.01
    assert smoothed.P.shape == (81, 2, 2)

    def value(length):
        return control.filter(system, y[:, None], p={"length": length}, **problem).log_likelihood

    at, gradient = control.likelihood(system, y[:, None], p={"length": 1.25}, **problem)
    assert abs(at - value(1.25)) < 1e-9
    h = 1e-5
    difference = (value(1.25 + h) - value(1.25 - h)) / (2 * h)
    assert abs(gradient["parameters"]["length"][0] - difference) < 1e-4 * abs(difference)


def test_parameters_are_identified_with_error_bars():
    system = pendulum()
    truth = system.rollout(steps=100, keep=1).simulate([1.0, 0.0], p={"length": 1.3})["angle"][:, 0]
    y = truth + 0.02 * np.random.default_rng(1).standard_normal(truth.shape)
    y[7] = np.nan
    recordings = [dict(y=y, x0=[1.0, 0.0]), dict(y=y[:, None], x0=[0.9, 0.1], x0_free=True)]
    measured = [costate.loss.expression("angle")]
    rough = control.identify(system, recordings, measured, 0.02, {"length": dict(lower=0.2, upper=9)}, {"length": 4.0},
                             segment=10, gap_sigma=0.1)
    found = control.identify(system, recordings, measured, 0.02, {"length": None}, rough.values, robust="huber")
    assert found.converged and abs(found.values["length"] - 1.3) < 4 * found.deviations["length"] < 0.02
    assert abs(found.residual_rms - 1) < 0.2 and found.covariance.shape == (1, 1) and not found.unseen
    assert abs(found.x0[1][0] - 1) < 0.05 and "length = 1.29954 +- 0.0011" in repr(found)
    assert found.laplace_covariance is None
    whole = control.identify(system, recordings, measured, 0.02, {"length": None}, rough.values, laplace=True)
    ratio = whole.laplace_covariance[0, 0] / whole.covariance[0, 0]
    assert abs(ratio - 1) < 0.2 and ratio != 1  # the residuals are small, and not zero
    with pytest.raises(costate.Error, match="a recording needs y"):
        control.identify(system, [{}], measured, 0.02, {"length": None})


def test_a_twin_follows_a_parameter_that_changes():
    system = pendulum()
    step = system.rollout(steps=1)
    rng = np.random.default_rng(2)
    for window in (0, 6):
        twin = control.Twin(system, [costate.loss.expression("angle")], x0=[1.0, 0.0], P0=1e-4 * np.eye(2),
                            process_noise=np.diag([1e-10, 1e-6]), measurement_noise=[4e-6],
                            tuned={"length": dict(deviation=0.2, drift=0.01, lower=0.3, upper=4)}, window=window)
        x, length = np.array([1.0, 0.0]), 1.0
        twin.measure(x[:1])
        for k in range(240):
            length = 1.0 if k < 120 else 1.4
            u = [3 * np.sin(0.15 * k)]
            x = step.simulate(x, [u], {"length": length}).final_state
            twin.step(u, x[:1] + 0.002 * rng.standard_normal(1) if k % 5 else None)
        assert abs(twin.values["length"] - 1.4) < 4 * twin.deviations["length"] < 0.4
        assert twin.covariance.shape == (3, 3) and np.abs(twin.x - x).max() < 0.1
    with pytest.raises(costate.Error, match="what is tuned has no 'sigma'"):
        control.Twin(system, [costate.loss.expression("angle")], [1, 0], np.eye(2), np.eye(2), [1], {"length": dict(sigma=1)})


def test_mistakes_are_told():
    with pytest.raises(costate.Error, match="use one of: ilqr, ddp, mppi, predictive, cem"):
        control.plan(pendulum(), costate.loss.final("angle"), 5, method="newton")
    with pytest.raises(costate.Error, match="has no part 'Z'"):
        control.linear_quadratic(3, A=A, B=B, Q=Q, R=R, x0=X0, Z=1)
    with pytest.raises(costate.Error, match="no feedback makes this system stable"):
        control.lqr(2 * np.eye(2), np.zeros((2, 1)), np.eye(2), [[1.0]])
    with pytest.raises(costate.Error, match="at least one is needed"):
        control.plan(pendulum(), costate.loss.final("angle"), 0)
    free = costate.equations(["a"], "a_dot = -a", dt=0.1)
    with pytest.raises(costate.Error, match="the system has no controls"):
        control.plan(free, costate.loss.final("a"), 5)
    with pytest.raises(costate.Error, match="one world"):
        control.plan(pendulum(), costate.loss.final("angle"), 5, x0=np.zeros((2, 2)))


def test_a_twin_of_a_rigid_model_counts_in_rotations():
    drone = costate.load("quadrotor.xml")
    name = next(n for n in drone.parameters if n.endswith("/mass"))
    mass = float(np.ravel(drone.parameters[name])[0])
    step, rng = drone.rollout(steps=1), np.random.default_rng(4)
    measured = [costate.loss.expression(f"q[{i}]") for i in range(7)]
    x = np.zeros(13)
    x[[2, 3]] = 10, 1  # far above the floor
    twin = control.Twin(drone, measured, x0=x, P0=1e-6 * np.eye(12), process_noise=1e-12 * np.eye(12),
                        measurement_noise=np.full(7, 1e-6), tuned={name: dict(deviation=0.2 * mass, lower=0.1 * mass, upper=9 * mass)},
                        window=10, iterations=2)
    for k in range(150):
        u = 1.9 + 0.3 * np.sin(0.2 * k + np.arange(4))
        x = step.simulate(x, [u], {name: 1.15 * mass}).final_state
        twin.step(u, x[:7] + 1e-3 * rng.standard_normal(7))
    assert twin.covariance.shape == (13, 13) and abs(np.linalg.norm(twin.x[3:7]) - 1) < 1e-9
    assert abs(twin.values[name] - 1.15 * mass) < 4 * twin.deviations[name] < 0.2 * mass
    assert np.abs(twin.x - x).max() < 0.05


def test_what_control_returns_prints_what_it_is():
    system = costate.equations(["angle", "rate"], "angle_dot = rate; rate_dot = torque - k*sin(angle)", controls=["torque"],
                               parameters={"k": 1.0})
    seen, I = [costate.loss.expression("angle")], np.eye(2)
    assert repr(control.lqr(I, I, I, I)).startswith("Regulator: K (2, 2), the slowest mode shrinks by")
    assert "5 steps ahead" in repr(control.mpc(system, costate.loss.final("angle"), steps=5))
    assert repr(control.filter(system, np.zeros((5, 1)), seen, I, [[1.0]], [0, 0], I)).startswith("Estimate: x (5, 2)")
    assert repr(control.Twin(system, seen, [0, 0], I, I, [1.0], {"k": {"deviation": 0.1}})) == "Twin: k = 1 +- 0.1"
