#include "any_system.h"

namespace costate::python {

AnySystem::AnySystem(std::string name, Make<double> in_double, Make<float> in_single,
                     std::vector<double> initial)
    : name_(std::move(name)),
      in_double_(std::move(in_double)),
      in_single_(std::move(in_single)),
      initial_(std::move(initial)) {
  const SystemPtr<double> sample = in_double_(1);
  signature_ = sample->signature();
  capabilities_ = sample->capabilities();
  if (initial_.empty()) initial_.assign(static_cast<std::size_t>(signature_.states()), 0.0);
  const auto& fields = signature_.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) positions_.emplace(fields[f].name, f);
}

std::size_t AnySystem::parameter(const std::string& name) const {
  const auto found = positions_.find(name);
  if (found == positions_.end()) signature_.find(Role::parameter, name);  // throws
  return found->second;
}

}  // namespace costate::python
