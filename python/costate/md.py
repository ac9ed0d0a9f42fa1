"""Molecules: atoms, the potentials between them, and integrators spelt by letters.

    sim = costate.md.system(x, 1.0, [{"kind": "lennard_jones", "cutoff": 2.5}], box=[8, 8, 8], integrator="verlet")
    value, grad = sim.rollout(steps=100).value_and_grad(loss=costate.loss.final("x"))

`Calculator` gives the same potentials to ASE: atoms.calc = costate.md.Calculator(potentials).
"""
from . import _core
from ._recipe import remembered

__all__ = ["Calculator", "dcd", "energy_and_forces", "load_structure", "pair_distribution", "potential_kinds", "system", "xyz"]

system = remembered(_core.md.system, "costate.md")
energy_and_forces = _core.md.energy_and_forces
potential_kinds = _core.md.potential_kinds
pair_distribution = _core.md.pair_distribution
load_structure, xyz, dcd = _core.md.load_structure, _core.md.xyz, _core.md.dcd


class Calculator:
    """An ASE calculator of energies and forces. It has the methods that ASE asks for and needs no ASE itself.

    potentials  as those of `system`; the box is the cell of the atoms where all three directions are periodic
    """

    name = "costate"
    implemented_properties = ["energy", "forces"]

    def __init__(self, potentials):
        self.potentials = list(potentials)
        self.parameters = {}
        self.results = {}
        self._asked = None

    def calculate(self, atoms, properties=("energy", "forces"), system_changes=()):
        """Energy and forces of the atoms, kept in `results`."""
        box = None
        if all(atoms.pbc):
            cell = atoms.get_cell()
            if any(abs(cell[i][j]) > 0 for i in range(3) for j in range(3) if i != j):
                from .error import Error

                raise Error("the cell is not rectangular: only edges along x, y and z are supported")
            box = [float(cell[i][i]) for i in range(3)]
        positions = atoms.get_positions()
        key = (positions.tobytes(), tuple(box or ()))
        if key != self._asked:
            energy, forces = energy_and_forces(positions, self.potentials, box=box)
            self.results = {"energy": energy, "free_energy": energy, "forces": forces}
            self._asked = key

    def get_property(self, name, atoms=None, allow_calculation=True):
        """What ASE asks by its name; None for what there is not."""
        if atoms is not None and allow_calculation:
            self.calculate(atoms)
        return self.results.get(name)

    def get_potential_energy(self, atoms=None, force_consistent=False):
        return self.get_property("energy", atoms)

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
