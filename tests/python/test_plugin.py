"""A physics in a shared library of its own. Needs the compiler, and the static libraries of the build that the package belongs to."""
import importlib
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import costate

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(costate._core.__file__).resolve().parents[2]
PARTS = [BUILD / f"costate/{part}/libcostate_{part}.a" for part in ("system", "ad", "core")]
COMPILER = shutil.which(os.environ.get("CXX", "c++"))
pytestmark = pytest.mark.skipif(COMPILER is None or not all(part.exists() for part in PARTS), reason="no compiler, or no libraries to link to")


def built(folder, source, *options):
    library = folder / f"lib{Path(source).stem}.so"
    command = [COMPILER, "-std=c++20", "-O1", "-shared", "-fPIC", "-march=native", "-Wno-psabi", f"-I{ROOT}", *options, str(source), "-o", str(library),
               *map(str, PARTS), "-ltbb", "-lfmt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return library


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return built(tmp_path_factory.mktemp("plugin"), ROOT / "examples/plugin/bead.cpp")


def test_a_library_is_a_system_like_any_other(library):
    bead = costate.load_plugin(library)
    twin = costate.equations({"q": 1, "v": 1}, "w = v + dt*(kick - strength*sin(q) - friction*v); q_next = q + dt*w; v_next = w", controls=["kick"],
                             parameters={"strength": 4.0, "friction": 0.2, "dt": 0.01}, method="next", name="twin")
    np.testing.assert_array_equal(bead.initial_state, [1.0, 0.0])
    x, u = np.random.default_rng(1).normal(size=(19, 2)), np.random.default_rng(2).normal(size=(19, 40, 1))
    for dtype, gate in (("float64", 1e-13), ("float32", 2e-5)):
        ours, theirs = (s.rollout(40, dtype=dtype) for s in (bead, twin))
        (a, g), (b, h) = (sim.value_and_grad(x, u, {"friction": 0.3}, loss=costate.loss.final("q", [0.2])) for sim in (ours, theirs))
        assert abs(a - b) < gate * abs(a)
        np.testing.assert_allclose(g.controls, h.controls, rtol=100 * gate, atol=gate)
        np.testing.assert_allclose(g.parameters["strength"], h.parameters["strength"], rtol=100 * gate)
    for check in bead.rollout(40).check([0.3, 0.1], u[0], loss=costate.loss.final("q", [0.2])):
        assert check, check
    again = pickle.loads(pickle.dumps(bead))
    assert again.name == "bead" and isinstance(costate.load(library), costate.System)


def test_the_recipe_finds_what_was_hidden(library, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples/python"))
    sys.modules.pop("own_plugin", None)
    _, found = importlib.import_module("own_plugin").main(library)
    assert abs(float(found.x["strength"]) - 5) < 1e-6 and abs(float(found.x["friction"]) - 0.4) < 1e-6


def test_what_is_no_plugin_is_said(library, tmp_path):
    with pytest.raises(costate.Error, match="(?s)not a library.*none.so"):
        costate.load_plugin(tmp_path / "none.so")
    empty = tmp_path / "empty.cpp"
    empty.write_text("int nothing() { return 0; }")
    with pytest.raises(costate.Error, match="(?s)has no physics.*COSTATE_PLUGIN"):
        costate.load_plugin(built(tmp_path, empty))
    old = tmp_path / "old.cpp"
    old.write_text('''#include <costate/system/plugin.h>
extern "C" costate::PluginEntry costate_plugin() { return {{0, 0, 0, 0, 0}, nullptr, nullptr}; }''')
    with pytest.raises(costate.Error, match="(?s)another version of costate.*build it with"):
        costate.load_plugin(built(tmp_path, old))
    half = tmp_path / "half.cpp"
    half.write_text((ROOT / "examples/plugin/bead.cpp").read_text().replace(".in_single = std::make_shared<costate::LaneSystem<Bead, float>>(bead_fields()),", ""))
    double_only = costate.load_plugin(built(tmp_path, half, f"-I{ROOT / 'examples/plugin'}"))
    with pytest.raises(costate.Error, match="(?s)double precision only.*float64"):
        double_only.rollout(3, dtype="float32")
