// Term: one potential energy U(x, p) of a world, as a step uses it.
//
//   force       f   += -dU/dx
//   force_vjp   x_bar += (df/dx)' f_bar,   p_bar += (df/dp)' f_bar
//   energy_vjp  x_bar += u_bar dU/dx,      p_bar += u_bar dU/dp
//   energies    e_i += the part of U that atom i has: pairs, angles and torsions are shared out evenly
//   energies_vjp  x_bar += sum e_bar_i de_i/dx,  p_bar += sum e_bar_i de_i/dp
//   virial      w = x.dU/dx + box.dU/dbox, the tangent of U when positions and box are scaled together
//   virial_vjp  x_bar += w_bar dw/dx,      p_bar += w_bar dw/dp
//
// The Hessian is symmetric, so the transpose of the force's Jacobian is the Jacobian itself:
//
//   (df/dx)' f_bar = -d/de [dU/dx](x + e f_bar),    (df/dp)' f_bar = -d/de [dU/dp](x + e f_bar)
//
// A potential is therefore written as its energy and its gradient (dU/dx, dU/dp) for any scalar; the tangent
// of that gradient along f_bar is the transpose of the force, and its tangent along the scaling gives the
// gradient of the virial. (local_term.h does this for potentials of a few atoms.)
//
// S is a pack of worlds, or the number of one large world, or a Dual of either. Positions lie atom by atom,
// `dimensions` numbers each.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "costate/ad/dual.h"
#include "costate/core/vec.h"

namespace costate::ad {
class Program;
}

namespace costate::md {

struct Potential;

// What a term keeps between calls of one workspace: lists, partial sums. Never anything that shows.
struct TermScratch {
  bool box_asked = true;  // false: transposes may leave out what the box receives
  virtual ~TermScratch() = default;
};

template <class S>
class Term {
 public:
  virtual ~Term() = default;
  virtual std::unique_ptr<TermScratch> make_scratch() const { return nullptr; }
  virtual S energy(const S* x, const S* p, TermScratch* scratch) const = 0;
  virtual void energy_vjp(const S* x, const S* p, const S& u_bar, S* x_bar, S* p_bar,
                          TermScratch* scratch) const = 0;
  virtual void energies(const S* x, const S* p, S* e, TermScratch* scratch) const = 0;
  virtual void energies_vjp(const S* x, const S* p, const S* e_bar, S* x_bar, S* p_bar,
                            TermScratch* scratch) const = 0;
  // Why atoms have no parts of this energy; empty: they have.
  virtual std::string no_energies() const { return ""; }
  virtual void force(const S* x, const S* p, S* f, TermScratch* scratch) const = 0;
  virtual void force_vjp(const S* x, const S* p, const S* f_bar, S* x_bar, S* p_bar,
                         TermScratch* scratch) const = 0;
  virtual S virial(const S* x, const S* p, TermScratch* scratch) const = 0;
  virtual void virial_vjp(const S* x, const S* p, const S& w_bar, S* x_bar, S* p_bar,
                          TermScratch* scratch) const = 0;
};

// One number of a pair's law: shared by all pairs, or that of the first or second atom, or that of the two
// species.
struct PairNumber {
  int offset = 0;
  bool per_atom = false;
  int which = 0;
  bool per_species = false;
};

// A table of numbers of pairs of species is its upper triangle, row by row.
constexpr int species_pairs(int species) { return species * (species + 1) / 2; }
constexpr int species_pair(int a, int b, int species) {
  const int low = a < b ? a : b, high = a < b ? b : a;
  return low * species - low * (low - 1) / 2 + high - low;
}

// Where a term finds its atoms and its numbers.
struct Sites {
  int dimensions = 3;
  int atoms = 0;                 // of the model
  std::vector<int> tuples = {};  // atoms of every instance, one after the other
  std::vector<int> slots = {};   // places among the parameters of every instance's numbers; -1: there is none
  int box = -1;                  // place of the box; -1: not periodic
  std::vector<double> edges = {};    // of the box that the model is made with
  int parameters = 0;                // of the model
  std::vector<double> options = {};  // in the order of the kind's
  // Of the user's own: text or a Program, and the numbers in it.
  std::string formula = {};
  std::shared_ptr<const ad::Program> program = {};
  std::vector<std::string> names = {};
  std::vector<int> sizes = {};
  // Of all pairs of a large world (list_term.h) and of all atoms at once (whole_term.h): no tuples and no
  // slots, but these.
  bool every_pair = false;  // of a large world
  std::vector<int> exclude = {};
  std::vector<PairNumber> numbers = {};
  double skin = 0.3;
  // Of every atom; empty where the potential has none.
  std::vector<int> species = {};
  int species_count = 0;
};

// A number of a potential, as users see it.
struct ParameterKind {
  enum class Per { instance, atom, model };  // one per bond; per atom; or one for the whole potential
  std::string name;
  std::vector<double> defaults = {};  // `dimensions` zeros where it is empty
  std::string unit = {};
  Per per = Per::instance;
};
struct OptionKind {
  std::string name;
  double fallback = 0;  // NaN: it must be given
};

template <class S>
using MakeTerm = std::unique_ptr<Term<S>> (*)(const Sites&);

template <class Real>
using Lanes = NativePack<Real>;

// One line per potential in potential_kinds().
struct PotentialKind {
  std::string name, formula;
  int atoms = 1;  // per instance
  std::vector<ParameterKind> parameters;
  std::vector<OptionKind> options = {};
  int dimensions = 0;        // that it needs; 0: any
  bool lists = false;        // all pairs of a large world go by neighbour lists
  bool own_formula = false;  // the user gives a formula and names its numbers (formula.cpp)
  bool whole = false;        // one law of all atoms (whole_term.h): it does not ask which
  bool periodic = false;     // it needs a box
  // Numbers whose product, times a factor, is how far it reaches; empty: its cutoff.
  std::vector<std::string> reach = {};
  double reach_factor = 1;
  // The same with the numbers of one potential, where what it is given says how many there are. Throws Error.
  PotentialKind (*sized)(const PotentialKind&, const Potential&) = nullptr;
  MakeTerm<Lanes<float>> lanes_float = nullptr;
  MakeTerm<Dual<Lanes<float>>> lanes_float_dual = nullptr;
  MakeTerm<Lanes<double>> lanes_double = nullptr;
  MakeTerm<Dual<Lanes<double>>> lanes_double_dual = nullptr;
  MakeTerm<float> one_float = nullptr;
  MakeTerm<Dual<float>> one_float_dual = nullptr;
  MakeTerm<double> one_double = nullptr;
  MakeTerm<Dual<double>> one_double_dual = nullptr;

  template <class S>
  MakeTerm<S> make() const {
    if constexpr (std::is_same_v<S, float>)
      return one_float;
    else if constexpr (std::is_same_v<S, Dual<float>>)
      return one_float_dual;
    else if constexpr (std::is_same_v<S, double>)
      return one_double;
    else if constexpr (std::is_same_v<S, Dual<double>>)
      return one_double_dual;
    else if constexpr (std::is_same_v<S, Lanes<float>>)
      return lanes_float;
    else if constexpr (std::is_same_v<S, Dual<Lanes<float>>>)
      return lanes_float_dual;
    else if constexpr (std::is_same_v<S, Lanes<double>>)
      return lanes_double;
    else
      return lanes_double_dual;
  }
};

const std::vector<PotentialKind>& potential_kinds();
// "did you mean 'harmonic'?", or the list of all there are.
std::string meant(const std::string& name, const std::vector<std::string>& known);
// Throws an Error that lists near misses.
const PotentialKind& find_potential(const std::string& kind);

}  // namespace costate::md
