"""Gymnasium's own checker, the engine's rollouts, and differences."""
import numpy as np
import pytest

import costate

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed")
import costate.gym  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402


@pytest.mark.parametrize("task", ["Pendulum", "CartPole", "Hopper"])
@pytest.mark.filterwarnings("ignore")
def test_gymnasiums_checker_is_content(task):
    check_env(gymnasium.make(f"costate/{task}-v0").unwrapped, skip_render_check=True)


def test_a_step_is_a_rollout():
    env = gymnasium.make("costate/CartPole-v0").unwrapped
    env.reset(seed=1)
    before = env.state.copy()
    observation, reward, *_ = env.step([0.5])
    sim = env.physics.system.rollout(env.physics.task.frame_skip, hold=env.physics.task.frame_skip)
    expected = sim.simulate(before[0], np.array([[0.5]])).final_state
    np.testing.assert_allclose(observation, expected, rtol=1e-12)
    assert reward == pytest.approx(np.cos(expected[1]) - 0.01 * 0.25)


def test_a_vector_environment_is_many_single_ones():
    many = costate.gym.VectorEnv("CartPole", worlds=5)
    many.reset(seed=3)
    start = many.state.copy()
    actions = np.linspace(-1, 1, 5)[:, None]
    observations, rewards, *_ = many.step(actions)
    one = costate.gym.Physics("CartPole")
    for w in range(5):
        y, reward, _ = one.step(start[w:w + 1], actions[w])
        np.testing.assert_allclose(observations[w], y[0], rtol=1e-12)
        assert rewards[w] == pytest.approx(reward[0])


def test_worlds_that_fall_start_again():
    env = costate.gym.VectorEnv("Hopper", worlds=3)
    env.reset(seed=0)
    env.state[1, 1] = 0.3  # below where it counts as fallen
    _, _, fallen, _, _ = env.step(np.zeros((3, 3)))
    assert fallen.tolist() == [False, True, False]
    env.step(np.zeros((3, 3)))
    assert env.state[1, 1] == pytest.approx(1.3, abs=0.1) and env.elapsed.tolist() == [2, 0, 2]


def test_policy_gradients_agree_with_differences():
    env = costate.gym.VectorEnv("CartPole", worlds=4)
    env.reset(seed=5)
    value, gradient = env.rollout_value_and_grad(steps=10, hidden=8)
    assert set(gradient) >= {"policy/w1", "policy/b1", "policy/w2", "policy/b2"}
    weights = {n: np.asarray(env._sim.system.parameters[n]) for n in gradient}
    rng = np.random.default_rng(0)
    direction = {n: rng.standard_normal(w.shape) for n, w in weights.items()}
    h = 1e-5
    moved = [env.rollout_value_and_grad({n: weights[n] + s * h * direction[n] for n in weights}, steps=10, hidden=8)[0]
             for s in (1, -1)]
    expected = sum(np.sum(gradient[n] * direction[n]) for n in gradient)
    assert (moved[0] - moved[1]) / (2 * h) == pytest.approx(expected, rel=1e-6)
    assert value == pytest.approx(env.rollout_value_and_grad(weights, steps=10, hidden=8)[0], rel=1e-12)


def test_an_unknown_task_is_an_error():
    with pytest.raises(costate.Error, match="CartPole"):
        costate.gym.Physics("CatPole")
