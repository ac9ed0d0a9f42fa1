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



@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_one_world_over_ranks_has_the_bits_of_one_machine(ranks):
    wave = costate.grid.wave(24, 40, sources=[15, 400])
    rng = np.random.default_rng(3)
    x0, u = rng.normal(size=2 * 24 * 40), rng.normal(size=(6, 2))

    def answer(device):
        sim = wave.rollout(6, active=["speed", "damping"], device=device)
        value, grad = sim.value_and_grad(x0, u, loss=costate.loss.final("u") + costate.loss.effort())
        return [value, sim.simulate(x0, u).final_state, grad.x0, grad.controls, grad.parameters["speed"],
                grad.parameters["damping"]]

    for one, other in zip(answer("cpu"), answer(f"ranks:{ranks}")):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


@pytest.mark.parametrize("scene, seconds", [("plate.toml", 0.2), ("pour_2d.toml", 0.4)])
def test_a_scene_is_split_by_its_device(scene, seconds):
    def gradient(device):
        return costate.load(scene, {"run.duration": seconds, "run.device": device}).value_and_grad()

    (value, grad), (split_value, split_grad) = gradient("cpu"), gradient("ranks:2")
    assert value == split_value
    assert grad.any() and np.array_equal(grad, split_grad)


def test_what_cannot_be_split_is_named():
    with pytest.raises(costate.Error, match="this physics cannot be split over ranks"):
        pendulum.system().rollout(3, device="ranks:2")
    with pytest.raises(costate.Error, match="built without MPI"):
        pendulum.system().rollout(3, device="mpi")
    with pytest.raises(costate.Error, match="splits one large world"):
        costate.grid.wave(8, 8).rollout(3, worlds=2, device="ranks:2")
