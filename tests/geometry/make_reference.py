#!/usr/bin/env python3
"""Writes reference.json: contacts that MuJoCo (PyPI `mujoco`) finds for pairs of shapes at random places.

    python3 tests/geometry/make_reference.py

Each pair: scenes of (centre, R by rows, sizes) of both shapes, the margin, and contacts (dist, position, frame by rows), in MuJoCo's order.
Meshes are given as MuJoCo compiled them: vertices, neighbours along the edges of the hull, faces.
"""
import json
import os
import sys

import mujoco
import numpy as np

SPINDLE = "0.3 0 0.02  0 0.25 0  -0.28 0.03 0  0.02 -0.31 0.01  0 0.01 0.4  0.03 0 -0.35"
BRICK = "-.3 -.2 -.25  .3 -.2 -.25  -.3 .2 -.25  .3 .2 -.25  -.3 -.2 .25  .3 -.2 .25  -.3 .2 .25  .3 .2 .25"
ORDER = ["plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"]
HEIGHTS = (np.sin(np.arange(12)[:, None] * 1.1) * np.cos(np.arange(10)[None, :] * 0.9) * 0.5 + 0.5).ravel()
HEIGHT_SIZE = "1 0.9 0.2 0.1"


def geom(kind, size, margin):
    if kind == "mesh":
        return f'<geom type="mesh" mesh="m" margin="{margin}"/>'
    if kind == "hfield":
        return f'<geom type="hfield" hfield="h" margin="{margin}"/>'
    return f'<geom type="{kind}" size="{size[0]} {size[1]} {size[2]}" margin="{margin}"/>'


def scene_xml(first, second, size1, size2, margin, mesh):
    fixed = first in ("plane", "hfield")
    joint = "" if fixed else "<freejoint/>"
    heights = " ".join(repr(float(h)) for h in HEIGHTS)
    return f"""<mujoco><option><flag gravity="disable"/></option>
<asset><mesh name="m" vertex="{mesh}"/><hfield name="h" nrow="12" ncol="10" size="{HEIGHT_SIZE}" elevation="{heights}"/></asset>
<worldbody><body mocap="{str(fixed).lower()}">{joint}{geom(first, size1, margin)}</body>
<body><freejoint/>{geom(second, size2, margin)}</body></worldbody></mujoco>"""


def random_quaternion(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def place(m, d, rng, first, second, extent, special):
    x1 = np.array([0.3, -0.2, 0.5])
    q1, q2 = random_quaternion(rng), random_quaternion(rng)
    x2 = x1 + rng.uniform(-extent, extent, 3)
    if first == "hfield":
        q1 = np.array([1.0, 0, 0, 0])
        x2 = x1 + np.array([rng.uniform(-0.8, 0.8), rng.uniform(-0.7, 0.7), rng.uniform(0.2, 0.6)])
    # Not where MuJoCo then leaves the choice to rounding: a capsule along a plane's normal or a box's edge, round sides along each other.
    loose = [("capsule", "box"), ("capsule", "cylinder"), ("cylinder", "cylinder"), ("cylinder", "box")]
    if special == "parallel" and first not in ("plane", "hfield") and (first, second) not in loose:
        q2 = q1
    if first in ("plane", "hfield"):
        d.mocap_pos[0], d.mocap_quat[0] = x1, q1
        d.qpos[:3], d.qpos[3:7] = x2, q2
    else:
        d.qpos[:3], d.qpos[3:7] = x1, q1
        d.qpos[7:10], d.qpos[10:14] = x2, q2


def mesh_data(m):
    n = m.mesh_vertnum[0]
    graph = m.mesh_graph[m.mesh_graphadr[0]:]
    vertices, faces = graph[0], graph[1]
    address = graph[2:2 + vertices]
    ids = graph[2 + vertices:2 + 2 * vertices]
    edges = graph[2 + 2 * vertices:2 + 2 * vertices + vertices + 3 * faces]
    neighbours = [[] for _ in range(n)]
    for i in range(vertices):
        k = address[i]
        while edges[k] >= 0:
            neighbours[ids[i]].append(int(ids[edges[k]]))
            k += 1
    polygons = []
    for p in range(m.mesh_polynum[0]):
        a = m.mesh_polyvertadr[p]
        polygons.append([int(v) for v in m.mesh_polyvert[a:a + m.mesh_polyvertnum[p]]])
    return {
        "vertices": m.mesh_vert[:n].astype(float).tolist(),
        "neighbours": neighbours,
        "polygons": polygons,
        "normals": m.mesh_polynormal.astype(float).tolist(),
        "radius": float(m.geom_rbound[[i for i in range(m.ngeom) if m.geom_type[i] == mujoco.mjtGeom.mjGEOM_MESH][0]]),
    }


def numbers(values):
    return [float(v) for v in np.asarray(values).ravel()]


def scenes(first, second, count, rng, mesh):
    found, meshes = [], None
    attempts = 0
    while len(found) < count and attempts < 200 * count:
        attempts += 1
        size1, size2 = rng.uniform(0.15, 0.4, 3), rng.uniform(0.15, 0.4, 3)
        if first == "hfield":
            size2 *= 0.4
        margin = 0.05 if attempts % 3 == 0 else 0.0
        special = "parallel" if attempts % 4 == 0 else ""
        m = mujoco.MjModel.from_xml_string(scene_xml(first, second, size1, size2, margin, mesh))
        m.opt.ccd_tolerance = 1e-12
        m.opt.ccd_iterations = 200
        d = mujoco.MjData(m)
        extent = 0.6 if first not in ("plane", "hfield") else 0.3
        place(m, d, rng, first, second, extent, special)
        mujoco.mj_forward(m, d)
        if d.ncon == 0 and rng.uniform() > 0.1:
            continue
        if meshes is None and "mesh" in (first, second):
            meshes = mesh_data(m)
        c = []
        for i in range(d.ncon):
            contact = d.contact[i]
            c.append([contact.dist] + numbers(contact.pos) + numbers(contact.frame))
        found.append({
            "shapes": [numbers(d.geom_xpos[g]) + numbers(d.geom_xmat[g]) + numbers(m.geom_size[g]) for g in range(2)],
            "margin": float(d.contact[0].includemargin) if d.ncon else margin,
            "contacts": c,
        })
    return found, meshes


def main():
    out = {"mujoco": mujoco.__version__, "heights": {"rows": 12, "columns": 10, "data": None, "size": None}, "pairs": []}
    for i, first in enumerate(ORDER):
        for second in ORDER[max(i, 2):]:
            if first == "plane" and second == "plane":
                continue
            rng = np.random.default_rng(100 * i + ORDER.index(second))
            small = " ".join(repr(0.3 * float(x)) for x in SPINDLE.split())
            mesh = small if first == "hfield" else BRICK if (first, second) in (("box", "mesh"), ("plane", "mesh")) else SPINDLE
            found, meshes = scenes(first, second, 20 if first == "hfield" else 40, rng, mesh)
            out["pairs"].append({"first": first, "second": second, "scenes": found, "mesh": meshes})
            print(first, second, len(found), max(len(s["contacts"]) for s in found), file=sys.stderr)
    m = mujoco.MjModel.from_xml_string(scene_xml("hfield", "sphere", [0.1] * 3, [0.1] * 3, 0, SPINDLE))
    out["heights"]["data"] = numbers(m.hfield_data)
    out["heights"]["size"] = numbers(m.hfield_size)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference.json")
    with open(path, "w") as f:
        json.dump(out, f, separators=(",", ":"))


if __name__ == "__main__":
    main()
