#include "costate/mpm/transfer/particle_order.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "costate/core/error.h"
#include "costate/core/parallel.h"
#include "costate/core/text.h"

namespace costate::mpm {

namespace {
std::int32_t blocks_along(int nodes) { return (nodes + ParticleOrder::kBlock - 1) / ParticleOrder::kBlock; }
}  // namespace

ParticleOrder::ParticleOrder(int dimension, std::array<int, 3> nodes, int taps, std::int64_t particles,
                             int materials)
    : dimension_(dimension), taps_(taps), materials_(materials), nodes_(nodes), particles_(particles) {
  blocks_a_ = blocks_along(nodes[0]);
  blocks_b_ = dimension == 3 ? blocks_along(nodes[1]) : 1;
  blocks_c_ = blocks_along(nodes[dimension - 1]);
  pencil_count_ = std::int64_t(blocks_a_) * blocks_b_;
  keys_ = pencil_count_ * materials * blocks_c_;
  resize(particles);
  starts_.resize(keys_ + 1);
  low_.resize(pencil_count_);
  high_.resize(pencil_count_);
  runs_.reserve(pencil_count_ * materials);
  for (auto& list : pencils_) list.reserve(pencil_count_);
  node_pencils_.reserve(pencil_count_);
}

void ParticleOrder::resize(std::int64_t particles) {
  particles_ = particles;
  // At most 16 chunks: their histograms are as long as there are blocks.
  chunk_ = std::max<std::int64_t>(16384, (particles + 15) / 16);
  chunks_ = (particles + chunk_ - 1) / chunk_;
  const std::size_t n = particles;
  key_.resize(n);
  order_.resize(n);
  counts_.resize(chunks_ * keys_);
  outside_.resize(chunks_);
}

void ParticleOrder::rename(const std::vector<std::int64_t>& names) {
  names_ = names.data();
  resize(std::int64_t(names.size()));
}

template <class Real>
void ParticleOrder::sort(const Real* x, const std::array<double, 3>& origin, double dx,
                         const std::int32_t* material, std::int64_t step) {
  if (dimension_ == 2)
    count<Real, 2>(x, origin, dx, material, step);
  else
    count<Real, 3>(x, origin, dx, material, step);
  place();
  if (names_) sort_by_name();
  list_pencils();
}

// Keys, and how many particles of each chunk have them.
template <class Real, int D>
void ParticleOrder::count(const Real* x, const std::array<double, 3>& origin, double dx,
                          const std::int32_t* material, std::int64_t step) {
  const Real scale = Real(1 / dx);
  Real shift[3], limit[3];
  for (int a = 0; a < 3; ++a) {
    limit[a] = Real(nodes_[a] - taps_ + 1);
    shift[a] = Real(origin[a] / dx + (taps_ == 3 ? 0.5 : 1.0));
  }
  // Keys of a piece first, in a loop that compilers turn into packs; then the counting, which none does.
  constexpr std::int64_t kPiece = 1024;
  const std::int32_t materials = materials_, blocks_b = blocks_b_, blocks_c = blocks_c_;
  const auto keys = [&](std::int64_t begin, std::int64_t end, std::int32_t* key) {
    std::int32_t outside = 0;
    const Real to_cells = scale, shift_x = shift[0], shift_y = shift[1], shift_z = shift[2];
    const Real limit_x = limit[0], limit_y = limit[1], limit_z = limit[2];
    for (std::int64_t p = begin; p < end; ++p) {
      // As the transfers compute it, to the last bit; written so that NaN is outside.
      const auto block = [&](int a, Real shift_a, Real limit_a) {
        const Real first = std::fma(x[p * D + a], to_cells, -shift_a);
        const bool good = (first >= Real(0)) & (first < limit_a);
        outside |= !good;
        return std::int32_t(std::uint32_t(std::int32_t(good ? first : Real(0))) / kBlock);
      };
      std::int32_t pencil = block(0, shift_x, limit_x);
      if constexpr (D == 3) pencil = pencil * blocks_b + block(1, shift_y, limit_y);
      const std::int32_t last = D == 3 ? block(2, shift_z, limit_z) : block(1, shift_y, limit_y);
      key[p] = pencil * materials * blocks_c + last;
    }
    if (materials > 1)
      for (std::int64_t p = begin; p < end; ++p) key[p] += material[p] * blocks_c;
    return outside != 0;
  };
  const auto first_outside = [&](std::int64_t p) {
    for (;; ++p) {
      for (int a = 0; a < D; ++a) {
        const Real first = std::fma(x[p * D + a], scale, -shift[a]);
        if (!(first >= Real(0) && first < limit[a])) return p;
      }
    }
  };
  parallel_for(particles_, chunk_, [&](std::int64_t begin, std::int64_t end) {
    const std::size_t chunk = begin / chunk_;
    std::int32_t* count = counts_.data() + static_cast<std::int64_t>(chunk) * keys_;
    std::fill(count, count + keys_, 0);
    outside_[chunk] = -1;
    for (std::int64_t piece = begin; piece < end; piece += kPiece) {
      const std::int64_t piece_end = std::min(piece + kPiece, end);
      if (keys(piece, piece_end, key_.data()) && outside_[chunk] < 0) outside_[chunk] = first_outside(piece);
      for (std::int64_t p = piece; p < piece_end; ++p) ++count[key_[p]];
    }
  });
  for (std::int64_t p : outside_) {
    if (p < 0) continue;
    std::string position;
    for (int a = 0; a < D; ++a) position += (a ? ", " : "") + number(double(x[p * D + a]), 4);
    throw Error({"particle " + std::to_string(name(p)) + " at (" + position + ") is outside the grid",
                 "step " + std::to_string(step),
                 "give that side of the grid a wall, enlarge `nodes`, or reduce dt if the motion diverges"},
                Error::Kind::numerics);
  }
}

void ParticleOrder::place() {
  // First place of every (key, chunk), key by key: stable in the particle's index.
  std::int32_t first = 0;
  for (std::int64_t key = 0; key < keys_; ++key) {
    starts_[key] = first;
    for (std::int64_t c = 0; c < chunks_; ++c) {
      std::int32_t& count = counts_[c * keys_ + key];
      const std::int32_t n = count;
      count = first;
      first += n;
    }
  }
  starts_[keys_] = first;
  parallel_for(particles_, chunk_, [&](std::int64_t begin, std::int64_t end) {
    std::int32_t* next = counts_.data() + begin / chunk_ * keys_;
    for (std::int64_t p = begin; p < end; ++p) order_[next[key_[p]]++] = static_cast<std::int32_t>(p);
  });
}

// Particles that came from other ranks stand at the end of the caller's order: back to the order that they
// have in the whole world.
void ParticleOrder::sort_by_name() {
  const auto before = [&](std::int32_t p, std::int32_t q) { return names_[p] < names_[q]; };
  parallel_for(keys_, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t key = begin; key < end; ++key) {
      const auto first = order_.begin() + starts_[key], last = order_.begin() + starts_[key + 1];
      if (!std::is_sorted(first, last, before)) std::sort(first, last, before);
    }
  });
}

void ParticleOrder::enliven(std::int32_t a) {
  const auto in_row = [&](const NodePencil& p) { return p.a == a; };
  const auto first =
      std::find_if(node_pencils_.begin(), node_pencils_.end(), [&](const NodePencil& p) { return p.a >= a; });
  const auto place = first - node_pencils_.begin();
  node_pencils_.erase(first, std::find_if_not(first, node_pencils_.end(), in_row));
  std::vector<NodePencil> row;
  for (std::int32_t b = 0; b < blocks_b_; ++b) row.push_back({a, b, 0, (blocks_c_ + 1) * kBlock});
  node_pencils_.insert(node_pencils_.begin() + place, row.begin(), row.end());
}

void ParticleOrder::list_pencils() {
  runs_.clear();
  for (auto& list : pencils_) list.clear();
  node_pencils_.clear();
  const auto start = [&](std::int64_t key) { return starts_[key]; };
  for (std::int32_t a = 0; a < blocks_a_; ++a) {
    for (std::int32_t b = 0; b < blocks_b_; ++b) {
      const std::int64_t pencil = std::int64_t(a) * blocks_b_ + b,
                         first_key = pencil * materials_ * blocks_c_;
      auto &low = low_[pencil], &high = high_[pencil];
      low = blocks_c_, high = 0;
      const std::int32_t begin = start(first_key), end = start(first_key + materials_ * blocks_c_);
      if (begin == end) continue;
      const auto first_run = static_cast<std::int32_t>(runs_.size());
      for (std::int32_t m = 0; m < materials_; ++m) {
        const std::int64_t key = first_key + std::int64_t(m) * blocks_c_;
        if (start(key) == start(key + blocks_c_)) continue;
        runs_.push_back({start(key), start(key + blocks_c_), m});
        for (std::int32_t c = 0; c < blocks_c_; ++c) {
          if (start(key + c) == start(key + c + 1)) continue;
          low = std::min(low, c);
          high = std::max(high, c + 1);
        }
      }
      const int colour = (a & 1) * 2 + (b & 1);
      pencils_[colour].push_back({a, b, first_run, static_cast<std::int32_t>(runs_.size()), begin, end});
    }
  }
  for (std::int32_t a = 0; a < blocks_a_; ++a) {
    for (std::int32_t b = 0; b < blocks_b_; ++b) {
      std::int32_t low = blocks_c_, high = 0;
      for (std::int32_t i = std::max(a - 1, 0); i <= a; ++i) {
        for (std::int32_t j = std::max(b - 1, 0); j <= b; ++j) {
          const std::size_t pencil = std::int64_t(i) * blocks_b_ + j;
          low = std::min(low, low_[pencil]);
          high = std::max(high, high_[pencil]);
        }
      }
      // A row is four nodes, whatever its weights, so it reaches into the next block.
      if (low < high) node_pencils_.push_back({a, b, low * kBlock, (high + 1) * kBlock});
    }
  }
}

template void ParticleOrder::sort<float>(const float*, const std::array<double, 3>&, double,
                                         const std::int32_t*, std::int64_t);
template void ParticleOrder::sort<double>(const double*, const std::array<double, 3>&, double,
                                          const std::int32_t*, std::int64_t);

}  // namespace costate::mpm
