#!/usr/bin/env python3
"""Numbers of MuJoCo for the test of sensors: what they show in random states in which something touches.

usage: tools/rigid_sensor_reference.py MODEL.xml OUT.json [--states 24]

Needs the PyPI packages mujoco and numpy. tests/rigid/dynamics/observe_forces_test.cpp reads the committed files.
"""
import argparse
import json

import mujoco
import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--states", type=int, default=24)
    options = parser.parse_args()
    cases = []
    for elliptic in (False, True):
        m = mujoco.MjModel.from_xml_path(options.model)
        m.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC if elliptic else mujoco.mjtCone.mjCONE_PYRAMIDAL
        m.opt.tolerance, m.opt.iterations, m.opt.ls_iterations, m.opt.ls_tolerance = 0, 400, 400, 1e-14
        m.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
        d = mujoco.MjData(m)
        rng = np.random.default_rng(3 + elliptic)
        for k in range(options.states):
            d.qpos[:] = m.qpos0
            dq = 0.25 * rng.normal(size=m.nv)
            mujoco.mj_integratePos(m, d.qpos, dq, 1)
            if m.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE:
                d.qpos[2] = 0.42 + 0.1 * rng.random()
            d.qvel[:] = 0.5 * rng.normal(size=m.nv)
            d.act[:] = rng.normal(size=m.na)
            d.ctrl[:] = 0.8 * rng.normal(size=m.nu)
            d.qacc_warmstart[:] = 0
            mujoco.mj_forward(m, d)
            sensors = {}
            for i in range(m.nsensor):
                at = m.sensor_adr[i]
                sensors[mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_SENSOR, i)] = d.sensordata[at:at + m.sensor_dim[i]].tolist()
            force = np.zeros(6)
            contact = np.zeros((m.nbody, 3))
            for i in range(d.ncon):
                mujoco.mj_contactForce(m, d, i, force)
                world = d.contact[i].frame.reshape(3, 3).T @ force[:3]
                contact[m.geom_bodyid[d.contact[i].geom1]] -= world
                contact[m.geom_bodyid[d.contact[i].geom2]] += world
            cases.append(dict(elliptic=elliptic, contacts=int(d.ncon), x=[*d.qpos, *d.qvel, *d.act], u=d.ctrl.tolist(), sensors=sensors,
                              contact={mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_BODY, b): contact[b].tolist() for b in range(m.nbody)},
                              energy=d.energy.tolist()))
    with open(options.out, "w") as file:
        json.dump(cases, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
