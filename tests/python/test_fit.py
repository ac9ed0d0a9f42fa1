"""Jacobians, linearisations and fits, against JAX, SciPy and differences."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import costate
import pendulum

RNG = np.random.default_rng(3)
X0, U = np.array([0.7, -0.2]), 0.3 * RNG.standard_normal((12, 1))
P = {"g": 9.6, "l": 1.1, "c": 0.2}


def test_jacobians_of_kept_states_are_jaxs():
    sim = pendulum.system().rollout(60, keep=20, hold=5, active=["l", "c"])
    jacobian = sim.jacobian(X0, U, P)
    assert jacobian.x0.shape == (4, 2, 2) and jacobian.controls.shape == (4, 2, 12, 1) and jacobian.parameters["l"].shape == (4, 2)
    for i, k in enumerate([0, 20, 40, 60]):
        f = lambda x, u, p: pendulum.reference(x, jnp.repeat(u, 5, axis=0)[:k], p)
        x, u, p = jax.jacobian(f, (0, 1, 2))(X0, U, P)
        np.testing.assert_allclose(jacobian.x0[i], x, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(jacobian.controls[i], u, rtol=1e-10, atol=1e-13)
        for name in ("l", "c"):
            np.testing.assert_allclose(jacobian.parameters[name][i], p[name], rtol=1e-10, atol=1e-13)


def test_linearisation_of_a_robot_with_contact_is_its_tangent():
    hopper = costate.rigid.load(costate.scene_file("hopper.xml"))
    sim = hopper.rollout(40, active=["body/torso/mass"])
    u = 0.2 * RNG.standard_normal((40, 3))
    along = sim.linearize(None, u)
    assert along.A.shape == (40, 12, 12) and along.B.shape == (40, 12, 3) and along.states.shape == (41, 12)
    x_dot, u_dot = RNG.standard_normal(12), RNG.standard_normal((40, 3))
    y, y_dot = sim.jvp(None, u, None, x_dot, u_dot, {"body/torso/mass": 1.0})
    dx = x_dot
    for k in range(40):
        dx = along.A[k] @ dx + along.B[k] @ u_dot[k] + along.parameters["body/torso/mass"][k, :, 0]
    np.testing.assert_array_equal(along.states[-1], y)
    np.testing.assert_allclose(dx, y_dot, rtol=1e-10, atol=1e-10 * np.abs(y_dot).max())
    np.testing.assert_allclose(sim.jacobian(None, u).x0 @ x_dot, sim.jvp(None, u, x0_dot=x_dot)[1], rtol=1e-9,
                               atol=1e-10 * np.abs(y_dot).max())


def test_a_linearisation_knows_the_time_of_its_step():
    @costate.system(states=["x"], dt=0.1)
    def driven(x, t):
        return [np.sin(3 * t) * x]
    x = driven.rollout(7).simulate([1.0]).final_state
    assert np.prod(driven.rollout(7).linearize([1.0]).A) == pytest.approx(x[0], rel=1e-14)


def test_many_worlds_have_no_linearisation():
    with pytest.raises(costate.Error, match="single world"):
        pendulum.system().rollout(3).jacobian(np.zeros((2, 2)))


class TestLeastSquares:
    T = np.linspace(0, 1, 30)
    DATA = 2 * np.exp(-3 * T) + 0.01 * np.random.default_rng(0).standard_normal(30)

    def residuals(self, p):
        e = np.exp(-p["rate"] * self.T)
        return p["size"] * e - self.DATA, {"size": e, "rate": -p["size"] * self.T * e}

    def test_covariance_is_that_of_scipys_curve_fit(self):
        found = costate.least_squares(self.residuals, {"size": 1.0, "rate": 1.0})
        best, covariance = scipy.optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), self.T, self.DATA, [1.0, 1.0])
        assert found.converged
        np.testing.assert_allclose([found.x["size"], found.x["rate"]], best, rtol=1e-6)
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-4)
        assert found.standard_deviation["rate"] == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-4)
        assert found.jacobian.shape == (30, 2) and found.names == ["size", "rate"]
        np.testing.assert_array_equal(found.residuals, self.residuals(found.x)[0])
        assert found.correlation[0, 1] == pytest.approx(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]), rel=1e-4)
        assert "rate" in repr(found) and "+-" in repr(found)

    def test_a_number_at_a_bound_has_no_spread(self):
        found = costate.least_squares(self.residuals, {"size": 1.0, "rate": 1.0}, upper={"rate": 2.5})
        assert found.x["rate"] == 2.5 and found.standard_deviation["rate"] == 0 and found.standard_deviation["size"] > 0
        assert "at a bound" in repr(found)

    def test_what_the_data_do_not_determine_is_infinite(self):
        found = costate.least_squares(lambda x: (np.array([x[0] + x[1] - 1.0] * 3), np.ones((3, 2))), [0.0, 0.0])
        assert np.isinf(found.covariance).all()

    def test_shapes_are_named(self):
        with pytest.raises(costate.Error, match="Jacobian of 'a' has the shape"):
            costate.least_squares(lambda p: (np.zeros(3), {"a": np.zeros((3, 1))}), {"a": 1.0})


class TestMinimize:
    def test_dicts_of_arrays(self):
        def fun(p):
            value = (p["a"] - 1) ** 2 + np.sum((p["m"] - np.eye(2)) ** 2)
            return value, {"a": 2 * (p["a"] - 1), "m": 2 * (p["m"] - np.eye(2))}
        found = costate.minimize(fun, {"a": 0.0, "m": np.zeros((2, 2))}, lower={"m": 0.1}, upper={"a": 0.5})
        np.testing.assert_allclose(found.x["m"], [[1, 0.1], [0.1, 1]], atol=1e-8)
        assert found.x["a"] == 0.5 and "m = " in repr(found)
        with pytest.raises(costate.Error, match="gradient has no m"):
            costate.minimize(lambda p: (0.0, {"a": 1.0}), {"a": 0.0, "m": np.zeros(2)})
        with pytest.raises(costate.Error, match="lower names b"):
            costate.minimize(fun, {"a": 0.0, "m": np.zeros((2, 2))}, lower={"b": 0})

    def test_clipping(self):
        lengths = []

        def steep(x):
            return 0.5e6 * float(x @ x), 1e6 * x
        costate.minimize(steep, [3.0, 4.0], "gradient_descent", rate=0.5, clip=1.0, iterations=3,
                         callback=lambda p: lengths.append(p.step))
        np.testing.assert_allclose(lengths, 0.4, rtol=1e-12)  # 0.5 along (3, 4) / 5
        with pytest.raises(costate.Error, match="line search"):
            costate.minimize(steep, [3.0, 4.0], clip=1.0)

    def test_values_without_more_digits_are_convergence(self):
        def single(x):
            return float(np.float32(1 + (x[0] - 0.3) ** 2)), np.array([2 * (x[0] - 0.3)])
        found = costate.minimize(single, [2.0], tolerance=1e-30, value_tolerance=0.0)
        assert found.converged and found.x[0] == pytest.approx(0.3, abs=1e-3)
        wrong = costate.minimize(lambda x: (float(x @ x), -2 * x), [1.0])
        assert not wrong.converged and "not that of the value" in wrong.reason


class TestFit:
    SIM = pendulum.system().rollout(100, keep=4)
    TRUTH = {"l": 1.2, "c": 0.15}

    def data(self, noise, worlds=()):
        x0 = np.array([0.9, 0.0]) if not worlds else np.stack([[0.9, 0.0], [0.4, 0.5], [-0.7, 0.1]])
        states = self.SIM.simulate(x0, p=self.TRUTH).states
        return states[..., :1] + noise * np.random.default_rng(5).standard_normal(states[..., :1].shape)

    def test_estimates_lie_within_their_spread(self):
        found = costate.fit(self.SIM, {"q": self.data(0.01)}, {"l": 1.0, "c": 0.0, "q": 0.8}, x0=[0.0, 0.0], sigma=0.01)
        assert found.converged and len(found.residuals) == 26
        for name, truth in {**self.TRUTH, "q": 0.9}.items():
            assert abs(float(found.x[name]) - truth) < 4 * float(found.standard_deviation[name])
        assert found.predictions["q"].shape == (26, 1)
        text = repr(found)
        assert "Fit: 26 residuals" in text and text.count("+-") == 3

    def test_laplace_is_the_hessian_of_differences(self):
        x0 = np.stack([[0.9, 0.0], [0.4, 0.5], [-0.7, 0.1]])
        data = self.data(0.05, (3,))
        data[4, 1] = np.nan
        found = costate.fit(self.SIM, {"q": data}, {"l": 1.0, "c": 0.0}, x0=x0, sigma=0.05, laplace=True)

        def gradient(l, c):
            total = np.zeros(2)
            for world in range(3):
                p = {"l": l, "c": c}
                states, J = self.SIM.simulate(x0[world], p=p).states, self.SIM.jacobian(x0[world], p=p)
                r = np.nan_to_num((states[:, 0] - data[:, world, 0]) / 0.05**2)
                total += [r @ J.parameters[name][:, 0].ravel() for name in ("l", "c")]
            return total

        at, h = np.array([float(found.x["l"]), float(found.x["c"])]), 1e-3
        hessian = np.stack([sum(w * (gradient(*(at + i * h * e)) - gradient(*(at - i * h * e))) for i, w in ((1, 45), (2, -9), (3, 1)))
                            / (60 * h) for e in np.eye(2)])
        np.testing.assert_allclose(found.laplace_covariance, np.linalg.inv(hessian), rtol=1e-8)
        assert abs(found.laplace_covariance[0, 0] / found.covariance[0, 0] - 1) > 1e-4
        clean = costate.fit(self.SIM, {"q": self.data(0.0)}, {"l": 1.0, "c": 0.0}, x0=[0.9, 0.0], sigma=0.05, laplace=True)
        np.testing.assert_allclose(clean.laplace_covariance, clean.covariance, rtol=1e-7)
        with pytest.raises(costate.Error, match="laplace=True"):
            costate.fit(self.SIM, {"q": data}, {"l": 1.0}, x0=x0).laplace_covariance

    def test_many_experiments_share_their_parameters(self):
        x0 = np.stack([[0.9, 0.0], [0.4, 0.5], [-0.7, 0.1]])
        data = self.data(0.0, (3,))
        found = costate.fit(self.SIM, {"q": data}, {"l": 1.0, "c": 0.0}, x0=x0)
        assert float(found.x["l"]) == pytest.approx(1.2, rel=1e-9) and float(found.x["c"]) == pytest.approx(0.15, rel=1e-7)

    def test_experiments_may_differ_in_their_known_parameters(self):
        x0, damping = np.stack([[0.9, 0.0], [0.4, 0.5]]), np.array([[0.05], [0.3]])
        data = self.SIM.simulate(x0, None, {"l": 1.2, "c": damping})["q"]
        found = costate.fit(self.SIM, {"q": data}, {"l": 1.0}, x0=x0, p={"c": damping}, laplace=True)
        assert float(found.x["l"]) == pytest.approx(1.2, rel=1e-9) and found.value < 1e-20
        with pytest.raises(costate.Error, match="c is given for 3 experiments, others for 2|x0 is given for 2 experiments"):
            costate.fit(self.SIM, {"q": data}, {"l": 1.0}, x0=x0, p={"c": np.zeros((3, 1))})

    def test_missing_measurements_and_spreads(self):
        data = self.data(0.01)
        some = data.copy()
        some[3:9] = np.nan
        found = costate.fit(self.SIM, {"q": some}, {"l": 1.0}, x0=[0.9, 0.0], p={"c": 0.15}, sigma={"q": 0.01})
        assert len(found.residuals) == 20
        read_off = costate.fit(self.SIM, {"q": data}, {"l": 1.0}, x0=[0.9, 0.0], p={"c": 0.15})
        given = costate.fit(self.SIM, {"q": data}, {"l": 1.0}, x0=[0.9, 0.0], p={"c": 0.15}, sigma=0.01)
        ratio = float(read_off.standard_deviation["l"] / given.standard_deviation["l"])
        assert ratio == pytest.approx(np.sqrt(2 * given.value / 25), rel=1e-6)

    @pytest.mark.parametrize("change, message", [
        ({"data": {"q": np.zeros((25, 1))}}, "one row for each"), ({"data": {"z": [0.0]}}, "no state 'z'"), ({"data": {}}, "no data"),
        ({"variables": {"k": 1.0}}, "no parameter and no state 'k'"), ({"sigma": 0.0}, "not positive"),
        ({"sim": pendulum.system().rollout(100)}, "keeps no states")])
    def test_mistakes(self, change, message):
        arguments = {"sim": self.SIM, "data": {"q": np.zeros((26, 1))}, "variables": {"l": 1.0}, **change}
        with pytest.raises(costate.Error, match=message):
            costate.fit(**arguments)

    def test_names_of_states_are_names_and_no_formulas(self):
        def swing(x, p):
            return [x[1], -9.81 / p.l * np.sin(x[0]) - 0.1 * x[1]]

        found = []
        for names in (["angle", "rate"], ["arm/angle", "arm/rate"]):
            sim = costate.system(swing, states=names, parameters={"l": 1.0}, dt=0.02).rollout(60, keep=6)
            data = sim.simulate([0.8, 0.0], p={"l": 1.3}).states[:, 0] + 0.02 * np.cos(np.arange(11.0))
            data[3] = np.nan
            found.append(costate.fit(sim, {names[0]: data}, {"l": 1.0, names[1]: 0.1}, x0=[0.8, 0.0], sigma=0.02, laplace=True))
        np.testing.assert_array_equal(found[0].laplace_covariance, found[1].laplace_covariance)
        assert np.all(np.abs(found[0].laplace_covariance / found[0].covariance - 1) > 1e-4)
