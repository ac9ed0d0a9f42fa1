#!/usr/bin/env python3
"""What the PyPI package `mujoco` makes of models, as JSON that tests/io/mjcf_parity_test.cpp reads.

    python3 -m venv .cache/mujoco && .cache/mujoco/bin/pip install mujoco gymnasium
    .cache/mujoco/bin/python tests/io/parity/make_models_json.py               # scenes/ and tests/io/models/
    .cache/mujoco/bin/python tests/io/parity/make_models_json.py --gymnasium   # Gymnasium's models, to .cache/

The first writes tests/io/parity/models.json, which is committed; the second is for machines that have the package."""
import argparse
import json
from pathlib import Path

import mujoco
import numpy as np

ROOT = Path(__file__).resolve().parents[3]


def numbers(array):
    return [float(f"{x:.17g}") for x in np.asarray(array, dtype=float).ravel()]


def inertia_in_body_axes(m, i):
    r = np.zeros(9)
    mujoco.mju_quat2Mat(r, m.body_iquat[i])
    r = r.reshape(3, 3)
    full = r @ np.diag(m.body_inertia[i]) @ r.T
    return [full[0, 0], full[1, 1], full[2, 2], full[0, 1], full[0, 2], full[1, 2]]


def motion(m, seed):
    """A hundred steps from a random state under constant controls: contact off, the solver run to its end."""
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    m.opt.solver, m.opt.iterations, m.opt.ls_iterations = mujoco.mjtSolver.mjSOL_NEWTON, 200, 200
    m.opt.tolerance, m.opt.ls_tolerance = 0, 1e-6
    random = np.random.default_rng(seed)
    d = mujoco.MjData(m)
    if m.nkey:
        mujoco.mj_resetDataKeyframe(m, d, 0)
    mujoco.mj_integratePos(m, d.qpos, random.normal(size=m.nv), 0.1)
    d.qvel[:] = 0.3 * random.normal(size=m.nv)
    middle, half = m.actuator_ctrlrange.mean(axis=1), np.diff(m.actuator_ctrlrange, axis=1)[:, 0] / 2
    d.ctrl[:] = middle + 0.3 * half * random.uniform(-1, 1, size=m.nu)
    start = {"q": numbers(d.qpos), "v": numbers(d.qvel), "ctrl": numbers(d.ctrl)}
    for _ in range(100):
        mujoco.mj_step(m, d)
    return start | {"steps": 100, "q_end": numbers(d.qpos), "v_end": numbers(d.qvel)}


def described(path):
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    name = lambda kind, i: mujoco.mj_id2name(m, kind, i) or ""
    o = mujoco.mjtObj
    result = {"file": str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)}
    result["sizes"] = [m.nq, m.nv, m.na, m.nu, m.nbody, m.njnt, m.ngeom, m.nsite, m.ntendon, m.neq, m.nsensor, m.nkey]
    result["timestep"] = m.opt.timestep
    result["gravity"] = numbers(m.opt.gravity)
    result["integrator"] = int(m.opt.integrator)
    result["qpos0"] = numbers(m.qpos0)
    result["qpos_spring"] = numbers(m.qpos_spring)
    result["mean_inertia"] = float(m.stat.meaninertia)
    result["bodies"] = [
        {"name": name(o.mjOBJ_BODY, i), "parent": int(m.body_parentid[i]) if i else -1, "pos": numbers(m.body_pos[i]),
         "quat": numbers(m.body_quat[i]), "mass": float(m.body_mass[i]), "com": numbers(m.body_ipos[i]),
         "inertia": numbers(inertia_in_body_axes(m, i)), "weld": int(m.body_weldid[i]), "root": int(m.body_rootid[i]),
         "invweight": numbers(m.body_invweight0[i]), "gravcomp": float(m.body_gravcomp[i])} for i in range(m.nbody)]
    result["joints"] = [
        {"name": name(o.mjOBJ_JOINT, i), "type": int(m.jnt_type[i]), "body": int(m.jnt_bodyid[i]),
         "qpos": int(m.jnt_qposadr[i]), "dof": int(m.jnt_dofadr[i]), "pos": numbers(m.jnt_pos[i]),
         "axis": numbers(m.jnt_axis[i]), "limited": bool(m.jnt_limited[i]), "range": numbers(m.jnt_range[i]),
         "margin": float(m.jnt_margin[i]), "stiffness": float(m.jnt_stiffness[i]),
         "damping": float(m.dof_damping[m.jnt_dofadr[i]]), "armature": float(m.dof_armature[m.jnt_dofadr[i]]),
         "frictionloss": float(m.dof_frictionloss[m.jnt_dofadr[i]]), "solref": numbers(m.jnt_solref[i]),
         "solimp": numbers(m.jnt_solimp[i]), "force_limited": bool(m.jnt_actfrclimited[i]),
         "force_range": numbers(m.jnt_actfrcrange[i])} for i in range(m.njnt)]
    result["dofs"] = [{"parent": int(m.dof_parentid[i]), "invweight": float(m.dof_invweight0[i])} for i in range(m.nv)]
    result["geoms"] = [
        {"name": name(o.mjOBJ_GEOM, i), "type": int(m.geom_type[i]), "body": int(m.geom_bodyid[i]),
         "size": numbers(m.geom_size[i]), "pos": numbers(m.geom_pos[i]), "quat": numbers(m.geom_quat[i]),
         "friction": numbers(m.geom_friction[i]), "solref": numbers(m.geom_solref[i]), "solimp": numbers(m.geom_solimp[i]),
         "margin": float(m.geom_margin[i]), "gap": float(m.geom_gap[i]), "solmix": float(m.geom_solmix[i]),
         "ints": [int(m.geom_contype[i]), int(m.geom_conaffinity[i]), int(m.geom_condim[i]), int(m.geom_priority[i]),
                  int(m.geom_group[i])]} for i in range(m.ngeom)]
    result["sites"] = [{"name": name(o.mjOBJ_SITE, i), "body": int(m.site_bodyid[i]), "pos": numbers(m.site_pos[i]),
                        "quat": numbers(m.site_quat[i])} for i in range(m.nsite)]
    result["tendons"] = [
        {"name": name(o.mjOBJ_TENDON, i), "wraps": int(m.tendon_num[i]), "limited": bool(m.tendon_limited[i]),
         "range": numbers(m.tendon_range[i]), "stiffness": float(m.tendon_stiffness[i]),
         "damping": float(m.tendon_damping[i]), "frictionloss": float(m.tendon_frictionloss[i]),
         "springlength": numbers(m.tendon_lengthspring[i]), "length": float(m.tendon_length0[i]),
         "invweight": float(m.tendon_invweight0[i])} for i in range(m.ntendon)]
    result["equalities"] = [
        {"name": name(o.mjOBJ_EQUALITY, i), "type": int(m.eq_type[i]), "active": bool(m.eq_active0[i]),
         "data": numbers(m.eq_data[i][:11]), "solref": numbers(m.eq_solref[i]), "solimp": numbers(m.eq_solimp[i]),
         "objects": [int(m.eq_obj1id[i]), int(m.eq_obj2id[i])], "sites": bool(m.eq_objtype[i] == o.mjOBJ_SITE)}
        for i in range(m.neq)]
    result["actuators"] = [
        {"name": name(o.mjOBJ_ACTUATOR, i), "transmission": int(m.actuator_trntype[i]), "target": int(m.actuator_trnid[i][0]),
         "gear": numbers(m.actuator_gear[i]), "dynamics": int(m.actuator_dyntype[i]),
         "time_constant": float(m.actuator_dynprm[i][0]), "gain": int(m.actuator_gaintype[i]),
         "gainprm": numbers(m.actuator_gainprm[i][:3]), "bias": int(m.actuator_biastype[i]),
         "biasprm": numbers(m.actuator_biasprm[i][:3]), "ctrl_limited": bool(m.actuator_ctrllimited[i]),
         "ctrl_range": numbers(m.actuator_ctrlrange[i]), "force_limited": bool(m.actuator_forcelimited[i]),
         "force_range": numbers(m.actuator_forcerange[i]), "act_limited": bool(m.actuator_actlimited[i]),
         "act_range": numbers(m.actuator_actrange[i])} for i in range(m.nu)]
    result["sensors"] = [{"name": name(o.mjOBJ_SENSOR, i), "address": int(m.sensor_adr[i]), "size": int(m.sensor_dim[i]),
                          "object": int(m.sensor_objid[i])} for i in range(m.nsensor)]
    result["keyframes"] = [{"name": name(o.mjOBJ_KEY, i), "qpos": numbers(m.key_qpos[i]), "qvel": numbers(m.key_qvel[i]),
                            "ctrl": numbers(m.key_ctrl[i])} for i in range(m.nkey)]
    result["pairs"] = [
        {"geoms": [int(m.pair_geom1[i]), int(m.pair_geom2[i])], "condim": int(m.pair_dim[i]),
         "friction": numbers(m.pair_friction[i]), "solref": numbers(m.pair_solref[i]), "solimp": numbers(m.pair_solimp[i]),
         "margin": float(m.pair_margin[i]), "gap": float(m.pair_gap[i])} for i in range(m.npair)]
    result["excludes"] = int(m.nexclude)
    result["hfields"] = [numbers(m.hfield_data[a:a + r * c]) for a, r, c in zip(m.hfield_adr, m.hfield_nrow, m.hfield_ncol)]
    if path.parent.name == "scenes":
        result["motion"] = motion(m, seed=len(path.stem))
    return result


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gymnasium", action="store_true")
    if options.parse_args().gymnasium:
        import gymnasium
        files = sorted((Path(gymnasium.__file__).parent / "envs/mujoco/assets").glob("*.xml"))
        target = ROOT / ".cache/gymnasium_models.json"
    else:
        files = sorted((ROOT / "scenes").glob("*.xml")) + sorted(f for f in (ROOT / "tests/io/models").glob("*.xml") if not f.stem.endswith("_part"))
        files += sorted((ROOT / "tests/io/models").glob("*.urdf"))
        target = ROOT / "tests/io/parity/models.json"
    models = [described(path) for path in files]
    target.write_text("[\n" + ",\n".join(json.dumps(m) for m in models) + "\n]\n")
    print(f"{target}: {len(models)} models, mujoco {mujoco.__version__}")


if __name__ == "__main__":
    main()
