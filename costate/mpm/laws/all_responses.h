// Every law's response as a template on its scalar, for who compiles them again: kernels of a GPU, with float
// and double in the place of packs.
//
//   with_response(kind, body)    body.template operator()<Response>()
//
// Tests: tests/cuda/device_points_test.cpp.
#pragma once

#include "costate/mpm/laws/corotated_stress.h"
#include "costate/mpm/laws/principal_flow.h"

#define COSTATE_RESPONSES_ALONE
#include "costate/mpm/laws/drucker_prager.cpp"
#include "costate/mpm/laws/fixed_corotated.cpp"
#include "costate/mpm/laws/liquid.cpp"
#include "costate/mpm/laws/muscle.cpp"
#include "costate/mpm/laws/neo_hookean.cpp"
#include "costate/mpm/laws/snow.cpp"
#include "costate/mpm/laws/stvk_hencky.cpp"
#include "costate/mpm/laws/von_mises.cpp"
#undef COSTATE_RESPONSES_ALONE

namespace costate::mpm {

// A kind that is missing above does not compile.
template <class Body>
void with_response(MaterialKind kind, const Body& body) {
  switch (kind) {
#define COSTATE_CASE(kind) \
  case MaterialKind::kind: \
    return body.template operator()<typename ResponseOf<MaterialKind::kind>::Type>();
    COSTATE_MPM_LAWS(COSTATE_CASE)
#undef COSTATE_CASE
  }
}

}  // namespace costate::mpm
