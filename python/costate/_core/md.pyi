"""Molecules."""

from collections.abc import Sequence

import numpy
import numpy.typing

import costate._core


def system(x: numpy.typing.ArrayLike, masses: numpy.typing.ArrayLike, potentials: list, *, v: numpy.typing.ArrayLike | None = None, box: numpy.typing.ArrayLike | None = None, integrator: str = 'langevin', dt: float = 0.01, kT: float = 1.0, friction: float = 1.0, thermostat_masses: numpy.typing.ArrayLike | None = None, suzuki_yoshida: int = 1, memory_friction: numpy.typing.ArrayLike | None = None, memory_time: numpy.typing.ArrayLike | None = None, rigid_bonds: numpy.typing.ArrayLike | None = None, rigid_lengths: numpy.typing.ArrayLike | None = None, pressure: float | None = None, piston_mass: float | None = None, piston_friction: float | None = None, preconditioner: numpy.typing.ArrayLike | None = None) -> costate._core.System:
    """
    Atoms and the potentials between them (docs/md.md).

    x           where they start, (atoms, dimensions); v: how fast
    masses      one number, or one per atom
    potentials  [{'kind': 'lennard_jones', 'epsilon': 1.0, 'cutoff': 2.5}, {'kind': 'harmonic_bond', 'atoms': [[0, 1]], 'k': 50.0}, ...]
    box         edges of a periodic box
    integrator  'verlet', 'leapfrog', 'langevin', 'nose_hoover', 'overdamped', 'heun', 'preconditioned',
                'descent', 'generalized_langevin', 'esh', 'barostat', or a word of letters: 'BAOAB'
    pressure    of 'barostat', with piston_mass and piston_friction
    preconditioner  of 'preconditioned': R of the mobility R R', (dof, dof) with dof = atoms x dimensions
    rigid_bonds pairs of atoms whose distance is kept, with rigid_lengths: one for all, or one each
    state 'x', 'v', ...; parameters '<kind>/<parameter>', 'mass', 'kT', 'friction', 'box', 'dt', ...
    """

def observe(system: object, quantity: str, *, steps: Sequence[int] = [], weight: float = 1.0, target: float | None = None) -> costate._core.Loss:
    """
    A loss: weight times a quantity of the atoms, summed over `steps` (none given: of the final state).

    quantity    'potential_energy', 'kinetic_energy', 'temperature' or 'pressure'
    target      then weight / 2 (quantity - target)^2 instead
    """

def observe_motion(system: object, of: str = 'displacement', *, start: numpy.typing.ArrayLike | None = None, steps: Sequence[int] = [], weights: numpy.typing.ArrayLike | None = None, atoms: Sequence[int] = []) -> costate._core.Loss:
    """
    A loss: the mean square displacement since the start, or the autocorrelation of velocities.

    of          'displacement': |x_k - x_0|^2 per atom; 'velocity': v_k . v_0 per atom
    start       (states,) or (worlds, states): what the worlds start from; None: the system's own
    steps       none given: the final state; weights: one, or one per step
    With steps=range(T + 1) and weights=costate.md.green_kubo(T, dt, dimensions) the autocorrelation gives
    the diffusion coefficient.
    """

def green_kubo(steps: int, dt: float, dimensions: int = 3) -> list[float]:
    """
    Weights of steps 0 ... steps with which the autocorrelation of velocities sums to the diffusion coefficient.
    """

def observe_distribution(system: object, *, radii: numpy.typing.ArrayLike | None = None, width: float = 0.05, waves: numpy.typing.ArrayLike | None = None, from_atoms: Sequence[int] = [], to_atoms: Sequence[int] = [], weights: numpy.typing.ArrayLike | None = None, target: numpy.typing.ArrayLike | None = None, steps: Sequence[int] = []) -> costate._core.Loss:
    """
    A loss: weights . g of the radial distribution and structure factor g (see pair_distribution), or with a target the sum of weights / 2 (g - target)^2.
    """

def observe_energies(system: object, *, weights: numpy.typing.ArrayLike | None = None, target: numpy.typing.ArrayLike | None = None, steps: Sequence[int] = []) -> costate._core.Loss:
    """
    A loss: weights . e of the energies e of the atoms (see atom_energies), or with a target the sum of weights / 2 (e - target)^2.

    weights     one for all, or one per atom; None: 1; target: one per atom
    """

def atom_energies(x: numpy.typing.ArrayLike, potentials: list, box: numpy.typing.ArrayLike | None = None) -> numpy.ndarray:
    """
    The part of the potential energy at x, (atoms, dimensions), that every atom has: half of a pair's, a third of an angle's, ...
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
