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


@pytest.mark.parametrize("file", SCENES, ids=lambda f: f.stem)
def test_no_model_cries_wolf(file):
    for check in checked(file):
        assert check or "kink at" in check.detail, check  # two slopes that were found are no false alarm


@pytest.mark.parametrize("name", ["double_pendulum.xml", "cart_pole.xml", "hopper.xml"])
def test_hard_contact_does_not_either(name):
    for check in checked(costate.scene_file(name), contact="hard"):
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
