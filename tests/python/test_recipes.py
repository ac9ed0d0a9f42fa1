"""The recipes of docs/recipes.md do what they say."""
import ast
import builtins
import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/python"


def names_from_nowhere(code, known):
    """Names that some code reads and nothing in it, or in `known`, has made."""
    nodes = list(ast.walk(ast.parse(code)))
    made = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    made |= {n.arg for n in nodes if isinstance(n, ast.arg)} | {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    made |= {(n.asname or n.name).partition(".")[0] for n in nodes if isinstance(n, ast.alias)}
    return {n.id for n in nodes if isinstance(n, ast.Name)} - made - set(known) - set(dir(builtins)), made


def test_every_recipe_can_be_pasted_by_itself():
    recipes = re.findall(r"```python\n(.*?)```", (ROOT / "docs/recipes.md").read_text(), re.DOTALL)
    assert len(recipes) > 8
    for recipe in recipes:
        assert not names_from_nowhere(recipe, {"np", "costate"})[0], recipe


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_blocks_of_a_page_can_be_pasted_one_after_the_other(page):
    known: set[str] = set()
    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
        missing, made = names_from_nowhere(block, known)
        assert not missing, block
        known |= made


@pytest.fixture
def recipes(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.chdir(tmp_path)  # some write files
    sys.modules.pop("recipes", None)
    return importlib.import_module("recipes")


def test_a_fit_says_how_sure_it_is(recipes):
    found = recipes.fit_with_uncertainty()
    for name, truth in {"length": 0.8, "damping": 0.1, "angle": 1.0}.items():
        assert abs(float(found.x[name]) - truth) < 4 * float(found.standard_deviation[name]) < 0.1


def test_a_linearisation_balances(recipes):
    A, B, x = recipes.linearise()
    assert A.shape == (4, 4) and B.shape == (4, 1) and np.abs(x).max() < 0.02


def test_randomised_worlds_share_a_control(recipes):
    before, best = recipes.domain_randomisation()
    assert best.value < 0.8 * before


def test_a_hopper_lands_softly(recipes):
    before, after = recipes.land_softly(iterations=25)
    assert before > 1500 and 100 < after < 0.6 * before


def test_many_policies_learn_at_once(recipes):
    history = recipes.many_policies(iterations=25, policies=8)
    assert history.shape == (25, 8) and np.min(history[-1]) < 0.5 * np.min(history[0])
    assert set(np.load("policy.npz")) == {"policy.w1", "policy.b1", "policy.w2", "policy.b2"}


def test_a_policy_in_torch(recipes):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    losses = recipes.policy_in_torch()
    assert losses[-1] < 0.7 * losses[0]


def test_poles_are_swung_up_in_torch(recipes):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    loss, up = recipes.swing_up_in_torch(policies=16, iterations=40)
    assert loss < 1.8 and 0 <= up <= 1  # a pole that hangs still costs 2; whether it stands in the end is luck so early


def test_a_policy_in_jax(recipes):
    losses = recipes.policy_in_jax()
    assert losses[-1] < 0.8 * losses[0]


def test_onsets_are_compared(recipes, capsys):
    recipes.which_onset()
    assert capsys.readouterr().out.count("|dL/du|") == 2
