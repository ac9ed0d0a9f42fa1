"""Pictures with matplotlib (pip install costate[plot]). Each function draws into `ax`, or into a new figure, and returns the axes."""
import numpy as np

from .error import Error


def _axes(ax):
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise Error("costate.plot needs matplotlib: pip install matplotlib") from None
    return plt.subplots(figsize=(6, 3.5), layout="constrained")[1]


def trajectory(trajectory, field, ax=None, **style):
    """A field of a Trajectory with kept states over time (over steps where there is no dt); batches are drawn as one line each."""
    if trajectory.states is None:
        raise Error("the rollout kept no states: make it with keep=1")
    ax = _axes(ax)
    values = np.asarray(trajectory[field])
    timed = trajectory.t is not None and np.ndim(trajectory.t) == 1
    time = np.asarray(trajectory.t if timed else trajectory.steps)
    lines = ax.plot(time, values.reshape(len(time), -1), **style)
    if len(lines) > 1 and len(lines) == values.shape[-1]:
        for i, line in enumerate(lines):
            line.set_label(f"{field}[{i}]")
        ax.legend(fontsize=8)
    ax.set_xlabel("time" if timed else "step")
    ax.set_ylabel(field)
    return ax


def adjoint(report, ax=None, **style):
    """|lambda| over the steps of a gradient, from its report: straight up to the left means chaos."""
    ax = _axes(ax)
    ax.semilogy(report.sampled_steps, report.adjoint_norm, **style)
    ax.set_xlabel("step")
    ax.set_ylabel("size of the adjoint")
    ax.set_title(report.label, fontsize=9)
    return ax


def losses(values, ax=None, **style):
    """The loss of every iteration."""
    ax = _axes(ax)
    values = np.asarray(values, dtype=float)
    ax.plot(values, **style)
    if np.all(values > 0) and values.max() > 20 * values.min():
        ax.set_yscale("log")
    ax.set_xlabel("iteration")
    ax.set_ylabel("loss")
    return ax


def gradient(gradient, at=None, count=20, ax=None, **style):
    """What the loss depends on most: the largest derivatives of a Gradient with respect to parameters.

    at   values of the parameters, {name: value}, or a System, whose defaults are meant. Then the bars are relative sensitivities,
         p d loss / d p: what a change of one percent does, times a hundred. Numbers in different units cannot be compared otherwise.
    The length of a step, dt, is left out: the loss does not depend on it, the time grid does.
    """
    ax = _axes(ax)
    values = getattr(at, "parameters", at)
    bars = []
    for name, slopes in gradient.parameters.items():
        if name == "dt":
            continue
        slopes = np.asarray(slopes, dtype=float)
        if values is not None:
            if name not in values:
                raise Error(f"there is no value of '{name}' to measure its slope with: give at={{'{name}': value}} or at=system")
            slopes = slopes * np.broadcast_to(np.asarray(values[name], dtype=float), slopes.shape)
        bars += [(name if slopes.size == 1 else f"{name}[{i}]", float(v)) for i, v in enumerate(slopes.ravel())]
    bars = sorted(bars, key=lambda bar: -abs(bar[1]))[:count][::-1]
    ax.barh([name for name, _ in bars], [value for _, value in bars], **style)
    ax.set_xlabel("d loss / d parameter" if values is None else "parameter x d loss / d parameter")
    return ax
