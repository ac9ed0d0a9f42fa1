#include "costate/grid/cell_equation.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "costate/ad/derivative.h"
#include "costate/ad/executable.h"
#include "costate/ad/parse.h"
#include "costate/core/text.h"
#include "costate/grid/cell_differences.h"

namespace costate::grid {
namespace {

using Index = std::int64_t;

// One input of the program: where its numbers come from.
struct Read {
  enum class From { field, parameter, control, place };
  From from;
  std::string name;
  Index offset = 0;      // among the numbers of its role; place: 0 is x, 1 is y
  bool per_cell = true;  // otherwise one number for all cells
  Difference kind = Difference::value;
};

bool occurs(const std::string& word, const std::vector<CellEquation::Rate>& rates) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (const CellEquation::Rate& rate : rates) {
    const std::string& text = rate.formula;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      if ((at == 0 || !letter(text[at - 1])) && (end == text.size() || !letter(text[end]))) return true;
    }
  }
  return false;
}

struct Model {
  Signature signature;
  std::vector<Read> reads;
  ad::Program program;
  Index cells, dx_at, dt_at;
};

void check(const CellEquation& o) {
  if (o.nx < 2 || o.ny < 2 || o.nx > 1 << 16 || o.ny > 1 << 16)
    throw Error({"a grid cannot have " + std::to_string(o.nx) + " x " + std::to_string(o.ny) + " cells",
                 {},
                 "take at least 2 and at most 65536 along each axis"});
  if (!(o.dx > 0) || !(o.dt > 0) || !std::isfinite(o.dx) || !std::isfinite(o.dt))
    throw Error("an equation on a grid needs dx > 0 and dt > 0, not " + number(o.dx) + " and " +
                number(o.dt));
  if (o.fields.empty())
    throw Error({"an equation on a grid has no fields", {}, "give a field and its rate: c = \"0.1*lap_c\""});
  for (std::size_t side = 0; side < 4; side += 2)
    if ((o.sides[side] == CellEquation::Side::periodic) !=
        (o.sides[side + 1] == CellEquation::Side::periodic))
      throw Error({"one side is periodic and the opposite one is not", {}, "make both periodic, or neither"});
  std::set<std::string> names = {"x", "y", "dx", "dt"};
  const auto fresh = [&](const std::string& name) {
    if (name.empty() || !names.insert(name).second)
      throw Error(
          {"the name '" + name + "' is taken, or empty", {}, "x, y, dx and dt have a meaning of their own"});
  };
  for (const CellEquation::Rate& f : o.fields) {
    fresh(f.field);
    for (std::size_t k = 1; k < 5; ++k) fresh(f.field + kSuffix[k]);
    fresh("lap_" + f.field);
  }
  for (const CellEquation::Parameter& p : o.parameters) {
    fresh(p.name);
    for (const double value : p.value.values)
      if (!std::isfinite(value)) throw Error("the parameter '" + p.name + "' is " + number(value));
  }
  for (const std::string& name : o.controls) fresh(name);
}

Model make_model(const CellEquation& o) {
  check(o);
  Model m;
  m.cells = o.nx * o.ny;
  const auto read = [&](Read::From from, std::string name, Index offset, bool per_cell, Difference kind) {
    if (occurs(name, o.fields)) m.reads.push_back({from, std::move(name), offset, per_cell, kind});
  };
  for (const CellEquation::Rate& f : o.fields) {
    const Index offset = m.signature.states();
    m.signature.state(f.field, m.cells);
    for (std::size_t k = 0; k < 5; ++k)
      read(Read::From::field, f.field + kSuffix[k], offset, true, Difference(k));
    read(Read::From::field, "lap_" + f.field, offset, true, Difference::lap);
  }
  for (const CellEquation::Parameter& p : o.parameters) {
    const bool per_cell = p.per_cell || p.value.values.size() != 1;
    read(Read::From::parameter, p.name, m.signature.parameters(), per_cell, Difference::value);
    if (per_cell)
      p.value.add_to(m.signature, p.name.c_str(), m.cells, "");
    else
      m.signature.parameter(p.name, p.value.values[0]);
  }
  for (const std::string& name : o.controls) {
    read(Read::From::control, name, m.signature.controls(), false, Difference::value);
    m.signature.control(name);
  }
  read(Read::From::place, "x", 0, true, Difference::value);
  read(Read::From::place, "y", 1, true, Difference::value);
  m.dx_at = m.signature.parameters();
  m.signature.parameter("dx", o.dx, "m");
  m.dt_at = m.signature.parameters();
  m.signature.parameter("dt", o.dt, "s");
  m.signature.limit("dx", kPositive).limit("dt", kPositive);
  std::string text;
  std::vector<ad::Field> inputs, outputs;
  for (const Read& r : m.reads) inputs.push_back({r.name});
  for (const CellEquation::Rate& f : o.fields) {
    text += "rate_of_" + f.field + " = " + f.formula + "\n";
    outputs.push_back({"rate_of_" + f.field});
  }
  m.program = ad::parse_equations(text, inputs, outputs, {.name = "the equations of a cell"});
  return m;
}

template <class Real>
class CellSystem final : public System<Real> {
 public:
  CellSystem(const CellEquation& o, Model model)
      : model_(std::move(model)),
        differences_(o.nx, o.ny, o.sides),
        fields_(Index(o.fields.size())),
        nx_(o.nx),
        rate_(model_.program),
        tangent_(ad::jvp(model_.program)),
        transpose_(ad::vjp(model_.program)) {}

  const Signature& signature() const override { return model_.signature; }
  std::unique_ptr<Workspace> make_workspace() const override { return std::make_unique<Scratch>(*this); }

  void step(const StepContext&, const Inputs<Real>& in, Real* y, Real*, Workspace& work) const override {
    auto& w = static_cast<Scratch&>(work);
    stages(in, w);
    finish(in, 2, w.stage[1].data(), w, y);
  }
  void step_jvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& dot, Real* y, Real* y_dot,
                Workspace& work) const override;
  void step_vjp(const StepContext&, const Inputs<Real>& in, const Real*, const Real* y_bar,
                const Cotangents<Real>& bar, const Activity&, Workspace& work) const override;

  typename System<Real>::Fault fault(const Inputs<Real>& in, int) const override {
    return {"dt = " + number(double(in.p[model_.dt_at])) + " may be too long for this equation",
            "take a shorter dt: below dx^2 / (4 diffusivity) and dx / speed"};
  }

 private:
  // out = kept x + share (from + dt F(from)) in each stage.
  static constexpr Real kKept[3] = {0, Real(0.75), Real(1.0 / 3)}, kShare[3] = {1, Real(0.25), Real(2.0 / 3)};

  struct Scratch final : Workspace {
    std::vector<Real> stage[2], stage_dot[2], stage_bar, rate, rate_dot, rate_bar;
    std::vector<std::vector<Real>> read, read_dot, read_bar;  // of every input of the program
    std::vector<ad::InputBlock<Real>> in;
    std::vector<ad::OutputBlock<Real>> out;
    std::vector<std::byte> bytes;
    explicit Scratch(const CellSystem& s) {
      const auto states = std::size_t(s.model_.signature.states());
      for (auto* v :
           {&stage[0], &stage[1], &stage_dot[0], &stage_dot[1], &stage_bar, &rate, &rate_dot, &rate_bar})
        v->resize(states);
      for (auto* all : {&read, &read_dot, &read_bar})
        for (const Read& r : s.model_.reads)
          all->emplace_back(all == &read_bar || r.per_cell ? std::size_t(s.model_.cells) : 1);
      in.reserve(4 * (read.size() + states)), out.reserve(4 * (read.size() + states));
      bytes.resize(
          std::max({s.rate_.template scratch_bytes<Real>(), s.tangent_.template scratch_bytes<Real>(),
                    s.transpose_.template scratch_bytes<Real>()}));
    }
  };

  Index states() const { return model_.signature.states(); }
  Real scale(const Read& r, Real dx) const {
    const int order = CellDifferences<Real>::order(r.kind);
    return order == 0 ? Real(1) : order == 1 ? 1 / dx : 1 / (dx * dx);
  }

  // What the program reads, at a field.
  void gather(const Inputs<Real>& in, const Real* x, std::vector<std::vector<Real>>& to) const {
    const Real dx = in.p[model_.dx_at];
    for (std::size_t k = 0; k < model_.reads.size(); ++k) {
      const Read& r = model_.reads[k];
      Real* out = to[k].data();
      const Real* numbers = r.from == Read::From::control ? in.u : in.p;
      switch (r.from) {
        case Read::From::field: {
          differences_.apply(r.kind, x + r.offset, out);
          const Real s = scale(r, dx);
          for (Index i = 0; i < model_.cells; ++i) out[i] *= s;
          break;
        }
        case Read::From::place:
          for (Index i = 0; i < model_.cells; ++i) out[i] = place(r, i) * dx;
          break;
        default:
          std::copy_n(numbers + r.offset, r.per_cell ? model_.cells : 1, out);
      }
    }
  }
  Real place(const Read& r, Index cell) const {
    return Real(r.offset == 0 ? cell % nx_ : cell / nx_) + Real(0.5);
  }
  // Tangents of the same, given that gather has filled `read`.
  void gather_dot(const Inputs<Real>& in, const Inputs<Real>& dot, const Real* x_dot, Scratch& w) const {
    const Real dx = in.p[model_.dx_at], dx_dot = dot.p ? dot.p[model_.dx_at] : Real(0);
    for (std::size_t k = 0; k < model_.reads.size(); ++k) {
      const Read& r = model_.reads[k];
      Real* out = w.read_dot[k].data();
      const Real* numbers = r.from == Read::From::control ? dot.u : dot.p;
      switch (r.from) {
        case Read::From::field: {
          differences_.apply(r.kind, x_dot + r.offset, out);
          const Real s = scale(r, dx), shrink = Real(CellDifferences<Real>::order(r.kind)) * dx_dot / dx;
          for (Index i = 0; i < model_.cells; ++i) out[i] = s * out[i] - shrink * w.read[k][std::size_t(i)];
          break;
        }
        case Read::From::place:
          for (Index i = 0; i < model_.cells; ++i) out[i] = place(r, i) * dx_dot;
          break;
        default:
          for (Index i = 0; i < (r.per_cell ? model_.cells : 1); ++i)
            out[i] = numbers ? numbers[r.offset + i] : Real(0);
      }
    }
  }
  // And the transpose: from read_bar to x_bar, and to what a run shares.
  void gather_vjp(const Inputs<Real>& in, Scratch& w, Real* x_bar, const Cotangents<Real>& bar) const {
    const Real dx = in.p[model_.dx_at];
    for (std::size_t k = 0; k < model_.reads.size(); ++k) {
      const Read& r = model_.reads[k];
      Real* from = w.read_bar[k].data();
      if (r.from == Read::From::field) {
        const int order = CellDifferences<Real>::order(r.kind);
        if (bar.p && order > 0) {
          double sum = 0;
          for (Index i = 0; i < model_.cells; ++i) sum += double(from[i]) * double(w.read[k][std::size_t(i)]);
          bar.p[model_.dx_at] -= Real(order * sum / double(dx));
        }
        const Real s = scale(r, dx);
        for (Index i = 0; i < model_.cells; ++i) from[i] *= s;
        differences_.transpose(r.kind, from, x_bar + r.offset);
      } else if (r.from == Read::From::place) {
        double sum = 0;
        for (Index i = 0; i < model_.cells; ++i) sum += double(from[i]) * double(place(r, i));
        if (bar.p) bar.p[model_.dx_at] += Real(sum);
      } else if (Real* to = r.from == Read::From::control ? bar.u : bar.p) {
        double sum = 0;
        for (Index i = 0; i < model_.cells; ++i)
          r.per_cell ? void(to[r.offset + i] += from[i]) : void(sum += double(from[i]));
        if (!r.per_cell) to[r.offset] += Real(sum);
      }
    }
  }

  void read_blocks(Scratch& w, const std::vector<std::vector<Real>>& from) const {
    for (std::size_t k = 0; k < model_.reads.size(); ++k)
      w.in.push_back({from[k].data(), 1, !model_.reads[k].per_cell});
  }
  void field_blocks(std::vector<ad::OutputBlock<Real>>& out, std::vector<Real>& to) const {
    for (Index f = 0; f < fields_; ++f) out.push_back({to.data() + f * model_.cells, 1, false});
  }
  // rate = F(x).
  void run_rate(const Inputs<Real>& in, const Real* x, Scratch& w) const {
    gather(in, x, w.read);
    w.in.clear(), w.out.clear();
    read_blocks(w, w.read);
    field_blocks(w.out, w.rate);
    rate_.template run<Real>(w.in, w.out, model_.cells, w.bytes);
  }
  void finish(const Inputs<Real>& in, int stage, const Real* from, Scratch& w, Real* to) const {
    run_rate(in, from, w);
    const Real dt = in.p[model_.dt_at];
    for (Index i = 0; i < states(); ++i)
      to[i] = kKept[stage] * in.x[i] + kShare[stage] * (from[i] + dt * w.rate[std::size_t(i)]);
  }
  void stages(const Inputs<Real>& in, Scratch& w) const {
    finish(in, 0, in.x, w, w.stage[0].data());
    finish(in, 1, w.stage[0].data(), w, w.stage[1].data());
  }

  Model model_;
  CellDifferences<Real> differences_;
  Index fields_, nx_;
  ad::Executable rate_, tangent_, transpose_;
};

template <class Real>
void CellSystem<Real>::step_jvp(const StepContext&, const Inputs<Real>& in, const Inputs<Real>& dot, Real* y,
                                Real* y_dot, Workspace& work) const {
  auto& w = static_cast<Scratch&>(work);
  const Real dt = in.p[model_.dt_at], dt_dot = dot.p ? dot.p[model_.dt_at] : Real(0);
  const Real* from = in.x;
  const Real* from_dot = dot.x;
  for (int stage = 0; stage < 3; ++stage) {
    if (!from_dot) {  // a null pointer stands for zero
      std::fill(w.stage_bar.begin(), w.stage_bar.end(), Real(0));
      from_dot = w.stage_bar.data();
    }
    gather(in, from, w.read);
    gather_dot(in, dot, from_dot, w);
    w.in.clear(), w.out.clear();
    read_blocks(w, w.read);
    read_blocks(w, w.read_dot);
    field_blocks(w.out, w.rate);
    field_blocks(w.out, w.rate_dot);
    tangent_.template run<Real>(w.in, w.out, model_.cells, w.bytes);
    Real* const to = stage == 2 ? y : w.stage[stage].data();
    Real* const to_dot = stage == 2 ? y_dot : w.stage_dot[stage].data();
    for (Index i = 0; i < states(); ++i) {
      const auto k = std::size_t(i);
      to[i] = kKept[stage] * in.x[i] + kShare[stage] * (from[i] + dt * w.rate[k]);
      to_dot[i] = kKept[stage] * (dot.x ? dot.x[i] : Real(0)) +
                  kShare[stage] * (from_dot[i] + dt * w.rate_dot[k] + dt_dot * w.rate[k]);
    }
    from = to, from_dot = to_dot;
  }
}

template <class Real>
void CellSystem<Real>::step_vjp(const StepContext&, const Inputs<Real>& in, const Real*, const Real* y_bar,
                                const Cotangents<Real>& bar, const Activity&, Workspace& work) const {
  auto& w = static_cast<Scratch&>(work);
  stages(in, w);
  const Real dt = in.p[model_.dt_at];
  std::copy_n(y_bar, states(), w.stage_bar.begin());  // of what a stage made
  std::fill_n(bar.x, states(), Real(0));
  for (int stage = 2; stage >= 0; --stage) {
    const Real* const from = stage == 0 ? in.x : w.stage[stage - 1].data();
    if (bar.p) {
      run_rate(in, from, w);
      double sum = 0;
      for (Index i = 0; i < states(); ++i)
        sum += double(w.rate[std::size_t(i)]) * double(w.stage_bar[std::size_t(i)]);
      bar.p[model_.dt_at] += Real(double(kShare[stage]) * sum);
    } else {
      gather(in, from, w.read);
    }
    for (Index i = 0; i < states(); ++i) {
      const auto k = std::size_t(i);
      bar.x[i] += kKept[stage] * w.stage_bar[k];
      w.rate_bar[k] = kShare[stage] * dt * w.stage_bar[k];
      w.stage_bar[k] *= kShare[stage];
    }
    w.in.clear(), w.out.clear();
    read_blocks(w, w.read);
    for (Index f = 0; f < fields_; ++f) w.in.push_back({w.rate_bar.data() + f * model_.cells, 1, false});
    for (auto& numbers : w.read_bar) w.out.push_back({numbers.data(), 1, false});
    transpose_.template run<Real>(w.in, w.out, model_.cells, w.bytes);
    gather_vjp(in, w, w.stage_bar.data(), bar);
  }
  for (Index i = 0; i < states(); ++i) bar.x[i] += w.stage_bar[std::size_t(i)];
}

}  // namespace

template <class Real>
std::shared_ptr<System<Real>> cell_equation(const CellEquation& options) {
  return std::make_shared<CellSystem<Real>>(options, make_model(options));
}
template std::shared_ptr<System<float>> cell_equation<float>(const CellEquation&);
template std::shared_ptr<System<double>> cell_equation<double>(const CellEquation&);

}  // namespace costate::grid
