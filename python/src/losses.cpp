// Objectives by name; python/costate/loss.py says what they compute.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "any_system.h"
#include "arrays.h"
#include "costate/core/text.h"
#include "costate/system/program/program_objective.h"
#include "module.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using Steps = std::vector<std::int64_t>;

template <class Real>
std::vector<Real> converted(const std::vector<double>& values) {
  return std::vector<Real>(values.begin(), values.end());
}

// Targets with their shape, which is compared with the field once that is known.
struct Targets {
  Targets(nb::handle object, const char* what) {
    if (object.is_none()) return;
    const auto array = as_array<double>(object, what);
    shape = shape_of(array);
    values.assign(array.data(), array.data() + array.size());
    if (values.empty()) throw Error({std::string(what) + " is empty", {}, "leave it out for zero"});
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        throw Error({std::string(what) + " is not finite: number " + std::to_string(i) + " of it is " +
                         (std::isnan(values[i]) ? "nan" : "infinite"),
                     {},
                     "leave out steps without a measurement"});
  }
  // The last axes are `row`, what a world has; before them there may be one axis of worlds. An axis of one
  // number may be missing.
  void expect(const char* what, const Shape& row) const {
    if (values.empty()) return;
    Shape least = row;
    if (least.back() == 1) least.pop_back();
    const auto ends_with = [&](const Shape& tail) {
      return shape.size() <= tail.size() + 1 && shape.size() >= tail.size() &&
             std::equal(tail.rbegin(), tail.rend(), shape.rbegin());
    };
    if (ends_with(row) || ends_with(least)) return;
    const std::string text = text_of(row);
    wrong_shape(what, shape, text + " or (worlds, " + text.substr(1));
  }
  std::vector<double> values;
  Shape shape;
};

double finite(double weight) {
  if (!std::isfinite(weight)) throw Error({"weight = " + number(weight), {}, "a weight is a finite number"});
  return weight;
}

std::size_t size_of(const Signature& s, const std::string& field) {
  return std::size_t(s.find(Role::state, field).size);
}

// "end", "each_step" or a list of steps.
loss::When when_of(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) {
    const auto word = nb::cast<std::string>(object);
    if (word == "end") return loss::at_end();
    if (word == "each_step") return loss::each_step();
    throw Error({"when = '" + word + "'", {}, "use 'end', 'each_step' or a list of steps"});
  }
  Steps steps;
  if (!nb::try_cast(object, steps)) throw Error("when is neither 'end', 'each_step' nor a list of steps");
  return loss::at_steps(steps);
}

std::shared_ptr<AnyLoss> final(const std::string& field, const ArrayLike& target, double weight) {
  return any_loss(
      "final('" + field + "')",
      [field, weight = finite(weight), targets = Targets(target, "target")]<class Real>(const Signature& s) {
        targets.expect("target", {size_of(s, field)});
        return loss::final<Real>(s, field, converted<Real>(targets.values), weight);
      });
}

std::shared_ptr<AnyLoss> track(const std::string& field, const Steps& steps, const ArrayLike& targets,
                               double weight) {
  return any_loss("track('" + field + "')",
                  [field, steps, weight = finite(weight),
                   given = Targets(targets, "targets")]<class Real>(const Signature& s) {
                    given.expect("targets", {steps.size(), size_of(s, field)});
                    return loss::track<Real>(s, field, steps, converted<Real>(given.values), weight);
                  });
}

std::shared_ptr<AnyLoss> final_value(const std::string& field, std::int64_t index, double weight) {
  return any_loss("final_value('" + field + "')",
                  [field, index, weight = finite(weight)]<class Real>(const Signature& s) {
                    return loss::final_value<Real>(s, field, index, weight);
                  });
}

std::shared_ptr<AnyLoss> effort(double weight) {
  return any_loss("effort()", [weight = finite(weight)]<class Real>(const Signature& s) {
    return loss::effort<Real>(s, weight);
  });
}

std::shared_ptr<AnyLoss> expression(const std::string& text, nb::handle when) {
  return any_loss("expression('" + text + "')", [text, at = when_of(when)]<class Real>(const Signature& s) {
    return loss::expression<Real>(s, text, at);
  });
}

std::shared_ptr<AnyLoss> sum(const std::vector<std::shared_ptr<AnyLoss>>& terms) {
  if (terms.empty()) throw Error("a sum of no losses");
  std::string text;
  bool changes = false;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!terms[i]) throw Error("term " + std::to_string(i) + " of the sum is None, not a loss");
    text += (i == 0 ? "" : " + ") + terms[i]->text;
    changes = changes || terms[i]->changes;
  }
  auto whole = any_loss(text, [terms]<class Real>(const Signature& s, const Shapes& shapes) {
    std::vector<ObjectivePtr<Real>> bound;
    for (const auto& term : terms) bound.push_back(term->template bind<Real>(s, shapes));
    return loss::sum<Real>(bound);
  });
  whole->changes = changes;
  whole->recipe =
      nb::make_tuple(nb::module_::import_("costate.loss").attr("sum"), nb::make_tuple(terms), nb::dict())
          .ptr();
  return whole;
}

}  // namespace

void bind_losses(nb::module_& m) {
  nb::class_<AnyLoss> type(m, "Loss",
                           "What is differentiated: a sum of terms of single states. Losses can be added.");
  pickle_by(type, "reduce_loss");
  copy_is_itself(type);
  type.def("__repr__", [](const AnyLoss& loss) { return "costate.loss." + loss.text; })
      .def_prop_rw(
          "_recipe", [](const AnyLoss& l) { return l.recipe.get(); },
          [](AnyLoss& l, const nb::object& recipe) { l.recipe = recipe.ptr(); })
      .def("__add__", [](std::shared_ptr<AnyLoss> a, std::shared_ptr<AnyLoss> b) {
        return sum({a, b});
      });

  auto l = m.def_submodule("loss", "Objectives of a rollout.");
  l.def("final", &final, "field"_a, "target"_a = nb::none(), "weight"_a = 1.0,
        "1/2 weight |field - target|^2 of the final state. target: (size,) shared, or (worlds, size); None: "
        "zero.");
  l.def("track", &track, "field"_a, "steps"_a, "targets"_a, "weight"_a = 1.0,
        "1/2 weight sum_j |field(step_j) - target_j|^2. targets: (steps, size), or (worlds, steps, size).");
  l.def("final_value", &final_value, "field"_a, "index"_a = 0, "weight"_a = 1.0,
        "weight * field[index] of the final state.");
  l.def("effort", &effort, "weight"_a = 1.0, "1/2 weight sum_k |u_k|^2.");
  l.def("expression", &expression, "text"_a, "when"_a = "end",
        "A formula in the names of states, controls and parameters (arrays as name[i]), k and t, such as\n"
        "'0.5*(q - 1)^2 + 0.01*torque^2'. when: 'end', 'each_step' (before each step) or a list of steps.");
  l.def("sum", &sum, "terms"_a, "The sum of losses.");
}

}  // namespace costate::python
