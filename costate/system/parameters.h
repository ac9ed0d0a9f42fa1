// Parameters: a value for every parameter of a signature, by name; each shared by all worlds or different in
// every world. Gradients come back in the same container and shape.
// Tests: tests/system/signature_test.cpp.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "costate/system/signature.h"

namespace costate {

template <class Real>
class Parameters {
 public:
  Parameters() = default;
  // Every parameter at its default.
  explicit Parameters(const Signature& signature);

  // `values` holds one number for the whole field, or size numbers, or worlds x size numbers (then different
  // per world).
  Parameters& set(std::string_view name, std::vector<Real> values);
  // The same, by position in signature.fields(Role::parameter).
  Parameters& set(std::size_t field, std::vector<Real> values);
  Parameters& set(std::string_view name, Real value) { return set(name, std::vector<Real>{value}); }

  std::span<const Real> operator[](std::string_view name) const;
  std::span<Real> operator[](std::string_view name);

  // By position in signature.fields(Role::parameter).
  std::span<const Real> values(std::size_t field) const { return values_[field]; }
  std::span<Real> values(std::size_t field) { return values_[field]; }
  bool per_world(std::size_t field) const { return per_world_[field]; }
  std::int64_t worlds() const { return worlds_; }  // of the per-world fields; 1 if there are none
  const Signature& signature() const { return signature_; }

  // Same fields and shapes, all zero.
  Parameters zeros() const;

 private:
  std::size_t position(std::string_view name) const;
  Signature signature_;
  std::vector<std::vector<Real>> values_;
  std::vector<bool> per_world_;
  std::int64_t worlds_ = 1;
};

extern template class Parameters<float>;
extern template class Parameters<double>;

}  // namespace costate
