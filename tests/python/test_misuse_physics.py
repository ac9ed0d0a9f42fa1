"""Molecules, soft bodies, flows and controllers: wrong shapes and numbers are errors that say what was expected."""
import numpy as np
import pytest

import costate


@pytest.mark.parametrize("loss, message", [
    (lambda s: costate.md.observe(s, "potential_energy", target=np.nan), "target 0 of the loss is not finite"),
    (lambda s: costate.md.observe(s, "potential_energy", weight=np.inf), "weight 0 of the loss is not finite"),
    (lambda s: costate.md.observe_energies(s, target=[0.0, np.nan]), "target 1 of the loss is not finite"),
    (lambda s: costate.md.observe_energies(s, weights=[np.nan, 1.0]), "weight 0 of the loss is not finite"),
    (lambda s: costate.md.observe_motion(s, weights=np.nan), "weight 0 of the loss is not finite"),
    (lambda s: costate.md.observe_distribution(s, radii=[1.0], target=[np.inf]), "target 0 of the loss is not finite"),
])
def test_losses_of_molecules_compare_with_numbers(loss, message):
    system = costate.md.system([[0.0, 0, 0], [1.2, 0, 0]], 1.0, [{"kind": "lennard_jones", "cutoff": 2.5}], box=[6.0, 6.0, 6.0],
                               integrator="verlet")
    with pytest.raises(costate.Error, match=message):
        loss(system)


def test_the_place_of_a_collider_that_rests_is_named(tmp_path):
    file = tmp_path / "box.toml"
    file.write_text("""
[domain]
dimension = 2
high = [0.4, 0.4]
dx = 0.02
[run]
duration = 0.01
[[materials]]
name = "water"
kind = "liquid"
[[colliders]]
name = "box"
shape = {kind = "box", half = [0.1, 0.05]}
position = [0.2, 0.1]
[[fill]]
material = "water"
shape = {kind = "box", half = [0.05, 0.05]}
position = [0.2, 0.25]
[[loss]]
kind = "position"
of = "particles/mean"
target = [0.2, 0.3]
[optimize]
variables = [{name = "box.position"}]
""")
    with pytest.raises(costate.Error, match="'box.position' is not a variable") as caught:
        costate.load(file)
    assert caught.value.advice == "write parameters.collider/box/position"


class TestTheNewestPhysics:
    """Each of these was accepted, or crashed, or gave another number."""
    PAIR = np.array([[0.0, 0, 0], [1.2, 0, 0]])
    LJ = [{"kind": "lennard_jones"}]
    THREE = np.array([[0.0, 0, 0], [1.2, 0, 0], [0.0, 1.2, 0]])
    TETRAHEDRON = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]

    @pytest.mark.parametrize("call, message", [
        (lambda s: costate.md.system(s.PAIR, 1.0, [{"kind": "lennard_jones", "cutoff": np.nan}]), "the cutoff is nan"),
        (lambda s: costate.md.system(s.PAIR, 1.0, [{"kind": "harmonic_bond", "atoms": [[0, 1.5]]}]), "not whole"),
        (lambda s: costate.md.system(s.PAIR, 1.0, [dict(s.LJ[0], exclude=[[0, 1]])]), "excludes every pair"),
        (lambda s: costate.md.system(s.PAIR, 1.0, s.LJ, integrator="verlet", thermostat_masses=[1.0]), "no thermostat"),
        (lambda s: costate.md.energy_and_forces(s.PAIR * np.nan, s.LJ), "not finite"),
        (lambda s: costate.md.load_structure("/dev/zero"), "the ending of this file"),
        (lambda s: costate.md.xyz(["Ar", "A r"], s.PAIR), "without spaces"),
    ])
    def test_molecules(self, call, message):
        with pytest.raises(costate.Error, match=message):
            call(self)

    @pytest.mark.parametrize("call, message", [
        (lambda s: costate.md.system(s.PAIR, 1.0, s.LJ, v=np.zeros((3, 2))), "v has the shape"),
        (lambda s: costate.md.system(s.PAIR, 1.0, s.LJ, rigid_lengths=1.0), "belong together"),
        (lambda s: costate.md.system(s.PAIR, 1.0, [{"kind": "neural", "cutoff": 0}]), "the cutoff is 0"),
        (lambda s: costate.md.pair_distribution(s.PAIR * np.nan, [6, 6, 6], radii=[1.0]), "not finite"),
        (lambda s: costate.md.system(s.THREE, 1.0, s.LJ, rigid_bonds=np.array([[0, 1], [0, 2], [1, 2]]).T, rigid_lengths=1.0),
         r"rigid_bonds has the shape \(2, 3\)"),
        (lambda s: costate.md.system(s.THREE, 1.0, [{"kind": "harmonic_angle", "atoms": [[0], [1], [2]]}]), "atoms has the shape"),
        (lambda s: costate.md.system(s.PAIR, 1.0, s.LJ, integrator="preconditioned", preconditioner=np.ones((9, 4))),
         "preconditioner has the shape"),
        (lambda s: costate.md.xyz(["Ar", "Ar"], s.PAIR.T), "x has the shape"),
        (lambda s: costate.md.system(s.THREE, 1.0, [dict(s.LJ[0], exclude=[[0, 9]])]), "excludes atom 9"),
        (lambda s: costate.md.system(s.THREE, 1.0, [dict(s.LJ[0], atoms=[[0, 1]], exclude=[[0, 2]])]), "no effect"),
        (lambda s: costate.soft.mass_spring(s.PAIR, 1.0, [], v=np.zeros((3, 2))), "v has the shape"),
        (lambda s: costate.soft.bodies(np.array(s.TETRAHEDRON).T, [{"cells": "tetrahedra", "vertices": [[0, 1, 2, 3]]}], [{}]),
         "rest has the shape"),
        (lambda s: costate.soft.bodies(s.TETRAHEDRON, [{"cells": "tetrahedra", "vertices": [[0], [1], [2], [3]]}], [{}]),
         "has the shape"),
        (lambda s: costate.soft.bodies(s.TETRAHEDRON, [{"cells": "tetrahedra", "vertices": [[0, 1, 2, 2.5]]}], [{}]), "not whole"),
        (lambda s: costate.soft.rod_mesh(np.ones((3, 2)), [0, 0, 1], 0.1), "points has the shape"),
        (lambda s: costate.mpm.particles(np.ones((3, 2)), 1.0, [{}], dx=0.1, nodes=[30, 30], dt=1e-4, v=np.zeros((2, 3))),
         "v has the shape"),
        (lambda s: costate.mpm.particles(np.ones((0, 2)), 1.0, [{}], dx=0.1, nodes=[30, 30], dt=1e-4, actuator=[]), "no particles"),
    ])
    def test_shapes_of_bodies(self, call, message):
        with pytest.raises(costate.Error, match=message):
            call(self)

    def test_a_loss_of_atoms_is_of_their_system(self):
        few, many = (costate.md.system(np.arange(3.0 * n).reshape(n, 3), 1.0, self.LJ, integrator="verlet") for n in (2, 40))
        for loss in [costate.md.observe(many, "potential_energy"), costate.md.observe_motion(many),
                     costate.md.observe(few, "kinetic_energy")]:
            other = few if "potential" in repr(loss) or "motion" in repr(loss) else many
            with pytest.raises(costate.Error, match="another system"):
                other.rollout(1).value(loss=loss)

    @pytest.mark.parametrize("options, message", [
        (dict(viscosity=np.ones((16, 12))), "instead of"),
        (dict(obstacles=[{"name": "b", "center": [5, 5], "size": 0.2}]), "outside of the box"),
        (dict(obstacles=[{"name": "b", "size": 0.2}]), "no 'center'"),
        (dict(sides={"west": {"velocity": 1.0}, "east": "outflow"}), "a component per axis"),
        (dict(obstacles=[{"name": "", "center": [0.4, 0.4], "size": 0.2}]), "another name"),
        (dict(obstacles=[{"name": "b", "center": [0.4, 0.4], "size": 0.2, "angle": 1.0}]), "turns nothing"),
    ])
    def test_flows(self, options, message):
        with pytest.raises(costate.Error, match=message):
            costate.fluid.flow((16, 12), width=1 / 16, **options)

    def test_grids(self):
        with pytest.raises(costate.Error, match="instead of"):
            costate.grid.heat(4, 5, conductivity=np.ones((4, 5)))
        assert costate.grid.heat(4, 5, conductivity=np.ones((5, 4))).parameters["conductivity"].shape == (20,)
        with pytest.raises(costate.Error, match="not negative"):
            costate.grid.wave(4, 4, damping=-1.0)
        with pytest.raises(costate.Error, match="the rate of 'c' is not text"):
            costate.grid.own({"c": lambda c: c}, 4, 4)
        with pytest.raises(costate.Error, match="the parameter 'k' is nan"):
            costate.grid.own({"c": "k*c"}, 4, 4, parameters={"k": np.nan})
        assert np.allclose(costate.grid.own({"c": 3}, 2, 2, dt=0.1).rollout(1).simulate().final_state, 0.3)

    @pytest.mark.parametrize("options, message", [
        (dict(samples=10**12), "do not fit"), (dict(difference=0.0), "difference is 0"), (dict(every=-1), "every is negative"),
    ])
    def test_estimates(self, options, message):
        well = costate.md.system([[-1.0]], 1.0, [{"kind": "double_well"}], integrator="overdamped", kT=0.5, dt=0.05)
        with pytest.raises(costate.Error, match=message):
            costate.estimate.gradient(well, costate.loss.final("x"), 10, **options)
        one = costate.estimate.gradient(well, costate.loss.final("x"), 10, samples=50, parameters="double_well/a")
        assert list(one["gradient"]) == ["double_well/a"]

    def test_shapes_of_control(self):
        system = costate.equations(["angle", "rate"], "angle_dot = rate; rate_dot = torque - sin(angle)", controls=["torque"])
        seen = [costate.loss.expression("angle")]
        with pytest.raises(costate.Error, match="instead of"):
            costate.control.filter(system, np.zeros((5, 2)), seen, np.eye(2), [[1.0]], [0, 0], np.eye(2))
        with pytest.raises(costate.Error, match="instead of"):
            costate.control.lqr(np.eye(2), np.ones((1, 2)), np.eye(2), np.eye(2))
        with pytest.raises(costate.Error, match="not a loss of the final state"):
            effort = [costate.loss.expression("torque^2", "each_step")]
            costate.control.filter(system, np.zeros((5, 1)), effort, np.eye(2), [[1.0]], [0, 0], np.eye(2))

    def test_settings_that_are_none(self):
        system = costate.equations(["x"], "x_dot = -k*x", parameters={"k": 1.0})
        seen, run = [costate.loss.expression("x")], {"y": np.zeros((5, 1)), "x0": [1.0]}
        for recordings, unknowns, message in [([5], {"k": None}, "a recording is not a dict"), ([run], {"k": 5}, "neither None nor a dict")]:
            with pytest.raises(costate.Error, match=message):
                costate.control.identify(system, recordings, seen, 0.1, unknowns)
        for tuned, message in [(5, "not tuned by a dict"), ({"deviation": 0.1, "lower": 1, "upper": 0}, "contradict each other")]:
            with pytest.raises(costate.Error, match=message):
                costate.control.Twin(system, seen, [1.0], [[1.0]], [[0.1]], [0.1], {"k": tuned})

    def test_a_library_without_a_name(self):
        with pytest.raises(costate.Error, match="empty"):
            costate.load_plugin("")
