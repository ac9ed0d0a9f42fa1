"""Waves, masses and springs, and material points made from Python: closed forms, and the engine's own checks of their gradients."""
import numpy as np
import pytest

import costate

RNG = np.random.default_rng(17)


def test_a_wave_has_the_frequency_of_its_mode():
    n, dx, dt, speed = 31, 1.0, 0.1, 1.0
    wave = costate.grid.wave(n, n, dx=dx, dt=dt, speed=speed)
    i = np.arange(1, n + 1)
    mode = np.outer(np.sin(np.pi * i / (n + 1)), np.sin(np.pi * i / (n + 1)))
    # The mode of the five-point Laplacian; symplectic Euler turns its frequency w into 2/dt asin(w dt/2).
    w = np.sqrt(2 * 4) * speed / dx * np.sin(np.pi / (2 * (n + 1)))
    steps = 200
    end = wave.rollout(steps).simulate({"u": mode.ravel(), "v": np.zeros(n * n)})["u"]
    phase = 2 * np.arcsin(w * dt / 2) * steps
    # v is half a step behind u: the wave starts as if half a step later.
    expected = np.cos(phase) + np.tan(np.arcsin(w * dt / 2)) * -np.sin(phase)
    np.testing.assert_allclose(end, expected * mode.ravel(), atol=1e-10)
    gradient = costate.grid.wave(12, 10, sources=[15, 40]).rollout(20, active=["speed"])
    x0 = RNG.standard_normal(240)
    assert all(gradient.check(x0, RNG.standard_normal((20, 2)), loss=costate.loss.final("u")))


def test_heat_flows_to_the_steady_state_between_two_sides():
    heat = costate.grid.heat(8, 3, west=("temperature", 2.0), east=("temperature", 5.0), south="periodic", north="periodic")
    end = heat.rollout(1500).simulate({"T": np.zeros(24)})["T"]
    np.testing.assert_allclose(end.reshape(3, 8), np.tile(2 + 3 * (np.arange(8) + 0.5) / 8, (3, 1)), atol=1e-10)
    gradient = costate.grid.heat(7, 5, west=("temperature", 1.0), heaters=[9]).rollout(20, active=["conductivity", "west"])
    assert all(gradient.check(RNG.standard_normal(35), RNG.standard_normal((20, 1)), loss=costate.loss.final("T")))


def test_a_grid_has_numbers_per_cell_and_says_what_it_does_not_have():
    speed = 1 + 0.2 * RNG.random((4, 6))
    wave = costate.grid.wave(6, 4, speed=speed, damping=0.1)
    x0 = RNG.standard_normal(48)
    end = wave.rollout(10).simulate(x0)["u"]
    np.testing.assert_array_equal(end, costate.grid.wave(6, 4).rollout(10).simulate(x0, p={"speed": speed.ravel(), "damping": [0.1]})["u"])
    with pytest.raises(costate.Error, match="'speed' has 6 numbers, and the grid has 24 cells"):
        costate.grid.wave(6, 4, speed=speed[0, :])
    with pytest.raises(costate.Error, match="kind of side 'flux'"):
        costate.grid.heat(8, 3, west=("flux", 1.0))
    with pytest.raises(costate.Error, match="'west' is not understood"):
        costate.grid.heat(8, 3, west=1.0)
    with pytest.raises(costate.Error, match="the speed of cell 3 is 2"):
        costate.grid.wave(6, 4).rollout(3).simulate(x0, p={"speed": [1, 1, 1, 2] + 20 * [1]})


def test_shallow_water_keeps_its_volume_and_has_a_gradient():
    depth = 1 + 0.3 * RNG.random((5, 8))
    bay = costate.grid.shallow_water(8, 5, depth=depth, sources=[11])
    start = {"eta": 0.1 * RNG.standard_normal(40), "u": np.zeros(40), "v": np.zeros(40)}
    rain = RNG.standard_normal((30, 1))
    end = bay.rollout(30).simulate(start, rain)["eta"]
    assert end.sum() == pytest.approx(start["eta"].sum() + 0.1 * rain.sum(), abs=1e-12)
    sim = costate.grid.shallow_water(8, 5, periodic_x=True, drag=0.1).rollout(20, active=["depth", "gravity"])
    assert all(sim.check(0.1 * RNG.standard_normal(120), loss=costate.loss.final("eta")))


def test_a_spring_oscillates_and_a_muscle_has_a_gradient():
    springs = [{"a": 0, "b": 1, "rest_length": 1.0, "stiffness": 50.0, "muscle": 0, "strength": 0.1}]
    pair = costate.soft.mass_spring([[0.0, 1.0], [1.1, 1.0]], 2.0, springs, dt=1e-4)
    period = 2 * np.pi / np.sqrt(50.0 / 1.0)  # of the reduced mass
    states = pair.rollout(int(round(period / 1e-4))).simulate()["x"]
    assert states[2] - states[0] == pytest.approx(1.1, abs=1e-4)
    ground = [{"normal": [0, 1], "offset": 0.0, "friction": 0.5}]
    falling = costate.soft.mass_spring([[0.0, 0.3], [1.1, 0.4]], [1.0, 2.0], springs, gravity=[0, -9.81], planes=ground)
    sim = falling.rollout(100, active=["spring/stiffness", "mass"])
    assert all(sim.check(u=0.3 * RNG.standard_normal((100, 1)), loss=costate.loss.final("x")))
    with pytest.raises(costate.Error, match="rest_length"):
        costate.soft.mass_spring([[0.0, 0.0], [1.0, 0.0]], 1.0, [{"length": 1.0}])


def test_material_points_fall_as_bodies_do():
    spacing = 0.05
    x = np.stack(np.meshgrid(*2 * [np.arange(0.42, 0.6, spacing)]), -1).reshape(-1, 2)
    jelly = [{"name": "jelly", "kind": "neo_hookean", "E": 1e4, "nu": 0.3}]
    body = costate.mpm.particles(x, spacing**2, jelly, dx=0.1, nodes=[11, 11], dt=1e-3, gravity=[0, -10.0])
    sim = body.rollout(50)
    fall = sim.simulate()["particle/x"].reshape(-1, 2) - x
    np.testing.assert_allclose(fall, np.tile([0, -10.0 * 1e-6 * 50 * 51 / 2], (len(x), 1)), atol=1e-12)
    thrown = body.initial_state.copy()
    # Slow enough that none crosses a knot of the spline, where the third derivative jumps.
    thrown[2 * len(x):4 * len(x)] = 0.2 * RNG.standard_normal(2 * len(x))
    active = body.rollout(15, active=["material/jelly/E", "gravity"])
    assert all(active.check(thrown, loss=costate.loss.final("particle/x")))
    with pytest.raises(costate.Error, match="neo_hookean"):
        costate.mpm.particles(x, spacing**2, [{"kind": "jelly"}], dx=0.1, nodes=[11, 11], dt=1e-3)


def test_an_equation_as_text_has_a_right_gradient():
    front = costate.grid.own({"c": "D*lap_c - w*c_x + r*c*(1 - c)"}, 12, 8, dx=0.5, dt=0.05, controls=["push"],
                             parameters={"D": 0.3, "r": 1.0, "w": np.full((8, 12), 0.4)}, sides={"west": "closed", "east": "zero"})
    sim = front.rollout(12, active=["D", "r", "w"])
    start = {"c": np.linspace(0.1, 0.9, 96)}
    loss = costate.loss.final("c", np.zeros(96))
    value, gradient = sim.value_and_grad(start, loss=loss)
    assert value > 0 and gradient.parameters["w"].shape == (96,)
    for result in sim.check(start, loss=loss):
        assert result.passed, result
    with pytest.raises(costate.Error, match="kind of side = 'open'"):
        costate.grid.own({"c": "lap_c"}, sides={"west": "open"})
