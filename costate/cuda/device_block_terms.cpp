// The terms of an objective at one step. Those that are numbers (PlainTerm) are computed on the device; all
// others are computed by the host, whose blocks have System::lanes() worlds, from a copy of the state.
#include <algorithm>

#include "costate/core/parallel.h"
#include "costate/cuda/device_block.h"

namespace costate::cuda {

template <class Real>
bool DeviceBlock<Real>::plain(Index k, std::vector<PlainTerm<Real>>& terms) {
  return objective_->plain_terms(k, steps_, terms);
}

template <class Real>
PlainTerm<Real> DeviceBlock<Real>::on_device(PlainTerm<Real> term, DeviceArray<Real>& memory) {
  if (!term.target || resident_) return term;
  const Index worlds = term.world_stride == 0 ? 1 : worlds_, stride = term.size;
  const Real* from = term.target + this->results_.first_world * term.world_stride;
  if (worlds == 1 || term.world_stride == stride) {
    memory.upload(from, worlds * stride);
  } else {
    std::vector<Real> packed(std::size_t(worlds * stride));
    for (Index w = 0; w < worlds; ++w)
      std::copy_n(from + w * term.world_stride, stride, packed.begin() + w * stride);
    memory.upload(packed.data(), worlds * stride);
  }
  term.target = memory.data();
  term.world_stride = term.world_stride == 0 ? 0 : stride;
  return term;
}

template <class Real>
typename BlockKernels<Real>::Numbers DeviceBlock<Real>::numbers(const PlainTerm<Real>& term, Index k,
                                                                const Real* x) const {
  if (term.kind == PlainTerm<Real>::Kind::effort) {
    const DeviceRun<Real> at = run(k, k);
    return {at.u + k / options_.hold * at.u_knot, at.u_index, at.u_world, worlds_};
  }
  return {x + term.offset * worlds_, worlds_, 1, worlds_};
}

template <class Real>
void DeviceBlock<Real>::add_values(Index k) {
  std::vector<PlainTerm<Real>> terms;
  if (!plain(k, terms)) return values_on_host(k);
  for (const PlainTerm<Real>& term : terms)
    parts_of_.block->value(on_device(term, target_), numbers(term, k, state_.data()), loss_.data());
}

template <class Real>
void DeviceBlock<Real>::add_cotangents(Index k, const Real* x) {
  std::vector<PlainTerm<Real>> terms;
  if (!plain(k, terms)) return cotangents_on_host(k, x);
  for (const PlainTerm<Real>& term : terms) {
    Real* const bar = term.kind == PlainTerm<Real>::Kind::effort
                          ? u_bar_.data() + k / options_.hold * nu_ * worlds_
                          : lambda_.data() + term.offset * worlds_;
    parts_of_.block->vjp(on_device(term, target_), numbers(term, k, x), bar);
  }
}

// --- on the host ------------------------------------------------------------------------------------------

// A block as the CPU would have it.
template <class Real>
struct DeviceBlock<Real>::HostChunk {
  At at;
  std::vector<Real> x, u, p;
};

template <class Real>
const std::vector<Real>& DeviceBlock<Real>::parameters_on_host() {
  if (p_host_.empty()) p_host_ = p_.download(np_ * worlds_);
  return p_host_;
}

// Worlds first, first + 1, ... of this block; the last one fills lanes past the end.
template <class Real>
void DeviceBlock<Real>::gather(HostChunk& chunk, Index first, const std::vector<Real>& x, Index k) const {
  const int lanes = system_.lanes();
  const auto take = [&](std::vector<Real>& to, Index count, const auto& number) {
    to.resize(std::size_t(count * lanes));
    for (Index i = 0; i < count; ++i)
      for (int l = 0; l < lanes; ++l)
        to[std::size_t(i * lanes + l)] = number(i, std::min<Index>(first + l, worlds_ - 1));
  };
  take(chunk.x, n_, [&](Index i, Index w) { return x[std::size_t(i * worlds_ + w)]; });
  take(chunk.p, np_, [&](Index i, Index w) { return p_host_[std::size_t(i * worlds_ + w)]; });
  const Index knot = k / options_.hold, first_world = this->results_.first_world;
  if (k < steps_)
    take(chunk.u, nu_, [&](Index i, Index w) {
      const Index row = shared_controls_ ? 0 : (first_world + w) * knots_ * nu_;
      return arguments_->controls[std::size_t(row + knot * nu_ + i)];
    });
  chunk.at = {k,
              steps_,
              first_world + first,
              options_.worlds,
              lanes,
              {chunk.x.data(), k < steps_ && nu_ > 0 ? chunk.u.data() : nullptr, chunk.p.data()}};
}

template <class Real>
void DeviceBlock<Real>::values_on_host(Index k) {
  watch();
  parameters_on_host();
  const std::vector<Real> x = state_.download(n_ * worlds_);
  parallel_for(worlds_, system_.lanes(), [&](Index begin, Index end) {
    HostChunk chunk;
    gather(chunk, begin, x, k);
    std::vector<double> loss(std::size_t(chunk.at.lanes), 0.0);
    objective_->value(chunk.at, loss.data());
    for (Index w = begin; w < end; ++w) this->results_.loss[std::size_t(w)] += loss[std::size_t(w - begin)];
  });
}

template <class Real>
void DeviceBlock<Real>::cotangents_on_host(Index k, const Real* state) {
  parameters_on_host();
  std::vector<Real> x(std::size_t(n_ * worlds_)), x_bar(x.size(), Real(0)),
      u_bar(std::size_t(nu_ * worlds_), Real(0)), p_bar(std::size_t(np_ * worlds_), Real(0));
  device_.download(x.data(), state, n_ * worlds_ * Index(sizeof(Real)));
  const bool controls = k < steps_ && nu_ > 0;
  parallel_for(worlds_, system_.lanes(), [&](Index begin, Index end) {
    HostChunk chunk, bar;
    gather(chunk, begin, x, k);
    const int lanes = chunk.at.lanes;
    bar.x.assign(chunk.x.size(), Real(0)), bar.p.assign(chunk.p.size(), Real(0));
    bar.u.assign(std::size_t(nu_ * lanes), Real(0));
    objective_->vjp(chunk.at, {bar.x.data(), controls ? bar.u.data() : nullptr, bar.p.data()});
    const auto give = [&](const std::vector<Real>& from, Index count, std::vector<Real>& to) {
      for (Index i = 0; i < count; ++i)
        for (Index w = begin; w < end; ++w)
          to[std::size_t(i * worlds_ + w)] = from[std::size_t(i * lanes + w - begin)];
    };
    give(bar.x, n_, x_bar), give(bar.u, nu_, u_bar), give(bar.p, np_, p_bar);
  });
  const auto add = [&](const std::vector<Real>& from, Real* to) {
    if (from.empty()) return;
    target_.upload(from.data(), Index(from.size()));
    parts_of_.block->add(to, target_.data(), Index(from.size()));
  };
  add(x_bar, lambda_.data());
  if (controls) add(u_bar, u_bar_.data() + k / options_.hold * nu_ * worlds_);
  add(p_bar, p_bar_.data());
}

template <class Real>
bool DeviceBlock<Real>::needs_state(const std::vector<PlainTerm<Real>>& terms) const {
  return std::ranges::any_of(terms,
                             [](const auto& term) { return term.kind == PlainTerm<Real>::Kind::distance; });
}

template class DeviceBlock<float>;
template class DeviceBlock<double>;

}  // namespace costate::cuda
