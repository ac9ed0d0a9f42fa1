"""Numbers by the names of their fields."""
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from .error import Error


class Defaults(dict):
    """Defaults of a system by name, to be read: what a call is to use instead is given to the call."""

    def __init__(self, values: Mapping[str, np.ndarray]):
        super().__init__(values)
        for array in self.values():
            array.setflags(write=False)  # a copy: writing to it would change nothing

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise Error("the defaults of a system do not change: give other values to a call, p={name: value}")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = cast(Any, _refuse)

    def __reduce__(self):
        return Defaults, (dict(self),)


def join(fields, values, otherwise):
    """Fields side by side along the last axis: {"q": (*batch, 2), "v": (*batch, 2)} to (*batch, 4).

    A field of one number may come without that axis; an absent field is taken from `otherwise`.
    """
    parts = []
    for field in fields:
        if field.name not in values:
            parts.append(otherwise[field.offset:field.offset + field.size])
            continue
        try:
            part = np.asarray(values[field.name], dtype=np.float64)
        except (ValueError, TypeError) as error:
            raise Error(f"{field.name} is not an array of numbers: {error}") from None
        if field.size == 1 and (part.ndim == 0 or part.shape[-1] != 1):
            part = part[..., None]
        if part.shape[-1:] != (field.size,):
            raise Error(f"{field.name} has the shape {part.shape} instead of (..., {field.size})")
        parts.append(part)
    try:
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    except ValueError:
        shapes = ", ".join(f"{field.name} {part.shape}" for field, part in zip(fields, parts))
        raise Error(f"these do not go together, their shapes differ: {shapes}") from None
    return np.concatenate([np.broadcast_to(part, batch + part.shape[-1:]) for part in parts], axis=-1)
