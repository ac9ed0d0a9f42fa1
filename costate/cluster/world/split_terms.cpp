#include "costate/cluster/world/split_terms.h"

#include <algorithm>
#include <cmath>

namespace costate::cluster {

using Index = std::int64_t;

template <class Real>
SplitTerms<Real>::SplitTerms(const SplitSystem<Real>& system, const Objective<Real>& objective, Index steps)
    : system_(system), objective_(objective), steps_(steps) {
  objective.check(steps, 1);
  for (Index k = objective.next(0, steps); k <= steps; k = objective.next(k + 1, steps)) {
    terms(k);
    if (k == steps) break;
  }
}

template <class Real>
std::vector<PlainTerm<Real>> SplitTerms<Real>::terms(Index k) const {
  std::vector<PlainTerm<Real>> found;
  if (objective_.next(k, steps_) == k && !objective_.plain_terms(k, steps_, found))
    throw Error({"this loss cannot be computed element by element",
                 {},
                 "of a world that is split over ranks, use squared distances, linear terms and efforts"});
  return found;
}

template <class Real>
template <class Body>
void SplitTerms<Real>::each(const PlainTerm<Real>& term, const Piece<Real>& x, const Body& body) const {
  const auto& fields = system_.signature().fields(Role::state);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const Index begin = std::max(term.offset, fields[f].offset),
                end = std::min(term.offset + term.size, fields[f].offset + fields[f].size),
                width = system_.fields.width[f];
    if (begin >= end) continue;
    for (Index s = 0; s < x.count(); ++s) {
      const Index first = fields[f].offset + x.elements[std::size_t(s)] * width,
                  place = x.room * system_.fields.before[f] + (x.first + s) * width;
      for (Index i = std::max(begin - first, Index(0)); i < std::min(end - first, width); ++i)
        body(place + i, first + i - term.offset);
    }
  }
}

template <class Real>
void SplitTerms<Real>::see(Index k, const Piece<Real>& x, const Real* u) {
  for (const PlainTerm<Real>& term : terms(k)) {
    if (term.kind == PlainTerm<Real>::Kind::effort) {
      for (Index i = 0; u && system_.channel().rank() == 0 && i < term.size; ++i)
        sum_.add(0.5 * term.weight * double(u[i]) * double(u[i]));
      continue;
    }
    const bool distance = term.kind == PlainTerm<Real>::Kind::distance;
    each(term, x, [&](Index at, Index i) {
      const double z = double(x.numbers[std::size_t(at)]);
      if (distance) {
        const double r = term.target ? z - double(term.target[i]) : z;
        sum_.add(0.5 * term.weight * (r * r));
      } else {
        sum_.add(term.weight * (term.target ? double(term.target[i]) * z : z));
      }
    });
  }
}

template <class Real>
void SplitTerms<Real>::vjp(Index k, const Piece<Real>& x, const Real* u, Piece<Real>& x_bar, Real* u_bar) {
  for (const PlainTerm<Real>& term : terms(k)) {
    const Real w = Real(term.weight);
    if (term.kind == PlainTerm<Real>::Kind::effort) {
      for (Index i = 0; u && u_bar && i < term.size; ++i) u_bar[i] += w * u[i];
      continue;
    }
    const bool distance = term.kind == PlainTerm<Real>::Kind::distance;
    each(term, x, [&](Index at, Index i) {
      Real& bar = x_bar.numbers[std::size_t(at)];
      if (distance) {
        const double z = double(x.numbers[std::size_t(at)]);
        bar += w * Real(term.target ? z - double(term.target[i]) : z);
      } else {
        bar += term.target ? w * term.target[i] : w;
      }
    });
  }
}

template <class Real>
double SplitTerms<Real>::value() const {
  ExactSum mine = sum_, all;
  for (const std::string& message :
       system_.channel().gather(message_of(mine.limbs().data(), Index(mine.limbs().size())))) {
    ExactSum::Limbs limbs;
    read_message(message, limbs.data(), Index(limbs.size()));
    all.add(limbs);
  }
  const double value = all.value();
  if (!std::isfinite(value))
    throw Error({"the loss is not finite: a state has diverged", {}, "reduce dt"}, Error::Kind::numerics);
  return value;
}

template class SplitTerms<float>;
template class SplitTerms<double>;

}  // namespace costate::cluster
