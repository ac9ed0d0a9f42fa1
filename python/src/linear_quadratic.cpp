// costate.control.linear_quadratic: problems and their solutions in batches, with tangent and transpose. The
// layers of costate.torch and costate.jax call it.
//
// The rank of a part says what its leading axes are. Of A, B, c, Q, R, S, q, r and the bounds (base rank 2 or
// 1): none, shared by all steps; one, (steps, ...); two, (batch, steps or 1, ...). Of Qf, qf, x0: none, or
// (batch, ...).
#include "costate/control/quadratic/lq.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "arrays.h"
#include "module.h"
#include "without_gil.h"

namespace costate::python {
namespace {

using namespace nb::literals;
using namespace control;
using Numbers = std::vector<double>;

struct Part {
  const char* name;
  Numbers LinearQuadratic::*numbers;
  const char* shape;  // of one step: n states, m controls
  bool stepwise, symmetric;
};
constexpr Part kParts[] = {{"A", &LinearQuadratic::A, "nn", true, false},
                           {"B", &LinearQuadratic::B, "nm", true, false},
                           {"c", &LinearQuadratic::c, "n", true, false},
                           {"Q", &LinearQuadratic::Q, "nn", true, true},
                           {"R", &LinearQuadratic::R, "mm", true, true},
                           {"S", &LinearQuadratic::S, "mn", true, false},
                           {"q", &LinearQuadratic::q, "n", true, false},
                           {"r", &LinearQuadratic::r, "m", true, false},
                           {"Qf", &LinearQuadratic::Qf, "nn", false, true},
                           {"qf", &LinearQuadratic::qf, "n", false, false},
                           {"x0", &LinearQuadratic::x0, "n", false, false},
                           {"lower", &LinearQuadratic::lower, "m", true, false},
                           {"upper", &LinearQuadratic::upper, "m", true, false},
                           {"x_lower", &LinearQuadratic::x_lower, "n", true, false},
                           {"x_upper", &LinearQuadratic::x_upper, "n", true, false}};

const Part& part_of(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kParts), std::end(kParts), [&](const Part& p) { return name == p.name; });
  if (found == std::end(kParts))
    throw Error({"a linear-quadratic problem has no part '" + name + "'",
                 {},
                 "its parts are A, B, c, Q, R, S, q, r, Qf, qf, x0, lower, upper, x_lower, x_upper"});
  return *found;
}

// The numbers of an array, weights made symmetric.
Numbers numbers_of(const Part& part, const Numbers& given, std::size_t side) {
  Numbers to = given;
  for (std::size_t at = 0; part.symmetric && at < to.size(); at += side * side)
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j)
        to[at + i * side + j] = 0.5 * (given[at + i * side + j] + given[at + j * side + i]);
  return to;
}

struct Given {
  const Part* part;
  Shape shape;
  bool batched;
};

// The numbers of world i of what has a batch axis or is shared.
Numbers slice(const Numbers& all, bool batched, std::size_t i, std::size_t worlds) {
  if (!batched) return all;
  const std::size_t size = all.size() / worlds;
  return {all.begin() + std::ptrdiff_t(i * size), all.begin() + std::ptrdiff_t((i + 1) * size)};
}

class Solved {
 public:
  Solved(int steps, const nb::kwargs& parts) {
    LinearQuadratic shape;
    shape.steps = steps;
    if (steps < 1) throw Error("steps = " + std::to_string(steps) + ": at least one is needed");
    for (const char* name : {"A", "B", "Q", "R", "x0"})
      if (!parts.contains(name) || parts[name].is_none())
        throw Error(std::string("a linear-quadratic problem needs ") + name);
    shape.states = side(parts["B"], "B", 1), shape.controls = side(parts["B"], "B", 0);
    read(shape, parts);
    solutions_ = without_gil([&] { return solve(problems_); });
  }

  Array stacked(Numbers LinearQuadraticSolution::*numbers, Shape one) const {
    Numbers all;
    for (const auto& s : solutions_) all.insert(all.end(), (s.*numbers).begin(), (s.*numbers).end());
    return with_batch(std::move(all), std::move(one));
  }
  Array x() const { return stacked(&LinearQuadraticSolution::x, {steps() + 1, n()}); }
  Array u() const { return stacked(&LinearQuadraticSolution::u, {steps(), m()}); }
  Array K() const { return stacked(&LinearQuadraticSolution::K, {steps(), m(), n()}); }
  Array costates() const { return stacked(&LinearQuadraticSolution::lambda, {steps() + 1, n()}); }
  Array value() const {
    Numbers values;
    for (const auto& s : solutions_) values.push_back(s.value);
    return with_batch(std::move(values), {});
  }

  nb::dict vjp(const ArrayLike& x, const ArrayLike& u, const ArrayLike& value) const {
    std::vector<LinearQuadraticCotangent> bars(problems_.size());
    const auto read = [&](const ArrayLike& from, const char* what, std::size_t size, const auto& put) {
      if (from.is_none()) return;
      const Numbers all = to_vector<double>(from, what);
      if (all.size() != size * bars.size())
        throw Error(std::string(what) + " has " + std::to_string(all.size()) + " numbers instead of " +
                    std::to_string(size * bars.size()));
      for (std::size_t i = 0; i < bars.size(); ++i) put(bars[i], slice(all, true, i, bars.size()));
    };
    using Bar = LinearQuadraticCotangent;
    read(x, "the cotangent of x", (steps() + 1) * n(), [](Bar& b, Numbers v) { b.x = std::move(v); });
    read(u, "the cotangent of u", steps() * m(), [](Bar& b, Numbers v) { b.u = std::move(v); });
    read(value, "the cotangent of value", 1, [](Bar& b, const Numbers& v) { b.value = v[0]; });
    const auto found = without_gil([&] { return solve_vjp(problems_, solutions_, bars); });
    nb::dict result;
    for (const Given& g : given_) {
      Numbers sum;
      for (const LinearQuadratic& bar : found) {
        const Numbers& one = bar.*(g.part->numbers);
        if (g.batched || sum.empty())
          sum.insert(sum.end(), one.begin(), one.end());
        else
          for (std::size_t j = 0; j < one.size(); ++j) sum[j] += one[j];
      }
      result[g.part->name] = to_numpy(std::move(sum), g.shape);
    }
    return result;
  }

  nb::dict jvp(const nb::kwargs& dots) const {
    std::vector<LinearQuadratic> along(problems_.size());
    for (const auto& [key, value] : dots) {
      const Part& part = part_of(nb::cast<std::string>(key));
      if (value.is_none()) continue;
      const auto g =
          std::find_if(given_.begin(), given_.end(), [&](const Given& one) { return one.part == &part; });
      const std::string what = std::string("the tangent of ") + part.name;
      if (g == given_.end()) throw Error(what + ": the problem was given without " + part.name);
      const auto array = as_array<double>(value, what.c_str());
      if (shape_of(array) != g->shape)
        wrong_shape(what, shape_of(array), "that of " + std::string(part.name));
      const Numbers all = numbers_of(part, to_vector<double>(value, what.c_str()), g->shape.back());
      for (std::size_t i = 0; i < along.size(); ++i)
        along[i].*(part.numbers) = slice(all, g->batched, i, along.size());
    }
    const auto found = without_gil([&] { return solve_jvp(problems_, solutions_, along); });
    Numbers x, u, value;
    for (const auto& one : found) {
      x.insert(x.end(), one.x.begin(), one.x.end()), u.insert(u.end(), one.u.begin(), one.u.end());
      value.push_back(one.value);
    }
    nb::dict result;
    result["x"] = with_batch(std::move(x), {steps() + 1, n()});
    result["u"] = with_batch(std::move(u), {steps(), m()});
    result["value"] = with_batch(std::move(value), {});
    return result;
  }

 private:
  std::size_t n() const { return std::size_t(problems_[0].states); }
  std::size_t m() const { return std::size_t(problems_[0].controls); }
  std::size_t steps() const { return std::size_t(problems_[0].steps); }

  static int side(nb::handle object, const char* what, std::size_t from_last) {
    const auto array = as_array<double>(object, what);
    if (array.ndim() < 2)
      wrong_shape(what, shape_of(array), "(states, controls), with axes of steps and batch in front");
    return int(array.shape(array.ndim() - 1 - from_last));
  }
  Array with_batch(Numbers all, Shape one) const {
    if (batched_) one.insert(one.begin(), problems_.size());
    return to_numpy(std::move(all), one);
  }

  void read(const LinearQuadratic& shape, const nb::kwargs& parts) {
    std::vector<Numbers> all;
    std::size_t worlds = 0;
    for (const auto& [key, value] : parts) {
      const Part& part = part_of(nb::cast<std::string>(key));
      if (value.is_none()) continue;
      const auto array = as_array<double>(value, part.name);
      const Given given = look(part, shape_of(array), shape, std::size_t(shape.steps));
      if (given.batched && worlds != 0 && given.shape[0] != worlds)
        throw Error(std::string(part.name) + " is a batch of " + std::to_string(given.shape[0]) +
                    ", and another part is one of " + std::to_string(worlds));
      if (given.batched) worlds = given.shape[0], batched_ = true;
      given_.push_back(given);
      all.push_back(numbers_of(part, to_vector<double>(value, part.name), given.shape.back()));
    }
    if (batched_ && worlds == 0) throw Error("the batch is empty");
    problems_.assign(batched_ ? worlds : 1, shape);
    for (std::size_t i = 0; i < problems_.size(); ++i)
      for (std::size_t g = 0; g < given_.size(); ++g)
        problems_[i].*(given_[g].part->numbers) = slice(all[g], given_[g].batched, i, problems_.size());
  }

  static Given look(const Part& part, Shape shape, const LinearQuadratic& sizes, std::size_t steps) {
    Shape one;
    std::string words;
    for (const char* c = part.shape; *c; ++c) {
      one.push_back(std::size_t(*c == 'n' ? sizes.states : sizes.controls));
      words += (words.empty() ? "" : ", ") + std::to_string(one.back());
    }
    const std::size_t rank = shape.size(), own = one.size();
    const bool ends = rank >= own && std::equal(one.begin(), one.end(), shape.end() - std::ptrdiff_t(own));
    const std::size_t leading = ends ? rank - own : 0;
    const bool right = part.stepwise ? leading == 0 || (leading == 1 && shape[0] == steps) ||
                                           (leading == 2 && (shape[1] == steps || shape[1] == 1))
                                     : leading <= 1;
    if (!ends || !right)
      wrong_shape(part.name, shape,
                  part.stepwise
                      ? "(" + words + "), (steps, " + words + ") or (batch, steps or 1, " + words + ")"
                      : "(" + words + ") or (batch, " + words + ")");
    return {&part, std::move(shape), leading == (part.stepwise ? 2U : 1U)};
  }

  std::vector<LinearQuadratic> problems_;
  std::vector<LinearQuadraticSolution> solutions_;
  std::vector<Given> given_;
  bool batched_ = false;
};

}  // namespace

void bind_linear_quadratic(nb::module_& m) {
  nb::class_<Solved>(m, "LinearQuadratic",
                     "The solution of a linear-quadratic problem, or of a batch of them; jvp and vjp "
                     "differentiate through it.")
      .def_prop_ro("x", &Solved::x, "(*batch, steps + 1, states)")
      .def_prop_ro("u", &Solved::u, "(*batch, steps, controls)")
      .def_prop_ro("K", &Solved::K, "(*batch, steps, controls, states): u moves by K times what x moves.")
      .def_prop_ro("costate", &Solved::costates,
                   "(*batch, steps + 1, states): derivative of the cost with respect to the state.")
      .def_prop_ro("value", &Solved::value, "(*batch,)")
      .def("vjp", &Solved::vjp, "x"_a = nb::none(), "u"_a = nb::none(), "value"_a = nb::none(),
           "Cotangents of all parts that were given, as a dict, from those of x, u and value. What the batch "
           "shares gets the sum.")
      .def("jvp", &Solved::jvp, "parts"_a,
           "How x, u and value move, as a dict, when the parts that are given here move along these "
           "tangents.");
  m.def(
      "linear_quadratic", [](int steps, const nb::kwargs& parts) { return Solved(steps, parts); }, "steps"_a,
      "parts"_a,
      "The controls with the least cost over `steps` steps of x+ = A x + B u + c, lower <= u <= upper,\n"
      "x_lower <= x <= x_upper after each step:\n"
      "sum of x'Qx/2 + u'Sx + u'Ru/2 + q'x + r'u, plus x'Qf x/2 + qf'x at the end.\n\n"
      "A, B, Q, R, x0 are needed; c, S, q, r, Qf, qf and the bounds are not. Of Q, R and Qf the symmetric "
      "part "
      "counts.\n"
      "Leading axes: (steps, ...) for numbers of each step, (batch, steps or 1, ...) for a batch; of Qf, qf "
      "and x0\n"
      "(batch, ...). What has no batch axis is shared by the batch. Batches are solved on all threads.");
}

}  // namespace costate::python
