// Potentials of the user's own, as text (ad/parse.h says what it may hold).
//
//   pair_formula    U(r; parameters)         r: the distance of two atoms
//   field_formula   U(x, y, z; parameters)   the position of one atom
//
// The text becomes a Program, and the Program's transpose gives dU/dr and dU/dparameters. Those are what a
// law needs (local_term.h). Its tangents, and the tangents of its tangents, are Programs too: where a law is
// asked for duals, the Program of that depth runs on their parts. Numbers are named by the user: at most
// eight.
//
// `cutoff` (0: none) drops pairs that are farther apart; with `switch_from` the energy fades out between
// there and the cutoff (radial.h).
// Tests: tests/md/formula_test.cpp.
#include <algorithm>

#include "costate/ad/derivative.h"
#include "costate/ad/executable.h"
#include "costate/ad/parse.h"
#include "costate/core/error.h"
#include "costate/md/potential/kinds.h"
#include "costate/md/potential/radial.h"

namespace costate::md {
namespace {

constexpr int kMostParameters = 8, kMostInputs = 3 + kMostParameters;
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

// A formula, its slopes with respect to all its inputs, and their tangents.
class Formula {
 public:
  Formula(const Sites& sites, const std::vector<std::string>& variables)
      : inputs_(int(variables.size() + sites.names.size())) {
    std::vector<ad::Field> fields;
    std::vector<std::string> active;
    for (const auto* list : {&variables, &sites.names})
      for (const std::string& name : *list) fields.push_back({name}), active.push_back(name);
    const ad::Program energy = ad::parse_expression(sites.formula, fields, {.name = "formula"});
    const ad::Program slopes = ad::vjp(energy, {.active = active, .with_outputs = true});
    const ad::Program once = renamed(ad::jvp(slopes, {.active = active}));
    for (int i = 0; i < inputs_; ++i) active.push_back(active[std::size_t(i)] + "_one");
    const ad::Program twice = ad::jvp(once, {.active = active});
    programs_ = {ad::Executable(slopes), ad::Executable(once), ad::Executable(twice)};
    if (programs_[2].scratch_bytes<double>() > kScratch)
      throw Error({"the formula is too long for a potential", "md::Model", "write a potential in C++"});
  }

  int inputs() const { return inputs_; }

  // U; slope: dU/din.
  template <class T>
  T operator()(T* in, T* slope) const {
    using P = Parts<T>;
    using N = typename P::Number;
    using Real = value_t<N>;
    constexpr int kLanes = lanes_of<N>, kParts = 1 << P::kDepth;
    alignas(64) Real x[kParts][kMostInputs][kLanes], y[kParts][kMostInputs + 1][kLanes];
    ad::InputBlock<Real> from[kParts * kMostInputs + 1];
    ad::OutputBlock<Real> to[kParts * (kMostInputs + 1)];
    const Real one = 1;  // the cotangent of U comes after the inputs, before their tangents
    from[inputs_] = {&one, 0, true};
    for (int part = 0; part < kParts; ++part) {
      for (int i = 0; i < inputs_; ++i) {
        store<N>(x[part][i], P::part(in[i], part));
        from[part * inputs_ + i + (part > 0)] = {x[part][i], kLanes, false};
      }
      for (int i = 0; i <= inputs_; ++i) to[part * (inputs_ + 1) + i] = {y[part][i], kLanes, false};
    }
    alignas(64) std::byte scratch[kScratch];
    programs_[P::kDepth].template run<Real>(std::span(from, std::size_t(kParts * inputs_ + 1)),
                                            std::span(to, std::size_t(kParts * (inputs_ + 1))), kLanes,
                                            scratch);
    T energy;
    for (int part = 0; part < kParts; ++part) {
      P::part(energy, part) = load<N>(y[part][0]);
      for (int i = 0; i < inputs_; ++i) P::part(slope[i], part) = load<N>(y[part][i + 1]);
    }
    return energy;
  }

 private:
  int inputs_;
  std::array<ad::Executable, 3> programs_;  // for numbers, duals, and duals of duals
};

template <class T>
COSTATE_INLINE void take_slopes(const T* slope, int variables, int inputs, T* p_bar) {
  for (int k = 0; k < kMostParameters; ++k) p_bar[k] = variables + k < inputs ? slope[variables + k] : T(0);
}

struct PairFormula {
  static constexpr int kAtoms = 2, kParameters = kMostParameters;
  static constexpr auto kLinks = kPair;
  explicit PairFormula(const Sites& sites)
      : formula(sites, {"r"}), cut{sites.options[0], sites.options[1], false} {}

  template <class T>
  T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    using costate::sqrt;
    T in[kMostInputs], slope[kMostInputs];
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
  Formula formula;
  Cutoff cut;
};

struct FieldFormula {
  static constexpr int kAtoms = 1, kParameters = kMostParameters;
  static constexpr std::array<Link, 1> kLinks = {{{-1, 0}}};
  explicit FieldFormula(const Sites& sites)
      : formula(sites, sites.dimensions == 1   ? std::vector<std::string>{"x"}
                       : sites.dimensions == 2 ? std::vector<std::string>{"x", "y"}
                                               : std::vector<std::string>{"x", "y", "z"}),
        dimensions(sites.dimensions) {}

  template <class T>
  T operator()(const Point<T>* d, const T* p, Point<T>* d_bar, T* p_bar) const {
    T in[kMostInputs], slope[kMostInputs];
    for (int k = 0; k < dimensions; ++k) in[k] = d[0][k];
    for (int k = 0; dimensions + k < formula.inputs(); ++k) in[dimensions + k] = p[k];
    const T u = formula(in, slope);
    d_bar[0] = Point<T>::zero();
    for (int k = 0; k < dimensions; ++k) d_bar[0][k] = slope[k];
    take_slopes(slope, dimensions, formula.inputs(), p_bar);
    return u;
  }
  Formula formula;
  int dimensions;
};

// A law has room for eight numbers; those that the user has not named are nowhere.
template <class Law>
struct MakeFormulaTerm {
  template <class S>
  static std::unique_ptr<Term<S>> make(const Sites& sites) {
    Sites wide = sites;
    const std::size_t named = sites.names.size(), instances = sites.tuples.size() / std::size_t(Law::kAtoms);
    wide.slots.assign(instances * std::size_t(kMostParameters), -1);
    for (std::size_t i = 0; i < instances; ++i)
      std::copy_n(sites.slots.begin() + std::ptrdiff_t(i * named), named,
                  wide.slots.begin() + std::ptrdiff_t(i * std::size_t(kMostParameters)));
    return std::make_unique<LocalTerm<Law, S>>(wide);
  }
};

template <class Law>
PotentialKind formula_kind(std::string name, std::string formula, std::vector<OptionKind> options) {
  PotentialKind kind{std::move(name), std::move(formula), Law::kAtoms, {}, std::move(options)};
  kind.own_formula = true;
  set_makers<MakeFormulaTerm<Law>>(kind);
  return kind;
}

}  // namespace

PotentialKind pair_formula_kind() {
  return formula_kind<PairFormula>("pair_formula", "your formula of r", {{"cutoff", 0}, {"switch_from", 0}});
}
PotentialKind field_formula_kind() {
  return formula_kind<FieldFormula>("field_formula", "your formula of x, y, z", {});
}

PotentialKind with_parameters(const PotentialKind& kind, const std::vector<std::string>& names) {
  if (int(names.size()) > kMostParameters)
    throw Error({kind.name + " has " + std::to_string(names.size()) + " parameters", "md::Model",
                 "a formula has at most " + std::to_string(kMostParameters)});
  PotentialKind own = kind;
  for (const std::string& name : names) own.parameters.push_back({name, {0}});
  return own;
}

}  // namespace costate::md
