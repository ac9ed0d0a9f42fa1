import numpy as np
import pytest

import costate


def hanging(**given):
    vertices, triangles = costate.soft.cloth_mesh([0.3, 0.3], [3, 3])
    return costate.soft.bodies(
        vertices, [{"name": "cloth", "cells": "triangles", "vertices": triangles}],
        [{"name": "cotton", "law": "stvk", "E": 1e5, "nu": 0.3, "density": 0.2, "thickness": 1e-3, "bending": 1e-5}],
        holds=[{"name": "corners", "vertices": [12, 15], "driven": True}], **given)


def test_a_cloth_on_two_moving_corners_has_a_right_gradient():
    # Checks move numbers in proportion to themselves, and those that are zero by as much as one: not those of damping.
    sim = hanging(tolerance=1e-13).rollout(10, active=["rest", "gravity", "dt", "material/cotton/E", "material/cotton/bending"])
    loss = costate.loss.final("x", np.zeros(48))
    value, gradient = sim.value_and_grad({}, loss=loss)
    assert value > 0
    assert gradient.parameters["rest"].shape == (48,)
    for result in sim.check({}, loss=loss):
        assert result.passed, result


# Folded to an angle over a hinge of width 1/3 m, a sheet keeps a crease of that angle less the yield.
def test_what_is_bent_beyond_its_yield_keeps_a_crease():
    rest = [[0, 0, 0], [0, 1, 0], [-1, 0.5, 0], [1, 0.5, 0]]
    x = [*rest[:3], [np.cos(1.2), 0.5, np.sin(1.2)]]
    system = costate.soft.bodies(
        rest, [{"name": "sheet", "cells": "triangles", "vertices": [[0, 1, 2], [1, 0, 3]]}],
        [{"name": "paper", "law": "stvk", "density": 0.6, "bending": 0.05, "yield_curvature": 0.6}],
        holds=[{"vertices": [0, 1, 2, 3]}], x=x)
    sim = system.rollout(1, active=["material/paper/yield_curvature"])
    value, gradient = sim.value_and_grad({}, loss=costate.loss.final("part/sheet/crease", [0.0]))
    assert value == pytest.approx((1.2 - 0.6 / 3) ** 2 / 2, rel=1e-12)
    assert gradient.parameters["material/paper/yield_curvature"] == pytest.approx(-(1.2 - 0.6 / 3) / 3, rel=1e-12)


# The shape depends on density gravity / E alone.
def test_a_state_of_rest_depends_on_the_ratio_of_stiffness_to_weight():
    vertices, cells = costate.soft.block_mesh([1.0, 0.1, 0.1], [6, 1, 1], cells="quadratic_tetrahedra")
    held = [i for i, v in enumerate(vertices) if v[0] == 0]
    system = costate.soft.bodies(vertices, [{"cells": "quadratic_tetrahedra", "vertices": cells}],
                                 [{"name": "m", "E": 1e6, "density": 1000.0}],
                                 holds=[{"vertices": held}], integrator="still", tolerance=1e-12)
    sim = system.rollout(1)
    _, gradient = sim.value_and_grad({}, loss=costate.loss.final("x", np.zeros(3 * len(vertices))))
    p = gradient.parameters
    assert 1e6 * p["material/m/E"] == pytest.approx(-1000 * p["material/m/density"], rel=1e-9)
    assert p["material/m/density"] * 1000 == pytest.approx(-9.81 * p["gravity"][2], rel=1e-9)


def test_a_rod_bends_as_a_beam_does():
    n = 20
    h = 1 / (n - 0.5)  # the clamp is in the middle of the first segment
    points = [[h * (k - 0.5), 0, 0] for k in range(n + 1)]
    vertices, segments = costate.soft.rod_mesh(points, towards=[0, 0, 1], beside=h / 2)
    rod = costate.soft.bodies(
        vertices, [{"cells": "rods", "vertices": segments}],
        [{"name": "m", "law": "rod_stiffness", "stretch": 1e5, "bend_1": 1.0, "bend_2": 1.0, "twist": 1.0, "gyration": 1e-9,
          "density": 1.0}],
        holds=[{"name": "clamp", "vertices": [0, 1, n + 1]}], gravity=[0, 0, -0.01], integrator="still")
    sim = rod.rollout(1, active=["material/m/bend_1"])
    value, gradient = sim.value_and_grad({}, loss=costate.loss.expression(f"-x[{3 * n + 2}]"))
    assert value == pytest.approx(0.01 / 8, rel=2e-3)  # weight L^4/(8 EI)
    assert gradient.parameters["material/m/bend_1"] == pytest.approx(-0.01 / 8, rel=2e-3)


def test_a_cloth_rides_on_a_model_and_weighs_on_it(tmp_path):
    (tmp_path / "arm.xml").write_text("""<mujoco><worldbody><body name="arm"><joint name="joint" axis="0 1 0"/>
      <inertial pos="0.1 0 0" mass="0.2" diaginertia="1e-3 2e-3 2e-3"/></body></worldbody>
      <actuator><motor name="motor" joint="joint"/></actuator></mujoco>""")

    def bodies(**more):
        vertices, triangles = costate.soft.cloth_mesh([0.2, 0.2], [2, 2])
        return costate.soft.bodies(
            np.array(vertices) + [0.1, 0, 0], [{"cells": "triangles", "vertices": triangles}],
            [{"name": "cotton", "law": "stvk", "E": 1e4, "nu": 0.3, "density": 2.0, "bending": 1e-4}],
            holds=[{"name": "seam", "vertices": [0, 3, 6], "body": "arm"}], tolerance=1e-12, **more)

    system = bodies(model=tmp_path / "arm.xml")
    sim = system.rollout(8, active=["material/cotton/density", "body/arm/mass", "joint/joint/*"])
    loss = costate.loss.final("model/q", [0.3])
    value, gradient = sim.value_and_grad({}, loss=loss)
    assert gradient.parameters["material/cotton/density"] != 0  # the arm feels the cloth
    h = 1e-4
    for name, at in (("material/cotton/density", 2.0), ("body/arm/mass", 0.2)):
        there, here = (sim.value_and_grad({}, p={name: at + d}, loss=loss)[0] for d in (h, -h))
        assert gradient.parameters[name] == pytest.approx((there - here) / (2 * h), rel=1e-5)
    with pytest.raises(costate.Error, match="there is no model with bodies"):
        bodies()
    with pytest.raises(costate.Error, match="keyframe without a model"):
        bodies(keyframe="up")


def test_soft_bodies_say_what_is_wrong():
    with pytest.raises(costate.Error, match="no law 'stvkk' of a membrane"):
        vertices, triangles = costate.soft.cloth_mesh([1, 1], [1, 1])
        costate.soft.bodies(vertices, [{"cells": "triangles", "vertices": triangles}], [{"law": "stvkk"}])
    with pytest.raises(costate.Error, match="integrator = 'eulr'"):
        hanging(integrator="eulr")
    with pytest.raises(costate.Error, match="not known"):
        costate.soft.bodies([[0, 0, 0]], [{"cell": "triangles"}], [])


@pytest.mark.parametrize("ending", ["obj", "ply", "stl", "msh"])
def test_a_mesh_is_written_and_read(tmp_path, ending):
    vertices, triangles = costate.soft.cloth_mesh([0.5, 0.25], [2, 1])
    path = str(tmp_path / f"cloth.{ending}")
    costate.soft.write_mesh(path, vertices, triangles)
    mesh = costate.soft.read_mesh(path)
    np.testing.assert_array_equal(mesh["vertices"][mesh["triangles"]], np.array(vertices)[np.array(triangles)])
    system = costate.soft.bodies(mesh["vertices"], [{"cells": "triangles", "vertices": mesh["triangles"]}], [{"law": "stvk"}])
    assert system.initial_state.size == 6 * len(mesh["vertices"])


def test_a_scene_takes_its_parts_from_files(tmp_path):
    vertices, cells = costate.soft.block_mesh([1.0, 0.1, 0.1], [4, 1, 1])
    costate.soft.write_mesh(str(tmp_path / "beam.msh"), vertices, cells, kind="tetrahedra")
    scene = tmp_path / "beam.toml"
    scene.write_text('''[soft]
[[materials]]
name = "rubber"
[[parts]]
name = "beam"
file = "beam.msh"
scale = 0.5
[run]
steps = 2
[[loss]]
kind = "position"
of = "part/beam/4"
target = [0.0, 0.0, 0.0]
''')
    assert ("vertices", "20") in costate.load(scene).facts
    (tmp_path / "beam.msh").write_text("nothing")
    with pytest.raises(costate.Error, match="beam.msh|header"):
        costate.load(scene)


def test_a_tube_is_closed_where_its_radius_is_zero():
    vertices, triangles = costate.soft.tube_mesh([[0, 0, 0], [0, 0, 1], [0, 0, 1.2]], [0.5, 0.4, 0], [12, 6])
    assert len(vertices) == 6 * 12 + 1 and len(triangles) == (2 * 6 - 1) * 12
    assert np.hypot(*vertices[0][:2]) == pytest.approx(0.5)
    with pytest.raises(costate.Error, match="a radius for each point"):
        costate.soft.tube_mesh([[0, 0, 0], [0, 0, 1]], [1.0], [8, 4])
