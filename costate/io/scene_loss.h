// SceneLoss: what a scene of particles should do, by name. Smooth wherever the physics is, so that a particle that is not yet where it
// should be says in which direction that lies.
//
//   in_region         1/N sum_i w s(d(x_i)/w)                     d signed distance to the region (negative inside), s(z) = log(1 + e^z)
//   spilled           1/N sum_i g((h - y_i)/w) w s(d(x_i)/w)      only what has fallen below the height h counts; g(z) = 1/(1 + e^-z)
//   centre_of_mass    1/2 sum_a (1/N sum_i x_ia - target_a)^2     over the axes that are given
//   match_particles   1/(2N) sum_i |x_i - target_i|^2
//   height_field      1/(2M) sum_j (h_j - target_j)^2             h_j = 1/(A) sum_i V_i B(x_i - X_j): volume over the ground, spread by
//                                                                 quadratic B-splines over columns X_j of area A
//
// N counts the particles of the chosen material. A term is summed over `times` (steps), each with weight/|times|. The fraction of
// particles inside the region, which has no gradient, is reported beside the loss: region_fraction().
// Distances of regions: box, sphere, cylinder (axis y), exact outside and inside; in 2-D their section z = 0.
// Tests: tests/io/scene_loss_test.cpp.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "costate/system/objective.h"

namespace costate::io {

struct Region {
  enum class Kind { box, sphere, cylinder };
  Kind kind = Kind::box;
  std::array<double, 3> centre = {0, 0, 0};
  std::array<double, 3> size = {1, 1, 1};  // half extents; radius; radius and half height
};
// Signed distance, and its gradient where `gradient` is not null.
double distance_to(const Region& region, const std::array<double, 3>& x, std::array<double, 3>* gradient);

struct LossTerm {
  enum class Kind { in_region, spilled, centre_of_mass, match_particles, height_field };
  Kind kind = Kind::in_region;
  std::string name;  // for reports
  double weight = 1;
  int material = -1;                // -1: all particles
  std::vector<std::int64_t> steps;  // increasing
  Region region = {};
  double width = 0.01;  // w
  double height = 0;    // h of spilled
  std::array<double, 3> target = {0, 0, 0};
  std::array<bool, 3> axes = {true, true, true};
  std::vector<double> targets =
      {};  // match_particles: positions of the chosen particles; height_field: one per column
  // height_field: columns x of the first axis and, in 3-D, the third
  std::array<double, 2> first_column = {0, 0};
  std::array<int, 2> columns = {1, 1};
  double column_width = 0.01;
};

// The particles that a loss looks at.
struct ParticleTable {
  int dimension = 3;
  std::int64_t offset = 0;  // of particle/x in the state
  std::vector<int> material;
  std::vector<double> volume;  // one per particle
};

template <class Real>
class SceneLoss final : public Objective<Real> {
 public:
  SceneLoss(ParticleTable particles, std::vector<LossTerm> terms);

  void check(std::int64_t steps, std::int64_t worlds) const override;
  std::int64_t next(std::int64_t k, std::int64_t steps) const override;
  std::int64_t previous(std::int64_t k, std::int64_t steps) const override;
  void value(const typename Objective<Real>::At& at, double* loss) const override;
  void vjp(const typename Objective<Real>::At& at, const Cotangents<Real>& bar) const override;

  // Of one state; weight and 1/|steps| included.
  double term_value(const LossTerm& term, const Real* state) const;
  const std::vector<LossTerm>& terms() const { return terms_; }

 private:
  ParticleTable particles_;
  std::vector<LossTerm> terms_;
  std::vector<std::vector<std::int64_t>> chosen_;  // particles of each term
  std::vector<std::int64_t> steps_;                // of all terms
};

// Fraction of the term's particles that are inside its region.
template <class Real>
double region_fraction(const ParticleTable& particles, const LossTerm& term, const Real* state);

extern template class SceneLoss<float>;
extern template class SceneLoss<double>;

}  // namespace costate::io
