"""Wrong shapes, missing numbers and settings without effect are errors that say what was expected; nothing crashes."""
import copy
import pickle

import numpy as np
import pytest

import costate
import pendulum


@pytest.fixture(scope="module")
def spring():
    @costate.system(states={"q": 2, "v": 2}, parameters={"k": [1.0, 2.0]}, dt=0.1)
    def made(q, v, k):
        return {"q": v, "v": -k * q}
    return made


X = np.arange(12.0).reshape(3, 4)  # three worlds
T = np.arange(6.0).reshape(3, 2)


class TestNoCrash:
    def test_no_states(self):
        solution = costate.solve_ivp(lambda t, y: y, (0, 1), [], dense_output=True)
        assert solution.success and solution.y.shape[0] == 0
        assert solution.sol(0.5).shape == (0,) and solution.sol([0.1, 0.2]).shape == (0, 2)

    @pytest.mark.parametrize("x", [np.zeros(0), np.ones(3)])
    def test_a_short_state(self, x):
        hopper = costate.rigid.load(costate.scene_file("hopper.xml"))
        with pytest.raises(costate.Error, match="instead of"):
            costate.rigid.observe(hopper, {"a": "body/torso"}, x)

    def test_none_among_losses(self):
        with pytest.raises((costate.Error, TypeError), match="None"):
            costate.loss.sum([costate.loss.final("q"), None])


class TestShapes:
    @pytest.mark.parametrize("loss", [
        lambda: costate.loss.final("q", T.T),
        lambda: costate.loss.final("q", T.ravel()),
        lambda: costate.loss.track("q", [1, 2, 3], T.T),
        lambda: costate.loss.track("q", [1, 2], np.ones((2, 3, 2))),
    ], ids=["final transposed", "final flat", "track transposed", "track steps first"])
    def test_targets(self, spring, loss):
        with pytest.raises(costate.Error, match="instead of|worlds"):
            spring.rollout(5).value(X, loss=loss())

    def test_targets_that_fit(self, spring):
        sim = spring.rollout(5)
        one = [sim.value(x, loss=costate.loss.final("q", t)) for x, t in zip(X, T)]
        assert sim.value(X, loss=costate.loss.final("q", T)) == pytest.approx(sum(one), rel=1e-15)
        assert sim.value(X, loss=costate.loss.final("q", T[0])) > 0
        assert sim.value(X[0], loss=costate.loss.track("q", [1, 2, 3], T)) > 0

    @pytest.mark.parametrize("target", [[], np.empty((0, 2))])
    def test_an_empty_target_is_not_zero(self, target):
        with pytest.raises(costate.Error, match="empty"):
            costate.loss.final("q", target)

    def test_targets_that_are_no_numbers(self):
        with pytest.raises(costate.Error, match="target is not finite: number 1 of it is nan"):
            costate.loss.final("q", [0.0, np.nan])

    def test_ragged_lists(self, spring):
        sim, ragged = spring.rollout(5), [[1.0, 2.0], [3.0]]
        for call, name in ((lambda: sim.simulate(ragged), "x0"), (lambda: sim.simulate({"q": ragged}), "q"),
                           (lambda: sim.simulate(p={"k": ragged}), "k"),
                           (lambda: costate.minimize(lambda x: (0.0, x), ragged), "x0"),
                           (lambda: costate.loss.final("q", ragged), "target"),
                           (lambda: costate.loss.track("q", [1, 2], ragged), "targets"),
                           (lambda: sim.pull_back(final_state=ragged), "final_state"),
                           (lambda: sim.jvp(x0_dot=ragged), "x0")):
            with pytest.raises(costate.Error, match=f"{name} is not an array of numbers"):
                call()
        with pytest.raises(costate.Error, match=r"do not go together, .* q \(3, 2\), v \(4, 2\)"):
            sim.simulate({"q": np.zeros((3, 2)), "v": np.zeros((4, 2))})

    def test_more_steps_than_there_is_memory_for(self):
        driven = costate.system(lambda q, f: f - q, states=["q"], controls=["f"], dt=0.1)
        with pytest.raises(costate.Error, match=r"(?s)the controls of 1125899906842624 steps take 2.7e\+07 GB, .* hold = \d+"):
            driven.rollout(2**50)
        with pytest.raises(costate.Error, match="(?s)the kept states of .* keep = "):
            driven.rollout(2**50, hold=2**40, keep=1)
        with pytest.raises(costate.Error, match=r"(?s)the states that a gradient of .* binomial\(64\)"):
            driven.rollout(2**50, hold=2**40).value_and_grad([1.0], loss=costate.loss.final("q"))

    def test_states_by_name(self, spring):
        with pytest.raises(costate.Error, match="q has the shape"):
            spring.rollout(5).simulate({"q": np.zeros(5)})

    def test_cotangents(self, spring):
        sim, c = spring.rollout(5), np.arange(12.0).reshape(3, 4)
        with pytest.raises(costate.Error, match=r"\(4, 3\) instead of \(3, 4\)"):
            sim.pull_back(X, final_state=c.T)
        sim.forward(X)
        with pytest.raises(costate.Error, match=r"\(4, 3\) instead of \(3, 4\)"):
            sim.backward(final_state=c.T)
        kept, s = spring.rollout(5, keep=1), np.ones((6, 3, 4))
        with pytest.raises(costate.Error, match=r"\(3, 6, 4\) instead of \(6, 3, 4\)"):
            kept.pull_back(X, states=s.transpose(1, 0, 2))
        assert kept.pull_back(X, states=s).x0.shape == (3, 4)

    def test_jacobians(self):
        a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        with pytest.raises(costate.Error, match=r"\(2, 3\) instead of \(3, 2\)"):
            costate.least_squares(lambda x: (a @ x - 1, a.T), [0.0, 0.0])

    def test_a_parameter_with_a_shape(self):
        @costate.system(states={"x": 2}, parameters={"A": np.arange(6.0).reshape(2, 3)}, dt=0.1)
        def made(x, A):
            return A @ np.array([0.1, 0.2, 0.3]) - x
        sim, a = made.rollout(2), made.parameters["A"]
        end = sim.simulate(p={"A": a}).final_state
        np.testing.assert_array_equal(sim.simulate(p={"A": a.ravel()}).final_state, end)
        np.testing.assert_array_equal(sim.simulate(p={"A": np.stack([a, 2 * a])}).final_state[0], end)
        for call in (lambda: sim.simulate(p={"A": a.T}), lambda: sim.jvp(p_dot={"A": a.T})):
            with pytest.raises(costate.Error, match=r"'A' has the shape \(3, 2\) instead of \(2, 3\) or \(..., 2, 3\)"):
                call()
        with pytest.raises(costate.Error, match="first guess of 'A'"):
            costate.fit(made.rollout(2, keep=1), {"x": np.zeros((3, 2))}, {"A": a.T})

    def test_gradients_and_bounds_of_an_optimiser(self):
        a = np.arange(6.0).reshape(2, 3)
        wrong = lambda x: (float(np.sum((x - a) ** 2)), 2 * (x - a).T)
        with pytest.raises(costate.Error, match=r"the gradient has the shape \(3, 2\) instead of \(2, 3\)"):
            costate.minimize(wrong, np.zeros((2, 3)))
        with pytest.raises(costate.Error, match=r"the gradient of 'x' has the shape"):
            costate.minimize(lambda p: (wrong(p["x"])[0], {"x": wrong(p["x"])[1]}), {"x": np.zeros((2, 3))})
        right = lambda x: (float(np.sum((x - a) ** 2)), 2 * (x - a))
        with pytest.raises(ValueError):
            costate.minimize(right, np.zeros((2, 3)), lower=np.zeros((3, 2)))
        found = costate.minimize(right, np.zeros((2, 3)), upper=[1.0, 2.0, 3.0]).x  # of the columns, as NumPy has it
        np.testing.assert_allclose(found, np.minimum(a, [1.0, 2.0, 3.0]), atol=1e-9)

    def test_observations_of_many_states(self):
        hopper = costate.rigid.load(costate.scene_file("hopper.xml"))
        x = np.stack([hopper.initial_state, hopper.initial_state + 0.5])
        both = costate.rigid.observe(hopper, {"a": "body/torso"}, x)["a"]
        assert both.shape == (2, 3)
        np.testing.assert_array_equal(both[1], costate.rigid.observe(hopper, {"a": "body/torso"}, x[1])["a"])


class TestNothingIsDroppedInSilence:
    def test_complex_numbers(self, spring):
        with pytest.raises(costate.Error, match="complex"):
            spring.rollout(1).simulate(X[0] + 1j)

    def test_complex_numbers_of_an_optimiser(self):
        with pytest.raises(costate.Error, match="x0 has complex"):
            costate.minimize(lambda z: (0.0, z), np.array([1 + 1j]))
        with pytest.raises(costate.Error, match="residuals"):
            costate.least_squares(lambda z: (np.array([1j]), np.eye(1)), [1.0])

    @pytest.mark.parametrize("values", [["1", "2", "3", "4"], np.array(4 * ["2020-01-01"], dtype="datetime64[D]")], ids=["texts", "dates"])
    def test_what_is_no_number(self, spring, values):
        with pytest.raises(costate.Error, match="not of numbers"):
            spring.rollout(1).simulate(values)

    @pytest.mark.parametrize("call", [lambda s: s.simulate(p={1: 2.0}), lambda s: s.simulate(p={b"k": 2.0}), lambda s: s.simulate({3: 1.0})])
    def test_names_that_are_no_text(self, spring, call):
        with pytest.raises(costate.Error, match="are names"):
            call(spring.rollout(1))

    @pytest.mark.parametrize("weight", [np.nan, np.inf])
    def test_weights_that_are_no_numbers(self, weight):
        for loss in (lambda: costate.loss.final("q", None, weight), lambda: costate.loss.effort(weight),
                     lambda: costate.loss.final_value("q", 0, weight), lambda: costate.loss.track("q", [1], [1.0], weight)):
            with pytest.raises(costate.Error, match="weight"):
                loss()

    @pytest.mark.parametrize("sigma, message", [({"w": 0.1}, "sigma is given for w, the data are of q"), (np.nan, "positive and finite"),
                                                ({"q": 0.1, "v": 0.1}, "sigma is given for q, v")])
    def test_sigma_of_something_else(self, sigma, message):
        sim = costate.equations({"q": 1, "v": 1}, "q_dot = v; v_dot = -k*sin(q)", parameters={"k": 4.0}).rollout(4, keep=2)
        with pytest.raises(costate.Error, match=message):
            costate.fit(sim, {"q": np.zeros(3)}, {"k": 3.0}, x0=[0.5, 0.0], sigma=sigma)

    def test_a_glob_of_states_is_not_a_list_of_letters(self):
        plant = costate.equations(["q", "v"], "q_dot = v; v_dot = u", controls=["u"])
        assert costate.closed_loop(plant, observe="q", hidden=3).signature.parameter_size == costate.closed_loop(
            plant, observe=["q"], hidden=3).signature.parameter_size
        with pytest.raises(costate.Error, match="qv"):
            costate.closed_loop(plant, observe="qv", hidden=3)
        with pytest.raises(costate.Error, match="qv"):
            costate.closed_loop(plant, observe="qv", hidden=(3, 3))

    def test_masked_numbers(self, spring):
        with pytest.raises(costate.Error, match="masked"):
            spring.rollout(1).simulate(np.ma.masked_greater(X[0], 2.0))

    def test_names_that_match_nothing(self, spring):
        hopper = costate.rigid.load(costate.scene_file("hopper.xml"))
        with pytest.raises(costate.Error, match="zz"):
            costate.closed_loop(hopper, observe=["q", "zz"])

    @pytest.mark.parametrize("settings", [{"max_step": 0.0}, {"max_step": -1.0}, {"first_step": -1.0}, {"first_step": 5.0}])
    def test_steps_that_make_no_sense(self, settings):
        with pytest.raises(ValueError):
            costate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], **settings)

    @pytest.mark.parametrize("y0", [[[1.0, 2.0]], [np.nan]])
    def test_starts_that_make_no_sense(self, y0):
        with pytest.raises(ValueError):
            costate.solve_ivp(lambda t, y: -y, (0, 1), y0)

    def test_strings(self):
        with pytest.raises(costate.Error, match="not of numbers"):
            costate.solve_ivp(lambda t, y: -y, (0, 1), ["1"])

    def test_cotangents_of_events(self):
        event = lambda t, y: y[0] - 0.5
        solution = costate.solve_ivp(lambda t, y: -y, (0, 2), [1.0], events=event)
        assert solution.gradient(t_events=[[1.0]]).y0[0] == pytest.approx(1.0, rel=1e-2)
        for wrong in ([[]], [[1.0, 2.0]], [[1.0], [1.0]]):
            with pytest.raises(costate.Error, match="shapes"):
                solution.gradient(t_events=wrong)
        with pytest.raises(costate.Error, match="one number for each state"):
            solution.gradient(final=[])


def test_solutions_have_attributes_and_can_be_copied():
    solution = costate.solve_ivp(lambda t, y: -y, (0, 1), [1.0])
    assert not hasattr(solution, "foo")
    for copied in (copy.copy(solution), copy.deepcopy(solution)):
        assert copied.y.shape == solution.y.shape and copied.gradient(final=[1.0]).y0.shape == (1,)
    loaded = pickle.loads(pickle.dumps(solution))
    assert np.array_equal(loaded.y, solution.y) and loaded.message == solution.message
    with pytest.raises(costate.Error, match="solve again"):
        loaded.gradient(final=[1.0])
    with pytest.raises(ValueError, match="1-D"):
        costate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], dense_output=True).sol(np.zeros((2, 2)))


def test_a_function_that_has_changed_since_it_was_solved_has_no_gradient():
    setting = {"k": 1.0}

    def decay(t, y):
        return [-setting["k"] * y[0]] if y[0] < 100 else [0.0]

    def half(t, y):
        return y[0] - 0.5 if setting["k"] < 2 else y[0] - 0.9

    solution = costate.solve_ivp(decay, (0, 1), [1.0], rtol=1e-8, atol=1e-8)
    assert solution.gradient(final=[1.0]).y0[0] == pytest.approx(np.exp(-1), rel=1e-6)
    met = costate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], events=half, record=False)
    setting["k"] = 3.0
    for call in (lambda: solution.gradient(final=[1.0]), lambda: solution.sensitivities("final")):
        with pytest.raises(costate.Error, match="decay has changed since the solution was computed"):
            call()
    with pytest.raises(costate.Error, match="half has changed"):
        met.gradient(t_events=[[1.0]])


def test_residuals_that_are_written_into_the_same_array():
    a, r, jacobian = np.array([[1.0, 2.0], [3.0, 5.0], [1.0, 1.0]]), np.empty(3), np.empty((3, 2))

    def again(x):
        r[:], jacobian[:] = np.sin(a @ x) - 0.5, np.cos(a @ x)[:, None] * a
        return r, jacobian

    reused = costate.least_squares(again, [2.0, -1.0], iterations=7)
    fresh = costate.least_squares(lambda x: tuple(part.copy() for part in again(x)), [2.0, -1.0], iterations=7)
    np.testing.assert_array_equal(reused.residuals, fresh.residuals)
    np.testing.assert_array_equal(reused.jacobian, fresh.jacobian)
    np.testing.assert_array_equal(reused.residuals, np.sin(a @ reused.x) - 0.5)


@pytest.mark.parametrize("text, options, u", [("x_dot = sqrt(c) - x", {"parameters": {"c": 0.0}}, None),
                                              ("x_dot = 0*sqrt(c) - x", {"parameters": {"c": 0.0}}, None),
                                              ("x_dot = sqrt(c) - x", {"controls": ["c"]}, np.zeros((3, 1)))])
def test_a_gradient_that_is_not_finite_is_an_error(text, options, u):
    sim = costate.equations(["x"], text, **options).rollout(3)
    assert np.isfinite(sim.value([1.0], u, loss=costate.loss.final("x")))
    with pytest.raises(costate.Error, match="the gradient with respect to .* is not finite although the states are"):
        sim.value_and_grad([1.0], u, loss=costate.loss.final("x"))
    sim.forward([1.0], u)
    with pytest.raises(costate.Error, match="not finite"):
        sim.backward(costate.loss.final("x"))


def test_second_derivatives_that_are_not_finite_are_an_error():
    sim = costate.equations(["x"], "x_next = x^1.5", method="next").rollout(1)
    gradient = sim.value_and_grad([0.0], loss=costate.loss.final_value("x", 0))[1]
    assert gradient.x0[0] == 0.0
    with pytest.raises(costate.Error, match="the rate of change of the gradient with respect to x0 is not finite"):
        sim.hessian_vector([0.0], x0_dot=[1.0], loss=costate.loss.final_value("x", 0))


def test_a_gradient_of_a_solution_that_is_not_finite_is_an_error():
    # Nothing leaves zero, but a small start would grow by e^800.
    s = costate.solve_ivp(lambda t, y, k: [k * y[0]], (0, 80), [0.0], args=(10.0,), dt=0.1)
    assert np.all(s.y == 0)
    with pytest.raises(costate.Error, match="the gradient with respect to the initial state is not finite although the solution is"):
        s.gradient(final=[1.0])


class TestMaskedWorlds:
    """A world that diverged is not a number: 0 would be a perfect loss."""

    @pytest.fixture
    def sim(self):
        return costate.equations({"x": 1}, "x_next = x*x", method="next").rollout(20, on_divergence="mask_world")

    def test_values(self, sim):
        loss = costate.loss.final("x")
        value, gradient = sim.value_and_grad([[0.5], [10.0]], loss=loss)
        assert np.isfinite(value) and np.isnan(gradient.values[1]) and gradient.report.masked_worlds == [1]
        for x0 in ([[10.0], [20.0]], [10.0]):
            assert np.isnan(sim.value_and_grad(x0, loss=loss)[0]) and np.isnan(sim.value(x0, loss=loss))

    def test_a_step_that_gives_up(self):
        """A particle that leaves its grid; the other world goes on."""
        jelly = [{"name": "jelly", "kind": "neo_hookean", "E": 1e3, "nu": 0.3}]
        body = costate.mpm.particles(np.array([[0.55, 0.55], [0.6, 0.55]]), 0.01, jelly, dx=0.1, nodes=[12, 12], dt=1e-3, walls="none")
        slow, fast = body.initial_state.copy(), body.initial_state.copy()
        slow[4:8], fast[4:8] = 0.1, 9.0
        loss, x0 = costate.loss.final("particle/x"), np.stack([slow, fast])
        with pytest.raises(costate.Error, match="outside the grid"):
            body.rollout(100).value(x0, loss=loss)
        sim = body.rollout(100, keep=50, on_divergence="mask_world")
        value, gradient = sim.value_and_grad(x0, loss=loss)
        alone, expected = sim.value_and_grad(slow, loss=loss)
        assert value == alone and gradient.report.masked_worlds == [1] and np.isnan(gradient.values[1])
        assert any("world 1 is masked" in advice and "outside the grid" in advice for advice in gradient.report.advice)
        np.testing.assert_array_equal(gradient.x0, [expected.x0, np.zeros_like(slow)])
        np.testing.assert_array_equal(gradient["material/jelly/E"], expected["material/jelly/E"])
        run = sim.simulate(x0)
        assert run.diverged.tolist() == [1] and np.isnan(run.final_state[1]).all() and np.isnan(run.states[-1, 1]).all()
        y, y_dot = sim.jvp(x0, x0_dot=np.ones_like(x0))
        np.testing.assert_array_equal(np.isfinite(y_dot).all(axis=1), [True, False])

    def test_tangents_say_which(self, sim):
        y, y_dot = sim.jvp([[0.5], [10.0]], x0_dot=[[1.0], [1.0]])
        np.testing.assert_array_equal(np.isfinite(y[:, 0]), [True, False])
        np.testing.assert_array_equal(np.isfinite(y_dot[:, 0]), [True, False])


class TestSettingsWithoutEffect:
    @pytest.mark.parametrize("method, options, message", [
        ("lbfgs", {"sigma": 0.1}, "only 'cma_es' has a sigma"), ("lbfgs", {"decay": 0.9}, "only 'adam' has a decay"),
        ("adam", {"momentum": 0.9}, "only 'gradient_descent' has a momentum"), ("adam", {"memory": 5}, "only 'lbfgs' has a memory"),
        ("cma_es", {"rate": 0.1}, "'lbfgs' and 'adam' and 'gradient_descent' have a rate"), ("adam", {"seed": 2}, "only 'cma_es'"),
        ("lbfgs", {"population": 9}, "only 'cma_es'"), ("adam", {"sigma": 1.0}, "only 'cma_es'")])
    def test_settings_of_another_method(self, method, options, message):
        with pytest.raises(costate.Error, match=message):
            costate.minimize(lambda x: (float(x @ x), 2 * x), [1.0], method, **options)

    def test_an_option_that_there_is_not_is_named(self):
        with pytest.raises(TypeError, match=r"^load\(\) has no option 'frame'; did you mean 'keyframe'\?$"):
            costate.load("cart_pole.xml", frame="hanging")
        with pytest.raises(TypeError, match=r"^system\(\) has no option 'zzz'; it has masses, potentials"):
            costate.md.system(np.eye(3), 1.0, [], zzz=1)

    def test_a_system_without_states(self):
        with pytest.raises(costate.Error, match="there are no states: name"):
            costate.system(states=[])

    def test_a_gradient_of_nothing(self):
        solution = costate.solve_ivp(lambda t, y: -y, (0, 1), [1.0])
        with pytest.raises(costate.Error, match="nothing to differentiate: say how your loss depends"):
            solution.gradient()

    @pytest.mark.parametrize("options, message", [
        ({"restitution": 0.8}, "restitution has no effect"), ({"rest_speed": 0.1}, "rest_speed has no effect"),
        ({"stiffness": 1e3}, "stiffness has no effect"), ({"damping": 1.0, "contact": "hard"}, "damping has no effect"),
        ({"aware": True, "contact": "event"}, "aware has no effect"), ({"restitution": 0.5, "contact": False}, "no effect"),
        ({"restitution": 2.0, "contact": "event"}, "between 0 and 1"), ({"restitution": -1.0, "contact": "hard"}, "between 0 and 1"),
        ({"stiffness": -1.0, "contact": "penalty"}, "stiffness = -1"), ({"damping": -1.0, "contact": "penalty"}, "not negative"),
        ({"rest_speed": -1.0, "contact": "event"}, "not negative")])
    def test_contact(self, options, message):
        with pytest.raises(costate.Error, match=message):
            costate.rigid.load(costate.scene_file("hopper.xml"), **options)

    @pytest.mark.parametrize("p, message", [
        ({"body/pole/mass": -1.0}, "body/pole/mass' is -1, and must not be negative"),
        ({"body/pole/inertia": [1.0, -1.0, 1.0, 0.0, 0.0, 0.0]}, "not be negative"), ({"dt": -0.01}, "must be positive"), ({"dt": 0.0}, "positive"),
        ({"joint/slide/range": [1.0, -1.0]}, "ends before it begins"),
        ({"body/pole/mass": np.array([[0.1], [-0.1]])}, "not be negative")])
    def test_numbers_that_nothing_physical_has(self, p, message):
        sim = costate.rigid.load(costate.scene_file("cart_pole.xml")).rollout(3)
        with pytest.raises(costate.Error, match=message):
            sim.simulate(p=p)

    def test_friction_of_walls_without_friction(self):
        with pytest.raises(costate.Error, match="walls='coulomb'"):
            costate.mpm.particles(np.full((1, 2), 0.5), 0.01, [{"kind": "liquid"}], dx=0.1, nodes=[12, 12], dt=1e-4, friction=0.5)

    def test_names_that_match_nothing(self):
        hopper = costate.rigid.load(costate.scene_file("hopper.xml"))
        with pytest.raises(costate.Error, match="zz"):
            costate.closed_loop(hopper, observe=["q", "zz"])
        assert hopper.rollout(3, active="body/torso/mass").active == ["body/torso/mass"]

    @pytest.mark.parametrize("call", [
        lambda s: s.split(np.ones(3)), lambda s: s.split_controls(np.ones((2, 5))), lambda s: s.rollout(0),
        lambda s: costate.set_thread_count(-3), lambda s: s.parameters.update(k=3), lambda s: s.parameters.__setitem__("k", 3)],
        ids=["split", "split_controls", "no steps", "threads", "update", "assignment"])
    def test_calls(self, spring, call):
        with pytest.raises(costate.Error):
            call(spring)

    def test_a_default_matrix_has_a_gradient_of_its_shape(self):
        @costate.system(states={"x": 2}, parameters={"A": np.eye(2)}, dt=0.1)
        def linear(x, A):
            return A @ x
        sim = linear.rollout(3)
        _, gradient = sim.value_and_grad([1.0, 2.0], loss=costate.loss.final("x"))
        assert gradient.parameters["A"].shape == linear.parameters["A"].shape == (2, 2)
        given = sim.value_and_grad([1.0, 2.0], p={"A": np.eye(2)}, loss=costate.loss.final("x"))[1]
        np.testing.assert_array_equal(gradient.parameters["A"], given.parameters["A"])


def test_a_humanoid_prints_a_few_lines():
    text = repr(costate.rigid.load(costate.scene_file("humanoid.xml")))
    assert len(text) < 500 and "q (28)" in text and ".signature" in text


def test_a_scene_says_where_an_impossible_number_is(tmp_path, scenes):
    file = tmp_path / "pole.toml"
    file.write_text(f'[model]\nfile = "{scenes / "cart_pole.xml"}"\n[run]\nsteps = 3\n[parameters]\n"body/pole/mass" = -1.0\n')
    with pytest.raises(costate.Error, match="body/pole/mass' is -1, and must not be negative") as caught:
        costate.load(file)
    assert "pole.toml:6" in str(caught.value)


def test_a_parameter_that_is_not_a_number_is_said():
    sim = costate.load("cart_pole.xml").rollout(3)
    with pytest.raises(costate.Error, match="the parameter 'body/pole/mass' is nan, and must be a number"):
        sim.simulate(p={"body/pole/mass": np.nan})


def test_functions_of_scipy_are_written_out():
    special = pytest.importorskip("scipy.special")
    with pytest.raises(costate.Error, match=r"^expit cannot be recorded; write 1 / \(1 \+ np.exp\(-x\)\)"):
        costate.system(states=["a"], dt=0.1)(lambda a: [special.expit(a)])


def test_any_mapping_gives_fields_and_parameters():
    from types import MappingProxyType

    sim = pendulum.system().rollout(5)
    plain = sim.simulate({"q": [0.3], "v": [0.1]}, {"torque": np.ones((5, 1))}, {"l": 1.2}).final_state
    read_only = sim.simulate(MappingProxyType({"q": [0.3], "v": [0.1]}), MappingProxyType({"torque": np.ones((5, 1))}), MappingProxyType({"l": 1.2}))
    np.testing.assert_array_equal(plain, read_only.final_state)
    with pytest.raises(costate.Error, match="p is not a dict"):
        sim.simulate(p=[1.0])


def test_a_later_name_counts_whatever_its_shape():
    system = costate.equations(["x"], "x_dot = -ka*x - kb*x^2", parameters={"ka": 1.0, "kb": 0.1}, dt=0.1)
    sim = system.rollout(3)
    loss, three = costate.loss.final("x"), np.array([1.0, 2.0, 3.0])
    for p, shape in [({"k?": three, "ka": 2.0}, ()), ({"k?": 2.0, "ka": three}, (3,))]:
        _, gradient = sim.value_and_grad([1.0], p=p, loss=loss)
        _, plain = sim.value_and_grad([1.0], p={"kb": p["k?"], "ka": p["ka"]}, loss=loss)
        assert gradient.parameters["ka"].shape == shape
        assert np.array_equal(gradient.parameters["ka"], plain.parameters["ka"])


def test_tangents_of_masses_may_be_negative():
    cart_pole = costate.rigid.load(costate.scene_file("cart_pole.xml"))
    sim = cart_pole.rollout(5)
    x, name = np.array([0.1, 0.3, 0.0, 0.2]), "body/pole/mass"
    w = np.array([1.0, -2.0, 0.5, 0.3])
    slope = float(np.sum(sim.pull_back(x, final_state=w).parameters[name]))
    for direction in (-1.0, np.array([-1.0])):
        assert abs(w @ sim.jvp(x, p_dot={name: direction})[1] + slope) < 1e-12
    _, second = sim.hessian_vector(x, p_dot={name: -1.0}, loss=costate.loss.final("q"))
    assert np.isfinite(second.parameters[name]).all()


def test_a_write_to_a_default_that_would_change_nothing_is_refused():
    hopper = costate.load("hopper.xml")
    for parameters in (hopper.parameters, pickle.loads(pickle.dumps(hopper.parameters))):
        with pytest.raises(ValueError, match="read-only"):
            parameters["gravity"][2] = -1.6
    falling = hopper.rollout(1).simulate(p={"gravity": [0, 0, -1.6]}).final_state
    assert not np.array_equal(falling, hopper.rollout(1).simulate().final_state)
