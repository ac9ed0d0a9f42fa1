import numpy as np
import pytest

import costate


def test_taylor_green_decays_by_the_factor_of_the_scheme():
    n, nu, dt, steps = 16, 0.05, 0.1, 40
    h = 2 * np.pi / n
    system = costate.fluid.flow((n, n), width=h, dt=dt, viscosity=nu)
    i = np.arange(n)
    u = np.sin(h * i)[None, :] * np.cos(h * (i + 0.5))[:, None]
    v = -np.cos(h * (i + 0.5))[None, :] * np.sin(h * i)[:, None]
    sim = system.rollout(steps, active=["dt"])
    energy = costate.loss.sum([costate.loss.final(name, np.zeros(n * n), h * h) for name in "uv"])
    value, gradient = sim.value_and_grad({"u": u.ravel(), "v": v.ravel()}, loss=energy)
    assert value == pytest.approx(4.480290442198438, rel=1e-12)
    assert gradient.parameters["dt"] == pytest.approx(-35.38407909576503, rel=1e-11)


def test_a_channel_with_a_body_and_heat_has_a_right_gradient():
    y = (np.arange(10) + 0.5) / 10
    system = costate.fluid.flow(
        (24, 10), width=0.1, dt=0.02, viscosity=0.02, force=[0.0, 0.0],
        sides={"west": {"velocity": [4 * y * (1 - y), 0.0]}, "east": "outflow", "south": "wall", "north": "wall"},
        obstacles=[{"name": "disc", "center": [0.8, 0.5], "size": 0.2}],
        scalars=[{"name": "T", "diffusivity": 0.02, "buoyancy": [0.0, 1.0], "sides": {"south": 1.0}}])
    sim = system.rollout(20, active=["disc/*", "west/u", "T/*"])
    loss = costate.loss.final("disc/force", [0.0, 0.0])
    value, gradient = sim.value_and_grad({}, loss=loss)
    assert value > 0
    for result in sim.check({}, loss=loss):
        assert result.passed, result
    assert gradient.parameters["disc/size"].shape == () and gradient.parameters["west/u"].shape == (10,)


def test_smoke_that_is_traced_back_has_a_right_gradient():
    system = costate.fluid.flow(
        (10, 12), dt=0.7, viscosity=0.05, scheme="semi_lagrangian",
        sides=dict.fromkeys(["west", "east", "south", "north"], "wall"),
        obstacles=[{"name": "disc", "center": [5.2, 7.1], "size": 2.0, "core": "soft"}],
        scalars=[{"name": "smoke", "diffusivity": 0.0, "buoyancy": [0.0, 0.4], "source": np.linspace(0, 0.3, 120),
                  "carried": "mac_cormack"}])
    sim = system.rollout(6, active=["disc/size", "smoke/buoyancy"])
    loss = costate.loss.final("smoke", np.full(120, 0.3))
    value, gradient = sim.value_and_grad({}, loss=loss)
    h = 1e-4
    moved = [sim.value({}, p={"smoke/buoyancy": [0.0, 0.4 + s * h]}, loss=loss) for s in (-1, 1)]
    assert gradient.parameters["smoke/buoyancy"][1] == pytest.approx((moved[1] - moved[0]) / (2 * h), rel=1e-5)
    with pytest.raises(costate.Error, match="is to be traced back"):
        costate.fluid.flow((8, 8), scalars=[{"carried": "semi_lagrangian"}])


def test_a_flow_says_what_is_wrong():
    with pytest.raises(costate.Error, match="west = 'wal'"):
        costate.fluid.flow((8, 8), sides={"west": "wal"})
    with pytest.raises(costate.Error, match="unknown key 'radius'"):
        costate.fluid.flow((8, 8), obstacles=[{"radius": 1.0}])
    with pytest.raises(costate.Error, match="is periodic and"):
        costate.fluid.flow((8, 8), sides={"west": "wall"})
    with pytest.raises(costate.Error, match="there is no side 'up'"):
        costate.fluid.flow((8, 8), sides={"up": "wall"})


def test_a_body_that_moves_has_a_gradient_with_respect_to_its_motion():
    system = costate.fluid.flow((20, 14), dt=0.2, viscosity=0.1, pressure=True,
                                obstacles=[{"name": "disc", "center": [10.0, 7.0], "size": 2.5, "velocity": [-0.4, 0.1], "moves": True}])
    sim = system.rollout(10, active=["disc/*"])
    loss = costate.loss.final("disc/force", [0.0, 0.0])
    value, gradient = sim.value_and_grad({}, loss=loss)
    assert value > 0 and gradient.parameters["disc/velocity"].shape == (2,)
    for result in sim.check({}, loss=loss):
        assert result.passed, result


def test_creeping_flow_has_a_gradient_with_respect_to_every_cell():
    y = (np.arange(6) + 0.5) / 6
    system = costate.fluid.flow((9, 6), width=1/6, viscosity=1.0, resistance=np.linspace(0, 5, 54), scheme="stokes",
                                sides={"west": {"velocity": [y * (1 - y), 0.0]}, "east": "outflow", "south": "wall", "north": "wall"})
    sim = system.rollout(1, active=["resistance"])
    loss = costate.loss.final("dissipation", [0.0])
    value, gradient = sim.value_and_grad({}, loss=loss)
    assert value > 0 and gradient.parameters["resistance"].shape == (54,)
    for result in sim.check({}, loss=loss):
        assert result.passed, result
