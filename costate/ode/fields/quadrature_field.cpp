#include "costate/ode/fields/quadrature_field.h"

#include "costate/core/error.h"

namespace costate::ode {

QuadratureField::QuadratureField(const VectorField& field, std::shared_ptr<const Function> cost)
    : field_(field), cost_(std::move(cost)), n_(field.states()) {
  if (cost_->outputs() != 1 || cost_->states() != n_ || cost_->parameters() != field.parameters()) {
    throw Error(
        {"the running cost does not fit the vector field: it must take the same states and parameters and "
         "give one "
         "number",
         "", "make the cost with the sizes of the field"});
  }
  const std::vector<double>& mass = field.mass();
  if (mass.empty()) return;
  const std::size_t n = n_;
  mass_.assign((n + 1) * (n + 1), 0.0);
  for (std::size_t i = 0; i < n; ++i)
    std::copy_n(mass.begin() + std::ptrdiff_t(i * n), n_, mass_.begin() + std::ptrdiff_t(i * (n + 1)));
  mass_.back() = 1;
}

}  // namespace costate::ode
