"""Learning and hybrid physics on problems of seconds."""
import dataclasses

import numpy as np
import pytest

import costate


@costate.system(states=["angle", "rate"], controls=["torque"], parameters={"drag": 0.1}, dt=0.05)
def pendulum(angle, rate, torque, drag):
    return [rate, 4 * np.sin(angle) - drag * rate + torque]


def standing(**changes):
    return costate.learn.Task(**{**dict(plant=pendulum, observe=lambda angle, rate: [np.sin(angle), np.cos(angle), rate],
                                        reward=lambda angle, rate, torque, alive: np.cos(angle) - 0.05 * rate**2 - 0.01 * torque**2 + alive,
                                        alive=lambda angle: 2 - np.abs(angle), hold=2, decisions=60, start=[0, 0], uniform=[1, 0.5],
                                        lower=-6, upper=6), **changes})


OPTIONS = dict(steps=12000, worlds=16, horizon=12, hidden=[16], critic=[16, 16], discount=0.95, rate=1e-2, critic_rate=5e-3, critic_passes=4,
               critic_batches=2, seed=3)


def test_a_policy_is_learned_saved_and_resumed_with_the_same_bits(tmp_path):
    whole = costate.learn.Learner(standing(), **OPTIONS)
    policy = whole.train(progress=False)
    returns, lengths = whole.evaluate(32)
    assert returns.mean() > 105 and lengths.mean() > 55  # 120 and 60 is standing still all the time
    broken = costate.learn.Learner(standing(), **OPTIONS)
    for _ in range(5):
        broken.iterate()
    broken.save(tmp_path / "half.npz")
    resumed = costate.learn.Learner(standing(), **OPTIONS)
    np.testing.assert_array_equal(resumed.train(tmp_path / "half.npz", progress=False).parameters, policy.parameters)
    assert [row["steps"] for row in resumed.history] == [row["steps"] for row in whole.history]
    policy.save(tmp_path / "policy.npz")
    again = costate.learn.Policy.load(tmp_path / "policy.npz")
    seen = np.random.default_rng(0).standard_normal((4, 5, 3))
    np.testing.assert_array_equal(again(seen), policy(seen))
    assert policy(seen).shape == (4, 5, 1) and np.all(np.abs(policy(seen)) <= 6)


def test_a_policy_is_kept_under_the_name_that_was_given(tmp_path):
    policy = costate.learn.Learner(standing(), **{**OPTIONS, "steps": 192}).policy
    for name in ("policy", "policy.npz", "policy.v2"):
        policy.save(tmp_path / name)
        assert [file.name for file in tmp_path.iterdir()] == [name]
        np.testing.assert_array_equal(costate.learn.Policy.load(tmp_path / name).parameters, policy.parameters)
        (tmp_path / name).unlink()
    assert policy(np.ones((7, 3))).shape == (7, 1)
    for wrong in (np.ones((3, 1)), np.ones(2), 1.0):
        with pytest.raises(costate.Error, match=r"instead of \(..., 3\)"):
            policy(wrong)


def test_a_policy_is_found_by_scores_alone(tmp_path):
    options = dict(method="cma_es", steps=20000, worlds=24, hidden=[4], population=8, noise=0.5, seed=3)
    learner = costate.learn.Learner(standing(), **options)
    before = learner.evaluate(32)[0].mean()
    learner.iterate()
    learner.save(tmp_path / "half.npz")
    policy = learner.train(progress=False)
    assert learner.evaluate(32)[0].mean() > before + 20
    again = costate.learn.Learner(standing(), **options).train(tmp_path / "half.npz", progress=False)
    np.testing.assert_array_equal(again.parameters, policy.parameters)
    with pytest.raises(costate.Error, match="a covariance of all weights"):
        costate.learn.Learner(standing(), method="cma_es")


def test_a_policy_in_python_acts_as_the_learner_does():
    learner = costate.learn.Learner(standing(uniform=0.0, decisions=3), **OPTIONS)
    learner.iterate()
    policy, sim = learner.policy, pendulum.rollout(2, hold=2, active=[])
    x, total = np.zeros(2), 0.0
    for _ in range(3):
        u = policy([np.sin(x[0]), np.cos(x[0]), x[1]])
        x = sim.simulate(x, u[None]).final_state
        total += np.cos(x[0]) - 0.05 * x[1]**2 - 0.01 * u[0]**2 + 1
    assert learner.evaluate(1)[0][0] == pytest.approx(total, rel=1e-12)


def test_a_policy_with_a_memory_acts_as_the_learner_does(tmp_path):
    task = standing(uniform=0.0, decisions=5, start=[0.4, 0.0], observe=lambda angle, rate: [np.sin(angle), np.cos(angle)])
    learner = costate.learn.Learner(task, **{**OPTIONS, "memory": 6})
    for _ in range(3):
        learner.iterate()
    learner.save(tmp_path / "kept.npz")
    learner.policy.save(tmp_path / "policy.npz")
    sim = pendulum.rollout(2, hold=2, active=[])
    for policy in (learner.policy, costate.learn.Policy.load(tmp_path / "policy.npz"), costate.learn.Policy.load(tmp_path / "kept.npz")):
        x, total, memory = np.array([0.4, 0.0]), 0.0, np.zeros((1, 6))
        for _ in range(5):
            u, memory = policy([[np.sin(x[0]), np.cos(x[0])]], memory)
            x = sim.simulate(x, u).final_state
            total += np.cos(x[0]) - 0.05 * x[1]**2 - 0.01 * u[0, 0]**2 + 1
        assert learner.evaluate(1)[0][0] == pytest.approx(total, rel=1e-12)
    with pytest.raises(costate.Error, match="remembers 6 numbers"):
        policy([[0.0, 1.0]])


def test_mistakes_are_errors(tmp_path):
    with pytest.raises(costate.Error, match="angel"):
        costate.learn.Learner(standing(observe=lambda angel: [angel]), **OPTIONS)
    with pytest.raises(costate.Error, match="no option 'epochs'"):
        costate.learn.Learner(standing(), epochs=3)
    with pytest.raises(costate.Error, match="wrong kind"):
        costate.learn.Learner(standing(), worlds="many")
    learner = costate.learn.Learner(standing(), **OPTIONS)
    learner.save(tmp_path / "state.npz")
    with pytest.raises(costate.Error, match="other options"):
        costate.learn.Learner(standing(), **{**OPTIONS, "seed": 4}).restore(tmp_path / "state.npz")
    with pytest.raises(costate.Error, match="is not a policy"):
        np.savez(tmp_path / "other.npz", a=1)
        costate.learn.Policy.load(tmp_path / "other.npz")


def test_the_task_of_a_twin_rewards_what_gymnasium_does():
    pytest.importorskip("gymnasium", reason="Gymnasium is not installed")
    import costate.gym

    task = dataclasses.replace(costate.learn.twin("Hopper-v5"), uniform=0.0)
    learner = costate.learn.Learner(task, worlds=2, horizon=4, steps=8, hidden=[8], critic=[8], seed=1)
    policy = learner.policy  # before any statistics: observations as they are
    returns, lengths = learner.evaluate(1)
    env = costate.gym.Env("Hopper-v5")
    env.reset(seed=0)
    env.state[0] = env.physics.system.initial_state
    total, ended, count = 0.0, False, 0
    while not ended:
        _, reward, ended, _, _ = env.step(policy(env._observation()))
        total, count = total + reward, count + 1
    assert count == lengths[0] and total == pytest.approx(returns[0], rel=1e-9)
    with pytest.raises(costate.Error, match="more than q and v"):
        costate.learn.twin("Reacher-v5")


def test_the_task_of_the_ant_is_gymnasiums_without_forces_of_contact():
    pytest.importorskip("gymnasium", reason="Gymnasium is not installed")
    import costate.gym

    task = dataclasses.replace(costate.learn.twin("Ant-v5"), uniform=0.0, normal=0.0, decisions=8)
    learner = costate.learn.Learner(task, worlds=1, horizon=2, steps=2, hidden=[8], critic=[8], seed=1)
    policy = learner.policy
    returns, lengths = learner.evaluate(1)
    env = costate.gym.Env("Ant-v5")
    env.reset(seed=0)
    physics = env.physics
    env.state = np.concatenate([physics.system.initial_state, physics.at_rest(physics.system.initial_state[None])[0]])[None]
    total = 0.0
    for _ in range(8):
        before = env.state
        seen = env._observation()
        _, reward, ended, _, _ = env.step(policy(seen[:27]))
        # There the place is that of the last stage of a step, and contact has a price of at most 0.04.
        late = (env.state[0, physics.states] - before[0, physics.states]) / physics.dt
        total += reward - late + (env.state[0, 0] - before[0, 0]) / physics.dt
    assert not ended and lengths[0] == 8
    assert total == pytest.approx(returns[0], abs=8 * 0.04)


def test_worlds_may_differ_from_episode_to_episode():
    task = standing(uniform=0.0, vary={"drag": 0.5})
    learner = costate.learn.Learner(task, **OPTIONS)
    assert np.ptp(learner.evaluate(8)[0]) > 0 == np.ptp(costate.learn.Learner(standing(uniform=0.0), **OPTIONS).evaluate(8)[0])
    for wrong, what in (({"drga": 0.1}, "drga"), ({"drag": 2}, "between 0 and 1"), ({"drag": "much"}, "give names of parameters and numbers")):
        with pytest.raises(costate.Error, match=what):
            costate.learn.Learner(standing(vary=wrong), **OPTIONS)


def recordings(seed, runs=6, times=121):
    """A pendulum with a drag that grows with the square of the rate, pushed at random: more than the plant knows."""
    truth = costate.system(lambda angle, rate, torque: [rate, 4 * np.sin(angle) - 0.1 * rate + torque - 0.4 * rate * np.abs(rate)],
                           states=["angle", "rate"], controls=["torque"], dt=0.05)
    rng = np.random.default_rng(seed)
    u = np.repeat(rng.uniform(-6, 6, (runs, (times - 1) // 8, 1)), 8, axis=1)
    x0 = rng.uniform(-1, 1, (runs, 2))
    kept = truth.rollout(times - 1, worlds=runs, keep=1, active=[]).simulate(x0, u).states
    return np.moveaxis(np.asarray(kept), 0, 1) if np.shape(kept)[0] == times else np.asarray(kept), u


def test_a_residual_learns_what_the_laws_leave_out():
    states, controls = recordings(1)
    fitted = costate.hybrid.Hybrid(pendulum, observe=["rate"], hidden=(12, 12), limit=20.0)
    alone, both = fitted.errors(states, controls, window=20)
    np.testing.assert_array_equal(alone, both)  # an untrained residual is none
    assert fitted.share(states, controls, window=20) == 0
    fitted.train(states, controls, window=20, penalty=1e-4, iterations=250, rate=1e-2)
    unseen = recordings(2)
    alone, both = fitted.errors(*unseen, window=20)
    assert np.all(both < 0.3 * alone)
    share = fitted.share(*unseen, window=20)
    assert 0.05 < share < 1
    dear = costate.hybrid.Hybrid(pendulum, observe=["rate"], hidden=(12, 12), limit=20.0)
    dear.train(states, controls, window=20, penalty=10.0, iterations=100, rate=1e-2)
    assert dear.share(*unseen, window=20) < 0.5 * share  # a high price keeps the residual small


def test_an_untrained_residual_of_many_layers_is_none():
    states, controls = recordings(1, runs=2, times=41)
    deep = costate.hybrid.Hybrid(pendulum, hidden=(3,) * 11, limit=20.0)
    alone, both = deep.errors(states, controls, window=10)
    np.testing.assert_array_equal(alone, both)


def test_mistakes_in_recordings_are_errors():
    states, controls = recordings(1, runs=2, times=41)
    fitted = costate.hybrid.Hybrid(pendulum, hidden=4)
    for wrong, what in (((states[0], controls), "runs, times, 2"), ((states, controls[:, :5]), "times - 1"),
                        ((states * np.nan, controls), "not finite")):
        with pytest.raises(costate.Error, match=what):
            fitted.train(*wrong, window=10)
    with pytest.raises(costate.Error, match="does not fit"):
        fitted.train(states, controls, window=100)
