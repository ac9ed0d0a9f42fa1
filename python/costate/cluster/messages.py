"""Messages between a driver and its workers: numbers, text and arrays. A message that would call anything else is refused before it
is read."""
from __future__ import annotations

import io
import pickle
import struct

from ..error import Error

# How NumPy writes an array and a number, by its newer and its older names.
_ARRAYS = {(module, name) for part in ("_core", "core") for module, names in (
    (f"numpy.{part}.multiarray", ("_reconstruct", "scalar")), (f"numpy.{part}.numeric", ("_frombuffer",))) for name in names}
_DATA = _ARRAYS | {("numpy", "ndarray"), ("numpy", "dtype")}


class _Data(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in _DATA:
            raise Error(f"a message names {module}.{name}, which is not data: it does not come from a pool of this package")
        return super().find_class(module, name)


def read(data: bytes):
    return _Data(io.BytesIO(data)).load()


def write(stream, message) -> None:
    data = pickle.dumps(message)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()
