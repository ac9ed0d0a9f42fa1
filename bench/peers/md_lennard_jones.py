"""Lennard-Jones fluid: density 0.8, cutoff 2.5, periodic, Verlet with dt = 0.005, neighbour list with skin 0.5. Forward
steps; gradient of the final potential energy with respect to (epsilon, sigma) over 100 steps.

    python md_lennard_jones.py openmm 4000
    python md_lennard_jones.py jax-md 4000 f32 Dense      or OrderedSparse

JAX-MD's own lennard_jones_neighbor_list has NaN for this gradient: the list is padded with atoms at distance zero.
Here that distance is replaced by one. Without a checkpoint per step XLA plans gigabytes for 4000 atoms: such a
gradient is measured only where they fit."""
import os
import sys

import numpy as np

from ode_common import best, cap_memory, emit, peak_mib, timed

DENSITY, DT, CUTOFF, SKIN, STEPS = 0.8, 0.005, 2.5, 0.5, 100


def lattice(n):
    """n atoms (500 and 4000 fill 5^3 and 10^3 cells of a face-centred lattice), displaced a little, and the box's edge."""
    cells, edge = round((n / 4) ** (1 / 3)), (n / DENSITY) ** (1 / 3)
    base = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    corners = np.stack(np.meshgrid(*[np.arange(cells)] * 3), -1).reshape(-1, 1, 3)
    jitter = 0.02 * np.random.default_rng(0).normal(size=(n, 3))
    return ((corners + base).reshape(-1, 3) * edge / cells + jitter) % edge, edge


def jax_md_energy(n, dtype, form):
    """final(p, remat): the potential energy after the steps, of p = (epsilon, sigma), and whether the list overflowed."""
    import jax
    import jax.numpy as jnp
    from jax_md import energy, partition, simulate, smap, space

    jax.config.update("jax_enable_x64", dtype == "f64")
    start, edge = lattice(n)
    start = jnp.asarray(start, jnp.float64 if dtype == "f64" else jnp.float32)
    displacement, shift = space.periodic(edge)
    neighbours = energy.lennard_jones_neighbor_list(displacement, edge, r_cutoff=CUTOFF, dr_threshold=SKIN,
                                                    format=getattr(partition, form))[0].allocate(start)
    guarded = lambda r, **kw: energy.lennard_jones(jnp.where(r > 0, r, 1.0), **kw)
    potential = smap.pair_neighbor_list(energy.multiplicative_isotropic_cutoff(guarded, 2.0, CUTOFF),
                                        space.canonicalize_displacement_or_metric(displacement),
                                        ignore_unused_parameters=True, sigma=1.0, epsilon=1.0)

    def final(p, remat=False):
        init, apply = simulate.nve(lambda r, **kw: potential(r, epsilon=p[0], sigma=p[1], **kw), shift, DT)

        def step(carry, _):
            state, seen = carry
            seen = seen.update(state.position)
            return (apply(state, neighbor=seen), seen), None

        first = init(jax.random.PRNGKey(0), start, kT=1.0, neighbor=neighbours), neighbours
        (state, seen), _ = jax.lax.scan(jax.checkpoint(step) if remat else step, first, None, length=STEPS)
        return potential(state.position, epsilon=p[0], sigma=p[1], neighbor=seen), seen.did_buffer_overflow

    return jax, jnp.ones(2), final


def with_jax_md(n, dtype, form):
    jax, p, final = jax_md_energy(n, dtype, form)
    task, wait = f"LJ {form} N={n} {dtype}", jax.block_until_ready
    forward = jax.jit(final)
    emit("jax-md", task, "first forward", timed(lambda: wait(forward(p)))[0], "s")
    emit("jax-md", task, "forward", STEPS / best(lambda: wait(forward(p))), "steps/s")
    for name, remat in ("checkpoint per step", True), ("all kept", False):
        gradient = jax.jit(jax.value_and_grad(lambda q: final(q, remat), has_aux=True))
        scratch = gradient.lower(p).compile().memory_analysis().temp_size_in_bytes / 2**30
        emit("jax-md", task, f"gradient, {name}: scratch memory", scratch, "GiB")
        if scratch > 6:
            continue
        seconds, ((value, overflow), slope) = timed(lambda: wait(gradient(p)))
        emit("jax-md", task, f"gradient, {name}: first", seconds, "s")
        emit("jax-md", task, f"gradient, {name}: U, slopes, overflow",
             [float(value), *map(float, slope), float(overflow)], "1")
        emit("jax-md", task, f"gradient, {name}", best(lambda: wait(gradient(p))), "s")
    emit("jax-md", task, "peak RSS", peak_mib(), "MiB")


def with_openmm(n):
    import openmm as mm

    threads = len(os.sched_getaffinity(0))
    start, edge = lattice(n)
    length, mass, depth = 0.34, 39.948, 0.996  # argon: sigma in nm, epsilon in kJ/mol
    system = mm.System()
    system.setDefaultPeriodicBoxVectors(*(np.eye(3) * edge * length))
    force = mm.NonbondedForce()
    force.setNonbondedMethod(mm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(CUTOFF * length)
    force.setUseDispersionCorrection(False)
    for _ in range(n):
        system.addParticle(mass)
        force.addParticle(0.0, length, depth)
    system.addForce(force)
    integrator = mm.VerletIntegrator(DT * length * (mass / depth) ** 0.5)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName("CPU"), {"Threads": str(threads)})
    context.setPositions(start * length)
    context.setVelocitiesToTemperature(depth / 0.00831446, 1)
    steps = 1000
    run = lambda: (integrator.step(steps), context.getState(getEnergy=True))
    emit("openmm", f"LJ NonbondedForce, CPU platform, {threads} threads N={n} f32", "forward", steps / best(run), "steps/s")


if __name__ == "__main__":
    cap_memory(14)
    if sys.argv[1] == "openmm":
        with_openmm(int(sys.argv[2]))
    else:
        with_jax_md(int(sys.argv[2]), *sys.argv[3:])
