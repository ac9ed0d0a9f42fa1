"""Many worlds by many workers: the same bits from any of them, and from a run that was killed."""
import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import costate
import costate.cluster as cluster

import cluster_blocks


def _sha(value, gradient):
    digest = hashlib.sha256(np.float64(value).tobytes())
    for name, array in gradient.items():
        digest.update(name.encode() + np.asarray(array, dtype=float).tobytes())
    return digest.hexdigest()


def _hopper():
    """Rigid bodies with contact, 50 worlds that start at different heights, in blocks of 8: the last has 2."""
    hopper = costate.rigid.load(costate.scene_file("hopper.xml"))
    sim = hopper.rollout(40, active=["geom/*/friction", "gravity"])
    x0 = np.repeat(sim.simulate().final_state[None], 50, axis=0)
    x0[:, 1] += np.linspace(0.0, 0.2, 50)
    _, g = sim.value_and_grad(loss=costate.loss.final("q"))
    friction = next(name for name in g.parameters if name.endswith("friction"))
    theta = {friction: np.full_like(g.parameters[friction], 0.7), "gravity": np.array([0.0, 0.0, -9.0])}
    return cluster.Job(sim, costate.loss.final("q"), worlds=50, block=8, x0=x0), theta


def _pendulums():
    """Equations, 37 worlds of different lengths."""
    system = costate.equations({"q": 1, "v": 1}, "q_dot = v; v_dot = -k/l*sin(q)", parameters={"k": 4.0, "l": 1.0}, dt=0.01)
    sim = system.rollout(100, active=["k"])
    targets = np.sin(np.arange(37.0))[:, None]
    return (cluster.Job(sim, costate.loss.final("q", targets), worlds=37, block=5, x0=np.array([1.0, 0.0]),
                        p={"l": np.linspace(0.5, 2.0, 37)[:, None]}), {"k": 3.0})


def test_a_job_is_one_large_rollout():
    job, theta = _pendulums()
    sim = job._system.rollout(100, active=["k"])
    value, g = sim.value_and_grad(np.tile([1.0, 0.0], (37, 1)), None, {**job._p, **theta}, loss=job._loss)
    with cluster.threads(2) as pool:
        ours, gradient = pool.value_and_grad(job, theta)
        assert ours == pytest.approx(value, rel=1e-13)
        assert gradient["k"] == pytest.approx(np.ravel(g.parameters["k"])[0], rel=1e-12)
        assert pool.value(job, theta) == pytest.approx(value, rel=1e-13)
        assert pool.gradient_report.worlds == 37 and pool.report.blocks == 16
        assert "16 blocks" in str(pool.report)


@pytest.mark.parametrize("make", [_hopper, _pendulums])
def test_threads_and_processes_have_the_same_sha256(make):
    job, theta = make()
    found = set()
    for pool in (cluster.threads(1), cluster.threads(2), cluster.processes(1), cluster.processes(3)):
        with pool:
            found.add(_sha(*pool.value_and_grad(job, theta)))
    assert len(found) == 1


def test_a_worker_killed_in_every_block_changes_nothing(tmp_path):
    job = cluster.FunctionJob(cluster_blocks.Killer(str(tmp_path)), worlds=8, block=2)
    theta = {"a": np.array([1.0, 2.0])}
    with cluster.processes(2, patience=np.inf) as pool:
        harmed = _sha(*pool.value_and_grad(job, theta))
        assert (pool.report.lost, pool.report.redone) == (4, 4)
    with cluster.threads(1) as pool:
        assert _sha(*pool.value_and_grad(cluster.FunctionJob(cluster_blocks.part, worlds=8, block=2), theta)) == harmed


def test_a_driver_that_was_killed_goes_on_from_its_log(tmp_path):
    program = textwrap.dedent("""
        import os, signal, sys
        import costate, costate.cluster as cluster, cluster_blocks
        log, dies = sys.argv[1] or None, int(sys.argv[2])
        job = cluster.FunctionJob(cluster_blocks.part, worlds=12, block=2)
        def look(progress):
            if progress.iteration == dies:
                os.kill(os.getpid(), signal.SIGKILL)
        with cluster.threads(2, log=log) as pool:
            best = costate.minimize(pool.objective(job), {"a": [3.0, 3.0]}, "adam", rate=0.1, iterations=20, callback=look)
            print(best.x["a"].tobytes().hex(), pool.report.resumed)
    """)

    def run(log, dies):
        here = os.path.dirname(os.path.abspath(__file__))
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
        return subprocess.run([sys.executable, "-c", program, log, str(dies)], capture_output=True, text=True, env=environment)

    whole = run("", -1)
    assert whole.returncode == 0, whole.stderr
    log = str(tmp_path / "fit.log")
    assert run(log, 7).returncode == -signal.SIGKILL
    resumed = run(log, -1)
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.split()[0] == whole.stdout.split()[0]
    assert int(resumed.stdout.split()[1]) >= 7 * 6


@pytest.mark.parametrize("kind", ["threads", "processes", "ray"])
def test_workers_join_and_leave_in_the_middle_of_a_call(kind):
    if kind == "ray":
        pytest.importorskip("ray")
    job, theta = cluster.FunctionJob(cluster_blocks.slow_part, worlds=60, block=2), {"a": np.array([1.0, 2.0])}
    with cluster.threads(1) as pool:
        wanted = _sha(*pool.value_and_grad(job, theta))
    sizes = {5: 2, 12: 1}  # one more worker; then the first one leaves

    def progress(done, blocks, workers):
        if done in sizes:
            pool.resize(sizes.pop(done))

    with getattr(cluster, kind)(workers=1, progress=progress) as pool:
        assert _sha(*pool.value_and_grad(job, theta)) == wanted
        assert not sizes and list(pool.report.blocks_of_worker) == [0, 1] and pool.report.workers == 1
        pool.resize(3)  # between calls
        assert _sha(*pool.value_and_grad(job, theta)) == wanted
        with pytest.raises(costate.Error, match="at least one worker"):
            pool.resize(0)


def test_a_generation_has_the_same_best_point_with_any_number_of_workers():
    job, theta = _pendulums()
    found = set()
    for make in (lambda: cluster.threads(1), lambda: cluster.threads(3), lambda: cluster.processes(1), lambda: cluster.processes(2)):
        with make() as pool:
            best = costate.minimize(pool.values(job, theta), [3.0], "cma_es", batched=True, population=24, iterations=3)
            found.add(hashlib.sha256(best.x.tobytes()).hexdigest())
    assert len(found) == 1


def test_policies_are_trained_with_the_bits_that_they_have_at_home(tmp_path):
    common = dict(steps=4000, worlds=16, horizon=12, hidden=[8], critic=[8], rate=1e-2, critic_passes=2, critic_batches=2)
    runs = [dict(common, seed=1), dict(common, seed=2), dict(common, seed=3, method="ppo")]
    with cluster.processes(2) as pool:
        found = pool.train(cluster_blocks.standing, runs, folder=tmp_path, worlds=8)
    assert sorted(os.listdir(tmp_path)) == ["run_0.npz", "run_1.npz", "run_2.npz"]
    for run, trained in zip(runs, found):
        home = costate.learn.Learner(cluster_blocks.standing(), **run)
        policy = home.train(progress=False)
        np.testing.assert_array_equal(trained.policy.parameters, policy.parameters)
        np.testing.assert_array_equal(trained.policy([0.1, 0.9, -0.3]), policy([0.1, 0.9, -0.3]))
        returns, lengths = home.evaluate(8)
        assert (trained.mean_return, trained.mean_length) == (returns.mean(), lengths.mean()) and trained.options == run
    with cluster.threads(2) as pool:  # a task of this process itself
        again = pool.train(cluster_blocks.standing(), runs[:1], worlds=8)
        np.testing.assert_array_equal(again[0].policy.parameters, found[0].policy.parameters)
        with pytest.raises(costate.Error, match="a list of options"):
            pool.train(cluster_blocks.standing(), dict(seed=1))


def test_least_squares_over_blocks_is_least_squares():
    with cluster.threads(2) as pool:
        fit = pool.least_squares(cluster.ResidualJob(cluster_blocks.line, worlds=30, block=4), {"a": [0.0, 0.0]})
    whole = costate.least_squares(lambda a: cluster_blocks.line({"a": a}, 0, 30), [0.0, 0.0])
    np.testing.assert_allclose(fit.x["a"], whole.x, rtol=1e-9)
    np.testing.assert_allclose(fit.covariance, whole.covariance, rtol=1e-6)
    np.testing.assert_allclose(fit.standard_deviation["a"], whole.standard_deviation, rtol=1e-6)


def test_an_identification_is_dealt_out_by_scene_file(tmp_path):
    """Ten measurements in one file, and in three files with some of them each: the same fit, error bars included."""
    whole = pathlib.Path(__file__).parents[2] / "examples/pendulum_fit.toml"
    times, values = (re.search(rf"^{name} = \[(.*)\]$", whole.read_text(), re.MULTILINE)[1].split(", ") for name in ("times", "values"))
    files = []
    for k, part in enumerate((slice(0, 4), slice(4, 5), slice(5, 10))):
        files.append(tmp_path / f"{k}.toml")
        text = whole.read_text().replace(", ".join(times), ", ".join(times[part])).replace(", ".join(values), ", ".join(values[part]))
        files[-1].write_text(text)
    job = cluster.SceneJob(files)
    found = set()
    for pool in (cluster.threads(1), cluster.threads(2), cluster.processes(2)):
        with pool:
            fit = pool.least_squares(job, job.start, lower={"parameters.length": 0.1, "parameters.damping": 0.0})
            found.add(fit.covariance.tobytes() + b"".join(np.float64(value).tobytes() for value in fit.x.values()))
    assert len(found) == 1 and fit.residuals == 10
    alone = costate.load_study(str(whole)).optimize()
    for name, value in alone["variables"].items():
        assert fit.x[name] == pytest.approx(value, rel=1e-6)
        assert fit.standard_deviation[name] == pytest.approx(alone["standard_deviation"][name], rel=1e-5)
    with pytest.raises(costate.Error, match="a list of scene files"):
        cluster.SceneJob("one.toml")
    with pytest.raises(costate.Error, match="cannot be read"):
        cluster.SceneJob([tmp_path / "none.toml"])


def test_a_world_that_diverges_is_named_or_masked():
    system = costate.equations({"x": 1}, "x_dot = k*x*x*x", parameters={"k": 1.0}, dt=0.1)
    x0 = np.full((20, 1), 0.01)
    x0[13] = 1e80
    job = cluster.Job(system.rollout(10), costate.loss.final("x"), worlds=20, block=6, x0=x0)
    with cluster.threads(2) as pool:
        with pytest.raises(costate.Error, match=r"block 2 \(worlds 12 to 17\).*world 13"):
            pool.value_and_grad(job, {"k": 1.0})
        assert np.isinf(pool.population(job, [{"k": 1.0}])[0])
    masks = cluster.Job(system.rollout(10, on_divergence="mask_world"), costate.loss.final("x"), worlds=20, block=1, x0=x0)
    with cluster.threads(2) as pool:
        value, _ = pool.value_and_grad(masks, {"k": 1.0})
        assert np.isfinite(value) and list(pool.gradient_report.masked_worlds) == [13]


def test_rows_of_worlds_are_told_from_numbers_of_a_parameter():
    """A block may have as many worlds as an array has rows, and a parameter as many numbers as there are worlds."""
    job, theta = _pendulums()
    sim = job._system.rollout(100, active=["k"])
    start, loss = np.array([1.0, 0.0]), costate.loss.final("q")
    hopper = costate.rigid.load(costate.scene_file("hopper.xml")).rollout(5, active=["dt"])
    with cluster.threads(2) as pool:
        with pytest.raises(costate.Error, match="2 rows for 4 worlds"):
            pool.value(cluster.Job(sim, loss, worlds=4, block=2, x0=start, p={"l": [[1.0], [2.0]]}), {"k": 3.0})
        with pytest.raises(costate.Error, match="shared by all worlds"):
            pool.value_and_grad(cluster.Job(sim, loss, worlds=4, block=2, x0=start), {"k": [[3.0], [4.0]]})
        gravity = {"gravity": np.array([0.0, 0.0, -5.0])}
        values = [pool.value(cluster.Job(hopper, loss, worlds=3, block=block, p=gravity), {"dt": 0.002}) for block in (1, 2, 3)]
        assert values == pytest.approx([3 * hopper.value(p=gravity | {"dt": 0.002}, loss=loss)] * 3, rel=1e-14)


def test_mistakes_are_named():
    job, theta = _pendulums()
    with pytest.raises(costate.Error, match="a job of 0 worlds"):
        cluster.FunctionJob(cluster_blocks.part, worlds=0)
    with pytest.raises(costate.Error, match="at least one worker"):
        cluster.processes(0)
    with cluster.threads(1) as pool, pytest.raises(costate.Error, match="'kk'"):
        pool.value_and_grad(job, {"kk": 1.0})
    with cluster.processes(1) as pool, pytest.raises(costate.Error, match="define its functions in a module"):
        pool.value(cluster.FunctionJob(lambda theta, first, count: (0.0, {}), worlds=2), theta)
    with cluster.threads(1) as pool, pytest.raises(costate.Error, match="ResidualJob"):
        pool.least_squares(job, theta)
    with pytest.raises(costate.Error, match="version is 0.0.9 and the driver's is 0.1"):
        costate._core._require_equal(["0.1", "AVX2", ""], ["0.0.9", "AVX2", ""], "a worker")


def test_ray_has_the_same_bits():
    pytest.importorskip("ray")
    job, theta = _pendulums()
    with cluster.threads(1) as pool:
        wanted = _sha(*pool.value_and_grad(job, theta))
    for workers in (1, 2):
        with cluster.ray(workers=workers) as pool:
            assert _sha(*pool.value_and_grad(job, theta)) == wanted
            assert _sha(*pool.value_and_grad(job, {"k": 2.0})) != wanted
            assert pool.report.blocks == 16 and pool.report.lost == 0


def test_a_worker_of_ray_that_is_killed_changes_nothing(tmp_path):
    pytest.importorskip("ray")
    theta = {"a": np.array([1.0, 2.0])}
    with cluster.threads(1) as pool:
        wanted = _sha(*pool.value_and_grad(cluster.FunctionJob(cluster_blocks.part, worlds=8, block=2), theta))
    with cluster.ray(workers=2, patience=np.inf) as pool:
        harmed = pool.value_and_grad(cluster.FunctionJob(cluster_blocks.Killer(str(tmp_path)), worlds=8, block=2), theta)
        assert _sha(*harmed) == wanted
        assert (pool.report.lost, pool.report.redone) == (4, 4)
