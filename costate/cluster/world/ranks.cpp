#include "costate/cluster/world/ranks.h"

#include <atomic>
#include <map>
#include <thread>

#include "costate/cluster/world/channels.h"
#include "costate/cluster/world/split_orders.h"
#include "costate/system/devices.h"

namespace costate::cluster {
namespace {

using Index = std::int64_t;

// What one rank throws, all ranks throw.
template <class Body>
void together(Channel& channel, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    channel.fail(error);
    throw;
  } catch (const std::exception& error) {
    channel.fail(
        Error("rank " + std::to_string(channel.rank()) + " was stopped: " + std::string(error.what())));
    throw;
  } catch (...) {  // an interruption
    channel.fail(Error("rank " + std::to_string(channel.rank()) + " was stopped"));
    throw;
  }
}

template <class Real>
class SplitBlock final : public costate::Block<Real> {
 public:
  SplitBlock(const System<Real>& system, const RolloutOptions& options, const Activity& activity,
             std::unique_ptr<Crew> crew)
      : system_(system), options_(options), activity_(activity), crew_(std::move(crew)) {}
  ~SplitBlock() override {
    if (!seat_ || turn_ != crew_->turn()) return;
    Channel& channel = crew_->channel();
    for (int r = 1; r < channel.ranks(); ++r)
      send_long(channel, r, Order<Real>(What::forget, number_).bytes());
  }

  void load(const Arguments<Real>& arguments, Index first_world) override {
    arguments_ = &arguments;
    this->results_.first_world = first_world;
  }
  void simulate(const Objective<Real>* objective, Keeper<Real>* keeper) override {
    run(What::simulate, objective, keeper);
  }
  void forward(const Objective<Real>* objective, Keeper<Real>* keeper) override {
    run(What::forward, objective, keeper);
  }
  void backward(const Objective<Real>& objective) override {
    p_bar_.assign(parameters_.size(), Real(0));
    whole_->pull = [&](Index k, const Real* x, Real* x_bar, Real* u_bar) {
      objective.vjp(at(k, x), {x_bar, u_bar, p_bar_.data()});
    };
    whole_->pull_controls = [&](Index k, const Real* x, Real* u_bar) {
      std::vector<Real> x_bar(std::size_t(system_.signature().states())), p_bar(parameters_.size());
      objective.vjp(at(k, x), {x_bar.data(), u_bar, p_bar.data()});
    };
    Order<Real> order(What::backward, number_);
    const Index steps = options_.steps;
    for (Index k = objective.next(0, steps); k <= steps;
         k = k < steps ? objective.next(k + 1, steps) : kNever)
      order.terms.push_back(k);
    lead(order);
    BlockResults<Real>& results = this->results_;
    for (std::size_t i = 0; i < p_bar_.size(); ++i) p_bar_[i] += seat_->way->parameters_bar[i];
    results.x0_bar = seat_->x0_bar.data();
    results.u_bar = seat_->way->controls_bar.data();
    results.p_bar = p_bar_.data();
    results.adjoint_norm2 = seat_->loss->adjoint_norm2;
    results.memory_bytes = seat_->way->kept_bytes();
  }

 private:
  using At = typename Objective<Real>::At;
  At at(Index k, const Real* x) const {
    const Index width = system_.signature().controls();
    At at;
    at.k = k, at.steps = options_.steps;
    at.in = {
        x,
        k < options_.steps && width > 0 ? arguments_->controls.data() + k / options_.hold * width : nullptr,
        parameters_.data()};
    return at;
  }

  void run(What what, const Objective<Real>* objective, Keeper<Real>* keeper) {
    BlockResults<Real>& results = this->results_;
    results.loss.assign(1, 0.0), results.diverged.assign(1, 0);
    const Index steps = options_.steps;
    Order<Real> order(what, number_);
    order.options = {
        .steps = steps, .checkpoints = options_.checkpoints, .hold = options_.hold, .seed = options_.seed};
    order.active = activity_;
    order.x0 = arguments_->x0, order.controls = arguments_->controls;
    order.parameters = parameters_ = row_of(arguments_->parameters);
    const auto next = [&](Index k) {
      return std::min(objective ? objective->next(k, steps) : kNever, keeper ? keeper->next(k) : kNever);
    };
    for (Index k = next(0); k <= steps; k = k < steps ? next(k + 1) : kNever) order.visits.push_back(k);
    whole_ = std::make_shared<WholeLoss<Real>>();
    whole_->look = [this, objective, keeper, steps](Index k, const Real* x) {
      BlockResults<Real>& found = this->results_;
      if (objective && objective->next(k, steps) == k) objective->value(at(k, x), found.loss.data());
      if (keeper && keeper->next(k) == k) keeper->see(k, 0, 1, found.diverged.data(), x);
    };
    lead(order);
  }

  void lead(const Order<Real>& order) {
    if (turn_ != crew_->turn()) seat_.reset();  // the others have forgotten it
    turn_ = crew_->turn();
    Channel& channel = crew_->channel();
    try {
      together(channel, [&] {
        const std::string bytes = order.bytes();
        for (int r = 1; r < channel.ranks(); ++r) send_long(channel, r, bytes);
        if (!seat_) seat_ = std::make_unique<Seat<Real>>(channel, system_);
        seat_->obey(order, whole_);
        for (int r = 1; r < channel.ranks(); ++r) channel.receive(r);  // all have done it
      });
    } catch (...) {
      seat_.reset();
      crew_->failed();
      throw;
    }
  }

  const System<Real>& system_;
  const RolloutOptions& options_;
  const Activity& activity_;
  std::unique_ptr<Crew> crew_;
  static inline std::atomic<Index> made = 0;
  const Index number_ = ++made;
  int turn_ = 0;
  std::unique_ptr<Seat<Real>> seat_;  // speaks through the crew's channel
  const Arguments<Real>* arguments_ = nullptr;
  std::vector<Real> parameters_, p_bar_;
  std::shared_ptr<WholeLoss<Real>> whole_;  // what to do with whole states
};

template <class Real>
class SplitBackend final : public Backend<Real> {
 public:
  explicit SplitBackend(MakeCrew<Real> make) : make_(std::move(make)) {}
  int lanes(const System<Real>& system, const RolloutOptions& options) const override {
    splittable(system);
    if (options.worlds != 1)
      throw Error({"device = \"" + options.device + "\" splits one large world, and this rollout has " +
                       std::to_string(options.worlds),
                   {},
                   "deal out many worlds with a pool, or use device = \"cpu\""});
    if (options.on_divergence == OnDivergence::mask_world)
      throw Error({"a world that is split over ranks cannot be masked",
                   {},
                   "use on_divergence = stop, or device = \"cpu\""});
    check(SplitOptions{.steps = options.steps, .checkpoints = options.checkpoints, .hold = options.hold});
    return 1;
  }
  std::unique_ptr<costate::Block<Real>> make_block(const System<Real>& system, const RolloutOptions& options,
                                                   const Activity& activity) const override {
    return std::make_unique<SplitBlock<Real>>(system, options, activity, make_(system));
  }

 private:
  MakeCrew<Real> make_;
};

// The others as threads, which end with the block that they work for.
template <class Real>
class ThreadCrew final : public Crew {
 public:
  ThreadCrew(int ranks, const System<Real>& system) : ranks_(ranks), system_(system) {}
  ~ThreadCrew() override {
    if (!channels_.empty()) end_following(*channels_[0]);
    join();
  }
  Channel& channel() override {
    if (channels_.empty()) {
      channels_ = channels(ranks_);
      for (int r = 1; r < ranks_; ++r)
        threads_.emplace_back([this, r] {
          try {
            follow(*channels_[std::size_t(r)], system_);
          } catch (...) {  // the first rank has been told, and says it
          }
        });
    }
    return *channels_[0];
  }
  void failed() override {
    join();
    channels_.clear();
    ++turn_;
  }
  int turn() const override { return turn_; }

 private:
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  int ranks_, turn_ = 0;
  const System<Real>& system_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::thread> threads_;
};

template <class Real>
std::shared_ptr<const Backend<Real>> thread_ranks(const DeviceChoice& choice) {
  const int ranks = choice.indices.front();
  constexpr int kMost = 256;
  if (ranks < 1 || ranks > kMost)
    throw Error({"device = \"ranks:" + std::to_string(ranks) + "\": a world is split over 1 to " +
                     std::to_string(kMost) + " ranks",
                 {},
                 "use \"ranks:2\""});
  return split_backend<Real>(
      [ranks](const System<Real>& system) { return std::make_unique<ThreadCrew<Real>>(ranks, system); });
}

}  // namespace

template <class Real>
std::shared_ptr<const Backend<Real>> split_backend(MakeCrew<Real> make) {
  return std::make_shared<SplitBackend<Real>>(std::move(make));
}

// The order of the first rank, done and said to be.
template <class Real>
void follow(Channel& channel, const System<Real>& system) {
  together(channel, [&] {
    std::map<Index, std::unique_ptr<Seat<Real>>> seats;
    while (true) {
      Order<Real> order(receive_long(channel, 0));
      if (order.what == What::end) return;
      if (order.what == What::forget) {
        seats.erase(order.seat);
        continue;
      }
      auto& seat = seats[order.seat];
      if (!seat) seat = std::make_unique<Seat<Real>>(channel, system);
      seat->obey(std::move(order));
      channel.send(0, "", Traffic::sums);
    }
  });
}

void end_following(Channel& channel) {
  const std::string bytes = Order<double>(What::end, 0).bytes();
  for (int r = 1; r < channel.ranks(); ++r) send_long(channel, r, bytes);
}

void register_ranks() {
  register_devices({"ranks", thread_ranks<float>, thread_ranks<double>,
                    [] { return std::vector<DeviceInfo>(); }, "ranks:2"});
}

template std::shared_ptr<const Backend<float>> split_backend(MakeCrew<float>);
template std::shared_ptr<const Backend<double>> split_backend(MakeCrew<double>);
template void follow(Channel&, const System<float>&);
template void follow(Channel&, const System<double>&);

}  // namespace costate::cluster
