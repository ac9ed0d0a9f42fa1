#include "call.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace costate::python {
namespace {

std::string name_of(nb::handle key, const char* what) {
  std::string name;
  if (!nb::try_cast(key, name))
    throw Error(std::string("the keys of ") + what + " are names: " + nb::cast<std::string>(nb::repr(key)) +
                " is none");
  return name;
}

// A dict of a dict, or of anything else that has keys.
std::optional<nb::dict> as_dict(nb::handle x) {
  if (nb::isinstance<nb::dict>(x)) return nb::borrow<nb::dict>(x);
  if (!PyMapping_Check(x.ptr()) || !nb::hasattr(x, "keys")) return std::nullopt;
  nb::dict copy;
  if (PyDict_Update(copy.ptr(), x.ptr()) != 0) throw nb::python_error();
  return copy;
}

// The fields of a role; of a model, controls by the names of its actuators where one of the keys is such a
// name.
std::vector<Field> fields_named_by(const nb::dict& given, const AnySystem& system, Role role) {
  std::vector<Field> fields = system.signature().fields(role);
  const Field* ctrl = system.signature().find_if(role, "ctrl");
  if (role != Role::control || !system.model() || !ctrl || ctrl->size != system.model()->nu()) return fields;
  std::vector<Field> single;
  bool asked = false;
  for (const rigid::Actuator& a : system.model()->actuators) {
    Field& field = single.emplace_back();
    field.name = a.name, field.offset = ctrl->offset + static_cast<std::int64_t>(single.size()) - 1;
    asked |= !a.name.empty() && given.contains(a.name.c_str());
  }
  if (!asked) return fields;
  if (given.contains("ctrl"))
    throw Error({"u has both 'ctrl' and the names of actuators", {}, "give either"});
  const auto at = std::ranges::find(fields, "ctrl", &Field::name);
  fields.insert(fields.erase(at), single.begin(), single.end());
  return fields;
}

// {"q": ..., "v": ...}: all fields of a role side by side. Absent fields: from `otherwise`.
nb::object joined(const AnySystem& system, Role role, const nb::dict& given, std::vector<double> otherwise) {
  const std::vector<Field> fields = fields_named_by(given, system, role);
  for (auto [key, value] : given) {
    const std::string name = name_of(key, role == Role::state ? "x0" : "u");
    if (std::ranges::none_of(fields, [&](const Field& f) { return f.name == name; }))
      system.signature().find(role, name);  // throws
  }
  return nb::module_::import_("costate._fields")
      .attr("join")(nb::cast(fields), given, to_numpy(std::move(otherwise)));
}

}  // namespace

template <class Real>
Call<Real>::Call(const AnySystem& system, std::int64_t knots, nb::handle x0, nb::handle u, nb::handle p)
    : system_(system), knots_(knots) {
  look_at_state(x0);
  look_at_controls(u);
  look_at_parameters(p);
}

template <class Real>
void Call<Real>::join(Shape batch, const std::string& name) {
  if (batch.empty()) return;
  if (batch_ && *batch_ != batch)
    throw Error(name + " is given for worlds " + text_of(batch) + ", another input for " + text_of(*batch_));
  batch_ = std::move(batch);
}

template <class Real>
void Call<Real>::look_at_state(nb::handle x0) {
  const auto states = static_cast<std::size_t>(system_.signature().states());
  x0_shape_ = {states};
  if (x0.is_none()) return;
  if (const auto fields = as_dict(x0)) {
    x0_ = as_array<Real>(joined(system_, Role::state, *fields, system_.initial()), "x0");
  } else {
    x0_ = as_array<Real>(x0, "x0");
  }
  x0_shape_ = shape_of(x0_);
  if (x0_shape_.empty() || x0_shape_.back() != states)
    wrong_shape("x0", x0_shape_, "(..., " + std::to_string(states) + ")");
  join(Shape(x0_shape_.begin(), x0_shape_.end() - 1), "x0");
}

template <class Real>
void Call<Real>::look_at_controls(nb::handle u) {
  const auto controls = static_cast<std::size_t>(system_.signature().controls()),
             knots = static_cast<std::size_t>(knots_);
  u_shape_ = {knots, controls};
  if (u.is_none()) return;
  if (const auto fields = as_dict(u)) {
    u_ = as_array<Real>(joined(system_, Role::control, *fields, std::vector<double>(controls)), "u");
  } else {
    u_ = as_array<Real>(u, "u");
  }
  u_shape_ = shape_of(u_);
  const std::size_t n = u_shape_.size();
  if (controls == 1 && n == 1 && u_shape_[0] == knots) return;  // one number for each knot
  if (n < 2 || u_shape_[n - 1] != controls || u_shape_[n - 2] != knots)
    wrong_shape("u", u_shape_,
                "(..., " + std::to_string(knots) + ", " + std::to_string(controls) +
                    "): one row of controls for each " + "step (or for each `hold` steps)");
  join(Shape(u_shape_.begin(), u_shape_.end() - 2), "u");
}

template <class Real>
void Call<Real>::look_at_parameters(nb::handle p) {
  if (p.is_none()) return;
  const auto values = as_dict(p);
  if (!values) throw Error("p is not a dict of parameters: {name or glob: value}");
  for (auto [key, value] : *values) {
    const auto name = name_of(key, "p");
    if (name.find_first_of("*?") == std::string::npos) {
      look_at_parameter(system_.parameter(name), value);
      continue;
    }
    const auto matches = system_.signature().match(Role::parameter, {name});
    for (std::size_t f = 0; f < matches.size(); ++f) {
      if (matches[f]) look_at_parameter(f, value);
    }
  }
}

template <class Real>
void Call<Real>::look_at_parameter(std::size_t f, nb::handle value) {
  const Field& field = system_.signature().fields(Role::parameter)[f];
  const auto size = static_cast<std::size_t>(field.size);
  // The later one counts: {"body/*/mass": 1, "body/torso/mass": 2}.
  std::erase_if(given_, [&](const Given& earlier) { return earlier.field == f; });
  if (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr())) {
    const auto number = nb::cast<double>(value);
    given_.push_back({f, static_cast<Real>(number), {}, size == 1 ? Shape{} : Shape{size}});
    return;
  }
  Given given{f, 0, as_array<Real>(value, field.name.c_str()), {}};
  given.shape = shape_of(given.values);
  Shape batch = given.shape;
  const auto own = system_.shapes.find(field.name);
  const bool has_shape = own != system_.shapes.end();
  const bool shaped = has_shape && batch.size() >= own->second.size() &&
                      std::equal(own->second.rbegin(), own->second.rend(), batch.rbegin());
  if (shaped) {  // (*batch, *shape)
    batch.resize(batch.size() - own->second.size());
  } else if (size == 1) {  // (*batch,) or (*batch, 1)
    if (!batch.empty() && batch.back() == 1) batch.pop_back();
  } else if (batch.empty()) {  // one number for the whole field
    given.shape = {size};
  } else if (product(batch) == size && (!has_shape || batch.size() == 1)) {
    batch.clear();  // (size,), or, of a field without a shape, the same numbers in one of the user's own
  } else if (batch.back() == size) {
    batch.pop_back();
  } else {
    const std::string row = has_shape ? text_of(own->second) : text_of({size});
    wrong_shape("parameter '" + field.name + "'", given.shape,
                row + " or (..., " + row.substr(1, row.size() - (has_shape ? 2 : 3)) + ")");
  }
  join(batch, "parameter '" + field.name + "'");
  given_.push_back(std::move(given));
}

template <class Real>
void Call<Real>::fill(Arguments<Real>& a, const Parameters<Real>& defaults,
                      std::vector<std::size_t>& changed) const {
  if (x0_.is_valid())
    a.x0.assign(x0_.data(), x0_.data() + x0_.size());
  else
    a.x0.assign(system_.initial().begin(), system_.initial().end());
  if (u_.is_valid())
    a.controls.assign(u_.data(), u_.data() + u_.size());
  else
    a.controls.assign(static_cast<std::size_t>(knots_ * system_.signature().controls()), Real(0));
  for (const std::size_t f : changed) {
    const auto values = defaults.values(f);
    a.parameters.set(f, {values.begin(), values.end()});
  }
  changed.clear();
  for (const Given& g : given_) {
    a.parameters.set(g.field, g.values.is_valid()
                                  ? std::vector<Real>(g.values.data(), g.values.data() + g.values.size())
                                  : std::vector<Real>{g.number});
    changed.push_back(g.field);
  }
}

template <class Real>
void Call<Real>::fill_direction(Arguments<Real>& d, const Arguments<Real>& at) const {
  const auto set = [](std::vector<Real>& to, const ConstArray<Real>& from, std::size_t size) {
    if (from.is_valid())
      to.assign(from.data(), from.data() + from.size());
    else
      to.assign(size, Real(0));
  };
  set(d.x0, x0_, at.x0.size());
  set(d.controls, u_, at.controls.size());
  d.parameters = Parameters<Real>(system_.signature()).zeros();
  for (const Given& g : given_) {
    d.parameters.set(g.field, g.values.is_valid()
                                  ? std::vector<Real>(g.values.data(), g.values.data() + g.values.size())
                                  : std::vector<Real>{g.number});
  }
}

template <class Real>
Shape Call<Real>::parameter_shape(std::size_t f) const {
  for (const Given& g : given_) {
    if (g.field == f) return g.shape;
  }
  const Field& field = system_.signature().fields(Role::parameter)[f];
  const auto own = system_.shapes.find(field.name);
  if (own != system_.shapes.end()) return own->second;
  const auto size = static_cast<std::size_t>(field.size);
  return size == 1 ? Shape{} : Shape{size};
}

template class Call<float>;
template class Call<double>;

}  // namespace costate::python
