// The stages of split_points.h: the step and its transpose with the stages of system_step.h and system_vjp.h,
// and what travels between ranks.
#pragma once

#include "costate/mpm/split_points.h"

namespace costate::mpm {

template <class Real, int D, int kTaps>
void SplitPoints<Real, D, kTaps>::adopt(const Piece<Real>& x) {
  Layout& layout = points_.layout_;
  const std::vector<Index>& before = this->fields.before;
  layout.particles = x.count();
  layout.x = x.room * before[0], layout.v = x.room * before[1];
  layout.C = x.room * before[2], layout.F = x.room * before[3];
  if (whole_.plastic >= 0) layout.plastic = x.room * before[4];
  work_.order.rename(x.elements);
  if (alike_ && !per_particle_) return;
  auto& volume = points_.constants_.volume;
  const std::size_t n = std::max<std::size_t>(1, x.elements.size());
  layout.material.resize(n), layout.actuator.resize(n), layout.index_in_material.resize(n), volume.resize(n);
  parallel_for(x.count(), 1 << 14, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const std::size_t e = std::size_t(x.elements[std::size_t(i)]), to = std::size_t(i);
      layout.material[to] = whole_.material[e];
      layout.actuator[to] = whole_.actuator[e];
      layout.index_in_material[to] = whole_.index_in_material[e];
      volume[to] = Real(whole_.volume[e]);
    }
  });
}

template <class Real, int D, int kTaps>
void SplitPoints<Real, D, kTaps>::sort(const StepContext& at, const Piece<Real>& x) {
  adopt(x);
  points_.sort(at, x.numbers.data(), work_);
  if (has_lower()) work_.order.enliven(begin_);
}

template <class Real, int D, int kTaps>
template <class Body>
void SplitPoints<Real, D, kTaps>::scatter(Real* grid, const Body& body) {
  points_.clear({grid, nullptr}, work_);
  const Index stride = points_.grid_.first_stride(), count = (kTaps - 1) * stride;
  Real* const first = grid + begin_ * ParticleOrder::kBlock * stride;
  Real* const beyond = grid + end_ * ParticleOrder::kBlock * stride;
  points_.for_pencils_of_colours(work_, 0, 2, body);
  if (has_lower()) this->channel().send(lower(), message_of(first, count), Traffic::halo);
  if (has_upper()) read_message(this->channel().receive(upper()), beyond, count);
  points_.for_pencils_of_colours(work_, 2, 4, body);
  if (has_upper()) this->channel().send(upper(), message_of(beyond, count), Traffic::halo);
  if (has_lower()) read_message(this->channel().receive(lower()), first, count);
}

// As long as the live nodes need: all ranks have a tape, or none has, because without one sums travel again.
template <class Real, int D, int kTaps>
void SplitPoints<Real, D, kTaps>::write_tape(const Real* grid, std::vector<Real>& tape) const {
  tape.resize(std::size_t(points_.for_tape_places(work_, [](const NodePencil&, Index) {})));
  points_.for_tape_places(work_, [&](const NodePencil& pencil, Index place) {
    points_.for_columns(pencil, [&](Index at, Index size) {
      std::memcpy(tape.data() + place, grid + at, std::size_t(size) * sizeof(Real));
      place += size;
    });
  });
}

template <class Real, int D, int kTaps>
void SplitPoints<Real, D, kTaps>::step(const StepContext& at, const Real* u, const Piece<Real>& x,
                                       Piece<Real>& y, std::vector<Real>* tape) {
  y.shape_as(x);
  auto& s = work_;
  const Slice<const Real> in{x.numbers.data(), nullptr}, controls{u, nullptr}, p{p_.data(), nullptr};
  const Slice<Real> next{y.numbers.data(), nullptr}, grid{s.grid.data(), nullptr};
  sort(at, x);
  const ParticleStage<Mode, D, kTaps> particles(points_.constants_, s.order, in, controls, p);
  scatter(grid.v, [&](const Pencil& pencil) {
    s.offender[s.order.pencil_index(pencil)] = particles.deform_and_scatter(pencil, next, grid);
  });
  if (const Index particle = points_.worst(s); particle != kNoParticle)
    points_.throw_inverted(at, particle, s.order.name(particle));
  if (tape) write_tape(grid.v, *tape);
  points_.read_grid_inputs(controls, p, s.grid_inputs);
  const GridVelocity<Mode> on_grid(points_.model_, points_.grid_, points_.floor_, s.grid_inputs);
  points_.for_node_pencils(s, [&](const NodePencil& pencil, Index) {
    on_grid.update(pencil, {grid.v, nullptr}, grid);
  });
  points_.for_pencils(s, [&](const Pencil& pencil) {
    s.offender[s.order.pencil_index(pencil)] = particles.gather_and_move(pencil, {grid.v, nullptr}, next);
  });
  if (const Index particle = points_.worst(s); particle != kNoParticle)
    points_.throw_too_fast(at, particle, s.order.name(particle), y.numbers.data(), p_[points_.layout_.dt]);
  hand_over(y);
}

template <class Real, int D, int kTaps>
void SplitPoints<Real, D, kTaps>::step_vjp(const StepContext& at, const Real* u, const Piece<Real>& x,
                                           const Piece<Real>& y, const std::vector<Real>* tape,
                                           Piece<Real>& y_bar, Piece<Real>& x_bar, Real* u_bar) {
  hand_over_vjp(x, y, y_bar);
  x_bar.shape_as(x);
  auto& s = work_;
  s.velocity.reserve(points_.grid_.size), s.grid_bar.reserve(points_.grid_.size);
  const Slice<const Real> in{x.numbers.data(), nullptr}, controls{u, nullptr}, p{p_.data(), nullptr};
  Real *const grid = s.grid.data(), *const grid_bar = s.grid_bar.data();
  const Slice<Real> velocity{s.velocity.data(), nullptr};

  // The step again, as far as the velocities of the grid.
  sort(at, x);
  const ParticleTranspose<Real, D, kTaps> particles(points_.constants_, s.order, in, controls, p);
  if (tape)
    points_.read_tape(tape->data(), grid, s);
  else
    scatter(grid, [&](const Pencil& pencil) { particles.scatter_momentum(pencil, grid); });
  points_.read_grid_inputs(controls, p, s.grid_inputs);
  const GridVelocity<Mode> on_grid(points_.model_, points_.grid_, points_.floor_, s.grid_inputs);
  points_.for_node_pencils(s, [&](const NodePencil& pencil, Index) {
    on_grid.update(pencil, {grid, nullptr}, velocity);
  });

  // And back.
  scatter(grid_bar, [&](const Pencil& pencil) {
    particles.scatter_cotangents(pencil, y_bar.numbers.data(), grid_bar);
  });
  const std::size_t colliders = points_.model_.colliders.size();
  points_.for_node_pencils(s, [&](const NodePencil& pencil, Index i) {
    GridSums& sums = s.grid_sums[std::size_t(i)] = {};
    Pose<double>* poses = s.pose_bars.data() + std::size_t(i) * colliders;
    for (std::size_t c = 0; c < colliders; ++c)
      poses[c] = {Mat3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(), Vec3<double>::zero(),
                  0.0};
    on_grid.update_vjp(pencil, grid, grid_bar, sums, poses);
  });
  const Cotangents<Real> bar{x_bar.numbers.data(), u_bar, p_bar_.data()};
  points_.for_pencils(s, [&](const Pencil& pencil) {
    double* sums = s.particle_sums.data() + s.order.pencil_index(pencil) * points_.particle_sum_count();
    std::fill(sums, sums + points_.particle_sum_count(), 0.0);
    typename ParticleTranspose<Real, D, kTaps>::Sums to{
        0, u_bar && points_.model_.actuators > 0 ? sums + 1 : nullptr, sums + 1 + points_.model_.actuators};
    particles.gather_cotangents(pencil, velocity.v, grid_bar, y_bar.numbers.data(), bar.x, bar.p, to);
    sums[0] = to.dt;
  });
  add_sums({x.numbers.data(), u, p_.data()}, bar);
  first_elements_ = x.elements;
}

// The sums of all pencils of the world, in their order. The nodes beyond a slab are the next rank's.
template <class Real, int D, int kTaps>
void SplitPoints<Real, D, kTaps>::add_sums(const Inputs<Real>& in, const Cotangents<Real>& bar) {
  const std::size_t colliders = points_.model_.colliders.size();
  const auto bytes = [](const auto* from, std::size_t count) {
    return std::string(reinterpret_cast<const char*>(from), count * sizeof(*from));
  };
  const Index each = points_.particle_sum_count();
  std::size_t nodes = 0;
  for (const NodePencil& p : work_.order.node_pencils()) nodes += p.a < end_;
  Index counts[1 + ParticleOrder::kColours] = {Index(nodes)};
  for (int c = 0; c < ParticleOrder::kColours; ++c) counts[1 + c] = Index(work_.order.pencils(c).size());
  std::string mine = bytes(counts, 1 + ParticleOrder::kColours) + bytes(work_.grid_sums.data(), nodes) +
                     bytes(work_.pose_bars.data(), nodes * colliders);
  for (int c = 0; c < ParticleOrder::kColours; ++c)
    for (const Pencil& p : work_.order.pencils(c))
      mine += bytes(work_.particle_sums.data() + work_.order.pencil_index(p) * each, std::size_t(each));

  std::vector<GridSums> sums;
  std::vector<Pose<double>> poses;
  std::vector<double> of_colour[ParticleOrder::kColours];
  for (const std::string& message : this->channel().gather(std::move(mine))) {
    const char* from = message.data();
    const auto take = [&](auto& to, std::size_t count) {
      const std::size_t old = to.size();
      to.resize(old + count);
      std::memcpy(static_cast<void*>(to.data() + old), from, count * sizeof(to[0]));
      from += count * sizeof(to[0]);
    };
    std::vector<Index> head;
    take(head, 1 + ParticleOrder::kColours);
    take(sums, std::size_t(head[0]));
    take(poses, std::size_t(head[0]) * colliders);
    for (int c = 0; c < ParticleOrder::kColours; ++c) take(of_colour[c], std::size_t(head[1 + c] * each));
  }
  points_.grid_inputs_vjp(in, sums.data(), poses.data(), sums.size(), bar);
  points_.particle_numbers_vjp(
      [&](const auto& body) {
        for (const auto& colour : of_colour)
          for (std::size_t i = 0; i < colour.size(); i += std::size_t(each)) body(colour.data() + i);
      },
      bar);
}

// Particles that have left the slab: only those that were in its first or last row can have.
template <class Real, int D, int kTaps>
void SplitPoints<Real, D, kTaps>::hand_over(Piece<Real>& y) {
  y.left.clear(), y.came = {};
  if (this->channel().ranks() == 1) return;
  for (int c = 0; c < ParticleOrder::kColours; ++c) {
    for (const Pencil& pencil : work_.order.pencils(c)) {
      if (pencil.a != begin_ && pencil.a != end_ - 1) continue;
      for (std::int32_t i = pencil.begin; i < pencil.end; ++i) {
        const std::int32_t place = work_.order.order()[i];
        const std::int32_t row = block_row(y.numbers[std::size_t(Index(place) * D)]);
        if (has_lower() && row < begin_) y.left.push_back({place, 0});
        if (has_upper() && row >= end_) y.left.push_back({place, 1});
      }
    }
  }
  std::sort(y.left.begin(), y.left.end(), [](const auto& a, const auto& b) { return a.place > b.place; });
  std::string out[2];
  std::vector<Real> row(std::size_t(this->fields.total));
  for (const auto& left : y.left) {
    this->fields.read(y, left.place, row.data());
    out[left.up] +=
        message_of(&y.elements[std::size_t(left.place)], 1) + message_of(row.data(), Index(row.size()));
    const Index last = y.count() - 1;
    this->fields.read(y, last, row.data());
    this->fields.write(row.data(), y, left.place);
    y.elements[std::size_t(left.place)] = y.elements[std::size_t(last)];
    y.elements.pop_back();
  }
  if (has_lower()) this->channel().send(lower(), std::move(out[0]), Traffic::moved);
  if (has_upper()) this->channel().send(upper(), std::move(out[1]), Traffic::moved);
  if (has_lower()) append(this->channel().receive(lower()), y, y.came[0]);
  if (has_upper()) append(this->channel().receive(upper()), y, y.came[1]);
}

template <class Real, int D, int kTaps>
void SplitPoints<Real, D, kTaps>::append(const std::string& message, Piece<Real>& y, Index& came) {
  const std::size_t each = sizeof(Index) + std::size_t(this->fields.total) * sizeof(Real);
  came = Index(message.size() / each);
  if (y.count() + came > y.room) {
    Piece<Real> larger;
    larger.room = (y.count() + came) * 5 / 4 + 256;
    larger.numbers.resize(std::size_t(larger.room * this->fields.total));
    for (std::size_t f = 0; f < this->fields.width.size(); ++f)
      std::copy_n(y.numbers.data() + y.room * this->fields.before[f], y.count() * this->fields.width[f],
                  larger.numbers.data() + larger.room * this->fields.before[f]);
    y.room = larger.room, y.numbers = std::move(larger.numbers);
  }
  std::vector<Real> row(std::size_t(this->fields.total));
  for (std::size_t at = 0; at < message.size(); at += each) {
    Index element = 0;
    std::memcpy(&element, message.data() + at, sizeof element);
    std::memcpy(row.data(), message.data() + at + sizeof element, each - sizeof element);
    y.elements.push_back(element);
    this->fields.write(row.data(), y, y.count() - 1);
  }
}

// The transpose of hand_over: cotangents return to where their particles were before the step, with the sums
// that belong to a particle alone. y_bar then has the shape of x.
template <class Real, int D, int kTaps>
void SplitPoints<Real, D, kTaps>::hand_over_vjp(const Piece<Real>& x, const Piece<Real>& y,
                                                Piece<Real>& y_bar) {
  if (this->channel().ranks() == 1) return;
  std::vector<Real> row(std::size_t(this->fields.total));
  const auto take_off = [&](Index begin, Index end) {
    std::string out;
    for (Index i = begin; i < end; ++i) {
      this->fields.read(y_bar, i, row.data());
      out += message_of(row.data(), Index(row.size()));
      for_own_numbers(y.elements[std::size_t(i)], [&](Index at) {
        out += message_of(&p_bar_[std::size_t(at)], 1);
        p_bar_[std::size_t(at)] = Real(0);
      });
    }
    return out;
  };
  const Index stayed = y.count() - y.came[0] - y.came[1];
  if (has_lower()) this->channel().send(lower(), take_off(stayed, stayed + y.came[0]), Traffic::moved);
  if (has_upper()) this->channel().send(upper(), take_off(stayed + y.came[0], y.count()), Traffic::moved);

  if (y_bar.room != x.room || y_bar.numbers.size() != x.numbers.size()) {
    std::vector<Real> numbers(x.numbers.size());
    for (std::size_t f = 0; f < this->fields.width.size(); ++f)
      std::copy_n(y_bar.numbers.data() + y_bar.room * this->fields.before[f], stayed * this->fields.width[f],
                  numbers.data() + x.room * this->fields.before[f]);
    y_bar.room = x.room, y_bar.numbers = std::move(numbers);
  }
  y_bar.elements = x.elements;
  const std::string from[2] = {has_lower() ? this->channel().receive(lower()) : std::string(),
                               has_upper() ? this->channel().receive(upper()) : std::string()};
  // Where the numbers of each that left begin in its message: in the order in which they left.
  std::size_t next[2] = {0, 0};
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < y.left.size(); ++i) {
    std::size_t& at = next[y.left[i].up];
    places.push_back(at);
    at += row.size() * sizeof(Real);
    // The element that stood there: as the removals went from the highest place down, x still tells it.
    for_own_numbers(x.elements[std::size_t(y.left[i].place)], [&](Index) { at += sizeof(Real); });
  }
  for (int up = 0; up < 2; ++up)
    if (next[up] != from[up].size()) throw Error("cotangents that another rank has sent back do not fit");
  Index count = stayed;
  for (std::size_t i = y.left.size(); i-- > 0; ++count) {
    this->fields.read(y_bar, y.left[i].place, row.data());
    this->fields.write(row.data(), y_bar, count);
    const char* at = from[y.left[i].up].data() + places[i];
    std::memcpy(row.data(), at, row.size() * sizeof(Real));
    at += row.size() * sizeof(Real);
    this->fields.write(row.data(), y_bar, y.left[i].place);
    for_own_numbers(x.elements[std::size_t(y.left[i].place)], [&](Index to) {
      std::memcpy(&p_bar_[std::size_t(to)], at, sizeof(Real));
      at += sizeof(Real);
    });
  }
}

template <class Real, int D, int kTaps>
void SplitPoints<Real, D, kTaps>::end(Real*, Index, Real* p_bar) {
  if (!p_bar) return;
  if (per_particle_) {
    std::string mine;
    for (Index element : first_elements_) {
      mine += message_of(&element, 1);
      for_own_numbers(element, [&](Index at) { mine += message_of(&p_bar_[std::size_t(at)], 1); });
    }
    for (const std::string& message : this->channel().gather(std::move(mine))) {
      for (std::size_t at = 0; at < message.size();) {
        Index element = 0;
        std::memcpy(&element, message.data() + at, sizeof element);
        at += sizeof element;
        for_own_numbers(element, [&](Index to) {
          std::memcpy(&p_bar_[std::size_t(to)], message.data() + at, sizeof(Real));
          at += sizeof(Real);
        });
      }
    }
  }
  std::copy(p_bar_.begin(), p_bar_.end(), p_bar);
}

template <class Real, int D, int kTaps>
std::unique_ptr<SplitSystem<Real>> MaterialPoints<Real, D, kTaps>::split(Channel& channel) const {
  return std::make_unique<SplitPoints<Real, D, kTaps>>(*this, channel);
}

}  // namespace costate::mpm
