"""Numbers that nothing physical has are refused by every physics when they are given for a run, not only when a model is made."""
import pickle

import numpy as np
import pytest

import costate


def _cloth():
    vertices, triangles = costate.soft.cloth_mesh([1.0, 1.0], [2, 2])
    cotton = {"name": "cotton", "law": "stvk", "density": 0.2, "E": 1e3, "nu": 0.3, "bending": 1e-4}
    return costate.soft.bodies(vertices, [{"cells": "triangles", "vertices": triangles, "material": 0}], [cotton])


def _argon(**settings):
    return costate.md.system([[0.0, 0, 0], [1.2, 0, 0]], 1.0, [{"kind": "lennard_jones"}], **settings)


def _ball_in_a_stream():
    ball = {"name": "ball", "shape": "ball", "center": [0.4, 0.4], "size": [0.15]}
    return costate.fluid.flow((16, 16), width=0.05, dt=1e-3, viscosity=0.01, obstacles=[ball])


def _water():
    return costate.mpm.particles(np.array([[0.4, 0.5], [0.5, 0.5]]), 0.01, [{"name": "water", "kind": "liquid"}], dx=0.1, nodes=[12, 12], dt=1e-4)


def _jelly():
    return costate.mpm.particles(np.array([[0.4, 0.5]]), 0.01, [{"name": "jelly", "kind": "neo_hookean"}], dx=0.1, nodes=[12, 12], dt=1e-4)


PHYSICS = {
    "cloth": (_cloth, [("material/cotton/nu", 0.6, "above -1 and below 0.5"), ("material/cotton/E", -1, "be positive"),
                       ("material/cotton/density", 0, "be positive"), ("material/cotton/thickness", 0, "be positive"),
                       ("material/cotton/bending", -1, "not be negative"), ("material/cotton/viscosity", -1, "not be negative"),
                       ("drag", -1, "not be negative"), ("dt", 0, "be positive")]),
    "springs": (lambda: costate.soft.mass_spring([[0.0, 1.0], [1.0, 1.2]], 1.0, [{"a": 0, "b": 1, "rest_length": 1.0}]),
                [("mass", [1.0, 0.0], "be positive"), ("dt", -1, "be positive")]),
    "molecules": (lambda: _argon(integrator="BAOAB", kT=0.5, friction=1.0, box=[5.0, 5.0, 5.0]),
                  [("mass", [1.0, -1.0], "be positive"), ("dt", 0, "be positive"), ("box", [5.0, 0.0, 5.0], "be positive"),
                   ("kT", -1, "be positive"), ("friction", 0, "be positive")]),
    "flow": (_ball_in_a_stream, [("viscosity", -0.1, "not be negative"), ("dt", 0, "be positive"), ("ball/size", -0.1, "be positive")]),
    "heat": (lambda: costate.grid.heat(4, 4), [("capacity", 0, "be positive"), ("dx", -1, "be positive"), ("dt", 0, "be positive"),
                                               ("conductivity", 0, "be positive")]),
    "wave": (lambda: costate.grid.wave(4, 4), [("dx", 0, "be positive"), ("dt", -1, "be positive"), ("speed", -1, "not be negative"),
                                               ("damping", -1, "not be negative")]),
    "shallow water": (lambda: costate.grid.shallow_water(4, 4), [("depth", 0, "be positive"), ("gravity", 0, "be positive"),
                                                                 ("drag", -1, "not be negative"), ("dx", 0, "be positive")]),
    "liquid": (_water, [("material/water/density", 0, "be positive"), ("material/water/bulk_modulus", -1, "be positive"),
                        ("material/water/viscosity", -1, "not be negative"), ("dt", 0, "be positive")]),
    "elastic": (_jelly, [("material/jelly/nu", 0.5, "above -1 and below 0.5"), ("material/jelly/E", 0, "be positive")]),
    "robot": (lambda: costate.rigid.load(costate.scene_file("cart_pole.xml")),
              [("body/pole/mass", -1, "not be negative"), ("body/pole/inertia", [1, 1, -1, 0, 0, 0], "not be negative"),
               ("dt", 0, "be positive"), ("joint/slide/range", [1, -1], "ends before it begins")]),
    "robot with a policy": (lambda: costate.closed_loop(costate.rigid.load(costate.scene_file("cart_pole.xml"))),
                            [("body/pole/mass", -1, "not be negative")]),
}
CASES = [pytest.param(make, name, value, said, id=f"{physics} {name}") for physics, (make, all_of_it) in PHYSICS.items() for name, value, said in all_of_it]


@pytest.mark.parametrize("make, name, value, said", CASES)
def test_every_run_refuses_it(make, name, value, said):
    system = make()
    sim = system.rollout(2)
    with pytest.raises(costate.Error) as caught:
        sim.simulate(p={name: value})
    wrong = value if np.isscalar(value) else next(v for v in value if v <= 0)
    assert f"'{name}" in caught.value.what and said in caught.value.what
    assert f" {wrong:g}" in caught.value.what or "begins" in said
    with pytest.raises(costate.Error):
        sim.value_and_grad(p={name: value}, loss=costate.loss.final(system.signature.states[0].name))
    with pytest.raises(costate.Error):
        pickle.loads(pickle.dumps(system)).rollout(2).simulate(p={name: value})


def test_products_of_inertia_have_any_sign():
    sim = costate.rigid.load(costate.scene_file("cart_pole.xml")).rollout(2)
    tilted = sim.simulate(p={"body/pole/inertia": [0.1, 0.1, 0.1, -0.01, 0.02, -0.03]}).final_state
    assert np.isfinite(tilted).all()


def test_numbers_of_a_users_own_equations_have_any_sign():
    @costate.system(states={"x": 1}, parameters={"mass": 1.0}, dt=0.1)
    def drift(x, mass):
        return x / mass
    assert np.isfinite(drift.rollout(2).simulate([1.0], p={"mass": -1.0, "dt": -0.1}).final_state).all()


def test_a_scene_says_where_it_is(tmp_path, scenes):
    file = tmp_path / "flag.toml"
    file.write_text((scenes / "flag.toml").read_text() + '\n[parameters]\n"material/cotton/nu" = 0.6\n')
    with pytest.raises(costate.Error, match="'material/cotton/nu' is 0.6, and must be above -1 and below 0.5") as caught:
        costate.load(file)
    assert "flag.toml:" in caught.value.where


@pytest.mark.parametrize("method", ["lbfgs", "cma_es"])
def test_an_optimiser_that_steps_out_of_a_range_steps_back(tmp_path, method):
    # T rises as 1 / capacity, and should rise far: the first step leads below zero.
    file = tmp_path / "rod.toml"
    file.write_text(f"""
        [grid]
        equation = "heat"
        cells = [4, 4]
        dx = 1.0
        conductivity = 0.01
        source = 1.0
        capacity = 1.0
        [run]
        steps = 5
        dt = 0.1
        [[loss]]
        kind = "position"
        of = "T/5"
        target = 100.0
        [optimize]
        method = "{method}"
        iterations = 5
        variables = [{{name = "parameters.capacity", scale = 1.0}}]
        """)
    study = costate.load(file)
    found = study.optimize()
    assert found["loss"] < found["start_loss"] and found["x"][0] > 0
