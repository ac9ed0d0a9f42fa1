"""The notebooks say what the pages of the documentation say, and run from the first cell to the last."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import costate

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
OPTIONAL = ("torch", "jax")  # a recipe for somebody who has them


def executed(notebook, folder):
    """The code cells of a notebook after a run in an empty folder, as a user's browser would have them."""
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.reads(json.dumps(notebook), as_version=4)
    package = str(Path(costate.__file__).parents[1])
    environment = dict(os.environ, PYTHONPATH=package, JUPYTER_PLATFORM_DIRS="1", IPYTHONDIR=str(folder / "ipython"))
    client = nbclient.NotebookClient(book, timeout=600, resources={"metadata": {"path": str(folder)}},
                                     allow_error_names=["ModuleNotFoundError"])
    client.execute(env=environment)
    return [cell for cell in book.cells if cell.cell_type == "code"]


def test_the_notebooks_are_those_of_the_pages():
    subprocess.run([sys.executable, str(ROOT / "tools/notebooks.py"), "--check"], check=True)
    assert [path.stem for path in NOTEBOOKS] == ["recipes", "tutorial"]


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def run(request, tmp_path_factory):
    return request.param.stem, executed(json.loads(request.param.read_text()), tmp_path_factory.mktemp(request.param.stem))


def test_every_cell_runs(run):
    _, cells = run
    for cell in cells:
        assert cell.execution_count, cell.source
        for output in cell.outputs:
            if output.output_type == "error":
                assert any(f"No module named '{name}'" in output.evalue for name in OPTIONAL), output.evalue


def test_results_show_themselves(run):
    name, cells = run
    text = "".join(o.get("text", "") for cell in cells for o in cell.outputs)
    pages = "".join(o.data.get("text/html", "") for cell in cells for o in cell.outputs if "data" in o)
    assert "+-" in text  # estimates with their standard deviations
    if name == "tutorial":
        assert "exact" in text and "<svg" in pages and "pass" in text


LONG_CALL = """
import numpy as np
import costate
import costate.progress

@costate.system(states=["q", "v"], dt=1e-3)
def pendulum(q, v):
    return [v, -np.sin(q)]

asked, of_one_call = [], costate.progress.of_one_call
costate.progress.of_one_call = lambda: asked.append(of_one_call()) or asked[-1]
steps = 1_000_000
while not asked:  # until one call is long enough for somebody to want to know
    pendulum.rollout(steps, checkpoints=costate.segments()).value_and_grad([1.0, 0.0], loss=costate.loss.final("q"))
    steps *= 4
"""


def test_a_long_gradient_says_how_far_it_is(tmp_path):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": LONG_CALL, "execution_count": None, "outputs": []}
    ran, = executed({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, tmp_path)
    shown = "".join(o.get("text", "") + str(o.get("data", "")) for o in ran.outputs)
    assert not any(o.output_type == "error" for o in ran.outputs), shown
    assert "TqdmWarning" not in shown
    assert "%|" in shown or "HBox" in shown or "FloatProgress" in shown, shown
