"""costate.torch: PyTorch's own gradcheck and gradgradcheck, and the engine's NumPy interface."""
import copy

import numpy as np
import pytest

import costate
import lq_problem
import pendulum

torch = pytest.importorskip("torch", reason="PyTorch is not installed (Debian: python3-torch)")
import costate.torch as costate_torch  # noqa: E402

STEPS = 12
RNG = np.random.default_rng(13)


@pytest.fixture
def simulate():
    return costate_torch.rollout(pendulum.system().rollout(STEPS))


def tensors(*batch):
    x0 = torch.tensor([0.7, -0.2], dtype=torch.float64) + 0.1 * torch.tensor(RNG.standard_normal((*batch, 2)))
    u = torch.tensor(0.3 * RNG.standard_normal((*batch, STEPS, 1)))
    length = 1.1 + 0.1 * torch.tensor(RNG.random(batch))
    return tuple(t.requires_grad_() for t in (x0, u, length))


@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
def test_gradcheck_and_gradgradcheck(simulate, batch):
    g = torch.tensor(9.5, dtype=torch.float64, requires_grad=True)  # shared by all worlds
    f = lambda x0, u, l, g: simulate(x0, u, {"l": l, "g": g})
    inputs = (*tensors(*batch), g)
    assert torch.autograd.gradcheck(f, inputs)
    assert torch.autograd.gradgradcheck(f, inputs)


def test_gradient_is_that_of_numpy(simulate):
    x0, u, length = tensors(4)
    bar = RNG.standard_normal((4, 2))
    simulate(x0, u, {"l": length}).backward(torch.tensor(bar))
    sim = pendulum.system().rollout(STEPS)
    expected = sim.pull_back(x0.detach(), u.detach(), {"l": length.detach()}, final_state=bar)
    np.testing.assert_array_equal(x0.grad, expected.x0)
    np.testing.assert_array_equal(u.grad, expected.controls)
    np.testing.assert_array_equal(length.grad, expected.parameters["l"])


def test_kept_states():
    simulate = costate_torch.rollout(pendulum.system().rollout(STEPS, keep=4))
    x0, u, length = tensors()
    assert torch.autograd.gradcheck(lambda *a: simulate(a[0], a[1], {"l": a[2]}), (x0, u, length))


def test_single_precision():
    simulate = costate_torch.rollout(pendulum.system().rollout(STEPS, dtype="float32"))
    x0 = torch.tensor([0.7, -0.2], requires_grad=True)
    final = simulate(x0)
    assert final.dtype == torch.float32
    final.sum().backward()
    exact = pendulum.system().rollout(STEPS).pull_back([0.7, -0.2], final_state=[1.0, 1.0])
    np.testing.assert_allclose(x0.grad, exact.x0, rtol=1e-4)


def test_a_module_learns_the_length_of_a_pendulum():
    sim = pendulum.system().rollout(50, keep=5)
    truth = sim.simulate([0.8, 0.0], p={"l": 0.7}).states
    module = costate_torch.Module(sim, learn={"l": 1.3}, positive=["l"])
    optimiser = torch.optim.Adam(module.parameters(), lr=0.05)
    x0, data = torch.tensor([0.8, 0.0], dtype=torch.float64), torch.from_numpy(truth)
    for _ in range(150):
        optimiser.zero_grad()
        loss = ((module(x0)[1] - data) ** 2).sum()
        loss.backward()
        optimiser.step()
    assert float(module.physics["l"].detach()) == pytest.approx(0.7, rel=1e-3)
    assert "l" in repr(module) and len(list(module.parameters())) == 1


def test_rigid_models_have_gradients_and_say_what_they_lack(scenes):
    system = costate.rigid.load(str(scenes / "cart_pole.xml"))
    simulate = costate_torch.rollout(system.rollout(10))
    x0 = torch.tensor(system.initial_state + 0.1, requires_grad=True)
    u = torch.zeros((10, 1), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(simulate, (x0, u))
    if not system.second_order:
        with pytest.raises(costate.Error, match="no second derivatives"):
            torch.autograd.gradgradcheck(simulate, (x0, u))


def test_mistakes_are_errors(simulate):
    x0, u, length = tensors()
    with pytest.raises(costate.Error, match="no parameter is named 'length'"):
        simulate(x0, u, {"length": length})
    some = costate_torch.rollout(pendulum.system().rollout(STEPS, active=["g"]))
    with pytest.raises(costate.Error, match="not active"):
        some(x0, u, {"l": length})


TRANSFORMS = pytest.mark.skipif(not hasattr(torch, "func"), reason="torch.func came with PyTorch 2")


@TRANSFORMS
class TestTransforms:
    def test_vmap_is_a_batch(self, simulate):
        x0, u, length = (t.detach() for t in tensors(5))
        every = torch.func.vmap(lambda x, u, l: simulate(x, u, {"l": l}))(x0, u, length)
        torch.testing.assert_close(every, simulate(x0, u, {"l": length}), rtol=0, atol=0)
        shared = torch.func.vmap(lambda x: simulate(x, u[0], {"l": length[0]}))(x0)
        torch.testing.assert_close(shared[3], simulate(x0[3], u[0], {"l": length[0]}), rtol=1e-14, atol=0)
        nested = torch.func.vmap(lambda l: simulate(x0, u, {"l": l.expand(5)}))(length)
        torch.testing.assert_close(nested[2], simulate(x0, u, {"l": length[2].expand(5)}), rtol=1e-14, atol=0)

    def test_kept_states_under_vmap(self):
        simulate = costate_torch.rollout(pendulum.system().rollout(STEPS, keep=4))
        x0, u, _ = (t.detach() for t in tensors(3))
        final, states = torch.func.vmap(simulate)(x0, u)
        assert states.shape == (3, 4, 2)
        f = lambda x, u: (simulate(x, u)[1] ** 2).sum()
        gradients = torch.func.vmap(torch.func.grad(f))(x0, u)
        torch.testing.assert_close(gradients[1], torch.func.grad(f)(x0[1], u[1]), rtol=1e-12, atol=1e-14)

    def test_jacobians_and_hessians(self, simulate):
        x0, u, length = (t.detach() for t in tensors())
        f = lambda x, l: simulate(x, u, {"l": l})
        jacobian = pendulum.system().rollout(STEPS, active=["l"]).jacobian(x0.numpy(), u.numpy(), {"l": length.numpy()})
        for transform in (torch.func.jacrev, torch.func.jacfwd):
            by_x, by_l = transform(f, (0, 1))(x0, length)
            np.testing.assert_allclose(by_x, jacobian.x0, rtol=1e-11)
            np.testing.assert_allclose(by_l, jacobian.parameters["l"], rtol=1e-11)
        g = lambda x: (f(x, length) ** 2).sum()
        sim = pendulum.system().rollout(STEPS)
        loss = costate.loss.function(lambda x: x[0] ** 2 + x[1] ** 2)
        expected = np.stack([sim.hessian_vector(x0.numpy(), u.numpy(), {"l": length.numpy()}, x0_dot=e, loss=loss)[1].x0 for e in np.eye(2)])
        np.testing.assert_allclose(torch.func.jacrev(torch.func.jacrev(g))(x0), expected, rtol=1e-10)


class Starts(torch.utils.data.Dataset):
    """Each item is simulated in the worker that is asked for it."""

    def __init__(self, sim):
        self.sim = sim

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return torch.from_numpy(self.sim.simulate([0.1 * i, 0.0]).final_state)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore")
def test_data_loaders_with_workers(method):
    sim = pendulum.system().rollout(STEPS)
    loader = torch.utils.data.DataLoader(Starts(sim), batch_size=3, num_workers=2, multiprocessing_context=method)
    np.testing.assert_array_equal(torch.cat(list(loader)), np.stack([Starts(sim)[i] for i in range(6)]))


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="torch.compile came with PyTorch 2")
def test_torch_compile_goes_around_a_rollout(simulate):
    x0, _, length = tensors(3)
    f = lambda x0, l: (simulate(torch.sin(x0), None, {"l": l}) ** 2).sum()
    gradients = torch.autograd.grad(f(x0, length), (x0, length))
    compiled = torch.compile(f, backend="aot_eager")
    for got, exact in zip(torch.autograd.grad(compiled(x0, length), (x0, length)), gradients):
        torch.testing.assert_close(got, exact)


def test_a_module_can_be_copied_and_stored():
    module = costate_torch.Module(pendulum.system().rollout(STEPS), learn={"l": 1.3, "g": 9.0}, positive=["l"])
    other = copy.deepcopy(module)
    with torch.no_grad():
        module.values[0].add_(0.2)
    x0 = torch.tensor([0.7, -0.2], dtype=torch.float64)
    assert not torch.equal(other(x0), module(x0))
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(x0), module(x0))


def test_results_are_exchanged_without_a_copy():
    final = pendulum.system().rollout(STEPS).simulate([0.7, -0.2]).final_state
    tensor = torch.from_dlpack(final)
    tensor[0] = 5
    assert final[0] == 5


def layer_tensors(parts, grad=True):
    return {k: torch.tensor(np.array(v, dtype=float), requires_grad=grad) for k, v in parts.items()}


def test_a_layer_of_linear_mpc_has_the_reference_gradient():
    t = layer_tensors(lq_problem.PARTS)
    x, u, value = costate_torch.linear_quadratic(lq_problem.STEPS, **t)
    assert abs(value.item() - lq_problem.VALUE) < 1e-12 and x.shape == (11, 3)
    loss = (u ** 2).sum() / 2
    assert abs(loss.item() - lq_problem.LOSS) < 1e-12
    loss.backward()
    for name, bar in (("x0", lq_problem.X0_BAR), ("R", lq_problem.R_BAR), ("Qf", lq_problem.QF_BAR)):
        np.testing.assert_allclose(t[name].grad, bar, atol=1e-9)


def test_a_batch_of_layers_passes_gradcheck():
    t = layer_tensors(lq_problem.batch(3))
    names = list(t)

    def solve(*values):
        return costate_torch.linear_quadratic(lq_problem.STEPS, **dict(zip(names, values)))

    assert torch.autograd.gradcheck(solve, tuple(t.values()), eps=1e-6, atol=1e-6, rtol=1e-6)
    x, u, value = solve(*t.values())
    assert x.shape == (3, 11, 3) and u.shape == (3, 10, 2) and value.shape == (3,)
    single = costate_torch.linear_quadratic(lq_problem.STEPS, **{k: v[1] if k in ("x0", "Qf", "Q") else v[1, 0] if k == "A" else v
                                                                for k, v in t.items()})
    assert torch.equal(single[1], u[1])


def test_a_layers_tangent_is_the_transpose_of_its_cotangent():
    forward_ad = torch.autograd.forward_ad
    t = layer_tensors(lq_problem.batch(4))
    rng = np.random.default_rng(8)
    dots = {k: torch.tensor(rng.standard_normal(v.shape)) for k, v in t.items()}
    with forward_ad.dual_level():
        out = costate_torch.linear_quadratic(lq_problem.STEPS, **{k: forward_ad.make_dual(v, dots[k]) for k, v in t.items()})
        rates = [forward_ad.unpack_dual(part).tangent for part in out]
    out = costate_torch.linear_quadratic(lq_problem.STEPS, **t)
    bars = [torch.tensor(rng.standard_normal(part.shape)) for part in out]
    left = sum((r * b).sum() for r, b in zip(rates, bars)).item()
    found = torch.autograd.grad(out, list(t.values()), bars)
    right = sum((g * dots[k]).sum() for g, k in zip(found, t)).item()
    assert abs(left - right) < 1e-11 * (abs(left) + 1)


def test_a_layer_in_single_precision_and_its_mistakes():
    t = {k: torch.tensor(np.array(v), dtype=torch.float32) for k, v in lq_problem.PARTS.items()}
    _, u, _ = costate_torch.linear_quadratic(lq_problem.STEPS, **t)
    assert u.dtype == torch.float32
    with pytest.raises(costate.Error, match="A has the shape"):
        costate_torch.linear_quadratic(lq_problem.STEPS, **dict(t, A=torch.eye(2)))
