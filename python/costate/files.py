"""Anything the engine can read, by one function."""
from . import _core, rigid
from .error import Error


def load(path, settings=None):
    """What a file describes.

    .xml, .urdf   System: a model of rigid bodies
    .toml         Scene if it has a table [domain], else Problem: equations with a loss; `settings` changes values of the file:
                  {"parameters.g": 1.6, "domain.dx": 0.01}
    .rec          Recording
    """
    path = str(path)
    if path.endswith(".toml"):
        return _core.load_scene(path, settings) if _core.is_scene(path) else _core.load_problem(path, settings)
    if settings:
        raise Error("settings change values of a TOML file; a model's are parameters of its System")
    if path.endswith(".rec"):
        return _core.read_recording(path)
    return rigid.load(path)
