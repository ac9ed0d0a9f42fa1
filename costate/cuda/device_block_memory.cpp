// What a block takes on its device, before and while it runs, and the snapshots of its schedule.
//
// Snapshots may lie in the memory of the host (Parts::snapshots_on_host): a state is copied aside on the
// device, and sent down while the next steps run. The way back fetches it when its segment begins.
//
// Tests: tests/cuda/device_memory_test.cpp.
#include <algorithm>
#include <string>

#include "costate/core/error.h"
#include "costate/core/text.h"
#include "costate/cuda/device_block.h"
#include "costate/system/block_memory.h"

namespace costate::cuda {
namespace {

std::string in_words(std::int64_t bytes) {
  return bytes >= 1'000'000'000 ? number(double(bytes) * 1e-9, 3) + " GB"
                                : number(double(bytes) * 1e-6, 3) + " MB";
}

}  // namespace

// Of a gradient with that schedule: what dominates, and everything else within a few numbers.
template <class Real>
std::int64_t DeviceBlock<Real>::bytes_needed(const Checkpoints& checkpoints, Index extra,
                                             bool on_host) const {
  const Schedule schedule(checkpoints, steps_);
  const Index state = n_ * worlds_, segment = parts_of_.physics->segment();
  Index numbers =
      parts_of_.physics->scratch_numbers() + 5 * state + 2 * np_ * worlds_ + 2 * knots_ * nu_ * worlds_;
  if (checkpoints.kind != Checkpoints::Kind::reversible)
    numbers += ((schedule.tape_length() + segment - 1) / segment) * (n_ + extra) * worlds_;
  Index bytes =
      numbers * Index(sizeof(Real)) + adjoint_samples(steps_) * worlds_ * parts_ * Index(sizeof(double));
  if (checkpoints.kind != Checkpoints::Kind::reversible)
    bytes += std::min<Index>(schedule.slots(), on_host ? 1 : schedule.slots()) * snapshot_bytes(checkpoints);
  return bytes;
}

template <class Real>
std::int64_t DeviceBlock<Real>::snapshot_bytes(const Checkpoints& checkpoints) const {
  return n_ * worlds_ * (checkpoints.single_precision ? Index(sizeof(float)) : Index(sizeof(Real)));
}

template <class Real>
void DeviceBlock<Real>::require_memory() const {
  const Index needed = bytes_needed(options_.checkpoints, 0, parts_of_.snapshots_on_host),
              there = device_.free_bytes() + this->results_.memory_bytes;
  if (needed <= there) return;
  throw Error({"a gradient of " + std::to_string(steps_) + " steps of " + std::to_string(worlds_) +
                   " worlds needs " + in_words(needed) + " with " + options_.checkpoints.name() + ", and " +
                   device_.name() + " has " + in_words(there) + " free",
               {},
               way_out(there)});
}

// Schedules that fit: the one with the fewest repeated steps, and one with snapshots on the host.
template <class Real>
std::string DeviceBlock<Real>::way_out(Index there) const {
  std::string advice = "use ";
  for (const Checkpoints& schedule : {segments(), binomial(16), binomial(4)}) {
    const Index bytes = bytes_needed(schedule, 0, parts_of_.snapshots_on_host);
    if (bytes > there) continue;
    const std::string name = schedule.kind == Checkpoints::Kind::segments ? "segments()" : schedule.name();
    advice += "checkpoints = " + name + ", which needs " + in_words(bytes) + ", or ";
    break;
  }
  const Index bytes = bytes_needed(segments(), 0, true);
  if (!parts_of_.snapshots_on_host && bytes <= there) {
    const Index sent = Schedule(segments(), steps_).slots() * snapshot_bytes(segments());
    advice += "device = \"" + device_.name() + "+host\" with checkpoints = segments(), which needs " +
              in_words(bytes) + " and " + in_words(sent) + " of the host, or ";
  }
  return advice + "fewer worlds";
}

template <class Real>
void DeviceBlock<Real>::note_memory() {
  Index& bytes = this->results_.memory_bytes =
      snapshots_.bytes() + diverged_.bytes() + parts_of_.physics->scratch_numbers() * Index(sizeof(Real));
  for (const auto* array : {&staging_, &x0_, &u_, &p_, &state_, &scratch_, &tape_, &lambda_, &u_bar_, &p_bar_,
                            &target_, &energy_begin_, &energy_end_})
    bytes += array->bytes();
  for (const auto* array : {&loss_, &norms_, &partials_}) bytes += array->bytes();
}

// --- snapshots --------------------------------------------------------------------------------------------

template <class Real>
void DeviceBlock<Real>::reserve_snapshots() {
  const Index slots = schedule_->slots(), bytes = snapshot_bytes(options_.checkpoints);
  if (parts_of_.snapshots_on_host) snapshots_there_.reserve(slots * bytes);
  snapshots_.reserve(parts_of_.snapshots_on_host ? std::min<Index>(slots, 1) * bytes : slots * bytes);
}

// Of a slot on the device.
template <class Real>
char* DeviceBlock<Real>::place_of(Index slot) {
  return snapshots_.data() + (parts_of_.snapshots_on_host ? 0 : slot * snapshot_bytes(options_.checkpoints));
}

template <class Real>
void DeviceBlock<Real>::snapshot(Index slot) {
  const Index n = n_ * worlds_, bytes = snapshot_bytes(options_.checkpoints);
  if (parts_of_.snapshots_on_host) device_.sent();  // the one before has left its place
  if (options_.checkpoints.single_precision)
    parts_of_.block->narrow(reinterpret_cast<float*>(place_of(slot)), state_.data(), n);
  else
    device_.copy(place_of(slot), state_.data(), bytes);
  if (parts_of_.snapshots_on_host)
    device_.send(snapshots_there_.data() + slot * bytes, place_of(slot), bytes);
}

template <class Real>
void DeviceBlock<Real>::restore(Index slot) {
  const Index n = n_ * worlds_, bytes = snapshot_bytes(options_.checkpoints);
  if (parts_of_.snapshots_on_host) {
    device_.sent();
    device_.fetch(place_of(slot), snapshots_there_.data() + slot * bytes, bytes);
  }
  if (options_.checkpoints.single_precision)
    parts_of_.block->widen(state_.data(), reinterpret_cast<const float*>(place_of(slot)), n);
  else
    device_.copy(state_.data(), place_of(slot), bytes);
}

template class DeviceBlock<float>;
template class DeviceBlock<double>;

}  // namespace costate::cuda
