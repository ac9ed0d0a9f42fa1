from pathlib import Path

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


def test_limited_fluxes_carry_a_front_without_ripples_and_have_a_right_gradient():
    def box(carried, limited):
        return costate.fluid.flow((16, 12), dt=0.2, viscosity=0.02, sides={"west": {"velocity": [0.5, 0.01]}, "east": "outflow"}, limited=limited,
                                  scalars=[{"name": "dye", "diffusivity": 0.0, "carried": carried, "sides": {"west": 1.0}}])
    least = {}
    for carried in ("central", "limited"):
        sim = box(carried, True).rollout(60)
        x0 = np.zeros(17 * 12 + 16 * 12 + 16 * 12)
        x0[:17 * 12] = 0.5
        dye = np.asarray(sim.simulate(x0).final_state)[-16 * 12:]
        least[carried] = 1 - dye.max()
    assert least["limited"] > -1e-10 and least["central"] < -0.02
    sim = box("limited", True).rollout(3, active=["west/u", "dye/west", "dt"])
    x0 = 0.5 + 0.1 * np.sin(np.arange(x0.size))
    for result in sim.check(x0, loss=costate.loss.final("dye", np.zeros(16 * 12))):
        assert result.passed, result
    with pytest.raises(costate.Error, match="has no fluxes of speeds"):
        costate.fluid.flow((8, 8), scheme="semi_lagrangian", limited=True)


def test_tracers_arrive_somewhere_and_have_a_right_gradient():
    system = costate.fluid.flow((12, 10), dt=0.1, viscosity=0.05, sides=dict.fromkeys(["south", "north"], "wall"), tracers=[{"name": "seeds", "count": 2}])
    x0 = np.zeros(system.signature.state_size)
    x0[:120] = 0.8
    x0[-4:] = [1.3, 4.2, 2.6, 0.3]
    sim = system.rollout(10)
    seeds = np.asarray(sim.simulate(x0).final_state)[-4:]
    assert 2.0 < seeds[0] < 2.15 and seeds[2] < seeds[0] + 1.3 and seeds[1] == pytest.approx(4.2, abs=1e-6)  # a wall holds the second one back
    for result in sim.check(x0, loss=costate.loss.final("seeds", [3.0, 4.0, 5.0, 6.0])):
        assert result.passed, result


def test_probes_dissipation_and_mix_norms_have_names():
    system = costate.fluid.flow((8, 8), width=0.125, dt=0.01, viscosity=0.1, force=[1.0, 0.0], pressure=True, dissipation=True,
                                sides=dict.fromkeys(["south", "north"], "wall"), scalars=[{"name": "T", "mix_norm": True}],
                                probes=[{"name": "middle", "place": [0.3, 0.5]}, {"name": "drop", "place": [0.1, 0.2], "minus": [0.1, 0.8]}])
    sizes = {f.name: f.size for f in system.signature.states}
    assert {n: sizes[n] for n in ("middle/velocity", "drop/T", "drop/p", "dissipation", "T/mix_norm_squared")} == {
        "middle/velocity": 2, "drop/T": 1, "drop/p": 1, "dissipation": 1, "T/mix_norm_squared": 1}
    sim = system.rollout(40)
    for result in sim.check({}, loss=costate.loss.final("dissipation", [0.0])):
        assert result.passed, result
    with pytest.raises(costate.Error, match="lies outside of the box"):
        costate.fluid.flow((8, 8), probes=[{"place": [9.0, 1.0]}])
    with pytest.raises(costate.Error, match="has no 'place'"):
        costate.fluid.flow((8, 8), probes=[{"name": "x"}])


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


def test_a_body_may_have_any_outline():
    cells, h = (40, 20), 0.05
    places = costate.fluid.cell_places(cells, h)
    angle = 2 * np.pi * np.arange(10) / 10
    control = np.stack([0.7 + 0.3 * np.cos(angle), 0.5 + 0.22 * np.sin(angle)], axis=1)
    corners = costate.fluid.spline_corners(control, 6)
    y = (np.arange(20) + 0.5) * h
    system = costate.fluid.flow(cells, width=h, dt=0.02, viscosity=0.02,
                                sides={"west": {"velocity": [4 * y * (1 - y), 0.0]}, "east": "outflow", "south": "wall", "north": "wall"},
                                obstacles=[{"name": "hull", "shape": "level", "center": [0.7, 0.5],
                                            "size": costate.fluid.outline_depths(places, corners)}])
    sim = system.rollout(15, active=["hull/level"])
    loss = costate.loss.final("hull/force", [0.0, 0.0])

    def value(points):
        depths = costate.fluid.outline_depths(places, costate.fluid.spline_corners(points, 6))
        return sim.value({}, p={"hull/level": depths}, loss=loss)

    _, gradient = sim.value_and_grad({}, loss=loss)
    bar = costate.fluid.outline_depths_vjp(places, corners, gradient.parameters["hull/level"])
    bar = costate.fluid.spline_corners_vjp(control, bar, 6)
    along, e = np.sin(np.arange(20.0)).reshape(10, 2), 1e-6
    assert np.sum(bar * along) == pytest.approx((value(control + e * along) - value(control - e * along)) / (2 * e), rel=1e-5)


def test_a_mesh_has_depths_with_a_transpose():
    vertices = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float)
    triangles = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    places = costate.fluid.cell_places((4, 4, 4), 0.6) - [1.2, 1.25, 1.15]
    depths = costate.fluid.mesh_depths(places, vertices, triangles)
    np.testing.assert_allclose(depths[depths > 0], (1 - np.abs(places[depths > 0]).sum(axis=1)) / np.sqrt(3), rtol=1e-12)
    bar = costate.fluid.mesh_depths_vjp(places, vertices, triangles, np.cos(np.arange(64.0)))
    along, e = np.sin(np.arange(18.0)).reshape(6, 3), 1e-6
    value = lambda v: np.cos(np.arange(64.0)) @ costate.fluid.mesh_depths(places, v, triangles)
    assert np.sum(bar * along) == pytest.approx((value(vertices + e * along) - value(vertices - e * along)) / (2 * e), rel=1e-6)


def test_the_flow_moves_a_free_body():
    system = costate.fluid.flow((20, 24), dt=0.1, viscosity=0.1, sides=dict.fromkeys(["west", "east", "south", "north"], "wall"),
                                obstacles=[{"name": "plate", "shape": "box", "center": [10.0, 15.0], "size": [4.0, 1.6], "angle": 0.3,
                                            "free": {"mass": 20.0, "inertia": 100.0, "gravity": [0.0, -0.3]}}])
    sim = system.rollout(20, active=["plate/*"])
    final = system.signature
    moved = next(f for f in final.states if f.name == "plate/moved")
    end = sim.simulate({}).final_state
    assert end[moved.offset + 1] < -0.1 and abs(end[moved.offset + 2]) > 1e-4  # it falls, and turns
    for result in sim.check({}, loss=costate.loss.final("plate/moved", [0.0, 0.0])):
        assert result.passed, result
    with pytest.raises(costate.Error, match="free has an unknown key 'weight'"):
        costate.fluid.flow((20, 24), obstacles=[{"center": [9, 9], "size": 3, "free": {"weight": 1}}])


def test_a_model_swims_and_has_a_right_gradient():
    fish = costate.fluid.flow((56, 36), width=1/30, dt=0.02, viscosity=0.002, sides=dict.fromkeys(["west", "east", "south", "north"], "wall"),
                              model=Path(__file__).parents[2] / "scenes/fish.xml", density=1.0)
    sim = fish.rollout(10, active=["density", "head/size"])
    beat = np.linspace(0.05, -0.02, 10)[:, None]
    tail = next(f for f in fish.signature.states if f.name == "model/q").offset + 3
    assert sim.simulate({}, beat).final_state[tail] > 1e-3  # where the motor bends it
    for result in sim.check({}, beat, loss=costate.loss.final("model/q", [1.0, 0.0, 0.0, 0.0])):
        assert result.passed, result
    with pytest.raises(costate.Error, match="add model='fish.xml'"):
        costate.fluid.flow((40, 27), geoms=["head"])


def test_apply_and_vjp_of_velocities_in_the_middle_of_cells():
    n, nu, dt, steps = 16, 0.05, 0.1, 10
    h = 2 * np.pi / n
    solver = costate.fluid.Collocated((n, n), width=h, dt=dt, viscosity=nu, steps=steps)
    x = (np.arange(n) + 0.5) * h
    v0 = np.stack([np.sin(x)[None, :] * np.cos(x)[:, None], -np.cos(x)[None, :] * np.sin(x)[:, None]])
    z = -nu * dt * 8 / h**2 * np.sin(h / 2) ** 2
    np.testing.assert_allclose(solver.apply({"velocity": v0})["velocity"], v0 * (1 + z + z**2 / 2 + z**3 / 6) ** steps, atol=1e-12)
    rng = np.random.default_rng(3)
    v0 = v0 + 0.1 * rng.standard_normal(v0.shape)
    bar, along, e = rng.standard_normal(v0.shape), rng.standard_normal(v0.shape), 1e-5
    bars = solver.vjp({"velocity": v0, "viscosity": nu}, ["velocity", "viscosity", "dt"], {"velocity": bar})
    value = lambda v, viscosity: np.sum(bar * solver.apply({"velocity": v, "viscosity": viscosity})["velocity"])
    assert np.sum(bars["velocity"] * along) == pytest.approx((value(v0 + e * along, nu) - value(v0 - e * along, nu)) / (2 * e), rel=1e-6)
    assert bars["viscosity"] == pytest.approx((value(v0, nu + e) - value(v0, nu - e)) / (2 * e), rel=1e-6)
    with pytest.raises(costate.Error, match="no input 'pressure'"):
        solver.apply({"velocity": v0, "pressure": 0})


def test_the_scatter_of_a_shape_derivative_is_measured():
    def scatter(core):
        system = costate.fluid.flow((24, 24), width=1 / 24, dt=0.004, viscosity=0.1, force=[1.0, 0.0],
                                    obstacles=[{"name": "disc", "center": [0.5, 0.5], "size": 0.2, "mask": core}])
        sim = system.rollout(40, active=["disc/size"])
        return costate.fluid.shape_scatter(sim, "disc", width=1 / 24, loss=costate.loss.final("disc/force", [0.0, 0.0]))

    wide, thin = scatter(1.0), scatter(0.2)
    assert wide["derivatives"].shape == (4, 1) and wide["scatter"] < 0.02 < thin["scatter"]
    with pytest.raises(costate.Error, match="no obstacle 'ball'"):
        costate.fluid.shape_scatter(costate.fluid.flow((8, 8)).rollout(1), "ball", width=1.0, loss=None)


def test_a_network_inside_the_step_learns_through_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import costate.jax
    n = 8
    step = costate.jax.rollout(costate.fluid.flow((n, n), dt=0.1, viscosity=0.05, push=True).rollout(1, active=[]))
    x0 = 0.3 * np.sin(np.arange(2.0 * n * n))

    def final(weight):
        x = x0
        for _ in range(4):
            x = step(x, weight * jax.numpy.tanh(x)[None, :], {})
        return jax.numpy.sum(x**2)

    slope, e = float(jax.grad(final)(0.1)), 1e-5
    assert slope == pytest.approx(float(final(0.1 + e) - final(0.1 - e)) / (2 * e), rel=1e-7)


def test_a_stretched_grid_has_a_right_gradient():
    fine = [[0, 2], [0.4, 1], [1.2, 1], [2.4, 4]]
    widths = costate.fluid.graded_widths(fine, 24)
    assert widths.sum() == pytest.approx(2.4) and widths[-1] / widths[8] == pytest.approx(4, rel=0.2)
    places = costate.fluid.cell_places((24, 10), (fine, 0.1))
    np.testing.assert_allclose(places[:24, 0], np.cumsum(widths) - widths / 2)
    np.testing.assert_allclose(places[::24, 1], 0.05 + 0.1 * np.arange(10))
    system = costate.fluid.flow((24, 10), width=(fine, 0.1), dt=0.01, viscosity=0.02,
                                sides={"west": {"velocity": [1.0, 0.0]}, "east": "outflow", "south": "wall", "north": "wall"},
                                obstacles=[{"name": "disc", "center": [0.8, 0.5], "size": 0.2}])
    sim = system.rollout(10, active=["disc/*", "west/u"])
    loss = costate.loss.final("disc/force", [0.0, 0.0])
    assert sim.value({}, loss=loss) > 0
    for result in sim.check({}, loss=loss):
        assert result.passed, result
    told = costate.fluid.flow((24, 10), width=(widths, np.full(10, 0.1)), dt=0.01, viscosity=0.02)
    assert told.signature.state_size == costate.fluid.flow((24, 10)).signature.state_size
    with pytest.raises(costate.Error, match="an axis of 24 cells has 3 widths"):
        costate.fluid.flow((24, 10), width=([1, 2, 3], 0.1))
    with pytest.raises(costate.Error, match="width is one number, or one per axis"):
        costate.fluid.flow((24, 10), width=[0.1, 0.1, 0.1])


def test_reactions_turn_scalars_into_others():
    system = costate.fluid.flow((4, 3), dt=0.1, scalars=[{"name": "A", "diffusivity": 0.0}, {"name": "B", "diffusivity": 0.0}],
                                reactions=[{"name": "decay", "rate": 0.7, "takes": {"A": 1}, "makes": {"B": 2}}])
    sim = system.rollout(10, active=["decay/rate"])
    loss = costate.loss.final_value("B", 5, 1.0)
    value, gradient = sim.value_and_grad({"A": np.full(12, 1.5)}, loss=loss)
    assert value == pytest.approx(3 * (1 - np.exp(-0.7)), rel=1e-4)
    assert gradient.parameters["decay/rate"] == pytest.approx(3 * np.exp(-0.7), rel=1e-3)
    with pytest.raises(costate.Error, match="there is no scalar 'C'"):
        costate.fluid.flow((8, 8), scalars=[{"name": "A"}], reactions=[{"takes": {"C": 1}}])
    with pytest.raises(costate.Error, match="a reaction has an unknown key 'speed'"):
        costate.fluid.flow((8, 8), scalars=[{"name": "A"}], reactions=[{"takes": {"A": 1}, "speed": 3}])
