"""Molecules."""

from collections.abc import Sequence

import numpy
import numpy.typing

import costate._core


def system(x: numpy.typing.ArrayLike, masses: numpy.typing.ArrayLike, potentials: list, *, v: numpy.typing.ArrayLike | None = None, box: numpy.typing.ArrayLike | None = None, integrator: str = 'langevin', dt: float = 0.01, kT: float = 1.0, friction: float = 1.0, thermostat_masses: numpy.typing.ArrayLike | None = None, suzuki_yoshida: int = 1, memory_friction: numpy.typing.ArrayLike | None = None, memory_time: numpy.typing.ArrayLike | None = None, rigid_bonds: numpy.typing.ArrayLike | None = None, rigid_lengths: numpy.typing.ArrayLike | None = None) -> costate._core.System:
    """
    Atoms and the potentials between them (docs/md.md).

    x           where they start, (atoms, dimensions); v: how fast
    masses      one number, or one per atom
    potentials  [{'kind': 'lennard_jones', 'epsilon': 1.0, 'cutoff': 2.5}, {'kind': 'harmonic_bond', 'atoms': [[0, 1]], 'k': 50.0}, ...]
    box         edges of a periodic box
    integrator  'verlet', 'leapfrog', 'langevin', 'nose_hoover', 'overdamped', 'heun', 'descent',
                'generalized_langevin', 'esh', or a word of letters: 'BAOAB'
    rigid_bonds pairs of atoms whose distance is kept, with rigid_lengths: one for all, or one each
    state 'x', 'v', ...; parameters '<kind>/<parameter>', 'mass', 'kT', 'friction', 'box', 'dt', ...
    """

def energy_and_forces(x: numpy.typing.ArrayLike, potentials: list, box: numpy.typing.ArrayLike | None = None) -> tuple[float, numpy.ndarray]:
    """
    The potential energy at x, (atoms, dimensions), and the force on every atom.
    """

def pair_distribution(x: numpy.typing.ArrayLike, box: numpy.typing.ArrayLike, *, radii: numpy.typing.ArrayLike | None = None, width: float = 0.05, waves: numpy.typing.ArrayLike | None = None, from_atoms: Sequence[int] = [], to_atoms: Sequence[int] = [], weights: numpy.typing.ArrayLike | None = None) -> object:
    """
    The radial distribution g(r) of one state at `radii`, smoothed by `width`, then the structure factor S(2 pi n / box) at the whole numbers `waves`.

    from_atoms, to_atoms  the atoms of the pairs; all without them
    weights               then also the gradient of weights . g: returns g, d/dx, d/dbox
    """

def potential_kinds() -> list[tuple[str, str]]:
    """The kinds of potentials, each with its formula."""

def load_structure(path: str) -> dict:
    """
    Atoms of an extended XYZ or PDB file: elements, x, v, masses, box (None where the file has none).
    """

def xyz(elements: Sequence[str], x: numpy.typing.ArrayLike, v: numpy.typing.ArrayLike | None = None, box: numpy.typing.ArrayLike | None = None) -> str:
    """One frame of an extended XYZ file as text; frames follow each other."""

def dcd(frames: numpy.typing.ArrayLike, box: numpy.typing.ArrayLike | None = None, dt: float = 1.0) -> bytes:
    """A DCD file as bytes, from frames of shape (frames, atoms, 3)."""
