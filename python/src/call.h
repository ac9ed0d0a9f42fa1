// The arrays of one call become Arguments of a rollout.
//
//   x0   (*batch, states)             None: the system's own initial state
//   u    (*batch, knots, controls)    None: zero
//   p    {name or glob: number, (size,) or (*batch, size)}; a field of one number also (*batch,)
//
// What has no batch axes is shared by all worlds, and its gradient is the sum over them. All batches of a
// call are the same; their product is the number of worlds. A gradient has the shape of what was given; of
// what was not given, that of one world.
#pragma once

#include <optional>

#include "any_system.h"
#include "arrays.h"
#include "costate/system/rollout.h"

namespace costate::python {

// Number of control knots, steps that share one included.
inline std::int64_t knots_of(const RolloutOptions& o) { return (o.steps + o.hold - 1) / o.hold; }

template <class Real>
class Call {
 public:
  // Looks at the arrays; nothing is copied yet. They stay alive with the call.
  Call(const AnySystem& system, std::int64_t knots, nb::handle x0, nb::handle u, nb::handle p);

  // The batch that the arrays imply; none if all are shared.
  const std::optional<Shape>& batch() const { return batch_; }

  // Copies the numbers. `defaults` are the system's; `changed` lists the parameters that differ from them,
  // from an earlier call on the way in, from this one on the way out.
  void fill(Arguments<Real>& arguments, const Parameters<Real>& defaults,
            std::vector<std::size_t>& changed) const;
  // Only what was given; the rest is zero. For tangents.
  void fill_direction(Arguments<Real>& arguments, const Arguments<Real>& at) const;

  // Shapes of gradients.
  Shape x0_shape() const { return x0_shape_; }
  Shape u_shape() const { return u_shape_; }
  Shape parameter_shape(std::size_t field) const;

 private:
  struct Given {
    std::size_t field;
    Real number;              // where there is no array
    ConstArray<Real> values;  // invalid: a number
    Shape shape;
  };
  void look_at_state(nb::handle x0);
  void look_at_controls(nb::handle u);
  void look_at_parameters(nb::handle p);
  void look_at_parameter(std::size_t field, nb::handle value);
  void join(Shape batch, const std::string& name);

  const AnySystem& system_;
  const std::int64_t knots_;
  std::optional<Shape> batch_;
  ConstArray<Real> x0_, u_;
  Shape x0_shape_, u_shape_;
  std::vector<Given> given_;
};

extern template class Call<float>;
extern template class Call<double>;

}  // namespace costate::python
