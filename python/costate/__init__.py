"""costate: a differentiable physics engine. A simulator is a step and its transpose.

    import costate

    humanoid = costate.rigid.load("humanoid.xml")
    sim = humanoid.rollout(steps=100, active=["geom/*/friction"])
    value, grad = sim.value_and_grad(x0, u, p, loss=costate.loss.final("q", target))
    grad.x0, grad.controls, grad.parameters["geom/foot/friction"], grad.report

Arrays are NumPy's (or anything NumPy can read); batches of worlds are leading axes.
"""
from . import _isa

_isa.load()

from . import _core, control, estimate, fluid, gpu, grid, hybrid, learn, loss, md, mpm, notebook, picture, rigid, soft, tosses
from ._core import (Check, Checkpoints, Field, Gradient, GradientReport, Loss, Program, Progress,
                    Recording, Rollout, Run, Signature, Study, System, Trajectory, binomial,
                    devices, reversible, segments, set_thread_count, store_all, thread_count,
                    write_replay)
from ._core import __version__  # type: ignore[attr-defined]
from ._core import method_names as ode_methods
from ._recipe import remembered as _remembered
from .error import Error
from .files import load, load_plugin, load_study, read_recording, scene_file
from .fit import Fit, fit
from .ivp import solve_ivp
from .linearise import Jacobian, Linearization
from .optimise import LeastSquares, Optimum, least_squares, minimize
from .policy import closed_loop
from .trace import system
from .traced import where

equations = _remembered(_core.equations, __name__)

__all__ = ["Check", "Checkpoints", "Error", "Field", "Fit", "Gradient", "GradientReport", "Jacobian", "LeastSquares",
           "Linearization", "Loss", "Optimum", "Program",
           "Progress", "Recording", "Rollout", "Run", "Signature", "Study", "System", "Trajectory", "binomial", "closed_loop", "control", "devices", "equations", "estimate", "fit", "fluid",
           "gpu", "grid", "hybrid", "learn", "least_squares", "load", "load_plugin", "load_study", "loss", "md", "minimize", "mpm", "ode_methods", "picture", "read_recording", "reversible", "rigid", "scene_file", "segments",
           "set_thread_count", "soft", "solve_ivp", "store_all", "system", "thread_count", "tosses", "where", "write_replay"]


def __getattr__(name):
    """Modules that need more than NumPy are imported when they are first asked for."""
    if name in ("gym", "jax", "plot", "torch"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
