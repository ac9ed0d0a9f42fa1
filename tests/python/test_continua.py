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
