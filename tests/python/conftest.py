"""Oracles are independent of the engine: NumPy, SciPy, JAX's automatic differentiation, differences, and the command line."""
import os
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import pytest  # noqa: E402

jax.config.update("jax_enable_x64", True)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def scenes():
    return ROOT / "scenes"


@pytest.fixture
def examples():
    return ROOT / "examples"


@pytest.fixture
def tool():
    """The command line of the same build."""
    path = ROOT / "build/bin/costate"
    if not path.exists():
        pytest.skip("the command line is not built")
    return path
