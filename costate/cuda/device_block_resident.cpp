// A block whose arguments and results stay on the device (resident.h). Rows of worlds become columns on the
// way in and rows on the way out; nothing waits, except to say that a world has diverged.
#include "costate/core/error.h"
#include "costate/cuda/device_block.h"

namespace costate::cuda {

template <class Real>
void DeviceBlock<Real>::load(const ResidentArguments<Real>& at, void* stream) {
  if (at.x0.data == nullptr) throw Error("x0 is missing: arrays on a device begin with the initial states");
  device_.enter();
  device_.wait_for(stream);
  resident_ = &at;
  this->results_.first_world = 0;
  this->results_.live_lanes = int(worlds_);
  x0_.reserve(n_ * worlds_);
  parts_of_.block->to_columns(at.x0.data, n_, at.x0.shared, worlds_, x0_.data());
  shared_controls_ = at.controls.data == nullptr || at.controls.shared;
  const Index knot_numbers = knots_ * nu_;
  u_.reserve(knot_numbers * worlds_);
  if (at.controls.data == nullptr)
    u_.zero(knot_numbers);
  else if (shared_controls_)
    u_.copy(at.controls.data, knot_numbers);
  else
    parts_of_.block->to_columns(at.controls.data, knot_numbers, false, worlds_, u_.data());
  load_parameters(at);
  state_.reserve(n_ * worlds_);
  state_.copy(x0_.data(), n_ * worlds_);
}

// What the signature says is brought up once. Parameters that lie on the device are each world's own, as far
// as the physics knows: whether all are the same could only be seen on the host.
template <class Real>
void DeviceBlock<Real>::load_parameters(const ResidentArguments<Real>& at) {
  const auto& fields = system_.signature().fields(Role::parameter);
  const Parameters<Real> by_default(system_.signature());
  std::vector<Real> defaults;
  for (std::size_t f = 0; f < fields.size(); ++f)
    defaults.insert(defaults.end(), by_default.values(f).begin(), by_default.values(f).end());
  bool given = false;
  for (const auto& input : at.parameters) given = given || input.data != nullptr;
  if (!given && defaults_loaded_) return;
  p_.reserve(np_ * worlds_);
  if (!defaults_.data()) defaults_.upload(defaults.data(), np_);
  parts_of_.block->to_columns(defaults_.data(), np_, true, worlds_, p_.data());
  for (std::size_t f = 0; f < at.parameters.size(); ++f) {
    const ResidentInput<Real>& input = at.parameters[f];
    if (input.data == nullptr) continue;
    parts_of_.block->to_columns(input.data, fields[f].size, input.shared, worlds_,
                                p_.data() + fields[f].offset * worlds_);
  }
  p_host_.clear();
  if (worlds_ == 1) p_host_ = given ? p_.download(np_) : defaults;  // its physics wants them on the host
  const bool same = !given || worlds_ == 1;
  parts_of_.physics->load(!same ? nullptr : worlds_ == 1 ? p_host_.data() : defaults.data(), p_.data());
  defaults_loaded_ = !given;
}

// Rows of the states that are kept, as they are reached.
template <class Real>
void DeviceBlock<Real>::keep_there(Index k) {
  if (resident_states_ == nullptr || options_.keep == 0 || k % options_.keep != 0) return;
  parts_of_.block->to_rows(state_.data(), n_, worlds_, resident_states_ + k / options_.keep * n_ * worlds_);
}

template <class Real>
void DeviceBlock<Real>::simulate_there(Real* final_state, Real* states, void* stream) {
  resident_states_ = states;
  begin(nullptr, nullptr);
  march(0, steps_, nullptr);
  resident_states_ = nullptr;
  if (waits()) watch();
  parts_of_.block->to_rows(state_.data(), n_, worlds_, final_state);
  device_.hold_back(stream);
  resident_ = nullptr;
}

template <class Real>
void DeviceBlock<Real>::pull_back_there(const Objective<Real>& bars, const ResidentCotangents<Real>& to,
                                        void* stream) {
  forward(nullptr, nullptr);
  begin_reverse(bars);
  reverse_all();
  if (waits()) collect_norms();
  const auto deliver = [&](Real* columns, Index row, bool shared, Real* out) {
    if (out == nullptr || row == 0) return;
    if (shared && worlds_ > 1) {
      partials_.reserve(row * kPartials);
      parts_of_.block->sums(columns, row, worlds_, diverged_.data(), partials_.data());
      return parts_of_.block->add_up(partials_.data(), row, out);
    }
    parts_of_.block->forget(columns, row, worlds_, diverged_.data());
    parts_of_.block->to_rows(columns, row, worlds_, out);
  };
  deliver(lambda_.data(), n_, resident_->x0.shared, to.x0);
  deliver(u_bar_.data(), knots_ * nu_, shared_controls_, to.controls);
  const auto& fields = system_.signature().fields(Role::parameter);
  const auto& given = resident_->parameters;
  for (std::size_t f = 0; f < to.parameters.size(); ++f)
    deliver(p_bar_.data() + fields[f].offset * worlds_, fields[f].size,
            f >= given.size() || given[f].data == nullptr || given[f].shared, to.parameters[f]);
  device_.hold_back(stream);
  resident_ = nullptr;
}

template class DeviceBlock<float>;
template class DeviceBlock<double>;

}  // namespace costate::cuda
