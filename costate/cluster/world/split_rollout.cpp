#include "costate/cluster/world/split_rollout.h"

#include <algorithm>
#include <cmath>

#include "costate/core/interrupt.h"

namespace costate::cluster {

using Index = std::int64_t;

template <class Real>
SplitRollout<Real>::SplitRollout(std::shared_ptr<const System<Real>> system, SplitOptions options,
                                 Channel& channel)
    : system_(std::move(system)), options_(std::move(options)) {
  const auto* splittable = dynamic_cast<const Splittable<Real>*>(system_.get());
  if (!splittable)
    throw Error({"this physics cannot be split over ranks",
                 {},
                 "material points and systems on grids can; many small worlds are dealt out by a pool"});
  if (options_.steps < 0 || options_.hold < 1)
    throw Error("a rollout has at least 0 steps and a hold of at least 1");
  if (!options_.checkpoints.exact())
    throw Error({"a world that is split over ranks is reversed exactly",
                 {},
                 "use the checkpoints store_all, segments or binomial"});
  split_ = splittable->split(channel);
  knots_ = (options_.steps + options_.hold - 1) / options_.hold;
  active_.parameters = split_->signature().match(Role::parameter, options_.active);
}

template <class Real>
template <class Body>
auto SplitRollout<Real>::together(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error& error) {
    split_->channel().fail(error);
    throw;
  }
}

template <class Real>
Piece<Real> SplitRollout<Real>::start(const std::vector<Real>& whole) const {
  const auto& fields = split_->signature().fields(Role::state);
  if (Index(whole.size()) != split_->signature().states())
    throw Error("a state of this world has " + std::to_string(split_->signature().states()) +
                " numbers, not " + std::to_string(whole.size()));
  std::vector<Index> elements;
  std::vector<Real> rows, row(std::size_t(split_->fields.total));
  for (Index e = 0; e < split_->elements(); ++e) {
    for (std::size_t f = 0; f < fields.size(); ++f)
      std::copy_n(whole.data() + fields[f].offset + e * split_->fields.width[f], split_->fields.width[f],
                  row.data() + split_->fields.before[f]);
    if (!split_->owns(e, row.data())) continue;
    elements.push_back(e);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return split_->piece(std::move(elements), rows);
}

template <class Real>
std::vector<Real> SplitRollout<Real>::whole(const Piece<Real>& piece) const {
  const auto& fields = split_->signature().fields(Role::state);
  const Index total = split_->fields.total;
  std::vector<Real> row(static_cast<std::size_t>(total));
  std::string mine;
  for (Index s = 0; s < piece.count(); ++s) {
    split_->fields.read(piece, piece.first + s, row.data());
    mine += message_of(&piece.elements[std::size_t(s)], 1) + message_of(row.data(), total);
  }
  std::vector<Real> all(std::size_t(split_->signature().states()));
  const std::size_t each = sizeof(Index) + row.size() * sizeof(Real);
  for (const std::string& message : split_->channel().gather(std::move(mine))) {
    for (std::size_t at = 0; at + each <= message.size(); at += each) {
      Index e = 0;
      std::memcpy(&e, message.data() + at, sizeof e);
      std::memcpy(row.data(), message.data() + at + sizeof e, row.size() * sizeof(Real));
      for (std::size_t f = 0; f < fields.size(); ++f)
        std::copy_n(row.data() + split_->fields.before[f], split_->fields.width[f],
                    all.data() + fields[f].offset + e * split_->fields.width[f]);
    }
  }
  return all;
}

template <class Real>
const Real* SplitRollout<Real>::knot(const Arguments<Real>& arguments, Index k) const {
  const Index controls = split_->signature().controls();
  return controls == 0 ? nullptr : arguments.controls.data() + k / options_.hold * controls;
}

// The parameters as one row of numbers, with which steps begin.
template <class Real>
std::vector<Real> SplitRollout<Real>::begin(const Arguments<Real>& arguments) {
  const Signature& signature = split_->signature();
  if (Index(arguments.controls.size()) != knots_ * signature.controls())
    throw Error("the controls are " + std::to_string(arguments.controls.size()) + " numbers instead of " +
                std::to_string(knots_ * signature.controls()) + " (knots x controls)");
  std::vector<Real> p;
  const auto& fields = signature.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto values = arguments.parameters.values(f);
    if (arguments.parameters.per_world(f) || (values.size() != 1 && Index(values.size()) != fields[f].size))
      throw Error("'" + fields[f].name + "' has " + std::to_string(values.size()) + " numbers instead of " +
                  std::to_string(fields[f].size) + ": a world that is split is one world");
    if (Index(values.size()) == fields[f].size)
      p.insert(p.end(), values.begin(), values.end());
    else
      p.insert(p.end(), std::size_t(fields[f].size), values[0]);
  }
  split_->begin(p.data(), active_);
  return p;
}

template <class Real>
void SplitRollout<Real>::step(Index k, const Arguments<Real>& arguments, const Piece<Real>& x, Piece<Real>& y,
                              std::vector<Real>* tape) {
  split_->step({options_.first_step + k, 0, options_.seed}, knot(arguments, k), x, y, tape);
  stop_if_interrupted();
}

template <class Real>
double SplitRollout<Real>::total(ExactSum sum) const {
  ExactSum all;
  for (const std::string& message :
       split_->channel().gather(message_of(sum.limbs().data(), Index(sum.limbs().size())))) {
    ExactSum::Limbs limbs;
    read_message(message, limbs.data(), Index(limbs.size()));
    all.add(limbs);
  }
  const double value = all.value();
  if (!std::isfinite(value))
    throw Error({"the loss is not finite: a state has diverged", {}, "reduce dt"}, Error::Kind::numerics);
  return value;
}

template <class Real>
Piece<Real> SplitRollout<Real>::simulate(const Piece<Real>& x0, const Arguments<Real>& arguments,
                                         const Observer& observer) {
  return together([&] {
    begin(arguments);
    Piece<Real> x = x0, y;
    if (observer) observer(0, x);
    for (Index k = 0; k < options_.steps; ++k) {
      step(k, arguments, x, y);
      std::swap(x, y);
      if (observer) observer(k + 1, x);
    }
    split_->end(nullptr, knots_, nullptr);
    return x;
  });
}

template <class Real>
double SplitRollout<Real>::value(const Piece<Real>& x0, const Arguments<Real>& arguments,
                                 const Objective<Real>& objective) {
  const SplitTerms<Real> terms(*split_, objective, options_.steps);
  ExactSum sum;
  simulate(x0, arguments, [&](Index k, const Piece<Real>& x) {
    terms.value(k, x, k < options_.steps ? knot(arguments, k) : nullptr, sum);
  });
  return together([&] { return total(sum); });
}

// The actions of a schedule on pieces (checkpoints.h).
template <class Real>
struct SplitRollout<Real>::Reversal {
  SplitRollout& rollout;
  const Arguments<Real>& arguments;
  const SplitTerms<Real>& terms;
  const Index steps;
  Piece<Real> x;
  Piece<Real> y = {}, lambda = {}, lambda_next = {};
  std::vector<Piece<Real>> slots = {}, states = {};  // states[j]: after j steps of the record
  std::vector<std::vector<Real>> tapes = {};
  ExactSum sum = {};
  Index valued = 0;  // terms of steps before this one are in the sum
  std::vector<Real> u_bar = {};

  void see(Index k, const Piece<Real>& state) {
    if (k < valued) return;
    valued = k + 1;
    terms.value(k, state, k < steps ? rollout.knot(arguments, k) : nullptr, sum);
  }
  Real* u_bar_of(Index k) {
    const Index controls = rollout.split_->signature().controls();
    return controls == 0 || k >= steps ? nullptr : u_bar.data() + k / rollout.options_.hold * controls;
  }
  void execute(const Action& action) {
    using Kind = Action::Kind;
    if (action.kind == Kind::store) {
      if (slots.size() <= std::size_t(action.slot)) slots.resize(std::size_t(action.slot) + 1);
      slots[std::size_t(action.slot)] = x;
    } else if (action.kind == Kind::restore) {
      x = slots[std::size_t(action.slot)];
    } else if (action.kind == Kind::advance) {
      for (Index k = action.begin; k < action.end; ++k) {
        see(k, x);
        rollout.step(k, arguments, x, y);
        std::swap(x, y);
      }
    } else if (action.kind == Kind::record) {
      record(action.begin, action.end);
    } else {
      reverse(action.begin, action.end);
    }
  }
  void record(Index begin, Index end) {
    states.resize(std::size_t(end - begin) + 1), tapes.resize(std::size_t(end - begin));
    states[0] = x;
    for (Index k = begin; k < end; ++k) {
      const std::size_t j = std::size_t(k - begin);
      see(k, states[j]);
      rollout.step(k, arguments, states[j], states[j + 1], &tapes[j]);
    }
    x = states.back();
    if (end == steps) see(steps, x);
  }
  void reverse(Index begin, Index end) {
    if (end == steps) {  // the cotangent of the final state
      lambda.shape_as(states.back());
      std::fill(lambda.numbers.begin(), lambda.numbers.end(), Real(0));
      terms.vjp(steps, states.back(), nullptr, lambda, nullptr);
    }
    for (Index k = end; k-- > begin;) {
      const std::size_t j = std::size_t(k - begin);
      const Real* u = rollout.knot(arguments, k);
      rollout.split_->step_vjp({rollout.options_.first_step + k, 0, rollout.options_.seed}, u, states[j],
                               states[j + 1], &tapes[j], lambda, lambda_next, u_bar_of(k));
      std::swap(lambda, lambda_next);
      terms.vjp(k, states[j], u, lambda, u_bar_of(k));
      stop_if_interrupted();
    }
  }
};

template <class Real>
SplitGradient<Real> SplitRollout<Real>::value_and_gradient(const Piece<Real>& x0,
                                                           const Arguments<Real>& arguments,
                                                           const Objective<Real>& objective) {
  const SplitTerms<Real> terms(*split_, objective, options_.steps);
  return together([&] {
    const Signature& signature = split_->signature();
    std::vector<Real> p_bar(begin(arguments).size(), Real(0));
    Reversal reversal{*this, arguments, terms, options_.steps, x0};
    reversal.u_bar.assign(std::size_t(knots_ * signature.controls()), Real(0));
    if (options_.steps == 0) {
      reversal.record(0, 0);
      reversal.reverse(0, 0);
    } else {
      Schedule schedule(options_.checkpoints, options_.steps);
      while (const auto action = schedule.next()) reversal.execute(*action);
    }
    split_->end(reversal.u_bar.data(), knots_, p_bar.data());

    SplitGradient<Real> g;
    g.value = total(reversal.sum);
    g.x0 = std::move(reversal.lambda);
    g.controls = std::move(reversal.u_bar);
    g.parameters = Parameters<Real>(signature).zeros();
    const auto& fields = signature.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (!active_.parameters[f]) continue;
      const Real* from = p_bar.data() + fields[f].offset;
      g.parameters.set(f, std::vector<Real>(from, from + fields[f].size));
    }
    return g;
  });
}

template class SplitRollout<float>;
template class SplitRollout<double>;

}  // namespace costate::cluster
