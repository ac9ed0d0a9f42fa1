"""`a += b` of recorded values: into an array, or, of a single number, which nobody changes, a new one."""

_NAMES = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")


def _either(into, anew):
    return lambda self, other: (into if self.ndim else anew)(self, other)


def numbers_stay_as_they_are(cls):
    """Gives `cls`, which has NumPy's operators, in-place operators that leave an array without axes as it is."""
    for name in _NAMES:
        setattr(cls, f"__i{name}__", _either(getattr(cls, f"__i{name}__"), getattr(cls, f"__{name}__")))
