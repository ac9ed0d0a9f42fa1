// The cell kernels that run on a device.
#pragma once

#include "costate/grid/burgers_kernel.h"
#include "costate/grid/gray_scott_kernel.h"
#include "costate/grid/heat_kernel.h"
#include "costate/grid/shallow_water_kernel.h"
#include "costate/grid/wave_kernel.h"

// COSTATE_FOR_EACH_STENCIL_KERNEL(F): F(kernel) for each.
#define COSTATE_FOR_EACH_STENCIL_KERNEL(F) \
  F(grid::WaveKernel)                      \
  F(grid::HeatKernel)                      \
  F(grid::BurgersKernel)                   \
  F(grid::GrayScottKernel)                 \
  F(grid::ShallowWaterKernel)
