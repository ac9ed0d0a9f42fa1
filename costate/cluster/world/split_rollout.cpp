#include "costate/cluster/world/split_rollout.h"

#include <algorithm>

namespace costate::cluster {

using Index = std::int64_t;

template <class Real>
const Splittable<Real>& splittable(const System<Real>& system) {
  if (const auto* can = dynamic_cast<const Splittable<Real>*>(&system)) return *can;
  throw Error({"this physics cannot be split over ranks",
               {},
               "material points and systems on grids can; many small worlds are dealt out by a pool"});
}

template <class Real>
std::vector<Real> row_of(const Parameters<Real>& parameters) {
  std::vector<Real> row;
  const auto& fields = parameters.signature().fields(Role::parameter);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto values = parameters.values(f);
    if (parameters.per_world(f) || (values.size() != 1 && Index(values.size()) != fields[f].size))
      throw Error("'" + fields[f].name + "' has " + std::to_string(values.size()) + " numbers instead of " +
                  std::to_string(fields[f].size) + ": a world that is split is one world");
    if (Index(values.size()) == fields[f].size)
      row.insert(row.end(), values.begin(), values.end());
    else
      row.insert(row.end(), std::size_t(fields[f].size), values[0]);
  }
  return row;
}

template <class Real>
SplitRollout<Real>::SplitRollout(std::shared_ptr<const System<Real>> system, SplitOptions options,
                                 Channel& channel)
    : system_(std::move(system)), options_(std::move(options)) {
  check(options_);
  split_ = splittable(*system_).split(channel);
  active_.parameters = split_->signature().match(Role::parameter, options_.active);
}

template <class Real>
template <class Body>
auto SplitRollout<Real>::together(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error& error) {
    split_->channel().fail(error);
    throw;
  }
}

template <class Real>
Piece<Real> SplitRollout<Real>::start(const std::vector<Real>& whole) const {
  return piece_of(*split_, whole);
}

template <class Real>
std::vector<Real> SplitRollout<Real>::whole(const Piece<Real>& piece) const {
  const auto& fields = split_->signature().fields(Role::state);
  const Index total = split_->fields.total;
  std::vector<Real> row(static_cast<std::size_t>(total));
  std::string mine;
  for (Index s = 0; s < piece.count(); ++s) {
    split_->fields.read(piece, piece.first + s, row.data());
    mine += message_of(&piece.elements[std::size_t(s)], 1) + message_of(row.data(), total);
  }
  std::vector<Real> all(std::size_t(split_->signature().states()));
  const std::size_t each = sizeof(Index) + row.size() * sizeof(Real);
  for (const std::string& message : split_->channel().gather(std::move(mine))) {
    for (std::size_t at = 0; at + each <= message.size(); at += each) {
      Index e = 0;
      std::memcpy(&e, message.data() + at, sizeof e);
      std::memcpy(row.data(), message.data() + at + sizeof e, row.size() * sizeof(Real));
      for (std::size_t f = 0; f < fields.size(); ++f)
        std::copy_n(row.data() + split_->fields.before[f], split_->fields.width[f],
                    all.data() + fields[f].offset + e * split_->fields.width[f]);
    }
  }
  return all;
}

template <class Real>
SplitPass<Real> SplitRollout<Real>::pass(const Arguments<Real>& arguments, SplitLoss<Real>& loss) {
  return {*split_, options_, active_, arguments.controls, row_of(arguments.parameters), loss};
}

namespace {

template <class Real>
struct Watcher final : SplitLoss<Real> {
  const typename SplitRollout<Real>::Observer* observer;
  void see(Index k, const Piece<Real>& x, const Real*) override {
    if (*observer) (*observer)(k, x);
  }
  void vjp(Index, const Piece<Real>&, const Real*, Piece<Real>&, Real*) override {}
};

}  // namespace

template <class Real>
Piece<Real> SplitRollout<Real>::simulate(const Piece<Real>& x0, const Arguments<Real>& arguments,
                                         const Observer& observer) {
  return together([&] {
    Watcher<Real> watcher;
    watcher.observer = &observer;
    return pass(arguments, watcher).simulate(x0);
  });
}

template <class Real>
double SplitRollout<Real>::value(const Piece<Real>& x0, const Arguments<Real>& arguments,
                                 const Objective<Real>& objective) {
  SplitTerms<Real> terms(*split_, objective, options_.steps);
  return together([&] {
    pass(arguments, terms).simulate(x0);
    return terms.value();
  });
}

template <class Real>
SplitGradient<Real> SplitRollout<Real>::value_and_gradient(const Piece<Real>& x0,
                                                           const Arguments<Real>& arguments,
                                                           const Objective<Real>& objective) {
  SplitTerms<Real> terms(*split_, objective, options_.steps);
  return together([&] {
    const Signature& signature = split_->signature();
    SplitPass<Real> way = pass(arguments, terms);
    way.forward(x0);
    way.backward();

    SplitGradient<Real> g;
    g.value = terms.value();
    g.x0 = std::move(way.x0_bar);
    g.controls = std::move(way.controls_bar);
    g.parameters = Parameters<Real>(signature).zeros();
    const auto& fields = signature.fields(Role::parameter);
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (!active_.parameters[f]) continue;
      const Real* from = way.parameters_bar.data() + fields[f].offset;
      g.parameters.set(f, std::vector<Real>(from, from + fields[f].size));
    }
    return g;
  });
}

template const Splittable<float>& splittable(const System<float>&);
template const Splittable<double>& splittable(const System<double>&);
template std::vector<float> row_of(const Parameters<float>&);
template std::vector<double> row_of(const Parameters<double>&);
template class SplitRollout<float>;
template class SplitRollout<double>;

}  // namespace costate::cluster
