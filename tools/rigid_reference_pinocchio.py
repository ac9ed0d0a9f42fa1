#!/usr/bin/env python3
"""RNEA, CRBA, ABA and their derivatives by Pinocchio for tests/rigid/dynamics/forward_dynamics_test.cpp.

usage: tools/rigid_reference_pinocchio.py tests/rigid/reference_pinocchio.json

Needs the PyPI packages pin and numpy. One tree with two branches of revolute, prismatic and spherical joints about axes and
with inertias of no symmetry; what a spherical joint's tangent means is the same in both engines.
"""
import json
import sys

import numpy as np
import pinocchio as pin

rng = np.random.default_rng(3)


def tree():
    model, bodies, joints = pin.Model(), [], []

    def add(parent, kind):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        place = pin.SE3.Random()
        place.translation = rng.uniform(-0.4, 0.4, 3)
        joint = {"hinge": lambda: pin.JointModelRevoluteUnaligned(*axis), "slide": lambda: pin.JointModelPrismaticUnaligned(*axis),
                 "ball": pin.JointModelSpherical}[kind]()
        index = model.addJoint(parent, joint, place, f"joint{len(joints)}")
        mass, com, root = rng.uniform(0.5, 3), rng.uniform(-0.2, 0.2, 3), rng.uniform(-0.3, 0.3, (3, 3))
        inertia = root @ root.T + 0.02 * np.eye(3)
        model.appendBodyToJoint(index, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
        q = pin.Quaternion(place.rotation)
        bodies.append(dict(parent=parent, pos=place.translation.tolist(), quat=[q.w, q.x, q.y, q.z], mass=mass, com=com.tolist(),
                           inertia=[inertia[0, 0], inertia[1, 1], inertia[2, 2], inertia[0, 1], inertia[0, 2], inertia[1, 2]]))
        joints.append(dict(type=kind, axis=axis.tolist()))
        return index

    trunk = add(add(0, "hinge"), "ball")
    add(add(add(trunk, "slide"), "hinge"), "ball")
    add(add(add(trunk, "hinge"), "hinge"), "slide")
    return model, bodies, joints


def to_ours(model, joints, q):
    """Quaternions as (w, x, y, z)."""
    out, at = [], 0
    for joint in joints:
        if joint["type"] == "ball":
            out += [q[at + 3], q[at], q[at + 1], q[at + 2]]
            at += 4
        else:
            out.append(q[at])
            at += 1
    return out


model, bodies, joints = tree()
data, states = model.createData(), []
for _ in range(10):
    q = pin.integrate(model, pin.neutral(model), rng.uniform(-1, 1, model.nv))
    v, tau = rng.uniform(-1, 1, model.nv), rng.uniform(-5, 5, model.nv)
    a = pin.aba(model, data, q, v, tau).copy()
    M = pin.crba(model, data, q).copy()
    M = np.triu(M) + np.triu(M, 1).T
    rnea = pin.rnea(model, data, q, v, v).copy()
    pin.computeABADerivatives(model, data, q, v, tau)
    states.append(dict(q=to_ours(model, joints, q), v=v.tolist(), tau=tau.tolist(), a=a.tolist(), mass=M.ravel().tolist(),
                       rnea=rnea.tolist(), da_dq=data.ddq_dq.ravel().tolist(), da_dv=data.ddq_dv.ravel().tolist(),
                       da_dtau=(np.triu(data.Minv) + np.triu(data.Minv, 1).T).ravel().tolist()))
json.dump(dict(pinocchio=pin.__version__, bodies=bodies, joints=joints, states=states), open(sys.argv[1], "w"), separators=(",", ":"))
