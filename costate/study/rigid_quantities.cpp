#include "costate/study/rigid_quantities.h"

#include <numeric>

#include "costate/core/error.h"

namespace costate::study {

RigidQuantities::RigidQuantities(std::shared_ptr<const rigid::Model> model, const Signature& system,
                                 const rigid::SystemOptions& options)
    : model_(std::move(model)),
      system_(system),
      options_(options),
      observer_(std::make_unique<rigid::Observer>(*model_, system, list_, options)) {}

namespace {

// Three numbers that are not a place: axes, forces and what a sensor shows.
bool is_point(const std::string& path) {
  for (const char* part :
       {"axis", "/force", "/torque", "/contact", "/contact_torque", "/gyro", "/accelerometer", "/velocimeter",
        "/magnetometer", "acceleration", "/angular_momentum"})
    if (path.ends_with(part)) return false;
  return !path.starts_with("joint/");
}

}  // namespace

Quantity RigidQuantities::numbers(const std::string& path, const std::string& name) {
  std::string called = name;
  for (const rigid::Quantity& q : list_) {
    if (called.empty() && q.path == path) called = q.name;
    if (q.name == name && q.path != path)
      throw Error({"'" + name + "' stands for " + q.path + " already", "", "choose another name"});
  }
  if (called.empty()) called = "quantity_" + std::to_string(list_.size());
  const Field* found = signature().find_if(Role::state, called);
  if (!found) {
    list_.push_back({called, path});
    try {
      observer_ = std::make_unique<rigid::Observer>(*model_, system_, list_, options_);
    } catch (const Error&) {
      list_.pop_back();
      throw;
    }
    found = &signature().find(Role::state, called);
  }
  Quantity q{.field = called, .size = found->size};
  if (found->size == 3 && is_point(path)) {
    q.points.elements.resize(3);
    std::iota(q.points.elements.begin(), q.points.elements.end(), found->offset);
  }
  return q;
}

Quantity RigidQuantities::points(const std::string& path) {
  Quantity q = numbers(path, "");
  if (q.points.elements.empty())
    throw Error({"'" + path + "' is not a point", "", "write site/NAME, body/NAME or geom/NAME"});
  return q;
}

}  // namespace costate::study
