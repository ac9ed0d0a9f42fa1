// What losses of energies share: the potentials with scratch of their own, and the numbers of one state.
#pragma once

#include <mutex>

#include "costate/md/compile.h"
#include "costate/md/integrator/part.h"
#include "costate/system/objective.h"

namespace costate::md {

// Terms with scratch of their own.
template <class S>
struct Evaluation {
  explicit Evaluation(const std::vector<std::unique_ptr<Term<S>>>& terms) {
    for (const auto& term : terms) scratch.push_back(term->make_scratch());
    forces = {&terms, &scratch};
  }
  std::vector<std::unique_ptr<TermScratch>> scratch;
  Forces<S> forces;
};

// A loss may be asked from several threads, and at many steps of a run: each asker takes an Evaluation that
// nobody else has, and lists of neighbours outlive the question.
template <class S>
class Evaluations {
  struct GiveBack {
    const Evaluations* to;
    void operator()(Evaluation<S>* one) const {
      const std::lock_guard lock(to->mutex_);
      to->free_.emplace_back(one);
    }
  };

 public:
  explicit Evaluations(const std::vector<std::unique_ptr<Term<S>>>& terms) : terms_(terms) {}

  std::unique_ptr<Evaluation<S>, GiveBack> take() const {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) free_.push_back(std::make_unique<Evaluation<S>>(terms_));
    Evaluation<S>* one = free_.back().release();
    free_.pop_back();
    return {one, GiveBack{this}};
  }

 private:
  const std::vector<std::unique_ptr<Term<S>>>& terms_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Evaluation<S>>> free_;
};

// State and parameters of a loss's place, with the box of the moment. With cotangents of both, `of` adds to
// them: those of the box are then handed on to where the box comes from.
template <class S, class Real, class F>
S evaluate_at(const typename Objective<Real>::At& at, const Layout& l, S* x_bar, S* p_bar, const F& of) {
  using costate::exp;
  constexpr int kLanes = lanes_of<S>;
  std::vector<S> x(std::size_t(l.states)), p(std::size_t(l.parameters));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = load<S>(at.in.x + i * kLanes);
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = load<S>(at.in.p + i * kLanes);
  if (l.strain < 0) return of(x, p);
  // The box of the moment is box_0 e^strain.
  const S grow = exp(x[std::size_t(l.strain)]);
  for (int k = 0; k < l.dimensions; ++k) p[std::size_t(l.box + k)] = p[std::size_t(l.box + k)] * grow;
  const S value = of(x, p);
  for (int k = 0; x_bar && k < l.dimensions; ++k) {
    x_bar[l.strain] += p[std::size_t(l.box + k)] * p_bar[l.box + k];
    p_bar[l.box + k] = grow * p_bar[l.box + k];
  }
  return value;
}

// The cotangents of a loss's place, all lanes of them.
template <class S, class Real>
void add_lanes_to(const std::vector<S>& from, Real* to) {
  constexpr int kLanes = lanes_of<S>;
  for (std::size_t i = 0; to && i < from.size(); ++i)
    store<S>(to + i * kLanes, load<S>(to + i * kLanes) + from[i]);
}

}  // namespace costate::md
