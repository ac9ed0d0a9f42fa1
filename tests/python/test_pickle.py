"""Systems, rollouts, losses and results in other processes and threads: what arrives is what was sent, to the bit."""
import concurrent.futures
import copy
import multiprocessing
import pickle
import threading

import numpy as np
import pytest

import costate
import pendulum


def _hopper():
    return costate.rigid.load(costate.scene_file("hopper.xml"), contact="event", restitution=0.3)


def _network():
    @costate.system(states={"h": 40}, parameters={"W": np.full((40, 40), 0.01), "b": np.linspace(0, 1, 40)}, dt=0.1)
    def made(h, W, b):
        return np.tanh(W @ h) + b
    return made


def _cloth():
    vertices, triangles = costate.soft.cloth_mesh([1.0, 1.0], [2, 2])
    return vertices, [{"cells": "triangles", "vertices": triangles}], [{"law": "stvk"}]


SYSTEMS = {
    "recorded": pendulum.system,
    "network": _network,
    "equations": lambda: costate.equations({"q": 1, "v": 1}, "q_dot = v; v_dot = -k*sin(q)", parameters={"k": 4.0}),
    "rigid": _hopper,
    "closed loop": lambda: costate.closed_loop(_hopper(), hidden=5, seed=3),
    "springs": lambda: costate.soft.mass_spring([[0.0, 1.0], [1.0, 1.2]], 1.0, [{"a": 0, "b": 1, "rest_length": 1.0}]),
    "cloth": lambda: costate.soft.bodies(*_cloth()),
    "cloth that touches": lambda: costate.soft.bodies(*_cloth(), contact={"self": True, "distance": 1e-2}, obstacles=[
        {"name": "floor", "shape": "plane", "place": [0, 0, -0.02], "normal": [0, 0, 1], "friction": 0.3}]),
    "flow": lambda: costate.fluid.flow((8, 8), width=0.1, sides={"west": {"velocity": [1.0, 0.0]}, "east": "outflow"}, obstacles=[
        {"name": "ball", "shape": "ball", "center": [0.4, 0.4], "size": 0.2}], scalars=[{"name": "heat", "diffusivity": 0.01}]),
    "molecules": lambda: costate.md.system([[0.0, 0, 0], [1.1, 0, 0]], 1.0, [{"kind": "lennard_jones", "cutoff": 2.0}], box=[5.0] * 3, integrator="verlet"),
    "own potential": lambda: costate.md.system([[0.0, 0, 0], [1.1, 0, 0]], 1.0, [{"kind": "pair_formula", "formula": "k/r", "k": 2.0}], integrator="verlet"),
    "heat": lambda: costate.grid.heat(6, 5, west=("temperature", 2.0)),
    "wave": lambda: costate.grid.wave(8, 8, sources=[9]),
    "particles": lambda: costate.mpm.particles(np.array([[0.4, 0.5], [0.5, 0.5]]), 0.01, [{"kind": "liquid"}], dx=0.1,
                                               nodes=[12, 12], dt=1e-4),
}


def final(sim):
    return sim.simulate().final_state


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_a_system_and_its_rollout_arrive_with_their_bits(name, again):
    system = SYSTEMS[name]()
    sim = system.rollout(7, keep=2, hold=2, seed=4, checkpoints=costate.segments(3), on_divergence="mask_world")
    other = again(sim)
    assert repr(other) == repr(sim) and (other.keep, other.hold, other.active) == (2, 2, sim.active)
    np.testing.assert_array_equal(final(other), final(sim))
    np.testing.assert_array_equal(final(again(system).rollout(7)), final(sim))


def test_losses_and_results_arrive():
    sim = _hopper().rollout(20, keep=5)
    losses = [costate.loss.final("q", np.ones(6)), costate.loss.track("v", [3, 4], np.ones((2, 6))), costate.loss.effort(0.1),
              costate.loss.final("q") + costate.loss.effort(), costate.loss.expression("q[0]^2", when=[2, 3]),
              costate.loss.function(one_number), costate.rigid.observed(_hopper(), {"t": "body/torso"}, costate.loss.final("t"))]
    for loss in losses:
        value, gradient = sim.value_and_grad(loss=loss)
        for again in (lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy):
            assert sim.value_and_grad(loss=again(loss))[0] == value
            other = again(gradient)
            np.testing.assert_array_equal(other.x0, gradient.x0)
            assert list(other.parameters) == list(gradient.parameters) and repr(other.report) == repr(gradient.report)
    trajectory = sim.simulate()
    other = pickle.loads(pickle.dumps(trajectory))
    assert repr(other) == repr(trajectory) and other.fields == trajectory.fields
    np.testing.assert_array_equal(other["v"], trajectory["v"])
    np.testing.assert_array_equal(other.t, 0.002 * np.arange(0, 21, 5))
    recording = costate.rigid.record(_hopper(), trajectory)
    assert recording.frame_interval == pytest.approx(0.01)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(recording)).poses("torso"), recording.poses("torso"))
    check = sim.check(loss=losses[0])[0]
    assert repr(pickle.loads(pickle.dumps(check))) == repr(check)


def one_number(q, v):
    return q[1] ** 2 + v[0]


def test_a_file_that_has_changed_is_noticed(tmp_path):
    file = tmp_path / "ball.xml"
    text = '<mujoco><worldbody><body name="b"><freejoint/><geom size="0.1" mass="{}"/></body></worldbody></mujoco>'
    file.write_text(text.format(1))
    sent = pickle.dumps(costate.rigid.load(file))
    assert float(pickle.loads(sent).parameters["body/b/mass"]) == 1
    file.write_text(text.format(2))
    with pytest.raises(costate.Error, match="has its file changed"):
        pickle.loads(sent)


def test_arrays_that_change_later_do_not_change_what_is_sent():
    x = np.array([[0.0, 1.0], [1.0, 1.2]])
    system = costate.soft.mass_spring(x, 1.0, [{"a": 0, "b": 1, "rest_length": 1.0}])
    x[:] = 7
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(system)).initial_state, system.initial_state)


def gradient_in_a_worker(sim, x0):
    return sim.value_and_grad(x0, loss=costate.loss.final("q"))[1]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_processes_return_the_same_gradients(method):
    sim = _hopper().rollout(30)
    starts = [sim.system.initial_state + 0.01 * i for i in range(3)]
    expected = [gradient_in_a_worker(sim, x) for x in starts]
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        found = list(pool.map(gradient_in_a_worker, [sim] * 3, starts))
    for a, b in zip(found, expected):
        np.testing.assert_array_equal(a.x0, b.x0)
        assert a.report.label == b.report.label


def test_joblib():
    joblib = pytest.importorskip("joblib")
    sim = pendulum.system().rollout(30)
    expected = final(sim)
    for other in joblib.Parallel(n_jobs=2)(joblib.delayed(final)(sim) for _ in range(3)):
        np.testing.assert_array_equal(other, expected)


def test_threads_run_every_physics_at_once():
    """Each thread goes through all of them, in an order of its own, with rollouts that it shares and rollouts of its own."""
    shared = {name: make().rollout(4, seed=2) for name, make in SYSTEMS.items()}
    expected = {name: pulled_back(sim) for name, sim in shared.items()}
    wrong = []

    def work(i):
        own = {name: copy.deepcopy(sim) for name, sim in shared.items()}
        for name in np.random.default_rng(i).permutation(list(shared)):
            for sims in (shared, own):
                if not np.array_equal(pulled_back(sims[name]), expected[name]):
                    wrong.append(name)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def pulled_back(sim):
    return sim.pull_back(final_state=np.linspace(1.0, 2.0, sim.system.initial_state.size)).x0


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_every_physics_goes_to_other_processes(method):
    sims = [make().rollout(4, seed=2) for make in SYSTEMS.values()]
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        for sim, found in zip(sims, pool.map(pulled_back, sims)):
            np.testing.assert_array_equal(found, pulled_back(sim))


def test_threads_share_one_rollout_and_use_their_own():
    shared = _hopper().rollout(25)
    starts = [shared.system.initial_state + 0.01 * i for i in range(4)]
    expected = [gradient_in_a_worker(shared, x).x0 for x in starts]
    wrong = []

    def work(i):
        own = copy.deepcopy(shared)
        for _ in range(10):
            for sim in (shared, own):
                if not np.array_equal(gradient_in_a_worker(sim, starts[i]).x0, expected[i]):
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
def test_studies_and_their_runs_arrive(again, tmp_path):
    ball = costate.load("examples/bouncing_ball.toml", {"parameters.g": 1.6})
    other = again(ball)
    assert other.facts == ball.facts and other.gradient() == ball.gradient()
    run, arrived = ball.run(), again(ball.run())
    assert run.columns == arrived.columns and run.events == arrived.events != [] and repr(run) == repr(arrived)
    assert (run.terms, run.fractions, run.notes, run.message) == (arrived.terms, arrived.fractions, arrived.notes, arrived.message)
    np.testing.assert_array_equal(run["h"], arrived["h"])
    thrown = costate.load("scenes/sphere_drop.toml").run()
    np.testing.assert_array_equal(again(thrown).recording.poses("ball"), thrown.recording.poses("ball"))


def test_a_study_whose_file_has_changed_is_noticed(tmp_path):
    file = tmp_path / "ball.toml"
    with open(costate.scene_file("bouncing_ball.toml"), encoding="utf-8") as original:
        text = original.read()
    file.write_text(text, encoding="utf-8")
    sent = pickle.dumps(costate.load_study(file))
    assert pickle.loads(sent).variables == costate.load_study(file).variables
    file.write_text(text.replace("50.0", "40.0"), encoding="utf-8")
    with pytest.raises(costate.Error, match="ball.toml is not the file whose study was pickled"):
        pickle.loads(sent)
