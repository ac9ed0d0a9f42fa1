#include "costate/cluster/world/gathered_loss.h"

#include <algorithm>
#include <cmath>

#include "costate/core/exact_sum.h"
#include "costate/system/block.h"

namespace costate::cluster {
namespace {

using Index = std::int64_t;

constexpr std::size_t kMostBytes = std::size_t(1) << 30;  // of one message; MPI counts with an int
constexpr Index kWatchEvery = 128;                        // steps between checks for divergence, as on a CPU

bool among(const std::vector<Index>& sorted, Index k) {
  return std::binary_search(sorted.begin(), sorted.end(), k);
}

}  // namespace

void send_long(Channel& channel, int to, const std::string& bytes) {
  const auto size = std::int64_t(bytes.size());
  channel.send(to, message_of(&size, 1), Traffic::sums);
  for (std::size_t at = 0; at < bytes.size(); at += kMostBytes)
    channel.send(to, bytes.substr(at, kMostBytes), Traffic::sums);
}
std::string receive_long(Channel& channel, int from) {
  std::int64_t size = 0;
  read_message(channel.receive(from), &size, 1);
  std::string bytes;
  while (bytes.size() < std::size_t(size))
    bytes = bytes.empty() ? channel.receive(from) : bytes + channel.receive(from);
  return bytes;
}

template <class Real>
GatheredLoss<Real>::GatheredLoss(const SplitSystem<Real>& world, Index steps, std::vector<Index> visits,
                                 std::shared_ptr<const WholeLoss<Real>> whole)
    : adjoint_norm2(std::size_t(adjoint_samples(steps)), 0.0),
      world_(world),
      steps_(steps),
      visits_(std::move(visits)),
      whole_(std::move(whole)),
      elements_(std::size_t(world.channel().ranks())) {}

template <class Real>
std::string GatheredLoss<Real>::numbers_of(const Piece<Real>& piece) const {
  std::string bytes;
  for (std::size_t f = 0; f < world_.fields.width.size(); ++f) {
    const Index width = world_.fields.width[f];
    bytes += message_of(piece.numbers.data() + piece.room * world_.fields.before[f] + piece.first * width,
                        piece.count() * width);
  }
  return bytes;
}
template <class Real>
void GatheredLoss<Real>::read_numbers(const std::string& bytes, Piece<Real>& piece) const {
  std::vector<Real> all(std::size_t(piece.count() * world_.fields.total));
  read_message(bytes, all.data(), Index(all.size()));
  const Real* from = all.data();
  for (std::size_t f = 0; f < world_.fields.width.size(); ++f) {
    const Index width = world_.fields.width[f];
    std::copy_n(from, piece.count() * width,
                piece.numbers.data() + piece.room * world_.fields.before[f] + piece.first * width);
    from += piece.count() * width;
  }
}

template <class Real>
std::vector<Real> GatheredLoss<Real>::gather(const Piece<Real>& piece) {
  Channel& channel = world_.channel();
  const std::string mine = numbers_of(piece);
  if (!first()) {
    send_long(channel, 0, message_of(piece.elements.data(), piece.count()));
    send_long(channel, 0, mine);
    return {};
  }
  std::vector<Real> whole(std::size_t(world_.signature().states()));
  const auto& fields = world_.signature().fields(Role::state);
  for (int r = 0; r < channel.ranks(); ++r) {
    auto& elements = elements_[std::size_t(r)];
    if (r == 0) {
      elements = piece.elements;
    } else {
      const std::string bytes = receive_long(channel, r);
      elements.resize(bytes.size() / sizeof(Index));
      read_message(bytes, elements.data(), Index(elements.size()));
    }
    const std::string bytes = r == 0 ? mine : receive_long(channel, r);
    if (bytes.size() != elements.size() * std::size_t(world_.fields.total) * sizeof(Real))
      throw Error("what rank " + std::to_string(r) + " holds does not fit this world");
    const char* from = bytes.data();
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const std::size_t each = std::size_t(world_.fields.width[f]) * sizeof(Real);
      for (const Index e : elements) {
        std::memcpy(whole.data() + fields[f].offset + e * world_.fields.width[f], from, each);
        from += each;
      }
    }
  }
  return whole;
}

// The transpose of gather(): the elements are those of the latest one.
template <class Real>
void GatheredLoss<Real>::scatter(Piece<Real>& piece, const std::vector<Real>& whole) {
  Channel& channel = world_.channel();
  if (!first()) return read_numbers(receive_long(channel, 0), piece);
  const auto& fields = world_.signature().fields(Role::state);
  for (int r = 0; r < channel.ranks(); ++r) {
    std::string bytes;
    for (std::size_t f = 0; f < fields.size(); ++f)
      for (const Index e : elements_[std::size_t(r)])
        bytes +=
            message_of(whole.data() + fields[f].offset + e * world_.fields.width[f], world_.fields.width[f]);
    if (r == 0)
      read_numbers(bytes, piece);
    else
      send_long(channel, r, bytes);
  }
}

template <class Real>
void GatheredLoss<Real>::watch(Index k, const Piece<Real>& x) const {
  const auto& fields = world_.signature().fields(Role::state);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const Index width = world_.fields.width[f];
    const Real* numbers = x.numbers.data() + x.room * world_.fields.before[f] + x.first * width;
    for (Index i = 0; i < x.count() * width; ++i) {
      if (std::isfinite(numbers[i])) continue;
      const Index place = x.elements[std::size_t(i / width)] * width + i % width;
      throw Error(
          {"the state is not finite: " + world_.signature().describe(Role::state, fields[f].offset + place) +
               " is " + (std::isnan(numbers[i]) ? "nan" : "inf"),
           "step " + std::to_string(k) + " of " + std::to_string(steps_) + ", or shortly before",
           "reduce dt, or check the inputs; device = \"cpu\" finds the step"},
          Error::Kind::numerics);
    }
  }
}

template <class Real>
void GatheredLoss<Real>::see(Index k, const Piece<Real>& x, const Real*) {
  const bool visited = among(visits_, k);
  if (visited || k == steps_ || k % kWatchEvery == 0) watch(k, x);
  if (!visited) return;
  const std::vector<Real> whole = gather(x);
  if (first()) whole_->look(k, whole.data());
}

template <class Real>
void GatheredLoss<Real>::vjp(Index k, const Piece<Real>& x, const Real*, Piece<Real>& x_bar, Real* u_bar) {
  if (among(terms_, k)) {
    const auto row = [&] { return u_bar ? message_of(u_bar, world_.signature().controls()) : std::string(); };
    const std::vector<Real> whole = gather(x);
    std::vector<Real> bar = gather(x_bar);
    const std::string before = row();
    if (first()) whole_->pull(k, whole.data(), bar.data(), u_bar);
    scatter(x_bar, bar);
    if (u_bar) add_controls(k, whole, row() != before, u_bar);
  }
  if (k % adjoint_sample_spacing(steps_) == 0 || k == steps_) sample(k, x_bar);
}

// A rank has the cotangents of its own controls, and adds to them in the order of one machine.
template <class Real>
void GatheredLoss<Real>::add_controls(Index k, const std::vector<Real>& x, bool reads_controls, Real* u_bar) {
  Channel& channel = world_.channel();
  const Index width = world_.signature().controls();
  if (!first()) {
    channel.send(0, message_of(u_bar, width), Traffic::sums);
    return read_message(channel.receive(0), u_bar, width);
  }
  std::vector<Real> theirs(std::size_t(width), Real(0));
  for (int r = 1; r < channel.ranks(); ++r) {
    read_message(channel.receive(r), theirs.data(), width);
    if (reads_controls) whole_->pull_controls(k, x.data(), theirs.data());
    channel.send(r, message_of(theirs.data(), width), Traffic::sums);
  }
}

template <class Real>
void GatheredLoss<Real>::sample(Index k, const Piece<Real>& x_bar) {
  ExactSum mine;  // the same for any number of ranks
  for (std::size_t f = 0; f < world_.fields.width.size(); ++f) {
    const Index width = world_.fields.width[f];
    const Real* numbers = x_bar.numbers.data() + x_bar.room * world_.fields.before[f] + x_bar.first * width;
    for (Index i = 0; i < x_bar.count() * width; ++i) mine.add(double(numbers[i]) * double(numbers[i]));
  }
  Channel& channel = world_.channel();
  const auto limbs = Index(ExactSum::Limbs().size());
  if (!first()) return channel.send(0, message_of(mine.limbs().data(), limbs), Traffic::sums);
  for (int r = 1; r < channel.ranks(); ++r) {
    ExactSum::Limbs theirs;
    read_message(channel.receive(r), theirs.data(), limbs);
    mine.add(theirs);
  }
  const double norm2 = mine.value();
  if (!std::isfinite(norm2))
    throw Error({"the gradient is not finite although the states are",
                 "step " + std::to_string(k) + " of " + std::to_string(steps_),
                 "the adjoint has overflowed: shorten the rollout, or use truncated(h)"},
                Error::Kind::numerics);
  const Index last = adjoint_samples(steps_) - 1, spacing = adjoint_sample_spacing(steps_);
  adjoint_norm2[std::size_t(k == steps_ ? last : k / spacing)] = norm2;
}

template class GatheredLoss<float>;
template class GatheredLoss<double>;

}  // namespace costate::cluster
