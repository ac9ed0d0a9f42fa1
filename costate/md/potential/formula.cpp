// Potentials of the user's own: as text (ad/parse.h says what it may hold), or as a Program that was recorded
// from a function (own_potential.h).
//
//   pair_formula     U(r; parameters)         r: the distance of two atoms
//   field_formula    U(x, y, z; parameters)   the position of one atom
//   energy_formula   U(x; parameters)         x: the positions of all atoms, x[0], x[1], ...
//
// The formula becomes a Program, and the Program's transpose gives the slopes of U. Those are what a law
// needs (local_term.h, whole_term.h). Its tangents, and the tangents of its tangents, are Programs too: where
// a law is asked for duals, the Program of that depth runs on their parts. Numbers are named by the user: at
// most eight names. A name of energy_formula may stand for several numbers.
//
// `cutoff` (0: none) drops pairs that are farther apart; with `switch_from` the energy fades out between
// there and the cutoff (radial.h). All pairs within a cutoff of a large world go by neighbour lists.
// Tests: tests/md/formula_test.cpp.
#include <algorithm>

#include "costate/ad/derivative.h"
#include "costate/ad/executable.h"
#include "costate/ad/parse.h"
#include "costate/core/aligned_buffer.h"
#include "costate/core/error.h"
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/list_term.h"
#include "costate/md/potential/radial.h"
#include "costate/md/potential/whole_term.h"

namespace costate::md {
namespace {

constexpr int kMostParameters = 8, kMostFields = 3 + kMostParameters;
constexpr std::size_t kScratch = 1 << 17;

// The numbers that a scalar is made of: itself, or those of a dual's value and tangent.
template <class T>
struct Parts {
  using Number = T;
  static constexpr int kDepth = 0;
  static Number& part(T& t, int) { return t; }
};
template <class S>
struct Parts<Dual<S>> {
  using Number = typename Parts<S>::Number;
  static constexpr int kDepth = Parts<S>::kDepth + 1;
  // The highest bit of `which` chooses the outer tangent.
  static Number& part(Dual<S>& t, int which) {
    constexpr int kOuter = 1 << (kDepth - 1);
    return Parts<S>::part(which & kOuter ? t.d[0] : t.v, which & ~kOuter);
  }
};

// Tangents named "_dot" would meet those of a second differentiation.
ad::Program renamed(const ad::Program& program) {
  const auto rename = [](std::vector<ad::Field> fields) {
    for (ad::Field& f : fields)
      if (f.name.ends_with("_dot")) f.name.replace(f.name.size() - 4, 4, "_one");
    return fields;
  };
  return {program.nodes(), rename(program.input_fields()), rename(program.output_fields()),
          program.outputs()};
}

std::string list_of(const std::vector<ad::Field>& fields) {
  std::string list;
  for (const ad::Field& f : fields)
    list += (list.empty() ? "" : ", ") + f.name + (f.size > 1 ? "[" + std::to_string(f.size) + "]" : "");
  return list;
}

// U as a Program of these fields, in this order.
ad::Program energy_of(const Sites& sites, const std::vector<ad::Field>& fields) {
  if (!sites.program) return ad::parse_expression(sites.formula, fields, {.name = "formula"});
  if (sites.program->input_fields() != fields || sites.program->output_count() != 1)
    throw Error({"the function of a potential has the arguments " + list_of(sites.program->input_fields()) +
                     ", and the potential has " + list_of(fields),
                 "md::Model", "they must be the same, and the function must return one number"});
  return *sites.program;
}

// A formula, its slopes with respect to all its inputs, and their tangents.
class Formula {
 public:
  Formula(const Sites& sites, const std::vector<ad::Field>& variables) : fields_(variables) {
    for (std::size_t i = 0; i < sites.names.size(); ++i) fields_.push_back({sites.names[i], sites.sizes[i]});
    std::vector<std::string> active;
    for (const ad::Field& f : fields_) active.push_back(f.name), inputs_ += f.size;
    const ad::Program energy = energy_of(sites, fields_);
    const ad::Program slopes = ad::vjp(energy, {.active = active, .with_outputs = true});
    const ad::Program once = renamed(ad::jvp(slopes, {.active = active}));
    for (std::size_t i = 0; i < fields_.size(); ++i) active.push_back(active[i] + "_one");
    const ad::Program twice = ad::jvp(once, {.active = active});
    programs_ = {ad::Executable(slopes), ad::Executable(once), ad::Executable(twice)};
  }

  int inputs() const { return inputs_; }
  template <class T>
  std::size_t scratch_bytes() const {
    return programs_[Parts<T>::kDepth].template scratch_bytes<value_t<T>>();
  }
  // Numbers that operator() works in.
  template <class T>
  static std::size_t room(int inputs) {
    return (std::size_t(1) << Parts<T>::kDepth) * std::size_t(2 * inputs + 1) *
           std::size_t(lanes_of<typename Parts<T>::Number>);
  }

  // U; slope: dU/din.
  template <class T>
  T operator()(T* in, T* slope, value_t<T>* work, std::span<std::byte> scratch) const {
    using P = Parts<T>;
    using N = typename P::Number;
    using Real = value_t<N>;
    constexpr int kLanes = lanes_of<N>, kParts = 1 << P::kDepth;
    Real *x = work, *y = work + kParts * inputs_ * kLanes;
    const int fields = int(fields_.size());
    ad::InputBlock<Real> from[kParts * kMostFields + 1];
    ad::OutputBlock<Real> to[kParts * (kMostFields + 1)];
    const Real one = 1;  // the cotangent of U comes after the inputs, before their tangents
    from[fields] = {&one, 0, true};
    for (int part = 0; part < kParts; ++part) {
      Real *in_part = x + part * inputs_ * kLanes, *out_part = y + part * (inputs_ + 1) * kLanes;
      for (int i = 0; i < inputs_; ++i) store<N>(in_part + i * kLanes, P::part(in[i], part));
      to[part * (fields + 1)] = {out_part, kLanes, false};
      out_part += kLanes;
      for (int f = 0; f < fields; ++f) {
        from[part * fields + f + (part > 0)] = {in_part, kLanes, false};
        to[part * (fields + 1) + 1 + f] = {out_part, kLanes, false};
        in_part += fields_[std::size_t(f)].size * kLanes;
        out_part += fields_[std::size_t(f)].size * kLanes;
      }
    }
    programs_[P::kDepth].template run<Real>(std::span(from, std::size_t(kParts * fields + 1)),
                                            std::span(to, std::size_t(kParts * (fields + 1))), kLanes,
                                            scratch);
    T energy(0);
    for (int part = 0; part < kParts; ++part) {
      const Real* out_part = y + part * (inputs_ + 1) * kLanes;
      P::part(energy, part) = load<N>(out_part);
      for (int i = 0; i < inputs_; ++i) P::part(slope[i], part) = load<N>(out_part + (i + 1) * kLanes);
    }
    return energy;
  }

 private:
  std::vector<ad::Field> fields_;
  int inputs_ = 0;
  std::array<ad::Executable, 3> programs_;  // for numbers, duals, and duals of duals
};

// The formula of a law of few atoms: its scratch is on the stack.
class LocalFormula {
 public:
  LocalFormula(const Sites& sites, const std::vector<ad::Field>& variables) : formula_(sites, variables) {
    if (formula_.scratch_bytes<Dual<Dual<double>>>() > kScratch)
      throw Error({"the formula is too long for a potential", "md::Model", "write a potential in C++"});
  }
  int inputs() const { return formula_.inputs(); }
  template <class T>
  T operator()(T* in, T* slope) const {
    alignas(64) value_t<T>
        work[(1 << Parts<T>::kDepth) * (2 * kMostFields + 1) * lanes_of<typename Parts<T>::Number>];
    alignas(64) std::byte scratch[kScratch];
    return formula_(in, slope, work, scratch);
  }

 private:
  Formula formula_;
};

template <class T>
COSTATE_INLINE void take_slopes(const T* slope, int variables, int inputs, T* p_bar) {
  for (int k = 0; k < kMostParameters; ++k) p_bar[k] = variables + k < inputs ? slope[variables + k] : T(0);
}

struct PairFormula {
  static constexpr int kAtoms = 2, kParameters = kMostParameters;
  static constexpr auto kLinks = kPair;
  explicit PairFormula(const Sites& sites)
      : formula(sites, {{"r"}}), cut{sites.options[0], sites.options[1], false} {}

  template <class T>
  T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::sqrt;
    T in[kMostFields], slope[kMostFields];
    const T s = square_of(d[0]), r = sqrt(s);
    in[0] = r;
    for (int k = 0; k + 1 < formula.inputs(); ++k) in[1 + k] = p[k];
    T u = formula(in, slope);
    T along = slope[0] / r;  // dU/dr / r
    take_slopes(slope, 1, formula.inputs(), p_bar);
    if (cut.from > 0) {
      const Switched<T> off = switch_off(cut, s);
      along = along * off.value + 2 * u * off.slope;
      u = u * off.value;
      for (int k = 0; k < kParameters; ++k) p_bar[k] = p_bar[k] * off.value;
    }
    if (cut.cutoff > 0) {
      const auto near = cut.within(s);
      along = select(near, along, T(0));
      u = select(near, u, T(0));
      for (int k = 0; k < kParameters; ++k) p_bar[k] = select(near, p_bar[k], T(0));
    }
    d_bar[0] = along * d[0];
    return u;
  }
  template <class Number>
  double reach(const Number&) const {
    return cut.cutoff;
  }
  LocalFormula formula;
  Cutoff cut;
};

struct FieldFormula {
  static constexpr int kAtoms = 1, kParameters = kMostParameters;
  static constexpr std::array<Link, 1> kLinks = {{{-1, 0}}};
  explicit FieldFormula(const Sites& sites)
      : formula(sites, axes(sites.dimensions)), dimensions(sites.dimensions) {}
  static std::vector<ad::Field> axes(int dimensions) {
    std::vector<ad::Field> all = {{"x"}, {"y"}, {"z"}};
    all.resize(std::size_t(dimensions));
    return all;
  }

  template <class T>
  T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    T in[kMostFields], slope[kMostFields];
    for (int k = 0; k < dimensions; ++k) in[k] = d[0][k];
    for (int k = 0; dimensions + k < formula.inputs(); ++k) in[dimensions + k] = p[k];
    const T u = formula(in, slope);
    d_bar[0] = Point<T>::zero();
    for (int k = 0; k < dimensions; ++k) d_bar[0][k] = slope[k];
    take_slopes(slope, dimensions, formula.inputs(), p_bar);
    return u;
  }
  LocalFormula formula;
  int dimensions;
};

// A law of all atoms (whole_term.h).
struct EnergyFormula {
  explicit EnergyFormula(const Sites& where)
      : sites(where), formula(where, {{"x", where.atoms * where.dimensions}}) {}

  template <class T>
  struct Room {
    explicit Room(const EnergyFormula& law)
        : in(std::size_t(law.formula.inputs())),
          slope(in.size()),
          work(std::int64_t(Formula::room<T>(law.formula.inputs()))),
          scratch(std::int64_t(law.formula.scratch_bytes<T>())) {}
    std::vector<T> in, slope;
    AlignedBuffer<value_t<T>> work;
    AlignedBuffer<std::byte> scratch;
  };

  template <class T>
  T operator()(const T* x, const T* p, T* x_bar, T* p_bar, Room<T>& room) const {
    const int n = sites.atoms * sites.dimensions;
    std::copy(x, x + n, room.in.begin());
    each_number([&](int i, int slot) { room.in[std::size_t(n + i)] = p[slot]; });
    const T u = formula(room.in.data(), room.slope.data(), room.work.data(),
                        std::span(room.scratch.data(), std::size_t(room.scratch.capacity())));
    for (int i = 0; i < n; ++i) x_bar[i] += room.slope[std::size_t(i)];
    each_number([&](int i, int slot) { p_bar[slot] += room.slope[std::size_t(n + i)]; });
    return u;
  }

 private:
  // f(its place among the formula's numbers, its place among the parameters)
  template <class F>
  void each_number(const F& f) const {
    int i = 0;
    for (std::size_t k = 0; k < sites.numbers.size(); ++k)
      for (int j = 0; j < sites.sizes[k]; ++j) f(i++, sites.numbers[k].offset + j);
  }
  Sites sites;
  Formula formula;
};

// A law has room for eight numbers; those that the user has not named are nowhere.
template <class Law>
struct MakeFormulaTerm {
  template <class S>
  static std::unique_ptr<Term<S>> make(const Sites& sites) {
    Sites wide = sites;
    if constexpr (Law::kAtoms == 2 && lanes_of<S> == 1) {
      if (sites.every_pair) {
        // Of numbers that there are not the slopes are zero: they may share any place.
        wide.numbers.resize(kMostParameters);
        return std::make_unique<ListTerm<Law, S>>(wide);
      }
    }
    const std::size_t named = sites.names.size(), instances = sites.tuples.size() / std::size_t(Law::kAtoms);
    wide.slots.assign(instances * std::size_t(kMostParameters), -1);
    for (std::size_t i = 0; i < instances; ++i)
      std::copy_n(sites.slots.begin() + std::ptrdiff_t(i * named), named,
                  wide.slots.begin() + std::ptrdiff_t(i * std::size_t(kMostParameters)));
    return std::make_unique<LocalTerm<Law, S>>(wide);
  }
};

// The numbers of a formula are those that the user gives.
PotentialKind with_parameters(const PotentialKind& kind, const Potential& potential) {
  if (int(potential.parameters.size()) > kMostParameters)
    throw Error({kind.name + " has " + std::to_string(potential.parameters.size()) + " parameters",
                 "md::Model", "a formula has at most " + std::to_string(kMostParameters)});
  PotentialKind own = kind;
  for (const auto& [name, values] : potential.parameters)
    own.parameters.push_back(
        {name, kind.whole ? values : std::vector<double>{0}, "", ParameterKind::Per::instance});
  return own;
}

template <class Law>
PotentialKind formula_kind(std::string name, std::string formula, std::vector<OptionKind> options) {
  PotentialKind kind{std::move(name), std::move(formula), Law::kAtoms, {}, std::move(options)};
  kind.own_formula = true;
  kind.sized = with_parameters;
  set_makers<MakeFormulaTerm<Law>>(kind);
  return kind;
}

}  // namespace

PotentialKind pair_formula_kind() {
  PotentialKind kind = formula_kind<PairFormula>("pair_formula", "your formula of r",
                                                 {{"cutoff", 0}, {"switch_from", 0}, {"skin", 0.3}});
  kind.lists = true;
  return kind;
}
PotentialKind field_formula_kind() {
  return formula_kind<FieldFormula>("field_formula", "your formula of x, y, z", {});
}

PotentialKind energy_formula_kind() {
  PotentialKind kind{.name = "energy_formula",
                     .formula = "your formula of all positions x[0], x[1], ...",
                     .parameters = {},
                     .own_formula = true,
                     .whole = true,
                     .sized = with_parameters};
  set_makers<MakeWholeTerm<EnergyFormula>>(kind);
  return kind;
}

}  // namespace costate::md
