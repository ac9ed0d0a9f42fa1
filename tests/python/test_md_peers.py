"""Energies and forces of molecules beside OpenMM's, ASE's and JAX-MD's. Each test skips where its package is not installed."""
import numpy as np
import pytest

import costate

CHAIN = np.array([[0.0, 0, 0], [1.1, 0.1, 0], [1.5, 1.0, 0.2], [2.4, 1.1, 0.9], [2.6, 2.0, 1.2]])
CHAIN += 0.05 * np.random.default_rng(2).normal(size=CHAIN.shape)


def bonds(atoms):
    """The first `atoms` of the chain, the next ones, ..."""
    return [list(range(i, i + atoms)) for i in range(len(CHAIN) - atoms + 1)]


def openmm_answer(mm, force, x, box=None):
    system = mm.System()
    for _ in x:
        system.addParticle(1.0)
    if box is not None:
        system.setDefaultPeriodicBoxVectors(*np.diag(box))
    system.addForce(force)
    context = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(x)
    state = context.getState(getEnergy=True, getForces=True)
    return state.getPotentialEnergy()._value, state.getForces(asNumpy=True)._value


def expect_same(answer, x, potentials, box=None, tolerance=1e-12):
    energy, forces = costate.md.energy_and_forces(x, potentials, box=box)
    assert energy == pytest.approx(answer[0], rel=tolerance)
    assert np.abs(forces - answer[1]).max() < tolerance * np.abs(answer[1]).max()


def test_openmm_has_the_same_bonds_angles_and_torsions():
    mm = pytest.importorskip("openmm")
    bond, angle, torsion = mm.HarmonicBondForce(), mm.HarmonicAngleForce(), mm.PeriodicTorsionForce()
    for i, atoms in enumerate(bonds(2)):
        bond.addBond(*atoms, 1.0 + 0.1 * i, 50.0 + i)
    for atoms in bonds(3):
        angle.addAngle(*atoms, 1.9, 30.0)
    for atoms in bonds(4):
        torsion.addTorsion(*atoms, 3, 0.4, 2.0)
    morse = mm.CustomBondForce("depth*(1-exp(-alpha*(r-r0)))^2")
    for name in ("depth", "alpha", "r0"):
        morse.addPerBondParameter(name)
    for atoms in bonds(2):
        morse.addBond(*atoms, [3.0, 1.5, 1.05])
    k, r0 = 50.0 + np.arange(4), 1.0 + 0.1 * np.arange(4)
    for force, potential in [(bond, {"kind": "harmonic_bond", "atoms": bonds(2), "k": k, "r0": r0}),
                             (angle, {"kind": "harmonic_angle", "atoms": bonds(3), "k": 30.0, "theta0": 1.9}),
                             (torsion, {"kind": "torsion", "atoms": bonds(4), "k": 2.0, "phase": 0.4, "periodicity": 3}),
                             (morse, {"kind": "morse_bond", "atoms": bonds(2), "depth": 3.0, "alpha": 1.5, "r0": 1.05})]:
        expect_same(openmm_answer(mm, force, CHAIN), CHAIN, [potential])


def test_openmm_has_the_same_switched_mixture():
    mm = pytest.importorskip("openmm")
    sigma, epsilon, box = [1.0, 0.9, 0.8, 1.1, 0.95], [1.0, 0.7, 0.5, 1.2, 0.9], [6.0, 6.0, 6.0]
    force = mm.NonbondedForce()
    force.setNonbondedMethod(mm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(2.0)
    force.setUseSwitchingFunction(True)
    force.setSwitchingDistance(1.5)
    force.setUseDispersionCorrection(False)
    for s, e in zip(sigma, epsilon):
        force.addParticle(0.0, s, e)
    mixture = {"kind": "lennard_jones_mixture", "sigma": sigma, "epsilon": epsilon, "cutoff": 2.0, "switch_from": 1.5}
    expect_same(openmm_answer(mm, force, CHAIN, box), CHAIN, [mixture], box)


def test_openmms_particle_mesh_is_the_ewald_sum():
    mm = pytest.importorskip("openmm")
    x, box = np.random.default_rng(3).uniform(0, 3, (20, 3)), [3.0, 3.0, 3.0]
    charge = np.where(np.arange(20) % 2 == 0, 0.5, -0.5)
    force = mm.NonbondedForce()
    force.setNonbondedMethod(mm.NonbondedForce.PME)
    force.setCutoffDistance(1.4)
    force.setPMEParameters(3.2, 128, 128, 128)
    for q in charge:
        force.addParticle(float(q), 1.0, 0.0)
    ewald = {"kind": "ewald", "charge": charge, "strength": 138.93545764438198, "cutoff": 1.4, "tolerance": 1e-10}
    expect_same(openmm_answer(mm, force, x, box), x, [ewald], box, 1e-6)


def test_ase_has_the_same_morse_cluster():
    ase = pytest.importorskip("ase")
    from ase.calculators.morse import MorsePotential

    atoms = ase.Atoms("Ar5", positions=CHAIN)
    depth, r0, rho = 0.9, 2.0, 5.0  # all pairs lie within 1.9 r0, where its cutoff begins
    atoms.calc = MorsePotential(epsilon=depth, r0=r0, rho0=rho)
    pairs = [[i, j] for i in range(5) for j in range(i + 1, 5)]
    answer = atoms.get_potential_energy() + depth * len(pairs), atoms.get_forces()
    expect_same(answer, CHAIN, [{"kind": "morse_bond", "atoms": pairs, "depth": depth, "alpha": rho / r0, "r0": r0}])


def test_ase_has_the_same_energies_of_atoms():
    ase = pytest.importorskip("ase")
    from ase.calculators.lj import LennardJones

    ends = []
    for calculator in (LennardJones(sigma=1, epsilon=1.3, rc=2.5),
                       costate.md.Calculator([{"kind": "lennard_jones", "epsilon": 1.3, "cutoff": 2.5, "shifted": 1}])):
        atoms = ase.Atoms("H5", positions=CHAIN, calculator=calculator)
        ends.append(atoms.get_potential_energies())
        assert ends[-1].sum() == pytest.approx(atoms.get_potential_energy(), rel=1e-12)
    assert np.allclose(ends[0], ends[1], rtol=1e-12, atol=1e-12)
    assert np.ptp(ends[0]) > 0.1


def test_ase_moves_atoms_with_the_calculator():
    ase = pytest.importorskip("ase")
    from ase.calculators.lj import LennardJones
    from ase.md.verlet import VelocityVerlet

    ends = []
    for calculator in (LennardJones(sigma=1, epsilon=1, rc=2.5),
                       costate.md.Calculator([{"kind": "lennard_jones", "cutoff": 2.5, "shifted": 1}])):
        atoms = ase.Atoms("H5", positions=CHAIN, calculator=calculator)
        VelocityVerlet(atoms, timestep=0.001).run(50)
        ends.append(atoms.get_positions())
    assert np.allclose(ends[0], ends[1], atol=1e-10)
    assert np.abs(ends[0] - CHAIN).max() > 1e-6


def test_jax_md_has_the_same_silicon():
    jax = pytest.importorskip("jax")
    energy = pytest.importorskip("jax_md.energy")
    from jax_md import space

    jax.config.update("jax_enable_x64", True)
    displacement, _ = space.free()
    x = 2.0 * CHAIN
    potential = energy.stillinger_weber(displacement)
    answer = float(potential(x)), -np.asarray(jax.grad(potential)(x))
    expect_same(answer, x, [{"kind": "stillinger_weber", "epsilon": 2.16826, "sigma": 2.0951}], tolerance=1e-6)
