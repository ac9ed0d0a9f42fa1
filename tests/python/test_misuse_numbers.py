"""Numbers that are only read, and numbers that must be whole: what is wrong with them is said."""
import pickle

import numpy as np
import pytest

import costate


class TestNumbersThatAreOnlyRead:
    def test_a_write_that_would_change_nothing_is_refused(self):
        hopper = costate.load("hopper.xml")
        for array in (hopper.initial_state, hopper.parameters["gravity"], pickle.loads(pickle.dumps(hopper.parameters))["gravity"]):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 3.0
        x0 = hopper.initial_state.copy()
        x0[0] = 3.0
        assert hopper.rollout(1).simulate(x0).final_state[0] == pytest.approx(3.0, abs=0.1)

    def test_a_gradient_says_how_a_parameter_becomes_active(self):
        spring = costate.equations(["q", "v"], "q_dot = v; v_dot = -stiffness*q - drag*v", parameters={"stiffness": 1.0, "drag": 0.1})
        _, gradient = spring.rollout(3, active=["drag"]).value_and_grad([1.0, 0.0], loss=costate.loss.final("q"))
        assert type(gradient.parameters) is dict and set(gradient.parameters) == {"drag"}
        assert gradient["drag"] == gradient.parameters["drag"] != 0
        for other in (gradient, pickle.loads(pickle.dumps(gradient))):
            with pytest.raises(costate.Error, match=r"no parameter 'stiffness'\n.*active=\['stiffness', \.\.\.\]$"):
                other["stiffness"]
        with pytest.raises(costate.Error, match="did you mean 'drag'"):
            gradient["drog"]


@pytest.mark.parametrize("name", ["steps", "hold", "keep", "worlds"])
def test_a_count_is_a_whole_number(name):
    spring = costate.equations(["q"], "q_dot = -q")
    for two in (2, 2.0, np.int32(2), np.float64(2), np.array(2)):
        sim = spring.rollout(**{"steps": 4, name: two})
        assert name == "worlds" or getattr(sim, name) == 2
    for wrong in (2.5, np.float64(2.5), np.nan, np.inf, "2", [2], 2**70, 1e300):
        with pytest.raises(costate.Error, match=f"{name} must be a whole number"):
            spring.rollout(**{"steps": 4, name: wrong})
