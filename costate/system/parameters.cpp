#include "costate/system/parameters.h"

#include "costate/core/error.h"

namespace costate {

template <class Real>
Parameters<Real>::Parameters(const Signature& signature) : signature_(signature) {
  for (const Field& field : signature.fields(Role::parameter)) {
    std::vector<Real> values(field.defaults.begin(), field.defaults.end());
    if (values.size() == 1) values.resize(field.size, values[0]);
    values_.push_back(std::move(values));
    per_world_.push_back(false);
  }
}

template <class Real>
std::size_t Parameters<Real>::position(std::string_view name) const {
  return static_cast<std::size_t>(&signature_.find(Role::parameter, name) -
                                  signature_.fields(Role::parameter).data());
}

template <class Real>
Parameters<Real>& Parameters<Real>::set(std::string_view name, std::vector<Real> values) {
  return set(position(name), std::move(values));
}

template <class Real>
Parameters<Real>& Parameters<Real>::set(std::size_t i, std::vector<Real> values) {
  const std::string& name = signature_.fields(Role::parameter)[i].name;
  const std::int64_t size = signature_.fields(Role::parameter)[i].size,
                     have = static_cast<std::int64_t>(values.size());
  if (have == 1 && size != 1) values.resize(size, values[0]);
  if (have > 1 && have != size) {
    if (size == 0 || have % size != 0) {
      throw Error("parameter '" + name + "' takes 1, " + std::to_string(size) + " or worlds x " +
                  std::to_string(size) + " numbers, not " + std::to_string(have));
    }
    const std::int64_t worlds = have / size;
    if (worlds_ != 1 && worlds_ != worlds) {
      throw Error("parameter '" + name + "' is given for " + std::to_string(worlds) +
                  " worlds, another one for " + std::to_string(worlds_));
    }
    worlds_ = worlds;
  }
  per_world_[i] = static_cast<std::int64_t>(values.size()) != size;
  values_[i] = std::move(values);
  return *this;
}

template <class Real>
std::span<const Real> Parameters<Real>::operator[](std::string_view name) const {
  return values_[position(name)];
}
template <class Real>
std::span<Real> Parameters<Real>::operator[](std::string_view name) {
  return values_[position(name)];
}

template <class Real>
Parameters<Real> Parameters<Real>::zeros() const {
  Parameters copy = *this;
  for (auto& values : copy.values_) values.assign(values.size(), Real(0));
  return copy;
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace costate
