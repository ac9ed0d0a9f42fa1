// The surface of a part: triangles, counter-clockwise from outside. Of cloth, its triangles; of solids, the
// faces that one cell has alone, quadrilaterals cut in two, faces of quadratic tetrahedra in four.
// Tests: tests/soft/contact_test.cpp.
#pragma once

#include <vector>

#include "costate/soft/soft_model.h"

namespace costate::soft {

std::vector<int> surface_of(const Part& part);

}  // namespace costate::soft
