"""What a user sees when an input or a run is wrong."""


class Error(RuntimeError):
    """What was wrong with an input or a run.

    what     the mistake
    where    file and line, or step, field and world; may be empty
    advice   which setting to change; may be empty
    kind     'input' (mend the input) or 'numerics' (mend the settings)
    """

    what: str
    where: str = ""
    advice: str = ""
    kind: str = "input"

    def __init__(self, message: str, what: str = "", where: str = "", advice: str = "", kind: str = "input"):
        super().__init__(message)
        self.what, self.where, self.advice, self.kind = what or message, where, advice, kind


Error.__module__ = "costate"

_WRITTEN_OUT = {"expit": "1 / (1 + np.exp(-x))", "logit": "np.log(x / (1 - x))", "xlogy": "x * np.log(y)", "log_expit": "-np.logaddexp(0, -x)"}


def not_recorded(name):
    """Of a function that a recording does not know."""
    out = _WRITTEN_OUT.get(name)
    return f"{name} cannot be recorded; " + (f"write {out}" if out else "write it with functions that can: docs/python.md lists them")
