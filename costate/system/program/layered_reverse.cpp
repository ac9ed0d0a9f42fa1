// The transposed step: stages, parts and products backwards.
#include <algorithm>
#include <cmath>

#include "costate/ad/dense_tanh.h"
#include "costate/system/program/layered_scratch.h"

namespace costate {

// x_bar is overwritten; bar.u and bar.p are added to, but for the weights' share, which stays in the slot.
template <class Real>
void LayeredSystem<Real>::evaluate_vjp(const Inputs<Real>& in, int stage, int slot, const Real* record,
                                       const Real* rate_bar, Real* x_bar, const Cotangents<Real>& bar,
                                       const Variant& v, Scratch& s) const {
  s.c = integrates() ? static_cast<Real>(method_.c[stage]) : Real(0);
  std::fill_n(x_bar, this->state_size(), Real(0));
  const auto d_bar = [&](std::size_t k) {
    return s.d_bar[k] + std::int64_t(slot) * layers_[k].rows * lanes_;
  };
  for (std::size_t k = 0; k < layers_.size(); ++k)
    std::fill_n(d_bar(k), std::int64_t(layers_[k].rows) * lanes_, Real(0));
  for (std::size_t k = parts_.size(); k-- > 0;) {
    const Transpose& t = v.parts[k];
    if (t.outputs.empty()) continue;
    const bool last = k == layers_.size();
    const Real* const value = record + (last ? rate_at_ : vector_at_[k]);
    if (!last) {
      const Layer& layer = layers_[k];
      ad::multiply<Real>(s.weights[k].transposed(), layer.columns, layer.rows, lanes_, d_bar(k), s.e_bar);
      if (const auto& bias = parts_[k].bias) {
        const bool wanted = bar.p != nullptr && v.parameters[bias->field];
        ad::bias_tanh_vjp<Real>(value, s.e_bar, layer.columns, lanes_, d_bar(bias->product),
                                wanted ? bar.p + bias->first * lanes_ : nullptr);
        continue;
      }
      if (parts_[k].then_tanh) ad::tanh_all_vjp(value, s.e_bar, std::int64_t(layer.columns) * lanes_);
    }
    add_sources(t.sources, in, stage, record, value, last ? rate_bar : s.e_bar, s);
    for (const Source& source : t.outputs) {
      Real* const to = source.kind == Reads::state     ? x_bar
                       : source.kind == Reads::control ? bar.u
                       : source.kind == Reads::product
                           ? d_bar(source.index)
                           : bar.p + signature_.fields(Role::parameter)[source.index].offset * lanes_;
      s.outputs.push_back({to, lanes_, true});
    }
    t.code.template run<Real>(s.inputs, s.outputs, lanes_,
                              {s.bytes.data(), static_cast<std::size_t>(s.bytes.capacity())});
  }
}

// Slots and records are used in the order of the work, last stage first, whether the records are a tape,
// which is walked backwards, or made here: sums over slots then have the same bits.
template <class Real>
void LayeredSystem<Real>::pull_back(const StepContext& at, const Inputs<Real>& in, const Real* tape,
                                    const Real* y_bar, const Cotangents<Real>& bar, const Variant& v,
                                    Scratch& s) const {
  s.k = static_cast<Real>(at.k);
  const std::int64_t n = this->state_size();
  const std::int64_t stride = tape ? record_size_ : -record_size_;  // from stage to stage
  Real* const made = s.records.data() + (s.filled + stages_ - 1) * record_size_;
  const Real* const records = tape ? tape : made;
  for (int stage = 0; stage < stages_; ++stage) {
    stage_state(in, stage, records, stride, s);
    if (!tape) evaluate(in, stage, made + stage * stride, s);
  }
  if (s.filled == 0) {
    s.first = records + (stages_ - 1) * stride;
    s.stride = -stride;
  }
  const int last_slot = s.filled + stages_ - 1;
  s.filled += stages_;
  if (!integrates()) return evaluate_vjp(in, 0, last_slot, records, y_bar, bar.x, bar, v, s);

  const Real* const h = in.p + dt_ * lanes_;
  const bool wants_dt = bar.p != nullptr && v.parameters[dt_field_];
  Real* const h_bar = wants_dt ? bar.p + dt_ * lanes_ : nullptr;
  std::copy_n(y_bar, n, bar.x);
  for (int stage = stages_ - 1; stage >= 0; --stage) {
    const Real* const record = records + stage * stride;
    const Real b = static_cast<Real>(b_[stage]);
    for (std::int64_t i = 0; i < n; ++i) s.rate_bar[i] = b * y_bar[i];
    for (const auto& term : columns_[stage]) {
      const Real a = static_cast<Real>(term.value);
      const Real* const x_bar = s.x_bar + term.stage * n;
      for (std::int64_t i = 0; i < n; ++i) s.rate_bar[i] = std::fma(a, x_bar[i], s.rate_bar[i]);
    }
    for (std::int64_t i = 0; i < n; i += lanes_) {
      for (int l = 0; l < lanes_; ++l) {
        if (h_bar != nullptr) h_bar[l] = std::fma(record[rate_at_ + i + l], s.rate_bar[i + l], h_bar[l]);
        s.rate_bar[i + l] *= h[l];
      }
    }
    Real* const x_bar = s.x_bar + stage * n;
    evaluate_vjp(in, stage, last_slot - stage, record, s.rate_bar, x_bar, bar, v, s);
    for (std::int64_t i = 0; i < n; ++i) bar.x[i] += x_bar[i];
  }
}

template <class Real>
void LayeredSystem<Real>::flush(Real* p_bar, const Variant& v, Scratch& s) const {
  for (std::size_t k = 0; k < layers_.size() && p_bar != nullptr; ++k) {
    const Layer& layer = layers_[k];
    if (!v.parameters[layer.field]) continue;
    ad::add_outer<Real>(
        {s.d_bar[k], std::int64_t(layer.rows) * lanes_, s.first + vector_at_[k], s.stride, s.filled},
        layer.rows, layer.columns, lanes_, layer.row_stride, layer.column_stride,
        p_bar + layer.first * lanes_);
  }
  s.filled = 0;
}

template <class Real>
void LayeredSystem<Real>::step_vjp(const StepContext& at, const Inputs<Real>& in, const Real* tape,
                                   const Real* y_bar, const Cotangents<Real>& bar, const Activity& active,
                                   Workspace& work) const {
  Scratch& s = Scratch::of(work);
  hold(in.p, s);
  const Variant& v = variant({signature_.controls() > 0 && bar.u != nullptr, bar.p != nullptr, &active}, s);
  const bool held_back = s.in_run && bar.p == s.held_p_bar;  // until the slots are full, or the run ends
  if (!held_back) s.filled = 0;
  pull_back(at, in, tape, y_bar, bar, v, s);
  if (!held_back || s.filled + stages_ > slots_) flush(bar.p, v, s);
  if (!s.in_run) s.held = nullptr;
}

template class LayeredSystem<float>;
template class LayeredSystem<double>;

}  // namespace costate
