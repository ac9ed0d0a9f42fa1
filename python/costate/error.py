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
