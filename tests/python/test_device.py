"""Where a rollout runs: what there is, what is refused, and that a GPU agrees with the CPU where there is one."""
import numpy as np
import pytest

import costate
import pendulum

DEVICES = [d["device"] for d in costate.devices()]


def test_the_cpu_is_listed_first():
    assert DEVICES[0] == "cpu"
    assert set(costate.devices()[0]) == {"device", "description", "memory_bytes", "free_bytes"}


def test_an_unknown_device_is_named_with_those_there_are():
    with pytest.raises(costate.Error, match='device = "gpu": there is no such device'):
        pendulum.system().rollout(3, device="gpu")


@pytest.mark.skipif("cuda:0" not in DEVICES, reason="there is no GPU")
def test_a_gpu_agrees_with_the_cpu():
    x0 = np.random.default_rng(1).normal(size=(50, 2))
    loss = costate.loss.final("q", [0.4])
    value, grad = pendulum.system().rollout(40, device="cuda:0").value_and_grad(x0, loss=loss)
    expected, expected_grad = pendulum.system().rollout(40).value_and_grad(x0, loss=loss)
    assert value == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(grad.x0, expected_grad.x0, rtol=1e-10)
