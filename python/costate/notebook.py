"""What a notebook shows of a Trajectory: its fields over the steps, as lines in SVG. (Recordings show their replay, reports their text.)"""
import html

import numpy as np

WIDTH, HEIGHT, MARGIN = 320, 90, 4
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MOST_LINES, MOST_POINTS, MOST_FIELDS = 6, 200, 8


def _lines(values):
    """(kept, numbers) as polylines in one frame."""
    values = values[:, :MOST_LINES]
    values = values[::max(1, len(values) // MOST_POINTS)]
    good = values[np.isfinite(values)]
    low, high = (good.min(), good.max()) if good.size else (0.0, 1.0)
    x = np.linspace(MARGIN, WIDTH - MARGIN, len(values))
    y = HEIGHT - MARGIN - (values - low) / (high - low or 1.0) * (HEIGHT - 2 * MARGIN)
    lines = []
    for column, colour in zip(y.T, COLOURS):
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, column) if np.isfinite(b))
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
    return low, high, "".join(lines)


def trajectory(self):
    """The first world of a Trajectory with kept states; without them, what repr says."""
    if self.states is None or len(self.states) < 2:
        return f"<pre>{html.escape(repr(self))}</pre>"
    rows = []
    for name in self.fields[:MOST_FIELDS]:
        values = np.asarray(self[name])
        first = values.reshape(len(values), -1, values.shape[-1])[:, 0]
        low, high, lines = _lines(first)
        shown = f"{name} [{first.shape[1]}]" if first.shape[1] > 1 else name
        rows.append(f"<tr><td>{html.escape(shown)}<br><small>{low:.4g} to {high:.4g}</small></td>"
                    f'<td><svg width="{WIDTH}" height="{HEIGHT}" style="background:#f7f7f7">{lines}</svg></td></tr>')
    worlds = int(np.prod(self.states.shape[1:-1]))
    which = f", world 0 of {worlds}" if worlds > 1 else ""
    return (f"<table><caption>{html.escape(repr(self).split(':')[0])}, steps {self.steps[0]} to {self.steps[-1]}{which}"
            f"</caption>{''.join(rows)}</table>")

