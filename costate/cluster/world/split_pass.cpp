#include "costate/cluster/world/split_pass.h"

#include <algorithm>

#include "costate/core/interrupt.h"
#include "costate/core/progress.h"

namespace costate::cluster {

using Index = std::int64_t;

void check(const SplitOptions& options) {
  if (options.steps < 0 || options.hold < 1)
    throw Error("a rollout has at least 0 steps and a hold of at least 1");
  const Checkpoints& c = options.checkpoints;
  if (c.kind == Checkpoints::Kind::reversible || c.single_precision)
    throw Error({"a world that is split over ranks is reversed from exact states",
                 {},
                 "use the checkpoints store_all, segments or binomial"});
}

template <class Real>
Piece<Real> piece_of(const SplitSystem<Real>& world, const std::vector<Real>& whole) {
  const auto& fields = world.signature().fields(Role::state);
  if (Index(whole.size()) != world.signature().states())
    throw Error("a state of this world has " + std::to_string(world.signature().states()) + " numbers, not " +
                std::to_string(whole.size()));
  std::vector<Index> elements;
  std::vector<Real> rows, row(std::size_t(world.fields.total));
  for (Index e = 0; e < world.elements(); ++e) {
    for (std::size_t f = 0; f < fields.size(); ++f)
      std::copy_n(whole.data() + fields[f].offset + e * world.fields.width[f], world.fields.width[f],
                  row.data() + world.fields.before[f]);
    if (!world.owns(e, row.data())) continue;
    elements.push_back(e);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return world.piece(std::move(elements), rows);
}
template Piece<float> piece_of(const SplitSystem<float>&, const std::vector<float>&);
template Piece<double> piece_of(const SplitSystem<double>&, const std::vector<double>&);

template <class Real>
SplitPass<Real>::SplitPass(SplitSystem<Real>& world, SplitOptions options, Activity active,
                           std::vector<Real> controls, std::vector<Real> parameters, SplitLoss<Real>& loss)
    : world_(world),
      options_(std::move(options)),
      active_(std::move(active)),
      controls_(std::move(controls)),
      parameters_(std::move(parameters)),
      loss_(loss) {
  check(options_);
  const Index wanted = options_.knots() * world.signature().controls();
  if (Index(controls_.size()) != wanted)
    throw Error("the controls are " + std::to_string(controls_.size()) + " numbers instead of " +
                std::to_string(wanted) + " (knots x controls)");
  world_.begin(parameters_.data(), active_);
}

template <class Real>
const Real* SplitPass<Real>::knot(Index k) const {
  const Index width = world_.signature().controls();
  return width == 0 || k >= options_.steps ? nullptr : controls_.data() + k / options_.hold * width;
}
template <class Real>
Real* SplitPass<Real>::knot_bar(Index k) {
  const Index width = world_.signature().controls();
  return width == 0 || k >= options_.steps ? nullptr : controls_bar.data() + k / options_.hold * width;
}

template <class Real>
void SplitPass<Real>::step(Index k, const Piece<Real>& x, Piece<Real>& y, std::vector<Real>* tape) {
  world_.step({options_.first_step + k, 0, options_.seed}, knot(k), x, y, tape);
  if (world_.channel().rank() == 0) stop_if_interrupted();  // the others learn it from this rank
}

template <class Real>
void SplitPass<Real>::see(Index k, const Piece<Real>& x) {
  if (k <= seen_) return;
  if (k > 0) Progress::advance(1);
  seen_ = k;
  loss_.see(k, x, knot(k));
}

template <class Real>
Piece<Real> SplitPass<Real>::simulate(Piece<Real> x0) {
  x_ = std::move(x0);
  for (Index k = 0; k < options_.steps; ++k) {
    see(k, x_);
    step(k, x_, y_);
    std::swap(x_, y_);
  }
  see(options_.steps, x_);
  world_.end(nullptr, options_.knots(), nullptr);
  return std::move(x_);
}

template <class Real>
void SplitPass<Real>::forward(Piece<Real> x0) {
  x_ = std::move(x0);
  if (options_.steps == 0) return record(0, 0);
  schedule_.emplace(options_.checkpoints, options_.steps);
  while (seen_ < options_.steps) execute(*schedule_->next());  // the first reverse comes after the end
}

template <class Real>
void SplitPass<Real>::backward() {
  controls_bar.assign(controls_.size(), Real(0));
  parameters_bar.assign(parameters_.size(), Real(0));
  lambda_.shape_as(states_.back());
  std::fill(lambda_.numbers.begin(), lambda_.numbers.end(), Real(0));
  inject(options_.steps, states_.back());
  if (schedule_)
    while (const auto action = schedule_->next()) execute(*action);
  world_.end(controls_bar.data(), options_.knots(), parameters_bar.data());
  x0_bar = std::move(lambda_);
}

template <class Real>
void SplitPass<Real>::execute(const Action& action) {
  switch (action.kind) {
    case Action::Kind::store:
      if (slots_.size() <= std::size_t(action.slot)) slots_.resize(std::size_t(action.slot) + 1);
      slots_[std::size_t(action.slot)] = x_;
      return;
    case Action::Kind::restore:
      x_ = slots_[std::size_t(action.slot)];
      return;
    case Action::Kind::advance:
      for (Index k = action.begin; k < action.end; ++k) {
        see(k, x_);
        step(k, x_, y_);
        std::swap(x_, y_);
      }
      return;
    case Action::Kind::record:
      return record(action.begin, action.end);
    case Action::Kind::reverse:
      return reverse(action.begin, action.end);
  }
}

template <class Real>
void SplitPass<Real>::record(Index begin, Index end) {
  states_.resize(std::size_t(end - begin) + 1), tapes_.resize(std::size_t(end - begin));
  states_[0] = x_;
  for (Index k = begin; k < end; ++k) {
    const std::size_t j = std::size_t(k - begin);
    see(k, states_[j]);
    step(k, states_[j], states_[j + 1], &tapes_[j]);
  }
  x_ = states_.back();
  if (end == options_.steps) see(end, x_);
}

template <class Real>
void SplitPass<Real>::reverse(Index begin, Index end) {
  for (Index k = end; k-- > begin;) {
    const std::size_t j = std::size_t(k - begin);
    world_.step_vjp({options_.first_step + k, 0, options_.seed}, knot(k), states_[j], states_[j + 1],
                    &tapes_[j], lambda_, lambda_before_, knot_bar(k));
    std::swap(lambda_, lambda_before_);
    inject(k, states_[j]);
    Progress::advance(Progress::kBack);
    if (world_.channel().rank() == 0) stop_if_interrupted();
  }
}

// The cotangent at step k is complete except for the term of the loss there.
template <class Real>
void SplitPass<Real>::inject(Index k, const Piece<Real>& x) {
  const Index window = options_.checkpoints.window, left = options_.steps - k;
  if (window > 0 && k > 0 && left > 0 && left % window == 0)
    std::fill(lambda_.numbers.begin(), lambda_.numbers.end(), Real(0));
  loss_.vjp(k, x, knot(k), lambda_, knot_bar(k));
}

template <class Real>
Index SplitPass<Real>::kept_bytes() const {
  std::size_t numbers = x_.numbers.size() + y_.numbers.size() + 2 * x0_bar.numbers.size();
  for (const auto* pieces : {&slots_, &states_})
    for (const Piece<Real>& piece : *pieces) numbers += piece.numbers.size();
  for (const std::vector<Real>& tape : tapes_) numbers += tape.size();
  return Index(numbers * sizeof(Real));
}

template class SplitPass<float>;
template class SplitPass<double>;

}  // namespace costate::cluster
