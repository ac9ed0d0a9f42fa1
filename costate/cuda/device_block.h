// DeviceBlock: all worlds of a rollout on their way through its steps on a device, forward and back. The same
// schedules, objectives, reports and errors as on the CPU (system/run/cpu_block.h), with numbers that stay on
// the device: inputs go up once, gradients come down once.
//
//   device_block.cpp           inputs in, steps
//   device_block_memory.cpp    what it takes, and snapshots: on the device or in the host's memory
//   device_block_reverse.cpp   cotangents
//   device_block_terms.cpp     the objective: as numbers on the device, or as code on the host
//   device_block_resident.cpp  arguments and results that stay on the device
//
// Tests: tests/cuda/device_rollout_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "costate/cuda/kernels.h"
#include "costate/cuda/resident.h"
#include "costate/system/block.h"
#include "costate/system/checkpoints.h"

namespace costate::cuda {

template <class Real>
class DeviceBlock final : public Block<Real> {
 public:
  struct Parts {
    std::shared_ptr<const Device> device;
    std::unique_ptr<DeviceKernels<Real>> physics;
    std::unique_ptr<BlockKernels<Real>> block;
    bool snapshots_on_host = false;
  };
  // `worlds`: that it has room for. The last block of a rollout may have fewer.
  DeviceBlock(const System<Real>& system, const RolloutOptions& options, const Activity& activity, int worlds,
              Parts parts);

  void load(const Arguments<Real>& arguments, std::int64_t first_world) override;
  void simulate(const Objective<Real>* objective, Keeper<Real>* keeper) override;
  void forward(const Objective<Real>* objective, Keeper<Real>* keeper) override;
  void backward(const Objective<Real>& objective) override;

  // The same with arrays of the device's, in the order of the caller's stream: resident.h.
  std::int64_t worlds() const { return worlds_; }
  void load(const ResidentArguments<Real>& at, void* stream);
  void simulate_there(Real* final_state, Real* states, void* stream);
  void pull_back_there(const Objective<Real>& bars, const ResidentCotangents<Real>& to, void* stream);

 private:
  using Index = std::int64_t;
  using At = typename Objective<Real>::At;

  void upload(DeviceArray<Real>& to, std::span<const Real> from, Index row, bool keep_shared);
  void begin(const Objective<Real>* objective, Keeper<Real>* keeper);
  DeviceRun<Real> run(Index begin, Index end) const;
  void execute(const Action& action);
  void march(Index begin, Index end, Real* tape);
  Index next_visit(Index k) const;
  void visit(Index k);
  void keep(Index k);
  void finish_forward();
  void watch();
  [[noreturn]] void locate_divergence();
  [[noreturn]] void report_divergence(Index k, Index number, const std::vector<Real>& before, Real value);
  void ask_the_cpu(Index k, const std::vector<Real>& before);
  void take_worlds(Index count);

  // device_block_memory.cpp. Needs are known before anything is allocated.
  Index bytes_needed(const Checkpoints& checkpoints, Index extra, bool on_host) const;
  Index snapshot_bytes(const Checkpoints& checkpoints) const;
  void require_memory() const;
  std::string way_out(Index there) const;
  void reserve_snapshots();
  void note_memory();
  char* place_of(Index slot);
  void snapshot(Index slot);
  void restore(Index slot);

  // device_block_terms.cpp
  void add_values(Index k);
  void add_cotangents(Index k, const Real* x);
  bool plain(Index k, std::vector<PlainTerm<Real>>& terms);
  PlainTerm<Real> on_device(PlainTerm<Real> term, DeviceArray<Real>& memory);
  typename BlockKernels<Real>::Numbers numbers(const PlainTerm<Real>& term, Index k, const Real* x) const;
  bool needs_state(const std::vector<PlainTerm<Real>>& terms) const;
  void values_on_host(Index k);
  void cotangents_on_host(Index k, const Real* x);
  struct HostChunk;
  void gather(HostChunk& chunk, Index first, const std::vector<Real>& x, Index k) const;
  const std::vector<Real>& parameters_on_host();

  // device_block_resident.cpp
  void load_parameters(const ResidentArguments<Real>& at);
  void keep_there(Index k);
  // Nobody is told of worlds that have diverged, so nobody waits to hear of them.
  bool waits() const { return resident_ == nullptr || options_.on_divergence == OnDivergence::stop; }

  // device_block_reverse.cpp
  void begin_reverse(const Objective<Real>& objective);
  void reverse_all();
  void reverse(Index begin, Index end, Real* tape);
  void reverse_by_inverse_steps();
  void inject(Index k, Index begin, Real* tape);
  void sample(Index k);
  Index previous_term(Index k) const;
  void collect_norms();
  void collect_cotangents();
  std::vector<double> sums(const Real* columns, Index rows);
  std::vector<Real> rows(const Real* columns, Index row);
  double* norms_of(Index sample) { return norms_.data() + sample * worlds_ * parts_; }

  const System<Real>& system_;
  const RolloutOptions& options_;
  const Activity& activity_;
  Parts parts_of_;
  const Device& device_;
  const Index room_, steps_, knots_, n_, nu_, np_;  // room_: for worlds; n_, nu_, np_: numbers per world
  Index worlds_, parts_;                            // parts_: that terms and norms of a world are cut into
  const bool wants_parameters_;

  const Arguments<Real>* arguments_ = nullptr;
  const Objective<Real>* objective_ = nullptr;
  Keeper<Real>* keeper_ = nullptr;
  const ResidentArguments<Real>* resident_ = nullptr;  // null: arguments and results are the host's
  Real* resident_states_ = nullptr;                    // where states go that are kept
  bool defaults_loaded_ = false;                       // the parameters are those of the signature
  std::optional<Schedule> schedule_;
  Index reached_ = -1;  // the last state that was visited
  bool shared_controls_ = false;
  Index extra_ = 0;  // numbers per step and world on the tape, besides the state

  Diagnostics diagnostics_;

  DeviceArray<Real> staging_, x0_, u_, p_, state_, scratch_, tape_, lambda_, u_bar_, p_bar_, target_,
      energy_begin_, energy_end_, defaults_;
  DeviceArray<char> snapshots_;  // all of them, or the one that is on its way to the host
  HostBytes snapshots_there_;    // in the memory of the host, with Parts::snapshots_on_host
  DeviceArray<double> loss_, norms_, partials_;
  DeviceArray<char> diverged_;
  std::vector<Real> x0_rows_, u_rows_, p_rows_, p_host_;
  std::vector<double> x0_sum_, u_sum_, p_sum_;
};

extern template class DeviceBlock<float>;
extern template class DeviceBlock<double>;

}  // namespace costate::cuda
