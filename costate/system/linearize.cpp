#include "costate/system/linearize.h"

#include <algorithm>
#include <cstring>

#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/core/interrupt.h"
#include "costate/core/parallel.h"
#include "costate/system/room.h"
#include "costate/system/step_columns.h"

namespace costate {
namespace {

// Where a column of (A, B, C) has its one: number `index` of a role.
struct Column {
  Role role;
  std::int64_t index;
};

std::vector<Column> columns_of(const Signature& s, const std::vector<bool>& active) {
  std::vector<Column> columns;
  for (std::int64_t i = 0; i < s.states(); ++i) columns.push_back({Role::state, i});
  for (std::int64_t i = 0; i < s.controls(); ++i) columns.push_back({Role::control, i});
  for (std::size_t f = 0; f < active.size(); ++f) {
    const Field& field = s.fields(Role::parameter)[f];
    for (std::int64_t i = 0; active[f] && i < field.size; ++i)
      columns.push_back({Role::parameter, field.offset + i});
  }
  return columns;
}

// One step, its inputs the same in every lane, moved along another column in each.
template <class Real>
class StepColumns {
 public:
  StepColumns(const System<Real>& system, const RolloutOptions& options, const Arguments<Real>& arguments)
      : system_(system), options_(options), lanes_(system.lanes()) {
    work_ = system.make_workspace();
    for (Numbers* n : {&value_, &rate_}) {
      n->x.reserve(system.state_size()), n->y.reserve(system.state_size());
      n->u.reserve(system.control_size() + 1), n->p.reserve(system.parameter_size() + 1);
    }
    const auto& fields = system.signature().fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const auto values = arguments.parameters.values(f);
      for (std::int64_t i = 0; i < fields[f].size; ++i)
        spread(values[values.size() == 1 ? 0 : i], value_.p.data() + (fields[f].offset + i) * lanes_);
    }
  }

  // take(c, y_dot of column c, stride) for every column.
  template <class Take>
  void at(std::int64_t k, const Real* x, const Real* u, const std::vector<Column>& columns,
          const Take& take) {
    const Signature& s = system_.signature();
    for (std::int64_t i = 0; i < s.states(); ++i) spread(x[i], value_.x.data() + i * lanes_);
    for (std::int64_t i = 0; i < s.controls(); ++i) spread(u[i], value_.u.data() + i * lanes_);
    const StepContext context{k, 0, options_.seed};
    const StepRates<Real> rates{rate_.x.data(), rate_.u.data(), rate_.p.data()};
    step_columns(
        system_, context, value_.inputs(), rates, std::int64_t(columns.size()),
        lanes_agree(context) ? lanes_ : 1, value_.y.data(), rate_.y.data(), *work_,
        [&](std::int64_t c, int lane) {
          Real* const to = columns[c].role == Role::state     ? rates.x
                           : columns[c].role == Role::control ? rates.u
                                                              : rates.p;
          to[columns[c].index * lanes_ + lane] = Real(1);
        },
        [&](std::int64_t c, int lane) { take(c, rate_.y.data() + lane, lanes_); });
  }

 private:
  struct Numbers {
    AlignedBuffer<Real> x, u, p, y;
    Inputs<Real> inputs() const { return {x.data(), u.data(), p.data()}; }
  };
  void spread(Real value, Real* to) const { std::fill_n(to, lanes_, value); }
  // Whether every lane gives the bits of the first when all are moved along one generic direction. Noise is
  // drawn for world + lane: of a step that uses it, lane 0 alone is the world.
  bool lanes_agree(const StepContext& context) {
    if (lanes_ == 1) return true;
    double golden = 0;  // multiples of the golden ratio, modulo 1
    const auto fill = [&](Real* to, std::int64_t numbers) {
      for (std::int64_t i = 0; i < numbers; i += lanes_) {
        golden += golden > 0.381966011250105 ? -0.381966011250105 : 0.618033988749895;
        spread(static_cast<Real>(golden), to + i);
      }
    };
    fill(rate_.x.data(), system_.state_size());
    fill(rate_.u.data(), system_.control_size());
    fill(rate_.p.data(), system_.parameter_size());
    system_.step_jvp(context, value_.inputs(), rate_.inputs(), value_.y.data(), rate_.y.data(), *work_);
    for (const Real* y : {value_.y.data(), rate_.y.data()}) {
      for (std::int64_t j = 0; j < system_.state_size(); ++j)
        if (std::memcmp(y + j, y + j / lanes_ * lanes_, sizeof(Real)) != 0) return false;
    }
    return true;
  }

  const System<Real>& system_;
  const RolloutOptions& options_;
  const int lanes_;
  std::unique_ptr<Workspace> work_;
  Numbers value_, rate_;
};

}  // namespace

template <class Real>
Linearization<Real> linearize(std::shared_ptr<const System<Real>> system, RolloutOptions options,
                              const Arguments<Real>& arguments) {
  if (options.worlds != 1) throw Error("linearize() is of a single world: give it the arrays of one");
  if (!system->capabilities().jvp) throw Error("this physics has no forward mode, which linearize() needs");
  options.keep = 1;
  options.on_divergence = OnDivergence::stop;
  const Signature& s = system->signature();
  const std::vector<Column> columns = columns_of(s, s.match(Role::parameter, options.active));
  const std::int64_t n = s.states(), m = s.controls(), np = std::int64_t(columns.size()) - n - m;
  // Every step has a matrix of its own.
  expect_room("the linear maps of " + std::to_string(options.steps) + " steps",
              double(options.steps) * double(n) * double(columns.size() + 1) * sizeof(Real),
              "linearize fewer steps at a time; jvp() and value_and_gradient() need no such memory");
  Linearization<Real> out;
  out.states = Rollout<Real>(system, options).simulate(arguments).states;
  out.a.resize(options.steps * n * n);
  out.b.resize(options.steps * n * m);
  out.c.resize(options.steps * n * np);
  parallel_for(options.steps, 16, [&](std::int64_t begin, std::int64_t end) {
    StepColumns<Real> step(*system, options, arguments);
    for (std::int64_t k = begin; k < end; ++k) {
      stop_if_interrupted();
      const auto take = [&](std::int64_t c, const Real* from, int stride) {
        Real* to = out.a.data() + k * n * n + c;
        std::int64_t width = n;
        if (c >= n + m)
          to = out.c.data() + k * n * np + (c - n - m), width = np;
        else if (c >= n)
          to = out.b.data() + k * n * m + (c - n), width = m;
        for (std::int64_t i = 0; i < n; ++i) to[i * width] = from[i * stride];
      };
      step.at(k, out.states.data() + k * n, arguments.controls.data() + k / options.hold * m, columns, take);
    }
  });
  return out;
}

template Linearization<float> linearize(std::shared_ptr<const System<float>>, RolloutOptions,
                                        const Arguments<float>&);
template Linearization<double> linearize(std::shared_ptr<const System<double>>, RolloutOptions,
                                         const Arguments<double>&);

}  // namespace costate
