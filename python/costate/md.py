"""Molecules: atoms, the potentials between them, and integrators spelt by letters.

    sim = costate.md.system(x, 1.0, [{"kind": "lennard_jones", "cutoff": 2.5}], box=[8, 8, 8], integrator="verlet")
    value, grad = sim.rollout(steps=100).value_and_grad(loss=costate.loss.final("x"))

`Calculator` gives the same potentials to ASE: atoms.calc = costate.md.Calculator(potentials).
"""
import inspect

import numpy as np

from . import _core
from .called import what_failed
from .error import Error
from ._recipe import remembered
from .traced import Array, object_array

__all__ = ["Calculator", "atom_energies", "dcd", "energy_and_forces", "green_kubo", "load_structure", "observe", "observe_distribution",
           "observe_energies", "observe_motion", "pair_distribution", "potential_kinds", "system", "xyz"]


def _recorded(potentials, x):
    """The potentials, with Programs in the place of functions."""
    return [_with_program(p, np.shape(x)) if isinstance(p, dict) and callable(p.get("formula"))
            and not isinstance(p["formula"], _core.Program) else p for p in potentials]


def _with_program(potential, shape):
    """The same potential, its function of numbers by name recorded: r of a pair, x, y, z of one atom, or x (atoms, dimensions) of all."""
    function, kind = potential["formula"], potential.get("kind")
    variables = {"pair_formula": {"r": ()}, "energy_formula": {"x": shape},
                 "field_formula": {axis: () for axis in "xyz"[:shape[-1]]}}.get(kind)
    if variables is None:
        raise Error(f"a potential of kind '{kind}' takes no function: use pair_formula, field_formula or energy_formula")
    names = list(inspect.signature(function).parameters)
    numbers = sorted(name for name in names if name not in variables)
    missing = [name for name in numbers if name not in potential]
    if missing:
        raise Error(f"{function.__name__} of {kind} takes '{missing[0]}': give the potential a number of that name "
                    f"(it is a function of {', '.join(variables)} and of such numbers)")
    shapes = variables | {name: np.shape(potential[name]) if kind == "energy_formula" else () for name in numbers}
    recording = _core.Tracer()
    values = {name: object_array(recording.input(name, int(np.prod(s, dtype=int)))).reshape(s) for name, s in shapes.items()}
    with what_failed(function):
        result = function(**{name: Array(values[name]) for name in names})
    single = object_array(result).ravel()
    if single.size != 1:
        raise Error(f"{function.__name__} returns {single.size} numbers; an energy is one number")
    recording.output("value", [single[0]])
    return potential | {"formula": recording.finish().expand()}


system = remembered(_core.md.system, "costate.md",
                    kept=lambda x, masses, potentials, **more: ((x, masses, _recorded(potentials, x)), more))


def _model(of):
    """What the system was made of."""
    recipe = getattr(of, "_recipe", None)
    if recipe is None or recipe[0] is not system:
        raise Error("this needs a system of costate.md.system")
    return _core.md._given(*recipe[1], **recipe[2])  # type: ignore[attr-defined]


observe = remembered(_core.md.observe, "costate.md")
observe_motion = remembered(_core.md.observe_motion, "costate.md")
observe_distribution = remembered(_core.md.observe_distribution, "costate.md")
observe_energies = remembered(_core.md.observe_energies, "costate.md")
green_kubo = _core.md.green_kubo
energy_and_forces = _core.md.energy_and_forces
atom_energies = _core.md.atom_energies
potential_kinds = _core.md.potential_kinds
pair_distribution = _core.md.pair_distribution
load_structure, xyz, dcd = _core.md.load_structure, _core.md.xyz, _core.md.dcd


class Calculator:
    """An ASE calculator of energies, also of every atom, and forces. It has the methods that ASE asks for and needs no ASE itself.

    potentials  as those of `system`; the box is the cell of the atoms where all three directions are periodic
    """

    name = "costate"
    implemented_properties = ["energy", "energies", "forces"]

    def __init__(self, potentials):
        self.potentials = list(potentials)
        self.parameters = {}
        self.results = {}
        self._asked = None

    def calculate(self, atoms, properties=("energy", "forces"), system_changes=()):
        """Energy and forces of the atoms, kept in `results`."""
        box = self._box(atoms)
        positions = atoms.get_positions()
        key = (positions.tobytes(), tuple(box or ()))
        if key != self._asked:
            energy, forces = energy_and_forces(positions, self.potentials, box=box)
            self.results = {"energy": energy, "free_energy": energy, "forces": forces}
            self._asked = key
        if "energies" in properties and "energies" not in self.results:
            self.results["energies"] = atom_energies(positions, self.potentials, box=box)

    @staticmethod
    def _box(atoms):
        if not all(atoms.pbc):
            return None
        cell = atoms.get_cell()
        if any(abs(cell[i][j]) > 0 for i in range(3) for j in range(3) if i != j):
            raise Error("the cell is not rectangular: only edges along x, y and z are supported")
        return [float(cell[i][i]) for i in range(3)]

    def get_property(self, name, atoms=None, allow_calculation=True):
        """What ASE asks by its name; None for what there is not."""
        if atoms is not None and allow_calculation:
            self.calculate(atoms, [name])
        return self.results.get(name)

    def get_potential_energy(self, atoms=None, force_consistent=False):
        return self.get_property("energy", atoms)

    def get_potential_energies(self, atoms=None):
        return self.get_property("energies", atoms)

    def get_forces(self, atoms=None):
        return self.get_property("forces", atoms)

    def get_stress(self, atoms=None):
        raise NotImplementedError("stresses are not computed; md::observe has the pressure")

    def calculation_required(self, atoms, properties):
        return True

    def check_state(self, atoms, tol=1e-15):
        return ["positions"]

    def reset(self):
        self.results, self._asked = {}, None
