"""Rollout.check on every model of the repository: right gradients pass, and a wrong one does not."""
from pathlib import Path

import numpy as np
import pytest

import costate

SCENES = sorted((Path(__file__).resolve().parents[2] / "scenes").glob("*.xml"))
STEPS = 8


def checked(file, **options):
    model = costate.rigid.load(file, **options)
    rng = np.random.default_rng(0)
    x0 = model.initial_state + 0.02 * rng.standard_normal(model.initial_state.size)
    u = 0.1 * rng.standard_normal((STEPS, model.signature.control_size))
    return model.rollout(STEPS).check(x0, u, loss=costate.loss.final("q") + costate.loss.final("v"))


# A stack that falls takes its steps in a number of parts that changes with the state. The map jumps there by its error, and
# Taylor's remainder, not the stencil, still takes this for a wrong gradient: it is checked in whole steps.
IN_WHOLE_STEPS = {"box_stack"}


@pytest.mark.parametrize("file", SCENES, ids=lambda f: f.stem)
def test_no_model_cries_wolf(file):
    for check in checked(file, **({"onset": "none"} if file.stem in IN_WHOLE_STEPS else {})):
        assert check, check


@pytest.mark.parametrize("name", ["double_pendulum.xml", "cart_pole.xml", "hopper.xml"])
def test_hard_contact_does_not_either(name):
    for check in checked(costate.scene_file(name), contact="hard"):
        assert check, check


def test_controls_that_begin_at_the_end_of_their_range_are_no_alarm():
    """A thrust of zero cannot be less: the loss has two slopes there."""
    for check in costate.rigid.load("quadrotor.xml").rollout(4, active=[]).check(loss=costate.loss.final("q") + costate.loss.final("v")):
        assert check, check


def test_a_gradient_of_zero_is_no_alarm():
    flat = costate.equations({"x": 1}, "x_next = x*0 + 3", method="next").rollout(3)
    for check in flat.check([1.0], loss=costate.loss.final("x", [3.0])):
        assert check, check


def test_a_wrong_gradient_is_seen():
    """The derivative of a jump is left out: differences see the jump, the gradient does not."""
    @costate.system(states=["x"], parameters={"a": 1.0}, method="next")
    def stairs(x, a):
        return [x + 1e-3 * np.floor(1e6 * a * x) / 1e3]
    found = stairs.rollout(3).check([0.37], loss=costate.loss.final("x"))
    assert not all(found)


def test_a_tie_of_contacts_is_not_called_wrong(scenes):
    """After twenty steps a rounding decides which corners of the stack carry it, and with it the derivative."""
    stack = costate.rigid.load(scenes / "box_stack.xml", contact="hard")
    for steps in (5, 20):
        for check in stack.rollout(steps).check():
            assert check, check


def test_how_far_a_gradient_can_be_followed():
    logistic = costate.equations({"x": 1}, "x_next = 4*x*(1 - x)", method="next")
    radii = [logistic.rollout(steps).trust([0.3], loss=costate.loss.final("x"))[0].along_gradient for steps in (4, 12)]
    assert radii[0] > 20 * radii[1] > 0
    far = logistic.rollout(1).trust([0.3], loss=costate.loss.final("x"), tolerance=0.5)
    assert [t.inputs for t in far] == ["initial state"] and repr(far[0]).startswith("initial state: trust radius ")
    with pytest.raises(costate.Error, match="one world"):
        logistic.rollout(2).trust([[0.3], [0.4]], loss=costate.loss.final("x"))


def test_noise_does_not_shorten_how_far_a_gradient_can_be_followed():
    """Lengths that are tried as worlds of their own would each see another noise."""
    well = costate.md.system([[0.3]], 1.0, [{"kind": "harmonic"}], integrator="overdamped", dt=0.1)
    straight = well.rollout(5, active=["harmonic/centre"]).trust(loss=costate.loss.final_value("x"))
    assert [(t.inputs, t.along_gradient, t.random) for t in straight] == [("initial state", 1, 1), ("parameters", 1, 1)]


def test_what_cannot_be_simulated_far_away_can_be_followed_nearby():
    """A wave that is a meter per second faster is an error, whose steps are too long."""
    pond, bump = costate.grid.wave(4, 4), np.r_[1.0, np.zeros(31)]
    here = pond.rollout(3).trust(bump, loss=costate.loss.final("u"))
    assert [t.inputs for t in here] == ["initial state", "parameters"] and 0 < here[1].random < 1
    split = pond.rollout(3, device="ranks:2").trust(bump, loss=costate.loss.final("u"))
    assert repr(split) == repr(here)


def test_a_parameter_at_the_end_of_its_range_ends_nothing():
    """An armature or damping of zero cannot be smaller, and few models have others."""
    hopper = costate.rigid.load("hopper.xml").rollout(4, active=["gravity", "joint/*/armature", "joint/*/damping"])
    parameters = hopper.trust(loss=costate.loss.final("q"), directions=2)[-1]
    assert parameters.inputs == "parameters" and min(parameters.along_gradient, parameters.random) > 0.1


def test_a_loss_at_its_minimum_is_no_alarm():
    fading = costate.equations(["x"], "x_dot = -x + 0.3*x^2", dt=0.1)
    assert all(fading.rollout(3).check([0.0], loss=costate.loss.final("x")))


def test_how_far_the_gradient_of_a_study_can_be_followed():
    study = costate.load("projectile.toml")
    assert 0 < study.trust(directions=2).along_gradient <= 1
    with pytest.raises(costate.Error, match="tolerance"):
        study.trust(tolerance=-1.0)


def test_a_constraint_that_cannot_be_solved_is_not_called_exact(tmp_path):
    """Bodies that turn about their centres cannot give way where they are joined: their inverse weights are zero there."""
    def label(off_centre):
        ball = f'<joint type="ball"/><geom type="sphere" size="0.1" pos="0 0 {off_centre}"/>'
        (tmp_path / "joined.xml").write_text(f"""<mujoco><worldbody><body name="a" pos="0 0 1">{ball}</body>
            <body name="b" pos="0.5 0 1">{ball}</body></worldbody>
            <equality><connect body1="a" body2="b" anchor="0.25 0 0.1"/></equality></mujoco>""")
        joined = costate.rigid.load(tmp_path / "joined.xml")
        x0 = np.concatenate([joined.initial_state[:8], [0.3, -0.2, 0.5, 0.1, 0.4, -0.3]])
        return joined.rollout(5).pull_back(x0, final_state=np.ones(14)).report.label
    assert label(0.0).startswith("exact up to a residual of 0.") and label(0.05) == "exact"


def test_a_study_is_checked_over_as_many_steps_as_there_is_time_for():
    swing = costate.load_study("swing_up.toml")
    stencil = {steps: next(c.detail for c in swing.check(steps=steps, budget=budget) if c.name == "stencil")
               for steps, budget in ((30, 1e-6), (31, 1e6), (32, None))}
    assert ", 10 steps" in stencil[30] and ", 31 steps" in stencil[31] and ", 32 steps" in stencil[32]
    with pytest.raises(costate.Error, match="budget = 0"):
        swing.check(budget=0)
