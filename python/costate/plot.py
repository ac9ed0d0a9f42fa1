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


def trajectory(trajectory, field, dt=1.0, ax=None, **style):
    """A field of a Trajectory with kept states over time; batches are drawn as one line each."""
    if trajectory.states is None:
        raise Error("the rollout kept no states: make it with keep=1")
    ax = _axes(ax)
    values = np.asarray(trajectory[field])
    time = np.asarray(trajectory.steps) * dt
    lines = ax.plot(time, values.reshape(len(time), -1), **style)
    if len(lines) > 1 and len(lines) == values.shape[-1]:
        for i, line in enumerate(lines):
            line.set_label(f"{field}[{i}]")
        ax.legend(fontsize=8)
    ax.set_xlabel("step" if dt == 1.0 else "time")
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


def gradient(gradient, count=20, ax=None, **style):
    """The largest components of a Gradient by parameters."""
    ax = _axes(ax)
    bars = [(name if value.size == 1 else f"{name}[{i}]", float(v))
            for name, value in gradient.parameters.items() for i, v in enumerate(np.ravel(value))]
    bars = sorted(bars, key=lambda bar: -abs(bar[1]))[:count][::-1]
    ax.barh([name for name, _ in bars], [value for _, value in bars], **style)
    ax.set_xlabel("d loss / d parameter")
    return ax
