#include "called_field.h"

#include <algorithm>
#include <string>
#include <vector>

#include "arrays.h"

namespace costate::python {
namespace {

using Numbers = std::vector<double>;

// What Python is asked. Every method takes its lock.
class Source {
 public:
  Source(nb::object object, int states, int parameters)
      : object_(std::move(object)), states_(states), parameters_(parameters) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    const nb::gil_scoped_acquire lock;
    object_.reset();
  }

  explicit operator bool() const { return object_.is_valid() && !object_.is_none(); }
  int states() const { return states_; }
  int parameters() const { return parameters_; }

  // What method `name` returns, as numbers into out.
  void numbers(const char* name, double t, const double* x, const double* p, double* out,
               std::size_t count) const {
    const nb::gil_scoped_acquire lock;
    const Numbers values = to_vector<double>(call(name, t, x, p), name);
    if (values.size() != count)
      throw Error(std::string(name) + " has " + std::to_string(values.size()) + " numbers instead of " +
                  std::to_string(count));
    std::copy(values.begin(), values.end(), out);
  }
  bool flag(const char* name) const {
    const nb::gil_scoped_acquire lock;
    return nb::cast<bool>(object_.attr(name));
  }
  // work(field, scratch) on the recording at these inputs.
  template <class Work>
  void recorded(double t, const double* x, const double* p, const Work& work) const {
    const nb::gil_scoped_acquire lock;
    const nb::object equations = call("recorded", t, x, p);
    const ode::VectorField& field = field_of(equations);
    Numbers scratch(field.scratch_size());
    work(field, scratch.data());
  }
  // The rate along a direction, by a difference, where the function cannot be recorded and nobody asks for an
  // exact derivative.
  bool differs(double t, const double* x, const double* p) const {
    const nb::gil_scoped_acquire lock;
    return nb::cast<bool>(call("differs", t, x, p));
  }

 private:
  nb::object call(const char* name, double t, const double* x, const double* p) const {
    return object_.attr(name)(t, to_numpy(Numbers(x, x + states_)), to_numpy(Numbers(p, p + parameters_)));
  }

  nb::object object_;
  int states_, parameters_;
};

// f(t + e t_dot, x + e x_dot) about its value, over 2 e.
template <class Value>
void difference(const Value& value, double t, const double* x, int n, double t_dot, const double* x_dot,
                double* out, int outputs) {
  double size = 1, speed = std::abs(t_dot);
  for (int i = 0; i < n; ++i) {
    size = std::max(size, std::abs(x[i]));
    if (x_dot) speed = std::max(speed, std::abs(x_dot[i]));
  }
  const double e = speed > 0 ? 1e-6 * size / speed : 1;
  Numbers moved(x, x + n), ahead(outputs), behind(outputs);
  const auto at = [&](double s, Numbers& y) {
    for (int i = 0; x_dot && i < n; ++i) moved[i] = x[i] + s * x_dot[i];
    value(t + s * t_dot, moved.data(), y.data());
  };
  at(e, ahead);
  at(-e, behind);
  for (int i = 0; i < outputs; ++i) out[i] = (ahead[i] - behind[i]) / (2 * e);
}

class CalledField final : public ode::VectorField {
 public:
  CalledField(std::shared_ptr<const ode::VectorField> inner, nb::object source, int states, int parameters)
      : inner_(std::move(inner)), source_(std::move(source), states, parameters) {}

  int states() const override { return source_.states(); }
  int parameters() const override { return source_.parameters(); }
  std::size_t scratch_size() const override { return inner_ ? inner_->scratch_size() : 0; }

  void value(double t, const double* x, const double* p, double* dx, double* scratch) const override {
    if (inner_) return inner_->value(t, x, p, dx, scratch);
    source_.numbers("value", t, x, p, dx, states());
  }
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* dx_dot, double* scratch) const override {
    if (inner_) return inner_->jvp(t, x, p, t_dot, x_dot, p_dot, dx_dot, scratch);
    if (source_.differs(t, x, p)) {
      difference([&](double s, const double* y, double* f) { value(s, y, p, f, scratch); }, t, x, states(),
                 t_dot, x_dot, dx_dot, states());
      return;
    }
    source_.recorded(t, x, p, [&](const ode::VectorField& field, double* own) {
      field.jvp(t, x, p, t_dot, x_dot, p_dot, dx_dot, own);
    });
  }
  void vjp(double t, const double* x, const double* p, const double* dx_bar, double* t_bar, double* x_bar,
           double* p_bar, double* scratch) const override {
    if (inner_) return inner_->vjp(t, x, p, dx_bar, t_bar, x_bar, p_bar, scratch);
    source_.recorded(t, x, p, [&](const ode::VectorField& field, double* own) {
      field.vjp(t, x, p, dx_bar, t_bar, x_bar, p_bar, own);
    });
  }
  void jacobian(double t, const double* x, const double* p, double* f_x, double* scratch) const override {
    if (inner_) return inner_->jacobian(t, x, p, f_x, scratch);
    source_.recorded(t, x, p,
                     [&](const ode::VectorField& field, double* own) { field.jacobian(t, x, p, f_x, own); });
  }
  void newton_jacobian(double t, const double* x, const double* p, double* f_x, double*) const override {
    source_.numbers("newton_jacobian", t, x, p, f_x, std::size_t(states()) * std::size_t(states()));
  }
  bool constant_newton_jacobian() const override { return source_.flag("constant_jacobian"); }

 private:
  std::shared_ptr<const ode::VectorField> inner_;
  Source source_;
};

// A guard. Recorded as the right-hand side of one state among several.
class CalledFunction final : public ode::Function {
 public:
  CalledFunction(nb::object source, int states, int parameters)
      : source_(std::move(source), states, parameters) {}

  int states() const override { return source_.states(); }
  int parameters() const override { return source_.parameters(); }
  int outputs() const override { return 1; }

  void value(double t, const double* x, const double* p, double* y, double*) const override {
    source_.numbers("value", t, x, p, y, 1);
  }
  void jvp(double t, const double* x, const double* p, double t_dot, const double* x_dot, const double* p_dot,
           double* y_dot, double* scratch) const override {
    if (source_.differs(t, x, p)) {
      difference([&](double s, const double* at, double* g) { value(s, at, p, g, scratch); }, t, x, states(),
                 t_dot, x_dot, y_dot, 1);
      return;
    }
    source_.recorded(t, x, p, [&](const ode::VectorField& field, double* own) {
      Numbers all(static_cast<std::size_t>(states()));
      field.jvp(t, x, p, t_dot, x_dot, p_dot, all.data(), own);
      *y_dot = all[0];
    });
  }
  void vjp(double t, const double* x, const double* p, const double* y_bar, double* t_bar, double* x_bar,
           double* p_bar, double*) const override {
    source_.recorded(t, x, p, [&](const ode::VectorField& field, double* own) {
      Numbers all(static_cast<std::size_t>(states()));
      all[0] = *y_bar;
      field.vjp(t, x, p, all.data(), t_bar, x_bar, p_bar, own);
    });
  }

 private:
  Source source_;
};

}  // namespace

std::shared_ptr<const ode::VectorField> called_field(std::shared_ptr<const ode::VectorField> inner,
                                                     nb::object source, int states, int parameters) {
  return std::make_shared<CalledField>(std::move(inner), std::move(source), states, parameters);
}

std::shared_ptr<const ode::Function> called_function(nb::object source, int states, int parameters) {
  return std::make_shared<CalledFunction>(std::move(source), states, parameters);
}

}  // namespace costate::python
