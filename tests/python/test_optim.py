"""Optimisers against closed forms and SciPy."""
import numpy as np
import pytest
import scipy.optimize

import costate
import pendulum


def rosenbrock(x):
    return scipy.optimize.rosen(x), scipy.optimize.rosen_der(x)


def test_lbfgs_finds_rosenbrocks_minimum():
    seen = []
    result = costate.minimize(rosenbrock, [-1.2, 1.0, 0.7], callback=lambda p: seen.append(p.value))
    assert result.converged and "gradient" in result.reason
    np.testing.assert_allclose(result.x, 1, rtol=1e-6)
    assert len(seen) == result.iterations and seen[-1] < 1e-12


def test_bounds_are_those_of_scipy():
    bounds = ([-2.0, -2.0], [0.5, 2.0])
    ours = costate.minimize(rosenbrock, [-1.2, 1.0], lower=bounds[0], upper=bounds[1])
    theirs = scipy.optimize.minimize(rosenbrock, [-1.2, 1.0], jac=True, method="L-BFGS-B", bounds=list(zip(*bounds)))
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-5)


@pytest.mark.parametrize("method, options", [("adam", {"rate": 0.05, "iterations": 3000}),
                                             ("gradient_descent", {"rate": 0.1, "momentum": 0.5})])
def test_first_order_methods(method, options):
    result = costate.minimize(lambda x: (0.5 * np.sum((x - 3) ** 2), x - 3), np.zeros(4), method, **options)
    np.testing.assert_allclose(result.x, 3, atol=1e-4)


def test_least_squares_fits_what_scipy_fits():
    t = np.linspace(0, 1, 30)
    data = 2 * np.exp(-3 * t) + 0.01 * np.random.default_rng(0).standard_normal(30)

    def residuals(x):
        e = np.exp(-x[1] * t)
        return x[0] * e - data, np.stack([e, -x[0] * t * e], axis=1)

    ours = costate.least_squares(residuals, [1.0, 1.0])
    theirs = scipy.optimize.least_squares(lambda x: residuals(x)[0], [1.0, 1.0], jac=lambda x: residuals(x)[1])
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-6)


def test_a_rollout_is_fitted():
    sim = pendulum.system().rollout(60)
    truth = sim.simulate([0.8, 0.0], p={"l": 0.7}).final_state
    loss = costate.loss.final("q", truth[:1]) + costate.loss.final("v", truth[1:])

    def objective(x):
        value, grad = sim.value_and_grad([0.8, 0.0], p={"l": x[0]}, loss=loss)
        return value, [grad.parameters["l"]]

    assert costate.minimize(objective, [0.9], lower=[0.1]).x[0] == pytest.approx(0.7, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_the_unit_of_the_unknowns_does_not_matter(unit):
    rng = np.random.default_rng(4)
    a = rng.normal(size=(10, 2))
    b = a @ [1.0, -2.0] + 0.01 * rng.normal(size=10)
    wanted = np.linalg.lstsq(a, b, rcond=None)[0]
    fitted = costate.least_squares(lambda z: (a / unit @ z - b, a / unit), np.zeros(2))
    assert fitted.converged and fitted.x / unit == pytest.approx(wanted, abs=1e-6)
    gradient = lambda z: a.T / unit @ (a / unit @ z - b)
    found = costate.minimize(lambda z: (0.5 * np.sum((a / unit @ z - b) ** 2), gradient(z)), [unit, unit])
    assert found.converged and found.x / unit == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("method, options", [("lbfgs", {}), ("adam", {"rate": 0.05, "iterations": 3000}), ("gradient_descent", {"rate": 0.1})])
def test_from_zero_the_scale_says_the_unit(method, options, unit):
    wanted = np.array([1.0, -2.0]) * unit

    def objective(p):
        assert np.all(np.abs(p["x"]) <= 1.5 * unit)
        error = (p["x"] - wanted) / unit
        return 0.5 * error @ error, {"x": error / unit}

    found = costate.minimize(objective, {"x": np.zeros(2)}, method, scale=unit, lower={"x": -1.5 * unit}, upper={"x": 1.5 * unit}, **options)
    assert found.x["x"] / unit == pytest.approx([1, -1.5], abs=1e-4)
    if unit == 1e12:  # without, the gradient is zero to every tolerance, and the reason says so
        without = costate.minimize(lambda x: (0.5 * np.sum((x / unit - 1) ** 2), (x / unit - 1) / unit), [0.0, 0.0])
        assert "scale the variables" in without.reason
    for bad in (0.0, {"x": [1.0, -1.0]}, {"x": [1.0, np.inf]}):
        with pytest.raises(costate.Error, match="scale is how large changes"):
            costate.minimize(objective, {"x": np.zeros(2)}, method, scale=bad)


def test_cma_es_needs_no_gradient():
    result = costate.minimize(scipy.optimize.rosen, [-1.2, 1.0], "cma_es", iterations=400)
    np.testing.assert_allclose(result.x, 1, atol=1e-4)
    assert result.gradient_norm == 0
    # A function made for the other methods does, too, and the seed decides the way.
    same = costate.minimize(rosenbrock, [-1.2, 1.0], "cma_es", iterations=400)
    assert np.array_equal(same.x, result.x)
    other = costate.minimize(scipy.optimize.rosen, [-1.2, 1.0], "cma_es", iterations=400, seed=2)
    assert not np.array_equal(other.x, result.x)


def test_cma_es_ranks_the_worlds_of_a_rollout():
    sim = pendulum.system().rollout(60)
    truth = sim.simulate([0.8, 0.0], p={"l": 0.7}).final_state
    loss = costate.loss.final("q", truth[:1]) + costate.loss.final("v", truth[1:])
    shapes = []

    def values(points):
        shapes.append(points.shape)
        return sim.values([0.8, 0.0], p={"l": points}, loss=loss)

    result = costate.minimize(values, [0.9], "cma_es", batched=True, lower=[0.1], population=12, sigma=0.2, iterations=60)
    assert result.x[0] == pytest.approx(0.7, rel=1e-5)
    assert set(shapes) == {(12, 1)} and result.evaluations == 12 * len(shapes)


def test_values_are_those_of_the_gradient():
    sim = pendulum.system().rollout(20)
    x0 = np.stack([np.linspace(0.1, 1, 6), np.zeros(6)], axis=1).reshape(2, 3, 2)
    values = sim.values(x0, loss=costate.loss.final("q"))
    assert values.shape == (2, 3)
    np.testing.assert_array_equal(values, sim.value_and_grad(x0, loss=costate.loss.final("q"))[1].values)
    assert sim.value(x0, loss=costate.loss.final("q")) == pytest.approx(values.sum())


def test_ctrl_c_keeps_the_best_point():
    calls = []

    def slow(x):
        calls.append(x)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return rosenbrock(x)

    result = costate.minimize(slow, [-1.2, 1.0])
    assert "interrupted" in result.reason and result.value <= rosenbrock(np.array([-1.2, 1.0]))[0]


def test_mistakes_are_errors():
    with pytest.raises(costate.Error, match="value, gradient"):
        costate.minimize(lambda x: 1.0, [1.0])
    with pytest.raises(costate.Error, match="method = 'newton'"):
        costate.minimize(rosenbrock, [1.0], "newton")
    with pytest.raises(costate.Error, match="returns 1 values instead of 6"):
        costate.minimize(lambda points: np.zeros(1), [1.0, 2.0], "cma_es", batched=True)
    with pytest.raises(costate.Error, match="only 'cma_es'"):
        costate.minimize(rosenbrock, [1.0], batched=True)
    with pytest.raises(ZeroDivisionError):
        costate.minimize(lambda x: (1 / 0, x), [1.0])


class TestOtherPeoplesOptimisers:
    """A rollout's value and gradient fed directly to them."""
    SIM = pendulum.system().rollout(60)
    LOSS = costate.loss.final("q", [0.3]) + costate.loss.final("v", [-0.1])

    def value_and_grad(self, x0):
        value, gradient = self.SIM.value_and_grad(x0, loss=self.LOSS)
        return value, gradient.x0

    @pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "TNC", "SLSQP", "trust-constr"])
    def test_scipy(self, method):
        found = scipy.optimize.minimize(self.value_and_grad, [0.5, 0.0], jac=True, method=method)
        assert found.fun < 1e-6

    def test_scipy_with_hessian_products(self):
        product = lambda x, v: self.SIM.hessian_vector(x, x0_dot=v, loss=self.LOSS)[1].x0
        found = scipy.optimize.minimize(self.value_and_grad, [0.5, 0.0], jac=True, hessp=product, method="Newton-CG")
        assert found.fun < 1e-10

    def test_optax(self):
        optax = pytest.importorskip("optax")
        optimiser = optax.adam(0.05)
        x = np.array([0.5, 0.0])
        state = optimiser.init(x)
        for _ in range(300):
            value, gradient = self.value_and_grad(np.asarray(x))
            updates, state = optimiser.update(gradient, state)
            x = optax.apply_updates(x, updates)
        assert value < 1e-4

    def test_torch(self):
        torch = pytest.importorskip("torch")
        x = torch.tensor([0.5, 0.0], dtype=torch.float64, requires_grad=True)
        optimiser = torch.optim.LBFGS([x], max_iter=50, line_search_fn="strong_wolfe")

        def closure():
            value, gradient = self.value_and_grad(x.detach().numpy())
            x.grad = torch.from_numpy(gradient)
            return torch.tensor(value)

        optimiser.step(closure)
        assert self.value_and_grad(x.detach().numpy())[0] < 1e-8
