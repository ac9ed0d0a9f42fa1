"""Many worlds by many workers: the same bits from any of them, and from a run that was killed."""
import functools
import hashlib
import importlib.util
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
from cluster_jobs import hopper, pendulums, sha


def test_a_job_is_one_large_rollout():
    job, theta = pendulums()
    sim = job._system.rollout(100, active=["k"])
    value, g = sim.value_and_grad(np.tile([1.0, 0.0], (37, 1)), None, {**job._p, **theta}, loss=job._loss)
    with cluster.threads(2) as pool:
        ours, gradient = pool.value_and_grad(job, theta)
        assert ours == pytest.approx(value, rel=1e-13)
        assert gradient["k"] == pytest.approx(np.ravel(g.parameters["k"])[0], rel=1e-12)
        assert pool.value(job, theta) == pytest.approx(value, rel=1e-13)
        assert pool.gradient_report.worlds == 37 and pool.report.blocks == 16
        assert "16 blocks" in str(pool.report)


@pytest.mark.parametrize("make", [hopper, pendulums])
def test_threads_and_processes_have_the_same_sha256(make):
    job, theta = make()
    found = set()
    for pool in (cluster.threads(1), cluster.threads(2), *(cluster.processes(n) for n in (1, 2, 3, 4))):
        with pool:
            found.add(sha(*pool.value_and_grad(job, theta)))
    assert len(found) == 1


def test_a_worker_killed_in_every_block_changes_nothing(tmp_path):
    job = cluster.FunctionJob(cluster_blocks.Killer(str(tmp_path)), worlds=8, block=2)
    theta = {"a": np.array([1.0, 2.0])}
    with cluster.processes(2, patience=np.inf) as pool:
        harmed = sha(*pool.value_and_grad(job, theta))
        assert (pool.report.lost, pool.report.redone) == (4, 4)
    with cluster.threads(1) as pool:
        assert sha(*pool.value_and_grad(cluster.FunctionJob(cluster_blocks.part, worlds=8, block=2), theta)) == harmed


def _run_program(program, *arguments, **options):
    here = os.path.dirname(os.path.abspath(__file__))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=environment, **options)


@pytest.mark.parametrize("method", ["adam", "gradient_descent", "lbfgs", "cma_es"])
def test_a_driver_that_was_killed_goes_on_from_its_log(tmp_path, method):
    """At iteration 7 of 20, with every optimiser."""
    program = """
        import os, signal, sys
        import costate, costate.cluster as cluster, cluster_blocks
        log, dies, method = sys.argv[1] or None, int(sys.argv[2]), sys.argv[3]
        job = cluster.FunctionJob(cluster_blocks.bent, worlds=12, block=2)
        def look(progress):
            if progress.iteration == dies:
                os.kill(os.getpid(), signal.SIGKILL)
        with cluster.threads(2, log=log) as pool:
            batched = method == "cma_es"
            fun = pool.values(job, {"a": [0.0, 0.0]}) if batched else pool.objective(job)
            rate = {"adam": 0.1, "gradient_descent": 1e-4}.get(method)
            best = costate.minimize(fun, [3.0, 3.0] if batched else {"a": [3.0, 3.0]}, method, rate=rate, iterations=20,
                                    tolerance=0.0, value_tolerance=0.0, callback=look, batched=batched)
            x = best.x if batched else best.x["a"]
            print(x.tobytes().hex(), pool.report.resumed, best.iterations)
    """

    def run(log, dies):
        process = _run_program(program, log, dies, method)
        out, err = process.communicate()
        assert process.returncode == (0 if dies < 0 else -signal.SIGKILL), err
        return out.split()

    whole = run("", -1)
    assert int(whole[2]) > 7
    log = tmp_path / "fit.log"
    run(log, 7)
    resumed = run(log, -1)
    assert (resumed[0], resumed[2]) == (whole[0], whole[2])
    assert int(resumed[1]) >= 7 * 6


def test_a_log_tells_points_apart_by_their_names(tmp_path):
    """The same numbers under other names, and in another order, are other points."""
    job = cluster.FunctionJob(cluster_blocks.by_name, worlds=3)
    points = [{"a": 1.0, "b": 2.0}, {"b": 1.0, "a": 2.0}, {"b": 2.0, "a": 1.0}]
    with cluster.threads(1) as pool:
        wanted = [sha(*pool.value_and_grad(job, point)) for point in points]
    for _ in range(2):
        with cluster.threads(1, log=tmp_path / "fit.log") as pool:
            assert [sha(*pool.value_and_grad(job, point)) for point in points] == wanted
    assert pool.report.resumed == 9


def test_two_drivers_do_not_write_one_log(tmp_path):
    job, theta = cluster.FunctionJob(cluster_blocks.part, worlds=4), {"a": np.array([1.0, 2.0])}
    with cluster.threads(1, log=tmp_path / "fit.log") as first:
        first.value(job, theta)
        with cluster.threads(1, log=tmp_path / "fit.log") as second, pytest.raises(costate.Error, match="another run is writing this log"):
            second.value(job, theta)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_an_interrupt_ends_the_driver_and_its_workers(tmp_path, kind):
    """Ctrl-C goes to the whole group: the workers leave it to the driver, which ends them."""
    program = """
        import os, signal, sys, costate.cluster as cluster, cluster_blocks
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        with getattr(cluster, sys.argv[1])(2, log=sys.argv[2], progress=lambda *_: print("going", flush=True)) as pool:
            pool.value_and_grad(cluster.FunctionJob(cluster_blocks.slow_part, worlds=400), {"a": [1.0, 2.0]})
    """
    process = _run_program(program, kind, tmp_path / "fit.log", start_new_session=True)
    assert process.stdout.readline() == "going\n"
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in err
    with pytest.raises(ProcessLookupError):  # nobody of the group is left
        os.killpg(process.pid, 0)
    with cluster.threads(2, log=tmp_path / "fit.log") as pool:
        pool.value_and_grad(cluster.FunctionJob(cluster_blocks.slow_part, worlds=400), {"a": [1.0, 2.0]})
        assert 0 < pool.report.resumed < 400


@pytest.mark.parametrize("kind", ["threads", "processes", "ray"])
def test_worlds_that_diverge_are_masked_by_every_executor(kind):
    if kind == "ray":
        pytest.importorskip("ray")
    system = costate.equations({"x": 1}, "x_dot = k*x*x*x", parameters={"k": 1.0}, dt=0.1)
    x0 = np.full((20, 1), 0.01)
    x0[[3, 12, 13, 14, 15, 16, 17]] = 1e80  # one, and a whole block
    job = cluster.Job(system.rollout(10, on_divergence="mask_world"), costate.loss.final("x"), worlds=20, block=6, x0=x0)
    kept = cluster.Job(system.rollout(10), costate.loss.final("x"), worlds=13, block=13, x0=np.full((13, 1), 0.01))
    with cluster.threads(1) as pool:
        wanted, alone = sha(*pool.value_and_grad(job, {"k": 1.0})), pool.value(kept, {"k": 1.0})
    with getattr(cluster, kind)(workers=2) as pool:
        value, gradient = pool.value_and_grad(job, {"k": 1.0})
        assert sha(value, gradient) == wanted and value == pytest.approx(alone, rel=1e-12)
        assert list(pool.gradient_report.masked_worlds) == [3, 12, 13, 14, 15, 16, 17]
        assert pool.value(job, {"k": 1.0}) == pytest.approx(value, rel=1e-12)


def test_a_value_that_is_not_a_number_is_not_hidden():
    theta = {"a": np.array([1.0, 2.0])}
    for kind in ("threads", "processes"):
        with getattr(cluster, kind)(2) as pool:
            value, gradient = pool.value_and_grad(cluster.FunctionJob(cluster_blocks.not_a_number, worlds=6, block=2), theta)
            assert np.isnan(value) and np.isfinite(gradient["a"]).all()
            found = costate.minimize(pool.objective(cluster.FunctionJob(cluster_blocks.not_a_number, worlds=6)), theta, "adam")
            assert not found.converged and "not finite" in found.reason


def test_a_loss_that_is_not_a_number_is_not_a_world_that_is_masked():
    system = costate.equations({"x": 1}, "x_dot = k*x*x*x", parameters={"k": 1.0}, dt=0.1)
    sim, x0 = system.rollout(10, on_divergence="mask_world"), np.full((8, 1), 0.01)
    x0[3], x0[5] = 1e80, 0.001
    with cluster.threads(1) as pool:
        for least, finite in ((0.005, False), (0.0, True)):
            job = cluster.Job(sim, (lambda a: lambda x: np.sqrt(x - a))(least), worlds=8, block=2, x0=x0)
            assert np.isfinite(pool.value(job, {"k": 1.0})) == finite


def test_a_pool_goes_on_after_an_error_and_not_after_its_end(tmp_path):
    job, theta = cluster.FunctionJob(cluster_blocks.part, worlds=8, block=2), {"a": np.array([1.0, 2.0])}
    with cluster.threads(1) as pool:
        wanted = sha(*pool.value_and_grad(job, theta))
    for kind in ("threads", "processes"):
        with getattr(cluster, kind)(2) as pool:
            for _ in range(2):
                with pytest.raises(costate.Error, match="block 1 .worlds 2 to 3.*out of luck"):
                    pool.value(cluster.FunctionJob(cluster_blocks.unlucky, worlds=8, block=2), theta)
                assert sha(*pool.value_and_grad(job, theta)) == wanted
        with pytest.raises(costate.Error, match="this pool is closed"):
            pool.value(job, theta)


def test_one_bar_for_all_workers(monkeypatch):
    class Bar:
        parts, closed = [], 0

        def show(self, part):
            self.parts.append(part)

        def close(self):
            Bar.closed += 1

    monkeypatch.setattr(costate.progress, "of_one_call", Bar)
    with cluster.processes(2) as pool:
        pool.value(cluster.FunctionJob(cluster_blocks.slow_part, worlds=100), {"a": np.array([1.0, 2.0])})
    assert Bar.parts == sorted(Bar.parts) and 0 < Bar.parts[-1] <= 1 and Bar.closed == 1


@pytest.mark.parametrize("kind", ["threads", "processes", "ray"])
def test_workers_join_and_leave_in_the_middle_of_a_call(kind):
    if kind == "ray":
        pytest.importorskip("ray")
    job, theta = cluster.FunctionJob(cluster_blocks.slow_part, worlds=60, block=2), {"a": np.array([1.0, 2.0])}
    with cluster.threads(1) as pool:
        wanted = sha(*pool.value_and_grad(job, theta))
    sizes = {5: 2, 12: 1}  # one more worker; then the first one leaves

    def progress(done, blocks, workers):
        if done in sizes:
            pool.resize(sizes.pop(done))

    with getattr(cluster, kind)(workers=1, progress=progress) as pool:
        assert sha(*pool.value_and_grad(job, theta)) == wanted
        assert not sizes and list(pool.report.blocks_of_worker) == [0, 1] and pool.report.workers == 1
        assert 0 < pool.report.efficiency <= 1
        pool.resize(3)  # between calls
        assert sha(*pool.value_and_grad(job, theta)) == wanted
        with pytest.raises(costate.Error, match="at least one worker"):
            pool.resize(0)


def test_a_generation_has_the_same_best_point_with_any_number_of_workers_of_ray_too():
    job, theta = pendulums()
    found = set()
    makes = [lambda: cluster.threads(1), lambda: cluster.threads(3), *(functools.partial(cluster.processes, n) for n in (1, 2, 3, 4))]
    if importlib.util.find_spec("ray"):
        makes += [functools.partial(cluster.ray, workers=n) for n in (1, 2)]
    for make in makes:
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


def _recordings(folder):
    """The ten measurements of an example in three files, with some of them each."""
    whole = pathlib.Path(__file__).parents[2] / "examples/pendulum_fit.toml"
    times, values = (re.search(rf"^{name} = \[(.*)\]$", whole.read_text(), re.MULTILINE)[1].split(", ") for name in ("times", "values"))
    files = []
    for k, part in enumerate((slice(0, 4), slice(4, 5), slice(5, 10))):
        files.append(folder / f"{k}.toml")
        text = whole.read_text().replace(", ".join(times), ", ".join(times[part])).replace(", ".join(values), ", ".join(values[part]))
        files[-1].write_text(text)
    return whole, cluster.SceneJob(files)


def _fit(pool, job):
    fit = pool.least_squares(job, job.start, lower={"parameters.length": 0.1, "parameters.damping": 0.0})
    return fit, fit.covariance.tobytes() + b"".join(np.float64(value).tobytes() for value in fit.x.values())


def test_an_identification_is_dealt_out_by_scene_file(tmp_path):
    """From one file, and from three with some of the measurements each: the same fit, error bars included."""
    whole, job = _recordings(tmp_path)
    found = set()
    for pool in (cluster.threads(1), cluster.threads(2), *(cluster.processes(n) for n in (1, 2, 3, 4))):
        with pool:
            fit, bits = _fit(pool, job)
            found.add(bits)
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
    job, theta = pendulums()
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
    job, theta = pendulums()
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
        costate._core._require_equal(["0.1", "AVX2", "", ""], ["0.0.9", "AVX2", ""], "a worker")  # older, and says less
    with pytest.raises(costate.Error, match="instruction set is AVX2 and the driver's is AVX-512"):
        costate._core._require_equal(["0.1", "AVX-512", "", ""], ["0.1", "AVX2", "", ""], "a worker")


def test_ray_has_the_same_bits(tmp_path):
    """Of rigid bodies with contact, an ensemble of equations, and an identification."""
    pytest.importorskip("ray")
    jobs, (_, recordings) = [hopper(), pendulums()], _recordings(tmp_path)
    with cluster.threads(1) as pool:
        wanted = [sha(*pool.value_and_grad(job, theta)) for job, theta in jobs]
        fit = _fit(pool, recordings)[1]
    for workers in (1, 2):
        with cluster.ray(workers=workers) as pool:
            assert [sha(*pool.value_and_grad(job, theta)) for job, theta in jobs] == wanted
            assert sha(*pool.value_and_grad(jobs[1][0], {"k": 2.0})) != wanted[1]
            assert pool.report.blocks == 7 + 8 + 8 and pool.report.lost == 0
            assert _fit(pool, recordings)[1] == fit


def test_a_worker_of_ray_that_is_killed_changes_nothing(tmp_path):
    pytest.importorskip("ray")
    theta = {"a": np.array([1.0, 2.0])}
    with cluster.threads(1) as pool:
        wanted = sha(*pool.value_and_grad(cluster.FunctionJob(cluster_blocks.part, worlds=8, block=2), theta))
    with cluster.ray(workers=2, patience=np.inf) as pool:
        harmed = pool.value_and_grad(cluster.FunctionJob(cluster_blocks.Killer(str(tmp_path)), worlds=8, block=2), theta)
        assert sha(*harmed) == wanted
        assert (pool.report.lost, pool.report.redone) == (4, 4)


def test_ray_refuses_workers_that_are_not_equals(monkeypatch):
    pytest.importorskip("ray")
    job, theta = cluster.FunctionJob(cluster_blocks.part, worlds=4), {"a": np.array([1.0, 2.0])}
    identity = cluster.ray.__globals__["_identity"]
    with cluster.ray(workers=1) as pool:
        wanted = pool.value(job, theta)
        for k, what in enumerate(["version", "instruction set", "table of sines and exponentials", "job"]):
            def other(job, k=k):
                mine = identity(job)
                return [*mine[:k], "other", *mine[k + 1:]]

            monkeypatch.setitem(cluster.ray.__globals__, "_identity", other)  # of the driver
            with pytest.raises(costate.Error, match=f"its {what} is .* and the driver's is other"):
                pool.value(cluster.FunctionJob(cluster_blocks.part, worlds=5 + k), theta)
        monkeypatch.undo()
        assert pool.value(job, theta) == wanted
