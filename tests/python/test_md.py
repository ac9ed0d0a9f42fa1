"""Molecules and estimators from Python."""
import numpy as np
import pytest

import costate


def well(**more):
    return costate.md.system([[-1.0]], 1.0, [{"kind": "double_well", "a": 1.0}], integrator="overdamped", dt=0.05, kT=0.5,
                             **more)


def test_a_gradient_matches_a_difference():
    x = np.array([[0.0, 0, 0], [1.1, 0, 0], [0.4, 1.0, 0.2]])
    system = costate.md.system(x, [1.0, 2.0, 1.5], [{"kind": "lennard_jones", "epsilon": 0.8},
                                                    {"kind": "harmonic_bond", "atoms": [[0, 1]], "k": 5.0}],
                               v=np.zeros_like(x), integrator="verlet", dt=0.005)
    sim = system.rollout(steps=50)
    loss = costate.loss.final("x", np.zeros(9))
    value, grad = sim.value_and_grad(loss=loss)
    h = 1e-5
    up, down = (sim.value_and_grad(p={"lennard_jones/epsilon": 0.8 + s * h}, loss=loss)[0] for s in (1, -1))
    assert np.isclose(float(np.squeeze(grad.parameters["lennard_jones/epsilon"])), (up - down) / (2 * h), rtol=1e-7)


def test_energy_and_forces_of_a_pair():
    r = 2 ** (1 / 6)
    energy, forces = costate.md.energy_and_forces([[0.0, 0, 0], [r, 0, 0]], [{"kind": "lennard_jones", "epsilon": 0.7}])
    assert np.isclose(energy, -0.7) and np.allclose(forces, 0, atol=1e-12)


def test_mistakes_are_named():
    with pytest.raises(costate.Error, match="did you mean 'lennard_jones'"):
        costate.md.system([[0.0, 0, 0]], 1.0, [{"kind": "lenard_jones"}])
    with pytest.raises(costate.Error, match="no parameter 'eps'"):
        costate.md.system([[0.0, 0, 0], [1.0, 0, 0]], 1.0, [{"kind": "lennard_jones", "eps": 1.0}])


def test_estimators_agree_where_they_apply():
    system = well()
    smooth = costate.loss.final("x", [0.0])
    answers = [costate.estimate.gradient(system, smooth, 20, method=m, samples=20000, parameters=["double_well/a"])
               for m in ("pathwise", "girsanov", "differences")]
    for other in answers[1:]:
        error = np.hypot(answers[0]["standard_error"]["double_well/a"], other["standard_error"]["double_well/a"])
        assert abs(answers[0]["gradient"]["double_well/a"] - other["gradient"]["double_well/a"]) < 4 * error
    with pytest.raises(costate.Error, match="no path score with respect to kT"):
        costate.estimate.gradient(system, smooth, 20, method="girsanov", parameters=["kT"])


def test_rigid_bonds_are_kept():
    x = np.array([[0.0, 0, 0], [1.0, 0, 0], [0.5, 0.8, 0]])
    system = costate.md.system(x, [1.0, 2.0, 1.5], [{"kind": "harmonic"}], integrator="langevin", dt=0.02,
                               rigid_bonds=[[0, 1], [1, 2]], rigid_lengths=[1.0, np.hypot(0.5, 0.8)])
    end = system.rollout(steps=50).simulate().final_state[:9].reshape(3, 3)
    assert np.linalg.norm(end[1] - end[0]) == pytest.approx(1, abs=1e-12)
    assert np.linalg.norm(end[2] - end[1]) == pytest.approx(np.hypot(0.5, 0.8), abs=1e-12)
    with pytest.raises(costate.Error, match="without rigid_lengths"):
        costate.md.system(x, 1.0, [{"kind": "harmonic"}], rigid_bonds=[[0, 1]])


def test_free_energy_of_harmonic_wells():
    system = costate.md.system([[0.0]], 1.0, [{"kind": "harmonic"}], integrator="langevin", dt=0.1, kT=0.7)
    f = costate.estimate.free_energy(system, [("harmonic/k", [1.0])], [("harmonic/k", [3.0])], 100, parameters=["harmonic/k"])
    assert abs(f["value"] - 0.35 * np.log(3)) < 4 * f["error"]
    assert abs(f["at_to"]["harmonic/k"] - 0.35 / 3) < 5 * f["standard_error"]["harmonic/k"]
    with pytest.raises(costate.Error, match="is not a way"):
        costate.estimate.free_energy(system, [], [("harmonic/k", [3.0])], 10, method="bar")


def test_structures_come_back_as_they_were_written(tmp_path):
    x = np.array([[0.0, 0.1, 0.2], [1.0, 2.0, 3.0]])
    path = tmp_path / "two.xyz"
    path.write_text(costate.md.xyz(["Ar", "Ne"], x, box=[5, 6, 7]))
    read = costate.md.load_structure(str(path))
    assert read["elements"] == ["Ar", "Ne"] and np.array_equal(read["x"], x) and np.array_equal(read["box"], [5, 6, 7])
    assert read["v"] is None
    assert costate.md.dcd(np.stack([x, 2 * x]), box=[5, 6, 7])[4:8] == b"CORD"


class Atoms:
    """What ASE's Atoms are to a calculator."""
    pbc = (True, True, True)

    def __init__(self, positions, edge):
        self.positions, self.edge = np.asarray(positions, float), edge

    def get_positions(self):
        return self.positions

    def get_cell(self):
        return np.diag([self.edge] * 3)


def test_the_calculator_sees_images():
    calculator = costate.md.Calculator([{"kind": "lennard_jones", "cutoff": 2.5}])
    r = 2 ** (1 / 6)
    assert np.isclose(calculator.get_potential_energy(Atoms([[0.1, 0, 0], [6.1 - r, 6.0, 0]], 6.0)), -1.0)


def test_ase_agrees():
    ase = pytest.importorskip("ase")
    from ase.calculators.lj import LennardJones

    rng = np.random.default_rng(0)
    atoms = ase.Atoms("Ar27", positions=[[i, j, k] for i in range(3) for j in range(3) for k in range(3)] * np.array(1.2)
                      + 0.05 * rng.normal(size=(27, 3)), cell=[20, 20, 20], pbc=True)
    atoms.calc = LennardJones(sigma=1.0, epsilon=1.0, rc=2.5)
    energy, forces = atoms.get_potential_energy(), atoms.get_forces()
    atoms.calc = costate.md.Calculator([{"kind": "lennard_jones", "cutoff": 2.5, "shifted": 1}])
    assert np.isclose(atoms.get_potential_energy(), energy, rtol=1e-10)
    assert np.allclose(atoms.get_forces(), forces, atol=1e-9)


def test_openmm_agrees():
    mm = pytest.importorskip("openmm")
    rng = np.random.default_rng(1)
    x = 1.2 * np.array([[i, j, k] for i in range(4) for j in range(4) for k in range(4)]) + 0.05 * rng.normal(size=(64, 3))
    charges = np.where(np.arange(64) % 2 == 0, 0.3, -0.3)
    system, force = mm.System(), mm.NonbondedForce()
    system.setDefaultPeriodicBoxVectors(*(np.eye(3) * 8.0))
    force.setNonbondedMethod(mm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(2.5)
    force.setUseDispersionCorrection(False)
    for q in charges:
        system.addParticle(1.0)
        force.addParticle(float(q), 1.0, 0.9)
    system.addForce(force)
    context = mm.Context(system, mm.VerletIntegrator(0.001), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(x)
    state = context.getState(getEnergy=True, getForces=True)
    energy, forces = costate.md.energy_and_forces(
        x, [{"kind": "lennard_jones", "epsilon": 0.9, "cutoff": 2.5},
            {"kind": "coulomb", "charge": charges, "strength": 138.93545764438198, "cutoff": 2.5, "dielectric": 78.3}],
        box=[8.0, 8.0, 8.0])
    assert np.isclose(energy, state.getPotentialEnergy()._value, rtol=1e-6)
    assert np.allclose(forces, state.getForces(asNumpy=True)._value, rtol=1e-6, atol=1e-5)


def test_pair_distribution_and_its_gradient():
    rng = np.random.default_rng(3)
    x, box, radii = rng.uniform(0, 6, (30, 3)), [6.0, 6.5, 7.0], np.linspace(0.8, 2.8, 9)
    waves, width = [[1, 0, 2], [0, -3, 1]], 0.2
    g = costate.md.pair_distribution(x, box, radii=radii, width=width, waves=waves)
    d = x[:, None] - x[None]
    d -= np.round(d / box) * box
    r = np.sqrt((d**2).sum(-1))[~np.eye(30, dtype=bool)]
    density = np.exp(-((r[:, None] - radii) ** 2) / (2 * width**2)) / (width * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(g[:9], np.prod(box) / (r.size * 4 * np.pi * radii**2) * density.sum(0), rtol=1e-6, atol=1e-6)
    q = 2 * np.pi * np.array(waves) / box
    np.testing.assert_allclose(g[9:], np.abs(np.exp(1j * x @ q.T).sum(0)) ** 2 / 30, rtol=1e-12)

    weights = rng.normal(size=11)
    again, dx, dbox = costate.md.pair_distribution(x, box, radii=radii, width=width, waves=waves, weights=weights)
    np.testing.assert_array_equal(again, g)
    v, h = rng.normal(size=x.shape), 1e-5
    f = lambda s: weights @ costate.md.pair_distribution(x + s * v, box, radii=radii, width=width, waves=waves)
    assert np.sum(dx * v) == pytest.approx((f(h) - f(-h)) / (2 * h), rel=1e-6)
    with pytest.raises(costate.Error, match="whole numbers"):
        costate.md.pair_distribution(x, box, waves=[[0.5, 0, 0]])
    with pytest.raises(costate.Error, match="beyond half of the box"):
        costate.md.pair_distribution(x, box, radii=[4.0])


def test_a_formula_is_a_potential():
    x = np.array([[0.0, 0, 0], [1.1, 0, 0], [0.4, 1.0, 0.2]])
    own = {"kind": "pair_formula", "formula": "4*eps*((sig/r)^12 - (sig/r)^6)", "eps": 0.8, "sig": 1.0}
    built_in = {"kind": "lennard_jones", "epsilon": 0.8}
    energy, forces = costate.md.energy_and_forces(x, [own])
    expected, pulls = costate.md.energy_and_forces(x, [built_in])
    assert energy == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(forces, pulls, rtol=1e-10, atol=1e-10)
    with pytest.raises(costate.Error, match="'sigma'"):
        costate.md.energy_and_forces(x, [{"kind": "pair_formula", "formula": "sigma/r"}])
