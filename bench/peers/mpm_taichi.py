"""Differentiable 3-D MLS-MPM in Taichi (CPU, float32), written from the equations.

A 100,000-particle neo-Hookean block (50 x 50 x 40 lattice, half-cell spacing) falls on the floor
of a 64^3 grid: 50 substeps, quadratic B-splines, APIC. Every substep (particles and grid) is kept,
so that the tape can replay it backwards. Loss: squared distance of the mean final position to a
target; gradient with respect to the initial velocity and Young's modulus, checked by a difference
quotient.   python mpm_taichi.py [steps]
"""
import json
import os
import resource
import sys
import time

os.environ.setdefault("TI_OFFLINE_CACHE", "0")
t_start = time.perf_counter()
import numpy as np
import taichi as ti
t_import = time.perf_counter() - t_start
ti.init(arch=ti.cpu, default_fp=ti.f32, log_level=ti.ERROR)

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 50
G, NX, NY, NZ, DT, RHO, NU = 64, 50, 50, 40, 2e-4, 1000.0, 0.3
N, DX, INV = NX * NY * NZ, 1.0 / G, float(G)
VOL = (0.5 * DX) ** 3
MASS = RHO * VOL

def field(kind, shape):
    make = {"s": ti.field, "v": lambda *a, **k: ti.Vector.field(3, *a, **k), "m": lambda *a, **k: ti.Matrix.field(3, 3, *a, **k)}
    return make[kind](ti.f32, shape=shape, needs_grad=True)

x, v, C, F = (field(k, (STEPS + 1, N)) for k in "vvmm")
momentum, velocity, mass = (field(k, (STEPS, G, G, G)) for k in "vvs")
v0, young, mean, loss = (field(k, ()) for k in "vsvs")
@ti.func
def weights(fx):
    return [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
@ti.kernel
def start():
    for p in range(N):
        cell = ti.Vector([p // (NY * NZ), p // NZ % NY, p % NZ])
        x[0, p] = (ti.Vector([19.0, 3.0, 22.0]) + 0.5 * ti.cast(cell, ti.f32) + 0.25) * DX
        v[0, p] = v0[None]
        F[0, p] = ti.Matrix.identity(ti.f32, 3)
@ti.kernel
def to_grid(s: ti.i32):
    for p in range(N):
        mu = young[None] / (2 * (1 + NU))
        lam = young[None] * NU / ((1 + NU) * (1 - 2 * NU))
        base = ti.cast(x[s, p] * INV - 0.5, ti.i32)
        fx = x[s, p] * INV - ti.cast(base, ti.f32)
        w = weights(fx)
        eye = ti.Matrix.identity(ti.f32, 3)
        f = (eye + DT * C[s, p]) @ F[s, p]
        F[s + 1, p] = f
        tau = mu * (f @ f.transpose() - eye) + lam * ti.log(f.determinant()) * eye  # Kirchhoff stress
        affine = (-DT * VOL * 4 * INV * INV) * tau + MASS * C[s, p]
        for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
            d = (ti.Vector([i, j, k]) - fx) * DX
            weight = w[i][0] * w[j][1] * w[k][2]
            at = base + ti.Vector([i, j, k])
            momentum[s, at[0], at[1], at[2]] += weight * (MASS * v[s, p] + affine @ d)
            mass[s, at[0], at[1], at[2]] += weight * MASS
@ti.kernel
def on_grid(s: ti.i32):
    for i, j, k in ti.ndrange(G, G, G):
        if mass[s, i, j, k] > 0:
            u = momentum[s, i, j, k] / mass[s, i, j, k]
            u[1] -= DT * 9.8
            if j < 3 and u[1] < 0:
                u[1] = 0.0
            velocity[s, i, j, k] = u
@ti.kernel
def to_particles(s: ti.i32):
    for p in range(N):
        base = ti.cast(x[s, p] * INV - 0.5, ti.i32)
        fx = x[s, p] * INV - ti.cast(base, ti.f32)
        w = weights(fx)
        u = ti.Vector.zero(ti.f32, 3)
        c = ti.Matrix.zero(ti.f32, 3, 3)
        for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
            d = ti.Vector([i, j, k]) - fx
            g = velocity[s, base[0] + i, base[1] + j, base[2] + k]
            weight = w[i][0] * w[j][1] * w[k][2]
            u += weight * g
            c += (4 * INV * weight) * g.outer_product(d)
        v[s + 1, p] = u
        C[s + 1, p] = c
        x[s + 1, p] = x[s, p] + DT * u
@ti.kernel
def average():
    for p in range(N):
        mean[None] += x[STEPS, p] / N
@ti.kernel
def measure():
    loss[None] = (mean[None] - ti.Vector([0.6, 0.2, 0.5])).norm_sqr()

def clock():
    return np.array([time.perf_counter(), time.process_time()])

def clear():
    for f in (momentum, mass, mean, loss):
        f.fill(0)
    ti.sync()

def rollout():
    start()
    for s in range(STEPS):
        to_grid(s), on_grid(s), to_particles(s)
    average(), measure()
    ti.sync()

def emit(metric, value, unit):
    print(json.dumps(dict(peer="taichi (own MLS-MPM)", version=".".join(map(str, ti.__version__)),
          task=f"3-D MPM 64^3, {N} particles, {STEPS} substeps, f32", metric=metric, value=float(f"{value:.4g}"), unit=unit)), flush=True)

def gradient():
    clear()
    t0 = clock()
    with ti.ad.Tape(loss):
        rollout()
    ti.sync()
    return clock() - t0

def forward(e=1e5):
    young[None] = e
    clear()
    t0 = clock()
    rollout()
    return clock() - t0

v0[None] = [1.0, -2.0, 0.5]
emit("import", t_import, "s")
first = [forward(), gradient()]
f, g = (np.array([run() for _ in range(4)]).min(0) for run in (forward, gradient))
for name, t, t1 in (("forward", f, first[0]), ("forward+gradient", g, first[1])):
    emit("compile " + name, t1[0] - t[0], "s"); emit("compile " + name + ", CPU", t1[1] - t[1], "cpu-s")
    emit(name, t[0], "s"); emit(name + ", CPU", t[1], "cpu-s"); emit(name + ", per CPU second", N * STEPS / t[1], "particle-steps/s"); emit(name + ", rate", N * STEPS / t[0], "particle-steps/s")
emit("(forward+gradient)/forward, CPU", g[1] / f[1], "ratio")
emit("stored state and adjoint", 8 * ((STEPS + 1) * N * 24 + STEPS * G**3 * 7) / 2**20, "MiB")
emit("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB")
by_tape = young.grad[None]
forward(1.1e5); up = loss[None]; forward(0.9e5)
emit("dloss/dE by tape", by_tape, "1/Pa"); emit("dloss/dE by difference", (up - loss[None]) / 2e4, "1/Pa")
