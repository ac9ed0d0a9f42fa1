"""The block of mpm_taichi.py in NVIDIA Warp on the CPU (wp.Tape, float32): same equations, same sizes.

    python mpm_warp.py [substeps]
"""
import json
import resource
import sys
import time

t_start = time.perf_counter()
import numpy as np
import warp as wp
t_import = time.perf_counter() - t_start
wp.init()
wp.clear_kernel_cache()  # so that the compile time is a cold one

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 50
G, NX, NY, NZ = 64, 50, 50, 40
N = NX * NY * NZ
DX, INV, DT, GRAVITY, NU = wp.constant(1.0 / G), wp.constant(float(G)), wp.constant(2e-4), wp.constant(9.8), wp.constant(0.3)
VOL = wp.constant((0.5 / G) ** 3)
MASS = wp.constant(1000.0 * (0.5 / G) ** 3)
COUNT = wp.constant(float(N))
@wp.func
def weight(n: int, f: float):
    if n == 0:
        return 0.5 * (1.5 - f) * (1.5 - f)
    if n == 1:
        return 0.75 - (f - 1.0) * (f - 1.0)
    return 0.5 * (f - 0.5) * (f - 0.5)
@wp.func
def corner(x: wp.vec3):
    return wp.vec3(wp.floor(x[0] * INV - 0.5), wp.floor(x[1] * INV - 0.5), wp.floor(x[2] * INV - 0.5))
@wp.kernel
def start(v0: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3)):
    v[wp.tid()] = v0[0]
@wp.kernel
def to_grid(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), C: wp.array(dtype=wp.mat33), F: wp.array(dtype=wp.mat33),
            young: wp.array(dtype=float), F1: wp.array(dtype=wp.mat33), mom: wp.array3d(dtype=wp.vec3), mass: wp.array3d(dtype=float)):
    p = wp.tid()
    mu = young[0] / (2.0 * (1.0 + NU))
    lam = young[0] * NU / ((1.0 + NU) * (1.0 - 2.0 * NU))
    base = corner(x[p])
    fx = x[p] * INV - base
    eye = wp.identity(n=3, dtype=float)
    f = (eye + DT * C[p]) * F[p]
    F1[p] = f
    tau = mu * (f * wp.transpose(f) - eye) + lam * wp.log(wp.determinant(f)) * eye
    affine = (-DT * VOL * 4.0 * INV * INV) * tau + MASS * C[p]
    for i in range(3):
        for j in range(3):
            for k in range(3):
                d = (wp.vec3(float(i), float(j), float(k)) - fx) * DX
                w = weight(i, fx[0]) * weight(j, fx[1]) * weight(k, fx[2])
                a, b, c = int(base[0]) + i, int(base[1]) + j, int(base[2]) + k
                wp.atomic_add(mom, a, b, c, w * (MASS * v[p] + affine * d))
                wp.atomic_add(mass, a, b, c, w * MASS)
@wp.kernel
def on_grid(mom: wp.array3d(dtype=wp.vec3), mass: wp.array3d(dtype=float), vel: wp.array3d(dtype=wp.vec3)):
    i, j, k = wp.tid()
    m = mass[i, j, k]
    if m > 0.0:
        u = mom[i, j, k] / m
        fall = u[1] - DT * GRAVITY
        if j < 3:
            fall = wp.max(fall, 0.0)
        vel[i, j, k] = wp.vec3(u[0], fall, u[2])
@wp.kernel
def to_particles(x: wp.array(dtype=wp.vec3), vel: wp.array3d(dtype=wp.vec3), x1: wp.array(dtype=wp.vec3), v1: wp.array(dtype=wp.vec3),
                 C1: wp.array(dtype=wp.mat33)):
    p = wp.tid()
    base = corner(x[p])
    fx = x[p] * INV - base
    u = wp.vec3(0.0, 0.0, 0.0)
    c = wp.mat33(0.0)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                w = weight(i, fx[0]) * weight(j, fx[1]) * weight(k, fx[2])
                g = vel[int(base[0]) + i, int(base[1]) + j, int(base[2]) + k]
                u += w * g
                c += wp.outer((4.0 * INV * w) * g, wp.vec3(float(i), float(j), float(k)) - fx)
    v1[p] = u
    C1[p] = c
    x1[p] = x[p] + DT * u
@wp.kernel
def average(x: wp.array(dtype=wp.vec3), mean: wp.array(dtype=wp.vec3)):
    wp.atomic_add(mean, 0, x[wp.tid()] / COUNT)
@wp.kernel
def measure(mean: wp.array(dtype=wp.vec3), loss: wp.array(dtype=float)):
    loss[0] = wp.length_sq(mean[0] - wp.vec3(0.6, 0.2, 0.5))

def clock():
    return np.array([time.perf_counter(), time.process_time()])

def zeros(shape, kind):
    return wp.zeros(shape, dtype=kind, requires_grad=True, device="cpu")

x, v = [[zeros(N, wp.vec3) for _ in range(STEPS + 1)] for _ in "xv"]
C, F = [[zeros(N, wp.mat33) for _ in range(STEPS + 1)] for _ in "CF"]
mom, vel = [[zeros((G, G, G), wp.vec3) for _ in range(STEPS)] for _ in "mv"]
mass = [zeros((G, G, G), float) for _ in range(STEPS)]
v0, mean, loss, young = zeros(1, wp.vec3), zeros(1, wp.vec3), zeros(1, float), zeros(1, float)
lattice = np.stack(np.meshgrid(np.arange(NX), np.arange(NY), np.arange(NZ), indexing="ij"), -1).reshape(-1, 3)
x[0].assign(((np.array([19.0, 3.0, 22.0]) + 0.5 * lattice + 0.25) / G).astype(np.float32))
F[0].assign(np.tile(np.eye(3, dtype=np.float32), (N, 1, 1)))
v0.assign([[1.0, -2.0, 0.5]])

def forward(e=1e5):
    young.fill_(e)
    for a in mom + mass + [mean, loss]:
        a.zero_()
    t0 = clock()
    wp.launch(start, N, [v0], [v[0]])
    for s in range(STEPS):
        wp.launch(to_grid, N, [x[s], v[s], C[s], F[s], young], [F[s + 1], mom[s], mass[s]])
        wp.launch(on_grid, (G, G, G), [mom[s], mass[s]], [vel[s]])
        wp.launch(to_particles, N, [x[s], vel[s]], [x[s + 1], v[s + 1], C[s + 1]])
    wp.launch(average, N, [x[STEPS]], [mean])
    wp.launch(measure, 1, [mean], [loss])
    return clock() - t0

def gradient():
    tape = wp.Tape()
    with tape:
        t = forward()
    t0 = clock()
    tape.backward(loss)
    t = t + clock() - t0
    by_tape = float(young.grad.numpy()[0])
    tape.zero()
    return [*t, by_tape]

def emit(metric, value, unit):
    print(json.dumps(dict(peer="warp (own MLS-MPM)", version=wp.__version__, task=f"3-D MPM 64^3, {N} particles, {STEPS} substeps, f32",
          metric=metric, value=float(f"{value:.4g}"), unit=unit)), flush=True)

best = lambda runs: np.array(runs).min(0)  # smallest wall time and smallest CPU time, each on its own
emit("import", t_import, "s")
first, f = forward(), best([forward() for _ in range(4)])
emit("compile forward and gradient, CPU", first[1] - f[1], "s"); emit("compile forward and gradient", first[0] - f[0], "s")
g = best([gradient() for _ in range(3)])
for name, t in (("forward", f), ("forward+gradient", g)):
    emit(name, t[0], "s"); emit(name + ", CPU", t[1], "cpu-s"); emit(name + ", per CPU second", N * STEPS / t[1], "particle-steps/s"); emit(name + ", rate", N * STEPS / t[0], "particle-steps/s")
emit("(forward+gradient)/forward, CPU", g[1] / f[1], "ratio")
emit("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB")
by_tape = gradient()[2]
forward(1.1e5); up = float(loss.numpy()[0]); forward(0.9e5); down = float(loss.numpy()[0])
emit("dloss/dE by tape", by_tape, "1/Pa"); emit("dloss/dE by difference", (up - down) / 2e4, "1/Pa")
