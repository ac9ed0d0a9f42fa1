// compile: from what a user wrote (Spec) to what the dynamics run on (Model).
//
// Bodies are numbered depth first; geoms become frames and sizes; masses, centres and inertias are taken from
// `inertial` or inferred from geoms, then bounded, balanced and scaled as the compiler options say; names
// become indices; limits that were not spelt out follow from ranges; what is measured at qpos0 (anchors and
// poses of equalities, servo damping from a damping ratio) is measured. Every mistake is an Error that names
// the element and, for a file, its line.
//
// Reference: MuJoCo documentation, "Modeling" and "XML reference", whose rules these are.
// Tests: tests/rigid/compile/compile_test.cpp, compile_inertia_test.cpp, compile_mesh_test.cpp; parity
// with the PyPI package `mujoco`: tests/io/mjcf_parity_test.cpp.
#pragma once

#include "costate/rigid/model.h"
#include "costate/rigid/spec.h"

namespace costate::rigid {

Model compile(const Spec& spec);

}  // namespace costate::rigid
