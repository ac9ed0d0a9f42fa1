"""Molecules and estimators from Python."""
import pickle

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


def test_atoms_in_the_same_place_have_no_energy():
    with pytest.raises(costate.Error, match="do two atoms lie in the same place"):
        costate.md.energy_and_forces(np.zeros((2, 3)), [{"kind": "wca"}])


def test_preconditioned_steps():
    system = costate.md.system([[0.5, -0.2]], 1.0, [{"kind": "harmonic"}], integrator="preconditioned", dt=0.1,
                               preconditioner=[[1.0, 0.3], [-0.2, 0.8]])
    value, grad = system.rollout(steps=5).value_and_grad(loss=costate.loss.final("x"))
    assert grad.parameters["preconditioner"].size == 4 and np.all(grad.parameters["preconditioner"] != 0)


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


def test_an_estimate_says_what_it_took():
    system, loss = well(), costate.loss.final("x", [0.0])
    ask = lambda **more: costate.estimate.gradient(system, loss, 64, method="pathwise", samples=256,
                                                   parameters="double_well/a", **more)
    stored, sparse = ask(), ask(checkpoints=costate.binomial(4))
    assert sparse["gradient"] == stored["gradient"] and sparse["memory_bytes"] < stored["memory_bytes"]
    assert np.isfinite(stored["growth_rate"])
    assert ask(checkpoints=costate.store_all().truncated(8))["gradient"] != stored["gradient"]
    with pytest.raises(costate.Error, match="no schedule"):
        ask(checkpoints=8)


def test_a_pair_formula_of_a_large_world_has_lists():
    n = 6
    x = 1.1 * np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1).reshape(-1, 3)
    x += 0.05 * np.random.default_rng(1).normal(size=x.shape)
    formula = {"kind": "pair_formula", "formula": lambda r, eps: 4*eps*(r**-12 - r**-6), "eps": 0.9, "cutoff": 2.5}
    box = [6.6] * 3
    answers = [costate.md.energy_and_forces(x, [p], box=box)
               for p in (formula, {"kind": "lennard_jones", "epsilon": 0.9, "cutoff": 2.5})]
    assert answers[0][0] == pytest.approx(answers[1][0], rel=1e-12)
    assert np.allclose(answers[0][1], answers[1][1], rtol=1e-10, atol=1e-10)


def test_smoothed_estimators_need_no_noise():
    system = costate.md.system([[1.0]], 1.0, [{"kind": "harmonic", "k": 1.5}], integrator="verlet", dt=0.2)
    jump = costate.loss.expression("0.5 + 0.5*sign(x - 0.9685)")  # x = 1 - 0.02 k: it jumps at k = 1.575
    g = costate.estimate.gradient(system, jump, 1, method="zeroth_order", samples=1 << 15, parameters=["harmonic/k"], sigma=0.05)
    slope, error = g["gradient"]["harmonic/k"], g["standard_error"]["harmonic/k"]
    assert abs(slope + np.exp(-0.5) / (0.075 * np.sqrt(2 * np.pi))) < 4 * error and error < 0.05 * abs(slope)
    assert costate.estimate.gradient(system, jump, 1, parameters=["harmonic/k"], sigma=0.05)["method"] == "mixed_order"


def test_rigid_bonds_are_kept():
    x = np.array([[0.0, 0, 0], [1.0, 0, 0], [0.5, 0.8, 0]])
    system = costate.md.system(x, [1.0, 2.0, 1.5], [{"kind": "harmonic"}], integrator="langevin", dt=0.02,
                               rigid_bonds=[[0, 1], [1, 2]], rigid_lengths=[1.0, np.hypot(0.5, 0.8)])
    end = system.rollout(steps=50).simulate().final_state[:9].reshape(3, 3)
    assert np.linalg.norm(end[1] - end[0]) == pytest.approx(1, abs=1e-12)
    assert np.linalg.norm(end[2] - end[1]) == pytest.approx(np.hypot(0.5, 0.8), abs=1e-12)
    with pytest.raises(costate.Error, match="belong together"):
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


def test_tables_of_species():
    x, v = np.array([[0.0, 0, 0], [1.1, 0, 0], [0.1, 1.2, 0]]), [[0.0, 0, 0], [0, 0.1, 0], [0.1, 0, 0]]
    system = costate.md.system(x, 1.0, [{"kind": "lennard_jones", "species": [0, 1, 0], "epsilon": [1.0, 0.6, 2.0]}], v=v,
                               integrator="verlet", dt=0.01)
    value, grad = system.rollout(steps=20).value_and_grad(loss=costate.loss.final("x"))
    table = grad.parameters["lennard_jones/epsilon"]
    assert table.shape == (3,) and table[0] != 0 and table[1] != 0 and table[2] == 0  # there is one atom of species 1
    with pytest.raises(costate.Error, match="the species of 2 atoms"):
        costate.md.system(x, 1.0, [{"kind": "lennard_jones", "species": [0, 1]}])


def test_energies_of_atoms():
    x, bond = [[0.0, 0, 0], [1.5, 0, 0], [1.5, 3, 0]], {"kind": "harmonic_bond", "atoms": [[0, 1], [1, 2]], "k": 2.0, "r0": 1.0}
    assert costate.md.atom_energies(x, [bond]) == pytest.approx([0.125, 2.125, 2.0])
    system = costate.md.system(x, 1.0, [bond], integrator="verlet")
    sim = system.rollout(steps=1)
    value, grad = sim.value_and_grad(loss=costate.md.observe_energies(system, weights=[0.0, 0, 1], steps=[0]))
    assert value == pytest.approx(2.0) and grad.parameters["harmonic_bond/k"] == pytest.approx(1.0)
    assert sim.value(loss=costate.md.observe_energies(system, target=[0.125, 2.125, 1.0], steps=[0])) == pytest.approx(0.5)
    with pytest.raises(costate.Error, match="2 weights of 3 atoms"):
        costate.md.observe_energies(system, weights=[1.0, 2.0])


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


def test_a_function_is_a_potential():
    x = np.array([[0.0, 0, 0], [1.1, 0, 0], [0.4, 1.0, 0.2]])
    own = {"kind": "pair_formula", "formula": lambda r, sig, eps: 4 * eps * ((sig / r) ** 12 - (sig / r) ** 6), "eps": 0.8,
           "sig": 1.0}
    energy, forces = costate.md.energy_and_forces(x, [own])
    expected, pulls = costate.md.energy_and_forces(x, [{"kind": "lennard_jones", "epsilon": 0.8}])
    assert energy == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(forces, pulls, rtol=1e-10, atol=1e-10)

    def springs(x, k, length):  # of all atoms at once, with numbers in an array
        d = x[1:] - x[:-1]
        return 0.5 * np.sum(k * (np.sqrt(np.sum(d**2, axis=1)) - length) ** 2)

    own = {"kind": "energy_formula", "name": "chain", "formula": springs, "k": [3.0, 5.0], "length": 1.05}
    bonds = {"kind": "harmonic_bond", "atoms": [[0, 1], [1, 2]], "k": [3.0, 5.0], "r0": 1.05}
    answers = []
    for potential, name in ((own, "chain/k"), (bonds, "harmonic_bond/k")):
        system = costate.md.system(x, 1.0, [potential], v=0.1 * x, integrator="verlet", dt=0.01)
        value, grad = pickle.loads(pickle.dumps(system)).rollout(steps=20).value_and_grad(loss=costate.loss.final("x"))
        answers.append([value, *np.ravel(grad.parameters[name])])
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-10)

    with pytest.raises(costate.Error, match="takes 'sig'"):
        costate.md.energy_and_forces(x, [{"kind": "pair_formula", "formula": lambda r, sig: sig / r}])
    with pytest.raises(costate.Error, match="takes no function"):
        costate.md.energy_and_forces(x, [{"kind": "wca", "formula": lambda r: r}])
    with pytest.raises(costate.Error, match="the arguments r, and the potential has r, c"):
        costate.md.energy_and_forces(x, [{"kind": "pair_formula", "formula": lambda r: 1 / r, "c": 2.0}])


def test_observed_quantities_are_losses():
    x = 1.3 * np.array([[i, j, k] for i in range(2) for j in range(2) for k in range(2)], float)
    rng = np.random.default_rng(2)
    v = rng.normal(size=x.shape)
    system = costate.md.system(x, 1.0, [{"kind": "lennard_jones", "epsilon": 0.8}], v=v, box=[4.0, 4.0, 4.0], integrator="verlet",
                               dt=0.005)
    sim = system.rollout(steps=10)
    end = np.asarray(sim.simulate().final_state)
    value = lambda loss: sim.value_and_grad(loss=loss)[0]
    energy = costate.md.energy_and_forces(end[:24].reshape(8, 3), [{"kind": "lennard_jones", "epsilon": 0.8}], box=[4.0, 4.0, 4.0])[0]
    assert value(costate.md.observe(system, "potential_energy")) == pytest.approx(energy, rel=1e-12)
    assert value(costate.md.observe(system, "temperature")) == pytest.approx(np.mean(end[24:] ** 2), rel=1e-12)
    assert value(costate.md.observe_motion(system)) == pytest.approx(np.sum((end[:24] - x.ravel()) ** 2) / 8, rel=1e-10)
    velocity = costate.md.observe_motion(system, "velocity", steps=[0, 10], weights=[0.0, 2.0])
    assert value(velocity) == pytest.approx(2 * np.sum(end[24:] * v.ravel()) / 8, rel=1e-12)
    radii = [1.0, 1.3, 1.8]
    g = costate.md.pair_distribution(end[:24].reshape(8, 3), [4.0, 4.0, 4.0], radii=radii, width=0.1)
    loss = costate.md.observe_distribution(system, radii=radii, width=0.1, weights=[1.0, -2.0, 0.5])
    assert value(loss) == pytest.approx(g @ [1.0, -2.0, 0.5], rel=1e-10)
    assert value(pickle.loads(pickle.dumps(loss))) == value(loss)
    np.testing.assert_allclose(costate.md.green_kubo(4, 0.1, 3), np.array([0.5, 1, 1, 1, 0.5]) * 0.1 / 3)
    with pytest.raises(costate.Error, match="a system of costate.md.system"):
        costate.md.observe(costate.system(lambda x: -x, states=["x"]), "pressure")
    with pytest.raises(costate.Error, match="'displacement' or 'velocity'"):
        costate.md.observe_motion(system, "speed")


def test_first_passage_and_committor():
    system = well()
    g = costate.estimate.first_passage(system, 2000, level=0.0, samples=20000, parameters="double_well/a")
    # In continuous time it is 4.6065; steps of 0.05 miss crossings between them and see it late.
    assert 4.6065 < g["value"] < 5.5 and g["label"].startswith("mean first passage")
    more, less = (costate.estimate.first_passage(system, 2000, samples=20000, parameters="double_well/a", seed=3,
                                                 p={"double_well/a": 1.0 + h})["value"] for h in (0.2, -0.2))
    assert g["gradient"]["double_well/a"] == pytest.approx((more - less) / 0.4, abs=5 * g["standard_error"]["double_well/a"] + 0.5)
    half = costate.estimate.first_passage(system, 2000, level=1.0, before=-1.0, samples=20000, x0=[0.0],
                                          parameters="double_well/b")
    assert abs(half["value"] - 0.5) < 4 * half["value_error"]
    assert half["gradient"]["double_well/b"] < -8 * half["standard_error"]["double_well/b"]
    with pytest.raises(costate.Error, match="wrong sides"):
        costate.estimate.first_passage(system, 10, level=1.0, before=2.0, parameters="double_well/a")


def test_weights_of_a_neural_potential_are_fitted():
    """Energies of clusters, by least squares on the weights: the Jacobian comes from one gradient per cluster."""
    rng = np.random.default_rng(4)
    clusters = [1.15 * np.array([[i, j, 0] for i in range(2) for j in range(2)]) + 0.1 * rng.normal(size=(4, 3)) for _ in range(12)]
    wanted = [costate.md.energy_and_forces(c, [{"kind": "lennard_jones"}])[0] for c in clusters]
    network = {"kind": "neural", "cutoff": 2.5, "radial": 4, "angular": 2, "hidden": 6, "layers": 1}
    system = costate.md.system(clusters[0], 1.0, [network], integrator="verlet", dt=1e-6)
    sim = system.rollout(steps=1)
    energy = costate.md.observe(system, "potential_energy", steps=[0])
    weights = np.array([f for f in system.signature.parameters if f.name == "neural/weights"][0].defaults)
    errors = []
    for k in range(40):  # Levenberg-Marquardt, bolder from step to step
        answers = [sim.value_and_grad(x0={"x": c.ravel()}, p={"neural/weights": weights}, loss=energy) for c in clusters]
        off = np.array([value for value, _ in answers]) - wanted
        J = np.array([np.ravel(grad.parameters["neural/weights"]) for _, grad in answers])
        errors.append(off @ off)
        weights = weights - J.T @ np.linalg.solve(J @ J.T + 10.0 * 0.75**k * np.eye(len(off)), off)
    assert errors[-1] < 1e-3 * errors[0]


def test_a_barostat_has_its_state_and_its_numbers():
    x = 1.2 * np.array([[i, j, k] for i in range(2) for j in range(2) for k in range(2)], float)
    make = lambda **more: costate.md.system(x, 1.0, [{"kind": "wca"}], box=[3.0, 3.0, 3.0], integrator="barostat", dt=0.005, **more)
    system = make(pressure=0.5, piston_mass=20.0)
    value, grad = system.rollout(steps=50).value_and_grad(loss=costate.loss.final("strain", [0.0]))
    assert value > 0 and float(np.squeeze(grad.parameters["pressure"])) != 0
    with pytest.raises(costate.Error, match="needs a piston_mass"):
        make()
    with pytest.raises(costate.Error, match="has no barostat"):
        costate.md.system(x, 1.0, [{"kind": "wca"}], pressure=1.0)


def test_few_samples_do_not_say_how_exact_they_are():
    loss = costate.loss.final("x", [0.0])
    for samples in (2, 3):
        found = costate.estimate.gradient(well(), loss, 10, method="reinforce", samples=samples, parameters=["double_well/a"])
        assert found["standard_error"]["double_well/a"] == np.inf and found["value_error"] == np.inf
    ends = [("double_well/b", [0.0])], [("double_well/b", [0.4])]
    assert costate.estimate.free_energy(well(), *ends, 10, samples=2)["error"] == np.inf
