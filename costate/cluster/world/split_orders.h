// Orders: what the first rank of a split world tells the others to do, and how each of them does it. Internal
// to ranks.cpp.
#pragma once

#include "costate/cluster/bytes.h"
#include "costate/cluster/transport.h"
#include "costate/cluster/world/gathered_loss.h"
#include "costate/cluster/world/split_rollout.h"

namespace costate::cluster {

enum class What { end, forget, simulate, forward, backward };

// What all ranks do next.
template <class Real>
struct Order {
  What what = What::end;
  std::int64_t seat = 0;  // whose: every block of a Rollout has its own on each rank
  SplitOptions options;
  Activity active;
  std::vector<Real> x0, controls, parameters;
  std::vector<std::int64_t> visits, terms;  // of the loss and the observers

  bool begins() const { return what == What::simulate || what == What::forward; }
  std::string bytes() const {
    const Checkpoints& c = options.checkpoints;
    const auto raw = [](const std::vector<Real>& v) { return message_of(v.data(), std::int64_t(v.size())); };
    Writer to;
    to.integer(std::int64_t(what)).integer(seat).integers(terms);
    if (!begins()) return to.bytes();
    to.integers(visits).integer(options.steps).integer(options.hold).integer(std::int64_t(options.seed));
    to.integer(std::int64_t(c.kind)).integer(c.slots).integer(c.window).integer(c.single_precision);
    to.integers({active.parameters.begin(), active.parameters.end()}).integer(active.controls);
    to.text(raw(x0)).text(raw(controls)).text(raw(parameters));
    return to.bytes();
  }
  Order(What w, std::int64_t of) : what(w), seat(of) {}
  explicit Order(const std::string& bytes) {
    const auto raw = [](const std::string& text, std::vector<Real>& to) {
      to.resize(text.size() / sizeof(Real));
      read_message(text, to.data(), std::int64_t(to.size()));
    };
    Reader from(bytes);
    what = What(from.integer()), seat = from.integer(), terms = from.integers();
    if (!begins()) return;
    visits = from.integers();
    options.steps = from.integer(), options.hold = from.integer();
    options.seed = std::uint64_t(from.integer());
    Checkpoints& c = options.checkpoints;
    c.kind = Checkpoints::Kind(from.integer()), c.slots = from.integer(), c.window = from.integer();
    c.single_precision = from.integer() != 0;
    const auto flags = from.integers();
    active.parameters.assign(flags.begin(), flags.end());
    active.controls = from.integer() != 0;
    raw(from.text(), x0), raw(from.text(), controls), raw(from.text(), parameters);
    from.end();
  }
};

// Error, on all ranks, where one of them has another program or another world than the first.
inline void require_one_world(Channel& channel, const Signature& signature) {
  Identity me = identity_of_machine();
  Writer world;
  for (const Role role : {Role::state, Role::control, Role::parameter})
    for (const Field& field : signature.fields(role))
      world.text(field.name).integer(field.size).numbers(field.defaults);
  me.job = fingerprint(world.bytes());
  const auto all = channel.gather(to_bytes(me));
  std::vector<Identity> ranks;
  for (const std::string& bytes : all) {
    Reader from(bytes);
    ranks.push_back(identity_of(from));
  }
  for (std::size_t r = 1; r < ranks.size(); ++r)
    require_equal(ranks[0], ranks[r], "rank " + std::to_string(r));
}

// One rank's part in the orders: its world, and the way that waits for backward().
template <class Real>
struct Seat {
  Seat(Channel& channel, const System<Real>& system) {
    require_one_world(channel, system.signature());
    split = splittable(system).split(channel);
  }

  void obey(Order<Real> order, const std::shared_ptr<const WholeLoss<Real>>& whole = {}) {
    if (order.what == What::backward) {
      if (!way) throw Error("backward() without a forward() before it");
      loss->set_terms(std::move(order.terms));
      way->backward();
      x0_bar = loss->gather(way->x0_bar);
      return;
    }
    way.reset();
    loss = std::make_unique<GatheredLoss<Real>>(*split, order.options.steps, std::move(order.visits), whole);
    Piece<Real> x0 = piece_of(*split, order.x0);
    way = std::make_unique<SplitPass<Real>>(*split, order.options, order.active, std::move(order.controls),
                                            std::move(order.parameters), *loss);
    if (order.what == What::forward) return way->forward(std::move(x0));
    way->simulate(std::move(x0));
    way.reset();
  }

  std::unique_ptr<SplitSystem<Real>> split;
  std::unique_ptr<GatheredLoss<Real>> loss;
  std::unique_ptr<SplitPass<Real>> way;
  std::vector<Real> x0_bar;  // whole, on the first rank
};

}  // namespace costate::cluster
