"""A bar while something is optimised, for whoever watches: with tqdm (pip install costate[progress]), on a terminal or in a notebook.

`costate.minimize`, `least_squares`, and `Study.optimize` show one when they are given no callback. A single call that simulates or
differentiates for longer than a second shows how far it has come.
"""
import sys
import warnings


class Bar:
    """Appears after half a second: what ends sooner needs none."""

    def __init__(self, total, tqdm):
        self._bar = tqdm(total=total or None, delay=0.5, leave=False, unit="iteration", file=sys.stderr)

    def show(self, iteration, value):
        self._bar.set_postfix_str(f"loss {value:.4g}", refresh=False)
        self._bar.update(iteration - self._bar.n)

    def close(self):
        self._bar.close()


class Part:
    """Of one call, from 0 to 1."""

    def __init__(self, tqdm):
        self._bar = tqdm(total=100, leave=False, file=sys.stderr, bar_format="{desc}{percentage:3.0f}%|{bar}| {elapsed}<{remaining}")

    def show(self, part):
        self._bar.update(int(100 * part) - self._bar.n)

    def close(self):
        self._bar.close()


def _somebody_watches():
    """A terminal, or a notebook, whose stderr is not one."""
    if sys.stderr.isatty():
        return True
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


def _tqdm():
    """What draws bars, or None where nobody looks at one or tqdm is not installed."""
    if not _somebody_watches():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # in a notebook without ipywidgets tqdm says so, and draws its bar in letters
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
    return tqdm


def automatic(total):
    """A Bar of iterations, or None."""
    tqdm = _tqdm()
    return tqdm and Bar(total, tqdm)


def of_one_call():
    """A Part, or None."""
    tqdm = _tqdm()
    return tqdm and Part(tqdm)
