// One translation unit per precision and dimension: flow_2d_float.cpp and its three siblings, and as many for
// flows that are traced back.
#pragma once

#include <memory>

#include "costate/fluid/step/flow_model.h"
#include "costate/system/system.h"

namespace costate::fluid {

template <class Real, int Dim>
std::shared_ptr<System<Real>> make_flow_system(FlowModel model);

template <>
std::shared_ptr<System<float>> make_flow_system<float, 2>(FlowModel model);
template <>
std::shared_ptr<System<float>> make_flow_system<float, 3>(FlowModel model);
template <>
std::shared_ptr<System<double>> make_flow_system<double, 2>(FlowModel model);
template <>
std::shared_ptr<System<double>> make_flow_system<double, 3>(FlowModel model);

template <class Real, int Dim>
std::shared_ptr<System<Real>> make_traced_flow(FlowModel model);

template <>
std::shared_ptr<System<float>> make_traced_flow<float, 2>(FlowModel model);
template <>
std::shared_ptr<System<float>> make_traced_flow<float, 3>(FlowModel model);
template <>
std::shared_ptr<System<double>> make_traced_flow<double, 2>(FlowModel model);
template <>
std::shared_ptr<System<double>> make_traced_flow<double, 3>(FlowModel model);

}  // namespace costate::fluid
