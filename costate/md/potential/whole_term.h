// WholeTerm: a Term that is one law of all atoms at once: a sum over waves, over triples of atoms.
//
//   struct Law {
//     explicit Law(const Sites&);                          // its constants
//     template <class T> struct Room { explicit Room(const Law&); };   // what it works in
//     template <class T> T operator()(const T* x, const T* p, T* x_bar, T* p_bar, Room<T>&) const;
//   };                                                     // returns U, adds dU/dx and dU/dp
//
// Parts e_i of the energy, U = sum e_i, come in one of two ways. A law whose last argument is Shares<T>
// writes down what each atom has, and differentiates sum weight_i e_i. A law that is quadratic in the charges
// says where they lie (charge_slot(i), or -1): e_i = q_i (dU/dq_i) / 2, and the gradient of sum e_bar_i e_i
// is the tangent of U's gradient along q_dot_i = e_bar_i q_i / 2, and e_bar_i dU/dq_i / 2.
//
// The transpose of the force is the tangent of the law along f_bar, and the gradient of the virial its
// tangent along positions and box (term.h).
//
// SumTerm: several terms as one.
// Tests: tests/md/many_body_test.cpp.
#pragma once

#include "costate/md/potential/term.h"

namespace costate::md {

// What atoms have of an energy. weight: null for one each; energy: null if nobody asks.
template <class T>
struct Shares {
  const T* weight = nullptr;
  T* energy = nullptr;
  T weight_of(int i) const { return weight ? weight[i] : T(1); }
  void add(int i, const T& e) const {
    if (energy) energy[i] += e;
  }
};

template <class Law, class S>
class WholeTerm final : public Term<S> {
  using T = Dual<S>;
  static constexpr bool kShares =
      requires(const Law& law, const S* x, S* x_bar, typename Law::template Room<S>& room) {
    law(x, x, x_bar, x_bar, room, Shares<S>{});
  };
  static constexpr bool kCharges = requires(const Law& law) { law.charge_slot(0); };

  template <class N>
  struct Numbers {
    Numbers(const Law& law, const Sites& sites)
        : room(law),
          x(std::size_t(sites.atoms * sites.dimensions)),
          x_bar(x.size()),
          p(std::size_t(sites.parameters)),
          p_bar(p.size()) {}
    void clear() {
      std::fill(x_bar.begin(), x_bar.end(), N(0));
      std::fill(p_bar.begin(), p_bar.end(), N(0));
    }
    typename Law::template Room<N> room;
    std::vector<N> x, x_bar, p, p_bar;
  };
  struct Scratch final : TermScratch {
    Scratch(const Law& law, const Sites& sites) : values(law, sites), tangents(law, sites) {}
    Numbers<S> values;
    Numbers<T> tangents;
  };

 public:
  explicit WholeTerm(const Sites& sites) : sites_(sites), law_(sites) {}

  std::unique_ptr<TermScratch> make_scratch() const override {
    return std::make_unique<Scratch>(law_, sites_);
  }

  S energy(const S* x, const S* p, TermScratch* scratch) const override {
    return gradient(x, p, static_cast<Scratch*>(scratch)->values);
  }
  void energy_vjp(const S* x, const S* p, const S& u_bar, S* x_bar, S* p_bar,
                  TermScratch* scratch) const override {
    Numbers<S>& at = static_cast<Scratch*>(scratch)->values;
    gradient(x, p, at);
    for (std::size_t i = 0; i < at.x_bar.size(); ++i) x_bar[i] += u_bar * at.x_bar[i];
    for (std::size_t i = 0; i < at.p_bar.size(); ++i) p_bar[i] += u_bar * at.p_bar[i];
  }
  std::string no_energies() const override {
    if constexpr (kShares) return "";
    if constexpr (kCharges)
      return law_.charge_slot(0) >= 0 ? "" : "it has one charge for all atoms: give every atom its own";
    return "it is one number of all atoms at once";
  }
  void energies(const S* x, const S* p, S* e, TermScratch* scratch) const override {
    Numbers<S>& at = static_cast<Scratch*>(scratch)->values;
    at.clear();
    if constexpr (kShares) {
      law_(x, p, at.x_bar.data(), at.p_bar.data(), at.room, Shares<S>{nullptr, e});
    } else if constexpr (kCharges) {
      gradient(x, p, at);
      const S half(value_t<S>(0.5));
      for (int i = 0; i < sites_.atoms; ++i)
        e[i] += half * p[law_.charge_slot(i)] * at.p_bar[std::size_t(law_.charge_slot(i))];
    }
  }
  void energies_vjp(const S* x, const S* p, const S* e_bar, S* x_bar, S* p_bar,
                    TermScratch* scratch) const override {
    if constexpr (kShares) {
      Numbers<S>& at = static_cast<Scratch*>(scratch)->values;
      at.clear();
      law_(x, p, at.x_bar.data(), at.p_bar.data(), at.room, Shares<S>{e_bar, nullptr});
      for (std::size_t i = 0; i < at.x_bar.size(); ++i) x_bar[i] += at.x_bar[i];
      for (std::size_t i = 0; i < at.p_bar.size(); ++i) p_bar[i] += at.p_bar[i];
    } else if constexpr (kCharges) {
      Numbers<T>& at = static_cast<Scratch*>(scratch)->tangents;
      const S half(value_t<S>(0.5));
      for (std::size_t i = 0; i < at.x.size(); ++i) at.x[i] = T(x[i]);
      for (std::size_t i = 0; i < at.p.size(); ++i) at.p[i] = T(p[i]);
      const auto charge = [&](int i) { return std::size_t(law_.charge_slot(i)); };
      for (int i = 0; i < sites_.atoms; ++i) at.p[charge(i)].d[0] = half * e_bar[i] * p[charge(i)];
      at.clear();
      law_(at.x.data(), at.p.data(), at.x_bar.data(), at.p_bar.data(), at.room);
      for (std::size_t i = 0; i < at.x.size(); ++i) x_bar[i] += at.x_bar[i].d[0];
      for (std::size_t i = 0; i < at.p.size(); ++i) p_bar[i] += at.p_bar[i].d[0];
      for (int i = 0; i < sites_.atoms; ++i) p_bar[charge(i)] += half * e_bar[i] * at.p_bar[charge(i)].v;
    }
  }
  void force(const S* x, const S* p, S* f, TermScratch* scratch) const override {
    Numbers<S>& at = static_cast<Scratch*>(scratch)->values;
    gradient(x, p, at);
    for (std::size_t i = 0; i < at.x_bar.size(); ++i) f[i] -= at.x_bar[i];
  }
  void force_vjp(const S* x, const S* p, const S* f_bar, S* x_bar, S* p_bar,
                 TermScratch* scratch) const override {
    Numbers<T>& at = static_cast<Scratch*>(scratch)->tangents;
    for (std::size_t i = 0; i < at.x.size(); ++i) at.x[i] = T(x[i], f_bar[i]);
    for (std::size_t i = 0; i < at.p.size(); ++i) at.p[i] = T(p[i]);
    at.clear();
    law_(at.x.data(), at.p.data(), at.x_bar.data(), at.p_bar.data(), at.room);
    for (std::size_t i = 0; i < at.x.size(); ++i) x_bar[i] -= at.x_bar[i].d[0];
    for (std::size_t i = 0; i < at.p.size(); ++i) p_bar[i] -= at.p_bar[i].d[0];
  }
  S virial(const S* x, const S* p, TermScratch* scratch) const override {
    Numbers<S>& at = static_cast<Scratch*>(scratch)->values;
    gradient(x, p, at);
    S sum(0);
    for (std::size_t i = 0; i < at.x_bar.size(); ++i) sum += x[i] * at.x_bar[i];
    each_edge([&](int slot) { sum += p[slot] * at.p_bar[std::size_t(slot)]; });
    return sum;
  }
  void virial_vjp(const S* x, const S* p, const S& w_bar, S* x_bar, S* p_bar,
                  TermScratch* scratch) const override {
    Numbers<T>& at = static_cast<Scratch*>(scratch)->tangents;
    for (std::size_t i = 0; i < at.x.size(); ++i) at.x[i] = T(x[i], x[i]);
    for (std::size_t i = 0; i < at.p.size(); ++i) at.p[i] = T(p[i]);
    each_edge([&](int slot) { at.p[std::size_t(slot)].d[0] = p[slot]; });
    at.clear();
    law_(at.x.data(), at.p.data(), at.x_bar.data(), at.p_bar.data(), at.room);
    for (std::size_t i = 0; i < at.x.size(); ++i) x_bar[i] += w_bar * (at.x_bar[i].v + at.x_bar[i].d[0]);
    for (std::size_t i = 0; i < at.p.size(); ++i) p_bar[i] += w_bar * at.p_bar[i].d[0];
    each_edge([&](int slot) { p_bar[slot] += w_bar * at.p_bar[std::size_t(slot)].v; });
  }

 private:
  // f(place among the parameters) for every edge of the box.
  template <class F>
  void each_edge(const F& f) const {
    for (int k = 0; sites_.box >= 0 && k < sites_.dimensions; ++k) f(sites_.box + k);
  }
  S gradient(const S* x, const S* p, Numbers<S>& at) const {
    at.clear();
    return law_(x, p, at.x_bar.data(), at.p_bar.data(), at.room);
  }

  Sites sites_;
  Law law_;
};

template <class Law>
struct MakeWholeTerm {
  template <class S>
  static std::unique_ptr<Term<S>> make(const Sites& sites) {
    return std::make_unique<WholeTerm<Law, S>>(sites);
  }
};

template <class S>
class SumTerm final : public Term<S> {
  struct Scratch final : TermScratch {
    std::vector<std::unique_ptr<TermScratch>> of;
  };

 public:
  explicit SumTerm(std::vector<std::unique_ptr<Term<S>>> parts) : parts_(std::move(parts)) {}

  std::unique_ptr<TermScratch> make_scratch() const override {
    auto scratch = std::make_unique<Scratch>();
    for (const auto& part : parts_) scratch->of.push_back(part->make_scratch());
    return scratch;
  }
  S energy(const S* x, const S* p, TermScratch* scratch) const override {
    S sum(0);
    each(scratch, [&](const Term<S>& part, TermScratch* own) { sum += part.energy(x, p, own); });
    return sum;
  }
  void energy_vjp(const S* x, const S* p, const S& u_bar, S* x_bar, S* p_bar,
                  TermScratch* scratch) const override {
    each(scratch,
         [&](const Term<S>& part, TermScratch* own) { part.energy_vjp(x, p, u_bar, x_bar, p_bar, own); });
  }
  std::string no_energies() const override {
    for (const auto& part : parts_)
      if (const std::string why = part->no_energies(); !why.empty()) return why;
    return "";
  }
  void energies(const S* x, const S* p, S* e, TermScratch* scratch) const override {
    each(scratch, [&](const Term<S>& part, TermScratch* own) { part.energies(x, p, e, own); });
  }
  void energies_vjp(const S* x, const S* p, const S* e_bar, S* x_bar, S* p_bar,
                    TermScratch* scratch) const override {
    each(scratch,
         [&](const Term<S>& part, TermScratch* own) { part.energies_vjp(x, p, e_bar, x_bar, p_bar, own); });
  }
  void force(const S* x, const S* p, S* f, TermScratch* scratch) const override {
    each(scratch, [&](const Term<S>& part, TermScratch* own) { part.force(x, p, f, own); });
  }
  void force_vjp(const S* x, const S* p, const S* f_bar, S* x_bar, S* p_bar,
                 TermScratch* scratch) const override {
    each(scratch,
         [&](const Term<S>& part, TermScratch* own) { part.force_vjp(x, p, f_bar, x_bar, p_bar, own); });
  }
  S virial(const S* x, const S* p, TermScratch* scratch) const override {
    S sum(0);
    each(scratch, [&](const Term<S>& part, TermScratch* own) { sum += part.virial(x, p, own); });
    return sum;
  }
  void virial_vjp(const S* x, const S* p, const S& w_bar, S* x_bar, S* p_bar,
                  TermScratch* scratch) const override {
    each(scratch,
         [&](const Term<S>& part, TermScratch* own) { part.virial_vjp(x, p, w_bar, x_bar, p_bar, own); });
  }

 private:
  template <class F>
  void each(TermScratch* scratch, const F& f) const {
    auto& of = static_cast<Scratch*>(scratch)->of;
    for (std::size_t i = 0; i < parts_.size(); ++i) f(*parts_[i], of[i].get());
  }
  std::vector<std::unique_ptr<Term<S>>> parts_;
};

}  // namespace costate::md
