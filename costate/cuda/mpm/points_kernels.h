// PointsKernels: material points as DeviceKernels, one large world in launches of one step each.
//
//   sort    particles by cell                        points_order.h
//   deform  each particle by its law                 points_particle.h
//   spread  particles to cells, cells to nodes       points_transfer.h
//   update  nodes to velocities                      points_grid.h
//   push    nodes and bodies push each other         points_push.h, points_mechanisms.h
//   move    particles by the nodes' velocities       points_transfer.h
//
// and the transposes of these, which take the step again as far as the velocities. The state stays in the
// caller's order and is moved in place. `Exec` launches: see lane_kernels.h.
// Tests: tests/cuda/device_points_test.cpp.
#pragma once

#include <algorithm>

#include "costate/cuda/mpm/points_mechanisms.h"
#include "costate/cuda/mpm/points_model.h"
#include "costate/cuda/mpm/points_push.h"
#include "costate/cuda/plane_sums.h"
#include "costate/mpm/laws/all_responses.h"
#include "costate/system/activity.h"

namespace costate::cuda {

template <class Real, int D, int kTaps, class Exec>
class PointsKernels final : public DeviceKernels<Real> {
  using Index = std::int64_t;
  using Record = SpreadRecord<D>;
  static constexpr Index kMostThreads = 1 << 18, kNodeThreads = 1 << 17;

 public:
  PointsKernels(const Device& device, const Exec& exec, const mpm::Model& model, const Activity& activity)
      : exec_(exec),
        device_(device),
        image_(device, model),
        mechanisms_(device, image_.layout()),
        integers_(device),
        scan_(device),
        records_(device),
        bars_(device),
        planes_(device),
        sums_(device),
        momentum_(device),
        velocity_(device),
        before_(device),
        poses_(device),
        grid_planes_(device),
        body_planes_(device),
        partials_(device),
        totals_(device) {
    const Signature& s = image_.layout().signature;
    const auto& fields = s.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (!activity.parameters[f]) continue;
      const Index at = fields[f].offset;
      wants_dt_ = wants_dt_ || at == field().dt;
      wants_grid_ = wants_grid_ || at == field().gravity || at == field().dt || at == field().friction;
      for (const auto& m : image_.layout().materials)
        for (const auto& n : m.numbers) wants_numbers_ = wants_numbers_ || n.offset == at;
      for (const auto& c : image_.layout().colliders)
        wants_grid_ = wants_grid_ || at == c.friction || (!c.moves && (at == c.position || at == c.rotation));
    }
  }

  void load(const Real* p_host, const Real* p_device) override { mechanisms_.load(p_host, p_device); }

  // As reserve() does.
  Index scratch_numbers() const override {
    const Index quads = ranks() * kStencil<D, kTaps> + (mechanisms_.shapes() > 0 ? 4 : 3) * nodes();
    const Index planes = (wants_numbers_ ? PointsMaterial<Real>::kNumbers : 0) + (wants_dt_ ? 1 : 0);
    return 4 * quads + particles() * (2 * Record::size + PulledRecord<D>::size + planes) +
           (6 * particles() + 4 * nodes()) * Index(sizeof(int)) / Index(sizeof(Real));
  }

  void advance(const DeviceRun<Real>& run, const Real* from, Real* to, char* diverged) override {
    reserve(false);
    if (run.count == 0 && from != to) device_.copy(to, from, states() * Index(sizeof(Real)));
    for (Index k = run.first; k < run.first + run.count; ++k, from = to) step(run, k, from, to);
    exec_.launch(states(), thread::WatchNumbers<Real>{to, diverged});
  }
  void record(const DeviceRun<Real>& run, const Real* from, Real* to, const DeviceTape<Real>& tape,
              char* diverged) override {
    reserve(false);
    const Index end = run.first + run.count;
    Real* kept = tape.base + (run.first - tape.begin) * states();
    device_.copy(kept, from, states() * Index(sizeof(Real)));
    for (Index k = run.first; k < end; ++k, kept += states())
      step(run, k, kept, k + 1 < end ? kept + states() : to);
    exec_.launch(states(), thread::WatchNumbers<Real>{to, diverged});
  }
  void reverse(const DeviceRun<Real>& run, const DeviceTape<Real>& tape,
               const DeviceCotangents<Real>& bar) override {
    reserve(true);
    const PointsSums<Real> sums = start_sums(bar);
    const bool grid = (bar.p && wants_grid_) || (bar.u && image_.moves());
    for (Index k = run.first + run.count - 1; k >= run.first; --k) {
      const Index knot = k / run.hold;
      const bool begins = k + 1 == run.first + run.count || (k + 1) / run.hold != knot,
                 ends = k == run.first || (k - 1) / run.hold != knot;
      Real* const u_bar = bar.u ? bar.u + knot * run.u_knot : nullptr;
      if (grid && begins) grid_planes_.zero(plane_count() * node_threads());
      transpose(run, k, tape.base + (k - tape.begin) * states(), {bar.x, u_bar, bar.p}, sums, grid);
      if (sums.actuation) finish_actuation(u_bar, sums.actuation);
      if (grid && ends) finish_grid(run, knot, u_bar, bar.p);
    }
    finish_sums(sums, bar.p);
  }

 private:
  const PointsField<Real, D>& field() const { return image_.field(); }
  Index particles() const { return field().particles; }
  Index states() const { return field().states; }
  Index nodes() const { return field().node_count; }
  Index ranks() const { return std::min(particles(), nodes()); }  // at most
  Index node_threads() const { return std::min(nodes(), kNodeThreads); }
  Index plane_count() const { return GridPlanes<D>::poses + kPoseNumbers * image_.collider_count(); }
  Index body_planes() const { return Index(mechanisms_.shapes()) * kSumsOfBody; }
  PointsColliders<Real> colliders() { return {image_.colliders(), image_.collider_count(), poses_.data()}; }
  static const Real* controls(const DeviceRun<Real>& run, Index k) {
    return run.u + k / run.hold * run.u_knot;
  }

  void reserve(bool transposes) {
    const Index n = particles(), cells = nodes(), chunks = (cells + kCellsEach - 1) / kCellsEach,
                padded = chunks * kCellsEach;
    if (order_.cell == nullptr) {
      integers_.reserve(5 * n + 3 * padded + kCellsEach + ranks() + 2);
      int* next = integers_.data();
      const auto take = [&](Index count) { return std::exchange(next, next + count); };
      // Those of cells first: they are read and written four at a time.
      order_.count = take(padded), order_.rank = take(padded), order_.begin = take(padded + kCellsEach);
      for (int** of : {&order_.cell, &order_.ticket, &order_.slot, &order_.slot_cell, &order_.any_order})
        *of = take(n);
      order_.first = take(ranks() + 1), order_.live = take(1);
      for (Index size = chunks;; size = (size + kSumsEach - 1) / kSumsEach) {
        level_.push_back(size);
        if (size == 1) break;
      }
      Index all = 0;
      for (const Index size : level_) all += size;
      scan_.reserve(all);
    }
    records_.reserve(n * Record::size);
    sums_.reserve(ranks() * kStencil<D, kTaps>);
    velocity_.reserve(cells);
    poses_.reserve(image_.collider_count());
    const Index most_planes = std::max(plane_count(), body_planes());
    if (transposes || mechanisms_.shapes() > 0) {
      momentum_.reserve(2 * cells);
      grid_planes_.reserve(plane_count() * node_threads());
      body_planes_.reserve(body_planes() * node_threads());
      partials_.reserve(std::max({most_planes * kPartials, Index(image_.actuators()) * thread::kActuatorParts,
                                  PointsMaterial<Real>::kNumbers * kPartials}));
      totals_.reserve(most_planes);
    }
    if (!transposes) return;
    if (mechanisms_.shapes() > 0) before_.reserve(cells);
    bars_.reserve(n * (Record::size + PulledRecord<D>::size));
  }

  // --- a step ----------------------------------------------------------------------------------------------

  void step(const DeviceRun<Real>& run, Index k, const Real* x, Real* y) {
    sort(x);
    deform(run, k, x, y);
    spread(records_.data());
    update(run, k, mechanisms_.shapes() > 0 ? momentum_.data() : nullptr);
    if (mechanisms_.shapes() > 0) {
      push(run, k, x);
      mechanisms_.move(body_totals(kSumsOfBody), y);
    }
    exec_.launch(particles(),
                 thread::GatherSlot<Real, D, kTaps>{field(), order_, velocity_.data(), records_.data()});
    exec_.launch(particles(),
                 thread::MoveParticle<Real, D>{field(), order_.slot, records_.data(), run.p, x, y});
  }
  void sort(const Real* x) {
    device_.zero(order_.count, level_[0] * kCellsEach * Index(sizeof(int)));
    exec_.launch(particles(), thread::FindCells<Real, D>{field(), x + field().x, order_});
    std::vector<CellSum*> sums{scan_.data()};
    for (const Index size : level_) sums.push_back(sums.back() + size);
    exec_.launch(level_[0], thread::SumCounts{order_.count, sums[0]});
    for (std::size_t i = 1; i < level_.size(); ++i)
      exec_.launch(level_[i], thread::SumAbove{sums[i - 1], int(level_[i - 1]), sums[i]});
    for (std::size_t i = level_.size(); i-- > 0;)
      exec_.launch(
          i + 1 < level_.size() ? level_[i + 1] : 1,
          thread::PlaceAbove{sums[i], int(level_[i]), i + 1 < level_.size() ? sums[i + 1] : nullptr});
    exec_.launch(level_[0], thread::PlaceCells{sums[0], level_[0], order_});
    exec_.launch(particles(), thread::PlaceParticle{order_});
    exec_.launch(particles(), thread::RankParticle{order_});
  }
  void deform(const DeviceRun<Real>& run, Index k, const Real* x, Real* y) {
    for (std::size_t m = 0; m < image_.materials().size(); ++m) {
      const PointsMaterial<Real>& material = image_.materials()[m];
      mpm::with_response(image_.kind(m), [&]<class Law>() {
        exec_.launch(material.count,
                     thread::DeformParticle<Law, Real, D>{field(), material, order_.slot, x, controls(run, k),
                                                          run.p, y, records_.data()});
      });
    }
  }
  void spread(const Real* records) {
    const Index threads = std::min(ranks() * kCellThreads<D, kTaps>, kMostThreads);
    exec_.launch(threads, thread::SpreadCell<Real, D, kTaps>{order_, records, sums_.data(), threads});
  }
  void update(const DeviceRun<Real>& run, Index k, Quad<Real>* momentum) {
    if (mechanisms_.shapes() > 0) momentum_.zero(nodes());  // bodies look at nodes that have a mass
    exec_.launch(image_.collider_count(), thread::ReadPose<Real, D>{colliders(), controls(run, k), run.p});
    exec_.launch(nodes(), thread::UpdateNode<Real, D, kTaps>{field(), order_, colliders(), run.p,
                                                             sums_.data(), momentum, velocity_.data()});
  }

  // --- bodies ----------------------------------------------------------------------------------------------

  PushedNodes<Real, D> pushed(Index numbers) {
    body_planes_.zero(Index(mechanisms_.shapes()) * numbers * node_threads());
    return {field(),
            {image_.bodies(), mechanisms_.shapes(), mechanisms_.poses()},
            momentum_.data(),
            body_planes_.data(),
            node_threads()};
  }
  // Of the planes that pushed() gave.
  const double* body_totals(Index numbers) {
    const Index count = Index(mechanisms_.shapes()) * numbers;
    exec_.launch(count * kPartials,
                 thread::SumOfPlane<double>{body_planes_.data(), node_threads(), partials_.data()});
    exec_.launch(count, thread::AddPartials<double>{partials_.data(), totals_.data(), true});
    return totals_.data();
  }
  // Leaves what the bodies receive in the planes.
  void push(const DeviceRun<Real>& run, Index k, const Real* x) {
    mechanisms_.begin({k, run.first_world, run.seed}, x, controls(run, k));
    exec_.launch(node_threads(), thread::LookNodes<Real, D>{pushed(kSumsOfBody), velocity_.data()});
    mechanisms_.predict(body_totals(kSumsOfBody));
    exec_.launch(node_threads(), thread::PushNodes<Real, D>{pushed(kSumsOfBody), velocity_.data()});
  }
  // After push(): takes the nodes' cotangents from after the bodies to before them, and assigns the bodies'
  // part of `bar`.
  void pull_bodies(Quad<Real>* grid_bar, Real* bar, Real* u_bar, Real* p_bar) {
    mechanisms_.move_vjp(body_totals(kSumsOfBody), bar, p_bar != nullptr);
    exec_.launch(node_threads(), thread::PushBack<Real, D>{pushed(kPoseNumbers), before_.data(),
                                                           mechanisms_.sums_bar(), grid_bar});
    mechanisms_.predict_vjp(body_totals(kPoseNumbers));
    exec_.launch(node_threads(), thread::LookBack<Real, D>{pushed(kPoseNumbers), before_.data(),
                                                           mechanisms_.sums_bar(), grid_bar});
    mechanisms_.begin_vjp(body_totals(kPoseNumbers), bar, u_bar, p_bar);
  }

  // --- its transpose ---------------------------------------------------------------------------------------

  void transpose(const DeviceRun<Real>& run, Index k, const Real* x, const Cotangents<Real>& to,
                 const PointsSums<Real>& sums, bool grid) {
    Real* const bar = to.x;
    const bool bodies = mechanisms_.shapes() > 0;
    Quad<Real>* const grid_bar = momentum_.data() + nodes();
    Real* const pulled = bars_.data() + particles() * Record::size;
    sort(x);
    deform(run, k, x, nullptr);
    spread(records_.data());
    update(run, k, momentum_.data());
    if (bodies) {
      device_.copy(before_.data(), velocity_.data(), nodes() * Index(sizeof(Quad<Real>)));
      push(run, k, x);
    }

    exec_.launch(particles(),
                 thread::BarParticle<Real, D>{field(), order_.slot, x, run.p, bar, bars_.data()});
    spread(bars_.data());
    if (bodies) {
      exec_.launch(nodes(), thread::GatherNode<Real, D, kTaps>{field(), order_, sums_.data(), grid_bar});
      pull_bodies(grid_bar, bar, to.u, to.p);
    }
    if (image_.collider_count() > 0)
      pull_nodes<kMostColliders>(run, grid_bar, grid);
    else
      pull_nodes<0>(run, grid_bar, grid);
    exec_.launch(particles(),
                 thread::PullParticle<Real, D, kTaps>{field(), order_, records_.data(), bars_.data(),
                                                      velocity_.data(), grid_bar, pulled});
    for (std::size_t m = 0; m < image_.materials().size(); ++m) {
      const PointsMaterial<Real>& material = image_.materials()[m];
      mpm::with_response(image_.kind(m), [&]<class Law>() {
        exec_.launch(material.count,
                     thread::PullLaw<Law, Real, D>{field(), material, order_.slot, x, controls(run, k), run.p,
                                                   pulled, bar, sums});
      });
    }
  }

  template <int kMost>
  void pull_nodes(const DeviceRun<Real>& run, Quad<Real>* grid_bar, bool grid) {
    exec_.launch(node_threads(),
                 thread::PullNodes<Real, D, kTaps, kMost>{
                     field(), order_, colliders(), run.p, sums_.data(), momentum_.data(), grid_bar,
                     mechanisms_.shapes() > 0, grid ? grid_planes_.data() : nullptr, node_threads()});
  }

  // --- sums ------------------------------------------------------------------------------------------------

  PointsSums<Real> start_sums(const DeviceCotangents<Real>& bar) {
    const Index n = particles();
    const bool numbers = bar.p && wants_numbers_, dt = bar.p && wants_dt_,
               actuation = bar.u && image_.actuators() > 0;
    const Index planes = (numbers ? PointsMaterial<Real>::kNumbers : 0) + (dt ? 1 : 0) + (actuation ? 1 : 0);
    planes_.zero(planes * n);
    Real* next = planes_.data();
    const auto take = [&](bool wanted, Index count) {
      return wanted ? std::exchange(next, next + count * n) : nullptr;
    };
    PointsSums<Real> sums{};
    sums.p = bar.p;
    sums.numbers = take(numbers, PointsMaterial<Real>::kNumbers);
    sums.dt = take(dt, 1);
    sums.actuation = take(actuation, 1);
    sums.plane = n;
    return sums;
  }
  void add_up(const Real* from, Index count, Real* to) {
    exec_.launch(kPartials, thread::SumOfPlane<Real>{from, count, partials_.data()});
    exec_.launch(1, thread::AddPartials<Real>{partials_.data(), to, false});
  }
  void finish_sums(const PointsSums<Real>& sums, Real* p_bar) {
    if (sums.dt) add_up(sums.dt, particles(), p_bar + field().dt);
    for (std::size_t m = 0; sums.numbers && m < image_.materials().size(); ++m) {
      const PointsMaterial<Real>& material = image_.materials()[m];
      for (int n = 0; n < material.numbers; ++n)
        if (!material.per_particle[n])
          add_up(sums.numbers + n * sums.plane + material.first, material.count, p_bar + material.offset[n]);
    }
  }
  void finish_actuation(Real* u_bar, const Real* plane) {
    exec_.launch(Index(image_.actuators()) * thread::kActuatorParts,
                 thread::SumOfActuator<Real>{plane, image_.actuator_list(), image_.actuator_begin(),
                                             partials_.data()});
    exec_.launch(image_.actuators(), thread::AddActuator<Real>{partials_.data(), u_bar + field().actuation});
  }
  void finish_grid(const DeviceRun<Real>& run, Index knot, Real* u_bar, Real* p_bar) {
    exec_.launch(plane_count() * kPartials,
                 thread::SumOfPlane<double>{grid_planes_.data(), node_threads(), partials_.data()});
    exec_.launch(plane_count(), thread::AddPartials<double>{partials_.data(), totals_.data(), true});
    exec_.launch(1 + image_.collider_count(),
                 thread::FinishSums<Real, D>{field(), colliders(), totals_.data(), run.u + knot * run.u_knot,
                                             run.p, u_bar, p_bar});
  }

  Exec exec_;
  const Device& device_;
  PointsImage<Real, D> image_;
  PointsMechanisms<Real, D> mechanisms_;
  bool wants_dt_ = false, wants_grid_ = false, wants_numbers_ = false;
  PointsOrder order_{};
  std::vector<Index> level_;  // sizes of the sums over cells, sums of those, ...
  DeviceArray<int> integers_;
  DeviceArray<CellSum> scan_;
  DeviceArray<Real> records_, bars_, planes_;
  DeviceArray<Quad<Real>> sums_, momentum_, velocity_, before_;
  DeviceArray<mpm::Pose<Real>> poses_;
  DeviceArray<double> grid_planes_, body_planes_, partials_, totals_;
};

}  // namespace costate::cuda
