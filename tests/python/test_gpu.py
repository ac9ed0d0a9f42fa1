"""Arrays that stay on a GPU: how they are read and what is refused, without one; and that results agree, where there is one."""
import numpy as np
import pytest

import costate
import pendulum

DEVICES = [d["device"] for d in costate.devices()]
needs_gpu = pytest.mark.skipif("cuda:0" not in DEVICES, reason="there is no GPU")


class Somewhere:
    """Says that it lies on a GPU. Nobody may read its numbers."""

    def __init__(self, shape, typestr="<f8", strides=None):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "strides": strides, "data": (4096, False), "version": 3}


def test_arrays_are_read_by_their_interface():
    given = costate.gpu.read(Somewhere((3, 2), "<f4", (8, 4)), "x0")
    assert (given.address, given.shape, given.dtype) == (4096, (3, 2), "float32")
    assert costate.gpu.on_gpu(given.owner) and not costate.gpu.on_gpu(np.zeros(3))


@pytest.mark.parametrize("array, says", [
    (Somewhere((3, 2), "<i4"), "x0 has numbers of type <i4"),
    (Somewhere((3, 2), strides=(8, 24)), "x0 is not contiguous"),
    (Somewhere((3, 2), "<f4"), "x0 has numbers of type float32, the rollout float64"),
    (Somewhere((3, 3)), r"x0 has the shape \(3, 3\) instead of \(\*batch, 2\)"),
    (np.zeros((3, 2)), "x0 is not on a GPU"),
    (None, "x0 is missing"),
])
def test_arrays_that_do_not_fit_are_refused(array, says):
    with pytest.raises(costate.Error, match=says):
        costate.gpu.simulate(pendulum.system().rollout(3), array, make=Somewhere)


def test_worlds_of_all_inputs_are_the_same():
    sim = pendulum.system().rollout(3)
    with pytest.raises(costate.Error, match=r"l is given for worlds \(4,\), another input for \(3,\)"):
        costate.gpu.simulate(sim, Somewhere((3, 2)), None, {"l": Somewhere((4,))}, make=Somewhere)
    with pytest.raises(costate.Error, match="no parameter is named|nothing matches|'lenght'"):
        costate.gpu.simulate(sim, Somewhere((3, 2)), None, {"lenght": Somewhere((3,))}, make=Somewhere)


def test_a_rollout_on_the_cpu_has_no_arrays_of_a_gpu():
    with pytest.raises(costate.Error, match='this one has device = "cpu"'):
        costate.gpu.simulate(pendulum.system().rollout(3), Somewhere((3, 2)), make=Somewhere)
    with pytest.raises(costate.Error, match='device = "cpu" is not a GPU'):
        costate.gpu.simulate(pendulum.system().rollout(3), Somewhere((3, 2)))


@needs_gpu
def test_tensors_agree_with_arrays_of_the_host():
    torch = pytest.importorskip("torch")
    x0 = np.random.default_rng(1).normal(size=(50, 2))
    sim = pendulum.system().rollout(40, device="cuda:0")
    start = torch.as_tensor(x0, device="cuda:0").requires_grad_()
    final = costate.torch.rollout(sim)(start)
    final.sum().backward()
    np.testing.assert_array_equal(final.detach().cpu().numpy(), sim.simulate(x0).final_state)
    expected = sim.pull_back(x0, final_state=np.ones((50, 2))).x0
    np.testing.assert_array_equal(start.grad.cpu().numpy(), expected)


@needs_gpu
def test_results_are_read_by_other_libraries_where_they_lie():
    torch = pytest.importorskip("torch")
    x0 = np.random.default_rng(1).normal(size=(50, 2))
    sim = pendulum.system().rollout(40, device="cuda:0")
    final = costate.gpu.simulate(sim, torch.as_tensor(x0, device="cuda:0")).final_state
    by_interface, by_dlpack = torch.as_tensor(final, device="cuda:0"), torch.from_dlpack(final)
    assert by_interface.data_ptr() == by_dlpack.data_ptr() == final.__cuda_array_interface__["data"][0]
    np.testing.assert_array_equal(by_dlpack.cpu().numpy(), sim.simulate(x0).final_state)
