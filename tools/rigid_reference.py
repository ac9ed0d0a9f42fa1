#!/usr/bin/env python3
"""Numbers of MuJoCo for the parity tests of rigid bodies: compiled models, and what they do from random states.

usage: tools/rigid_reference.py OUT_DIR MODEL.xml... [--states 8] [--steps 100] [--contact]

Needs the PyPI packages mujoco and numpy. One JSON file per model, with contact switched off; with --contact it is on, and the states are
such that something touches, up to deep penetration. tests/rigid/parity_test.cpp reads the committed files of tests/rigid/reference, or all of
$COSTATE_RIGID_REFERENCE, tests/rigid/contact/parity_test.cpp those of tests/rigid/contact/reference or $COSTATE_CONTACT_REFERENCE: with --states 500 there
and the models of the PyPI package gymnasium this is the long form of the tests.
"""
import argparse
import json
import pathlib

import mujoco
import numpy as np

JOINTS = ["free", "ball", "slide", "hinge"]
SHAPES = ["plane", "heightfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"]
INTEGRATORS = {"euler": mujoco.mjtIntegrator.mjINT_EULER, "rk4": mujoco.mjtIntegrator.mjINT_RK4,
               "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST}


def numbers(a):
    return np.asarray(a, dtype=float).ravel().tolist()


def name(m, kind, i):
    return mujoco.mj_id2name(m, kind, i) or ""


def full_inertia(m, i):
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, m.body_iquat[i])
    r = matrix.reshape(3, 3)
    full = r @ np.diag(m.body_inertia[i]) @ r.T
    return [full[0, 0], full[1, 1], full[2, 2], full[0, 1], full[0, 2], full[1, 2]]


def softness(solref, solimp):
    return {"solref": numbers(solref), "solimp": numbers(solimp)}


def compiled(m):
    """The fields of costate::rigid::Model."""
    T = mujoco.mjtObj
    bodies = [dict(name=name(m, T.mjOBJ_BODY, i), parent=int(m.body_parentid[i]), pos=numbers(m.body_pos[i]),
                   quat=numbers(m.body_quat[i]), mass=float(m.body_mass[i]), com=numbers(m.body_ipos[i]),
                   inertia=full_inertia(m, i), inertia_quat=numbers(m.body_iquat[i]), gravcomp=float(m.body_gravcomp[i]),
                   invweight=numbers(m.body_invweight0[i])) for i in range(m.nbody)]
    joints = []
    for i in range(m.njnt):
        kind, q, dof = JOINTS[m.jnt_type[i]], m.jnt_qposadr[i], m.jnt_dofadr[i]
        scalar = kind in ("slide", "hinge")
        joints.append(dict(
            name=name(m, T.mjOBJ_JOINT, i), type=kind, body=int(m.jnt_bodyid[i]), pos=numbers(m.jnt_pos[i]),
            axis=numbers(m.jnt_axis[i]), ref=float(m.qpos0[q]) if scalar else 0.0,
            springref=float(m.qpos_spring[q]) if scalar else 0.0, limited=bool(m.jnt_limited[i]),
            range=numbers(m.jnt_range[i]), margin=float(m.jnt_margin[i]),
            limit=softness(m.jnt_solref[i], m.jnt_solimp[i]), stiffness=float(m.jnt_stiffness[i]),
            damping=float(m.dof_damping[dof]), armature=float(m.dof_armature[dof]),
            frictionloss=float(m.dof_frictionloss[dof]), friction=softness(m.dof_solref[dof], m.dof_solimp[dof]),
            actuator_force_limited=bool(m.jnt_actfrclimited[i]), actuator_force_range=numbers(m.jnt_actfrcrange[i])))
    sites = [dict(name=name(m, T.mjOBJ_SITE, i), body=int(m.site_bodyid[i]), pos=numbers(m.site_pos[i]),
                  quat=numbers(m.site_quat[i])) for i in range(m.nsite)]
    wraps = [dict(object=int(m.wrap_objid[i]), value=float(m.wrap_prm[i])) for i in range(m.nwrap)]
    tendons = [dict(name=name(m, T.mjOBJ_TENDON, i), first_wrap=int(m.tendon_adr[i]), wraps=int(m.tendon_num[i]),
                    limited=bool(m.tendon_limited[i]), range=numbers(m.tendon_range[i]), margin=float(m.tendon_margin[i]),
                    limit=softness(m.tendon_solref_lim[i], m.tendon_solimp_lim[i]),
                    friction=softness(m.tendon_solref_fri[i], m.tendon_solimp_fri[i]),
                    stiffness=float(m.tendon_stiffness[i]), damping=float(m.tendon_damping[i]),
                    frictionloss=float(m.tendon_frictionloss[i]), springlength=numbers(m.tendon_lengthspring[i]),
                    length=float(m.tendon_length0[i]), invweight=float(m.tendon_invweight0[i])) for i in range(m.ntendon)]
    equalities = []
    for i in range(m.neq):
        data, kind = m.eq_data[i], ["connect", "weld", "joint", "tendon"][m.eq_type[i]]
        e = dict(name=name(m, T.mjOBJ_EQUALITY, i), type=kind, first=int(m.eq_obj1id[i]), second=int(m.eq_obj2id[i]),
                 active=bool(m.eq_active0[i]), softness=softness(m.eq_solref[i], m.eq_solimp[i]))
        if kind in ("connect", "weld"):
            e.update(anchor=numbers(data[0:3]), other_anchor=numbers(data[3:6]))
        if kind == "weld":
            e.update(relative_quat=numbers(data[6:10]), torquescale=float(data[10]))
        if kind in ("joint", "tendon"):
            e.update(polycoef=numbers(data[0:5]))
        equalities.append(e)
    actuators = []
    for i in range(m.nu):
        actuators.append(dict(
            name=name(m, T.mjOBJ_ACTUATOR, i),
            transmission={0: "joint", 1: "joint_in_parent", 3: "tendon", 4: "site"}[int(m.actuator_trntype[i])],
            target=int(m.actuator_trnid[i][0]), gear=numbers(m.actuator_gear[i]),
            dynamics=["none", "integrator", "filter", "filterexact"][m.actuator_dyntype[i]],
            time_constant=float(m.actuator_dynprm[i][0]), gain=["fixed", "affine"][m.actuator_gaintype[i]],
            gainprm=numbers(m.actuator_gainprm[i][:3]), bias=["none", "affine"][m.actuator_biastype[i]],
            biasprm=numbers(m.actuator_biasprm[i][:3]), control_limited=bool(m.actuator_ctrllimited[i]),
            force_limited=bool(m.actuator_forcelimited[i]), activation_limited=bool(m.actuator_actlimited[i]),
            control_range=numbers(m.actuator_ctrlrange[i]), force_range=numbers(m.actuator_forcerange[i]),
            activation_range=numbers(m.actuator_actrange[i]), act_early=bool(m.actuator_actearly[i])))
    return dict(timestep=m.opt.timestep, gravity=numbers(m.opt.gravity), density=m.opt.density, viscosity=m.opt.viscosity,
                wind=numbers(m.opt.wind), impratio=m.opt.impratio, mean_inertia=m.stat.meaninertia, bodies=bodies,
                joints=joints, sites=sites, wraps=wraps, tendons=tendons, equalities=equalities, actuators=actuators,
                dof_invweight=numbers(m.dof_invweight0), qpos0=numbers(m.qpos0), qpos_spring=numbers(m.qpos_spring))


def touchable(m):
    """What contact adds to the model."""
    T = mujoco.mjtObj
    geoms = [dict(name=name(m, T.mjOBJ_GEOM, i), type=SHAPES[m.geom_type[i]], body=int(m.geom_bodyid[i]),
                  size=numbers(m.geom_size[i]), pos=numbers(m.geom_pos[i]), quat=numbers(m.geom_quat[i]),
                  friction=numbers(m.geom_friction[i]), condim=int(m.geom_condim[i]), contype=int(m.geom_contype[i]),
                  conaffinity=int(m.geom_conaffinity[i]), priority=int(m.geom_priority[i]), solmix=float(m.geom_solmix[i]),
                  contact=softness(m.geom_solref[i], m.geom_solimp[i]), margin=float(m.geom_margin[i]),
                  gap=float(m.geom_gap[i])) for i in range(m.ngeom)]
    pairs = [dict(name=name(m, T.mjOBJ_PAIR, i), first=int(m.pair_geom1[i]), second=int(m.pair_geom2[i]),
                  condim=int(m.pair_dim[i]), friction=numbers(m.pair_friction[i]),
                  contact=softness(m.pair_solref[i], m.pair_solimp[i]), solreffriction=numbers(m.pair_solreffriction[i]),
                  margin=float(m.pair_margin[i]), gap=float(m.pair_gap[i])) for i in range(m.npair)]
    excludes = [dict(first=int(s) >> 16, second=int(s) & 0xffff) for s in m.exclude_signature]
    return dict(geoms=geoms, pairs=pairs, excludes=excludes, cone=["pyramidal", "elliptic"][m.opt.cone])


def contacts(d):
    """Points that push, in the order of their geoms and depths."""
    found = [dict(first=int(c.geom[0]), second=int(c.geom[1]), dist=float(c.dist), pos=numbers(c.pos),
                  normal=numbers(c.frame[:3])) for c in d.contact if c.exclude == 0]
    return sorted(found, key=lambda c: (c["first"], c["second"], c["dist"]))


def sink(m, d, rng):
    """Moves everything that can rise as a whole so that its lowest point is near the floor, or under it."""
    mujoco.mj_kinematics(m, d)
    mujoco.mj_comPos(m, d)
    floors = [g for g in range(m.ngeom) if SHAPES[m.geom_type[g]] in ("plane", "heightfield")]
    for i in range(m.njnt):
        root = m.body_rootid[m.jnt_bodyid[i]]
        rises = m.jnt_type[i] == 0 or (m.jnt_type[i] == 2 and abs(m.jnt_axis[i][2]) > 0.99 and m.jnt_bodyid[i] == root)
        if not rises or not floors:
            continue
        gaps = [mujoco.mj_geomDistance(m, d, f, g, 10, None) for f in floors for g in range(m.ngeom)
                if m.body_rootid[m.geom_bodyid[g]] == root and g not in floors]
        if gaps:
            d.qpos[m.jnt_qposadr[i] + (2 if m.jnt_type[i] == 0 else 0)] += 0.01 - 0.25 * rng.uniform() ** 2 - min(gaps)


def random_state(m, d, rng):
    mujoco.mj_resetData(m, d)
    for i in range(m.njnt):
        kind, q = JOINTS[m.jnt_type[i]], m.jnt_qposadr[i]
        if kind == "free":
            d.qpos[q:q + 3] += rng.uniform(-0.5, 0.5, 3)
            q += 3
        if kind in ("free", "ball"):
            d.qpos[q:q + 4] += rng.uniform(-0.6, 0.6, 4)
            d.qpos[q:q + 4] /= np.linalg.norm(d.qpos[q:q + 4])
        elif m.jnt_limited[i]:  # past both ends too
            low, high = m.jnt_range[i]
            d.qpos[q] = rng.uniform(low - 0.1 * (high - low), high + 0.1 * (high - low))
        else:
            d.qpos[q] += rng.uniform(-1, 1)
    d.qvel[:] = rng.uniform(-1, 1, m.nv)
    d.act[:] = rng.uniform(-0.5, 0.5, m.na)
    d.ctrl[:] = rng.uniform(-0.5, 0.5, m.nu)


def lower_rows(m, d):
    """Rows of the mass matrix: the diagonal, then the ancestors from the nearest on."""
    full = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, full)
    rows = []
    for i in range(m.nv):
        j = i
        while j >= 0:
            rows.append(full[i, j])
            j = m.dof_parentid[j]
    return rows


def rollout(m, d, x, steps):
    mujoco.mj_resetData(m, d)
    d.qpos[:], d.qvel[:], d.act[:], d.ctrl[:] = x
    for _ in range(steps):
        mujoco.mj_step(m, d)
    return dict(q=numbers(d.qpos), v=numbers(d.qvel), act=numbers(d.act))


def reference(path, states, steps, contact):
    m = mujoco.MjModel.from_xml_path(str(path))
    if not contact:
        m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    m.opt.solver, m.opt.iterations, m.opt.ls_iterations = mujoco.mjtSolver.mjSOL_NEWTON, 200, 100
    m.opt.tolerance, m.opt.ls_tolerance, m.opt.noslip_tolerance = 1e-16, 1e-6, 0
    d, rng, out = mujoco.MjData(m), np.random.default_rng(7), []
    for s in range(states):
        if contact and s < m.nkey:  # keyframes first: poses in which something touches by intent
            mujoco.mj_resetDataKeyframe(m, d, s)
        else:
            random_state(m, d, rng)
            if contact:
                sink(m, d, rng)
        x = [a.copy() for a in (d.qpos, d.qvel, d.act, d.ctrl)]
        mujoco.mj_forward(m, d)
        item = dict(q=numbers(x[0]), v=numbers(x[1]), act=numbers(x[2]), ctrl=numbers(x[3]), bias=numbers(d.qfrc_bias),
                    passive=numbers(d.qfrc_passive), actuator=numbers(d.qfrc_actuator), qacc_smooth=numbers(d.qacc_smooth),
                    constraint=numbers(d.qfrc_constraint), qacc=numbers(d.qacc), rows=int(d.nefc))
        if contact:
            item["contacts"] = contacts(d)
        elif s < 3:
            item["mass"] = lower_rows(m, d)
        for label, integrator in INTEGRATORS.items():
            if label == "implicitfast" and (m.opt.density > 0 or m.opt.viscosity > 0):
                continue  # refused: the slopes of a fluid's forces would belong to the implicit part
            m.opt.integrator = integrator
            item["step_" + label] = rollout(m, d, x, 1)
            if s < (100 if contact else 3):
                item["rollout_" + label] = rollout(m, d, x, steps)
            if contact:
                continue
            m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
            item["free_" + label] = rollout(m, d, x, 1)
            m.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        m.opt.integrator = INTEGRATORS["euler"]
        out.append(item)
    model = compiled(m)
    if contact:
        model.update(touchable(m))
    return dict(mujoco=mujoco.__version__, steps=steps, model=model, states=out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--states", type=int, default=8)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--contact", action="store_true")
    args = parser.parse_args()
    for path in args.models:
        result = reference(path, args.states, args.steps, args.contact)
        (args.out / (path.stem + ".json")).write_text(json.dumps(result, separators=(",", ":")))
        print(path.stem, "nv", len(result["model"]["dof_invweight"]))
