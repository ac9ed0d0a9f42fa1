// f as parts and products in turn, and the step made of it.
#include <cmath>
#include <cstring>
#include <utility>

#include "costate/ad/dense_tanh.h"
#include "costate/system/block_memory.h"
#include "costate/system/program/layered_scratch.h"

namespace costate {

template <class Real>
void LayeredSystem<Real>::hold(const Real* p, Scratch& s) const {
  if (s.held == p) return;
  const auto& fields = signature_.fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f)
    s.shared[f] = same_in_all_lanes(p + fields[f].offset * lanes_, fields[f].size, lanes_);
  Real* next = s.compact.data();
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const Layer& layer = layers_[k];
    const Real* const first = p + layer.first * lanes_;
    ad::LaneWeights<Real>& w = s.weights[k];
    w = {nullptr, nullptr, s.shared[layer.field] ? nullptr : first, layer.row_stride, layer.column_stride};
    if (!w.shared()) continue;
    const std::int64_t rows = layer.rows, columns = layer.columns;
    Real* const by_row = std::exchange(next, next + rows * columns);
    Real* const by_column = std::exchange(next, next + rows * columns);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const Real weight = first[(i * layer.row_stride + j * layer.column_stride) * lanes_];
        by_row[i * columns + j] = weight;
        by_column[j * rows + i] = weight;
      }
    }
    w.rows = by_row;
    w.columns_first = by_column;
  }
  s.held = p;
}

template <class Real>
const Real* LayeredSystem<Real>::result_of(std::size_t layer, const Real* record, const Scratch& s) const {
  return result_at_[layer] < 0 ? s.d[layer] : record + result_at_[layer];
}

template <class Real>
void LayeredSystem<Real>::add_sources(const std::vector<Source>& sources, const Inputs<Real>& in, int stage,
                                      const Real* record, const Real* value, const Real* value_bar,
                                      Scratch& s) const {
  s.inputs.clear();
  s.outputs.clear();
  for (const Source& source : sources) {
    switch (source.kind) {
      case Reads::state:
        s.inputs.push_back({stage == 0 ? in.x : s.states.data() + stage * this->state_size(), lanes_, false});
        break;
      case Reads::control:
        s.inputs.push_back({in.u, lanes_, false});
        break;
      case Reads::parameter:
        s.inputs.push_back({in.p + signature_.fields(Role::parameter)[source.index].offset * lanes_, lanes_,
                            s.shared[source.index] != 0});
        break;
      case Reads::step:
        s.inputs.push_back({&s.k, 1, true});
        break;
      case Reads::stage:
        s.inputs.push_back({&s.c, 1, true});
        break;
      case Reads::product:
        s.inputs.push_back({result_of(source.index, record, s), lanes_, false});
        break;
      case Reads::value:
        s.inputs.push_back({value, lanes_, false});
        break;
      case Reads::value_bar:
        s.inputs.push_back({value_bar, lanes_, false});
        break;
    }
  }
}

template <class Real>
void LayeredSystem<Real>::evaluate(const Inputs<Real>& in, int stage, Real* record, Scratch& s) const {
  s.c = integrates() ? static_cast<Real>(method_.c[stage]) : Real(0);
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const bool last = k == layers_.size();
    Real* const e = record + (last ? rate_at_ : vector_at_[k]);
    if (const auto& bias = parts_[k].bias) {
      ad::bias_tanh(result_of(bias->product, record, s), in.p + bias->first * lanes_,
                    s.shared[bias->field] != 0, layers_[k].columns, lanes_, e);
    } else {
      add_sources(parts_[k].sources, in, stage, record, nullptr, nullptr, s);
      s.outputs.push_back({e, lanes_, false});
      parts_[k].code.template run<Real>(s.inputs, s.outputs, lanes_,
                                        {s.bytes.data(), static_cast<std::size_t>(s.bytes.capacity())});
      if (parts_[k].then_tanh) ad::tanh_all(e, std::int64_t(layers_[k].columns) * lanes_);
    }
    if (last) break;
    const Layer& layer = layers_[k];
    ad::multiply<Real>(s.weights[k], layer.rows, layer.columns, lanes_, e,
                       result_at_[k] < 0 ? s.d[k] : record + result_at_[k]);
  }
}

// out = x + h sum_j row_j k_j
template <class Real>
void LayeredSystem<Real>::move(const Inputs<Real>& in, const runge_kutta::Row& row, const Real* records,
                               std::int64_t stride, Real* out) const {
  const std::int64_t n = this->state_size();
  const Real* const h = in.p + dt_ * lanes_;
  bool begun = false;
  for (const runge_kutta::Term& term : row) {
    const Real* const k = records + term.stage * stride + rate_at_;
    const Real a = static_cast<Real>(term.value);
    for (std::int64_t i = 0; i < n; ++i) out[i] = begun ? std::fma(a, k[i], out[i]) : a * k[i];
    begun = true;
  }
  for (std::int64_t i = 0; i < n; i += lanes_) {
    for (int l = 0; l < lanes_; ++l)
      out[i + l] = begun ? std::fma(h[l], out[i + l], in.x[i + l]) : in.x[i + l];
  }
}

template <class Real>
void LayeredSystem<Real>::stage_state(const Inputs<Real>& in, int stage, const Real* records,
                                      std::int64_t stride, Scratch& s) const {
  if (stage > 0) move(in, method_.a[stage], records, stride, s.states.data() + stage * this->state_size());
}

template <class Real>
void LayeredSystem<Real>::begin_run(const Real* p, Real* p_bar, const Activity&, Workspace& work) const {
  Scratch& s = Scratch::of(work);
  s.held = nullptr;
  hold(p, s);
  s.held_p_bar = p_bar;
  s.filled = 0;
  s.in_run = true;
}

template <class Real>
void LayeredSystem<Real>::end_run(const Real*, Real* p_bar, const Activity&, Workspace& work) const {
  Scratch& s = Scratch::of(work);
  if (s.filled > 0) flush(p_bar, *s.last, s);
  s.held = s.held_p_bar = nullptr;
  s.in_run = false;
}

template <class Real>
void LayeredSystem<Real>::step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
                               Workspace& work) const {
  Scratch& s = Scratch::of(work);
  hold(in.p, s);
  take_step(at, in, y, tape, s);
  if (!s.in_run) s.held = nullptr;
}

template <class Real>
void LayeredSystem<Real>::take_step(const StepContext& at, const Inputs<Real>& in, Real* y, Real* tape,
                                    Scratch& s) const {
  s.k = static_cast<Real>(at.k);
  Real* const records = tape ? tape : s.records.data();
  for (int stage = 0; stage < stages_; ++stage) {
    stage_state(in, stage, records, record_size_, s);
    evaluate(in, stage, records + stage * record_size_, s);
  }
  if (!integrates()) {
    std::copy_n(records + rate_at_, this->state_size(), y);
    return;
  }
  move(in, method_.b, records, record_size_, y);
}

template class LayeredSystem<float>;
template class LayeredSystem<double>;

}  // namespace costate
