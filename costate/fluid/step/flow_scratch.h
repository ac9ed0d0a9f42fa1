// FlowScratch: the fields that a step works on, made beforehand. Values are set to zero once, tangents when
// the first derivative asks for them, so that what no loop writes (beyond the halo) is a number.
#pragma once

#include <algorithm>
#include <vector>

#include "costate/core/aligned_buffer.h"
#include "costate/fluid/grid/metric.h"
#include "costate/fluid/obstacles/shapes.h"
#include "costate/fluid/step/flow_model.h"
#include "costate/system/system.h"

namespace costate::fluid {

template <class Real>
struct FlowScratch final : Workspace {
  Speeds<Real> x, stage[2], star;         // the state, the stages, and one before its projection
  Speeds<Real> x_bar, out_bar, star_bar;  // cotangents: of the state, after and before a projection
  Speeds<Real> push, push_bar;
  Plane<Real> pressure, pressure_bar, viscosity, viscosity_bar;  // pressure_bar: where the state has it
  std::array<Plane<Real>, 3> edges, edges_bar;                   // viscosity on edges
  Plane<Real> reading;                                           // of readings.h
  Plane<Real> eddy, eddy_bar, strain_bar;  // of eddies.h: all of the viscosity that a stage feels
  std::array<Plane<Real>, 3> eddy_edges, eddy_edges_bar;
  struct ScalarFields {
    Plane<Real> x, stage[2], star, x_bar, out_bar, star_bar, rate_bar, source, source_bar;
    std::array<Plane<Real>, 6> side, side_bar;  // values on the sides
    // Cotangents of diffusivity and buoyancy.
    std::array<Real, 4> bar = {};
    std::array<Dual<Real>, 4> dual_bar = {};
  };
  std::vector<ScalarFields> scalars;
  // Cotangents of the rates of reactions.
  std::array<Real, kMostReactions> reaction_bar = {};
  std::array<Dual<Real>, kMostReactions> dual_reaction_bar = {};
  template <class One>
  auto& reactions_bar() {
    if constexpr (std::is_same_v<One, Real>)
      return reaction_bar;
    else
      return dual_reaction_bar;
  }
  template <class One>
  One* numbers_bar(std::size_t s) {
    if constexpr (std::is_same_v<One, Real>)
      return scalars[s].bar.data();
    else
      return scalars[s].dual_bar.data();
  }
  // Of carry/trace.h: a field with what lies beyond its sides, the same traced once, their cotangents, and
  // those of the shifts.
  struct TraceFields {
    Plane<Real> from, once, from_bar, once_bar;
    Speeds<Real> shift_bar;
  };
  TraceFields trace;
  struct TracerPlaces {
    Plane<Real> x, stage[2], star, x_bar, out_bar;
  };
  TracerPlaces tracers;
  std::vector<Speeds<Real>> mask;  // resistance of each obstacle
  // Sum of resistance times body speed, and of a transpose: obstacles/resistance.h.
  Speeds<Real> carried, carried_bar, resist_bar, mean_star, face_bar;
  std::vector<Speeds<Real>> felt;  // N wrench_bar, of bodies that have one
  std::vector<char> feels;
  std::vector<Plane<Real>> level;  // depths in cells, of level sets
  Plane<Real> level_bar;
  Speeds<Real> level_face;
  Speeds<Real> along, whole_bar;  // of obstacles/free.h
  Speeds<Real> held;  // of obstacles/surface.h: forces on faces; its vectors have values, then tangents
  Plane<Real> surface_pressure;  // before the surfaces hold the flow
  std::vector<Real> surface_rhs, surface_force, surface_back, surface_kept;
  std::vector<double> surface_factor, surface_temporary;
  Speeds<Real> delta, extra;         // of implicit.h
  Plane<Real> found, search, image;  // of its conjugate gradients
  SideSpeeds<Real> side, side_bar;
  MetricFields<Real> metric;
  Real* solver = nullptr;
  std::vector<double> sums;
  std::vector<std::array<double, 12>> force;  // and torque on each body: value and tangent of every number
  // Six numbers of each body: of its wrench_bar, and of its motion in a stage. Of obstacles/free.h: mu, the
  // rates of the state and of every stage, and their cotangents.
  template <class One>
  struct OfBodies {
    std::vector<std::array<One, 6>> wrench_bar, motion;
    std::vector<std::array<One, 3>> mu, pose, reaction_bar;  // of obstacles/linked.h: the last two
    std::array<std::vector<std::array<One, 3>>, 4> rate, rate_bar;
    void resize(std::size_t count) {
      wrench_bar.resize(count), motion.resize(count), mu.resize(count);
      pose.resize(count), reaction_bar.resize(count);
      for (auto* list : {&rate, &rate_bar})
        for (auto& numbers : *list) numbers.resize(count);
    }
  };
  OfBodies<Real> bodies;
  OfBodies<Dual<Real>> dual_bodies;
  template <class One>
  OfBodies<One>& of_bodies() {
    if constexpr (std::is_same_v<One, Real>)
      return bodies;
    else
      return dual_bodies;
  }
  template <class One>
  auto& wrenches_bar() {
    return of_bodies<One>().wrench_bar;
  }
  template <class One>
  auto& moving() {
    return of_bodies<One>().motion;
  }
  // Of obstacles/linked.h: numbers of the linkage, and of each of its shapes.
  template <class T>
  struct OfLinkage {
    std::vector<T> x, u, p, y;
    std::vector<Planar<T>> frames, poses, poses_bar, motions, wrenches;
    std::vector<LinkedForce<T>> forces;
    void resize(const Linkage& linkage);
  };
  std::unique_ptr<Workspace> linkage;
  OfLinkage<double> linked;
  OfLinkage<Dual<double>> dual_linked;
  template <class T>
  OfLinkage<T>& of_linkage() {
    if constexpr (std::is_same_v<T, double>)
      return linked;
    else
      return dual_linked;
  }
  bool uniform_viscosity = false;  // of values that have no tangents
  bool same_viscosity = false;     // all values are the same
  const Real* run_p = nullptr;     // parameters of the run: they have been read

  FlowScratch(const FlowModel& model, Index solver_numbers);
  void use_tangents() {
    if (!has_tangents_) std::fill_n(memory_.data() + half_, half_, Real(0));
    has_tangents_ = true;
  }

 private:
  // The fields that this flow has, with the lists that hold them made long enough.
  std::vector<Plane<Real>*> fields_of(const FlowModel& model);

  AlignedBuffer<Real> memory_;
  Index half_ = 0;  // numbers of all planes of values
  bool has_tangents_ = false;
};

}  // namespace costate::fluid
