// Shapes of the material point method as shapes of a recording. The physics turns its shapes about y, a
// recording about z.
#pragma once

#include "costate/io/recording.h"
#include "costate/mpm/model.h"

namespace costate::io {

Shape picture_of(const mpm::Shape& shape);
Pose picture_pose(const mpm::Shape& shape, const std::array<double, 3>& position,
                  const std::array<double, 3>& rotation);

}  // namespace costate::io
