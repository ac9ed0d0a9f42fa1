// FlowModel: what a flow is made of, once its options have been checked: the grid, its sides, and where the
// numbers of every input lie.
#pragma once

#include <algorithm>
#include <vector>

#include "costate/fluid/grid/sides.h"
#include "costate/fluid/obstacles/linkage.h"
#include "costate/system/signature.h"

namespace costate::fluid {

// How speeds are carried: by central fluxes, also on a stretched grid (grid/metric.h), by limited ones
// (carry/limited.h), or traced back (carry/trace.h).
enum class Carry { central, stretched, limited, traced };

inline constexpr std::size_t kMostScalars = 8, kMostReactions = 16;

struct FlowModel {
  // One component of the given speeds of a side.
  struct GivenSpeed {
    int axis, end, component;
    bool control;  // a number of the control instead of the parameters
    Index offset, count;
  };
  Signature signature;
  Sides sides;
  Scheme scheme = Scheme::rk3;
  std::array<Index, 3> face_offset = {};  // of the components in a state
  std::vector<GivenSpeed> given;
  // A scalar: where its numbers lie in the state and in the parameters.
  struct ScalarModel {
    struct Given {
      int side;
      Index offset, count;
    };
    Index state_at, diffusivity_at, buoyancy_at, source_at;
    std::array<bool, 6> fixed = {};
    std::vector<Given> given = {};
    Scalar::Carried carried = Scalar::Carried::central;
    Index mix_norm = -1;  // in the state; -1: it is not there
  };
  std::vector<ScalarModel> scalars;
  struct ReactionModel {
    Index rate_at;
    std::array<int, kMostScalars> takes = {}, change = {};
  };
  std::vector<ReactionModel> reactions;
  struct ObstacleModel {
    Obstacle::Shape shape;
    Obstacle::Core core;
    double width;                // of its mask [m]
    std::array<double, 3> cell;  // widths of the cell in its middle, and which one that is
    std::array<Index, 3> middle;
    std::size_t sizes;                    // numbers of the shape behind its centre
    bool driven;                          // its motion is a control
    Index shape_at, motion_at, force_at;  // in parameters, in parameters or controls, in the state
    Index moved_at = -1;                  // in the state: how far it has come and, in 2-D, turned
    Index level = -1;                     // in the parameters: depths of all cells, of a level set
    // Of a body that the flow moves (obstacles/free.h): its rates in the state, the first of its own
    // parameters, and which numbers of its motion are free.
    Index free_at = -1, body_at = -1;
    std::array<bool, 3> free = {};
    int linked = -1;     // of a body that a linkage holds: which of its shapes (obstacles/linkage.h)
    bool turns = false;  // the last number of its shape is an angle
    // Of a body whose surface holds the flow (obstacles/surface.h): directions of its points, from its
    // middle.
    std::vector<std::array<double, 2>> points = {};
    std::size_t first_point = 0;  // among those of all bodies

    bool moves() const { return moved_at >= 0 || linked >= 0; }
    bool flow_moves() const { return free_at >= 0 || linked >= 0; }
  };
  std::vector<ObstacleModel> obstacles;
  struct ProbeModel {
    Index state_at;
    std::array<double, 3> place;
    std::optional<std::array<double, 3>> minus;
  };
  std::vector<ProbeModel> probes;
  std::size_t scalar_fields = 0;    // the first parameter field of scalars
  std::size_t obstacle_fields = 0;  // the first one of obstacles; none comes behind them
  // Numbers of a stage, the first ones of a state: all faces, scalars, tracers, and the rates of bodies that
  // the flow moves.
  Index stage_size = 0;
  Index tracers = 0, tracers_at = -1;  // points that are carried along, and where they lie in the state
  Index push = -1;                     // offset in the control; -1: there is none
  bool implicit = false;               // viscosity (implicit.h)
  bool limited = false;                // speeds are carried by limited fluxes
  bool eddies = false;                 // Smagorinsky's viscosity; its constant is the parameter behind dt
  Index pressure = -1;                 // offset in the state; -1: it is not there
  // What a state says about the flow (readings.h): where that begins in it, and its dissipation; -1: not
  // there.
  Index readings_at = -1, dissipation = -1;
  Index powers = -1;  // of the scheme stokes: offset of its two powers in the state

  // What holds bodies together, and where its states, controls and parameters begin.
  std::shared_ptr<const Linkage> linkage = {};
  Index linkage_states = 0, linkage_controls = 0, linkage_parameters = 0;

  bool moving() const {
    return std::ranges::any_of(obstacles, [](const ObstacleModel& o) { return o.moves(); });
  }

  bool mixes() const {
    return std::ranges::any_of(scalars, [](const ScalarModel& s) { return s.mix_norm >= 0; });
  }
  bool readings() const { return !probes.empty() || dissipation >= 0 || mixes(); }

  bool any_free() const {
    return std::ranges::any_of(obstacles, [](const ObstacleModel& o) { return o.flow_moves(); });
  }
  std::size_t points() const {
    std::size_t sum = 0;
    for (const ObstacleModel& o : obstacles) sum += o.points.size();
    return sum;
  }

  // The first parameter fields, in this order.
  enum Parameter { kViscosity, kForce, kDt };
  Index force_at() const { return sides.shape.cells(); }
  Index dt_at() const { return sides.shape.cells() + sides.shape.dim; }

  int stages() const { return scheme == Scheme::rk3 ? 3 : 1; }
  // out = P(kept x + share (current + dt F(current))); `mean` is the weight of its forces in the whole step,
  // theta says how much of its viscosity is implicit (implicit.h).
  struct Weights {
    double kept, share, mean, theta;
  };
  Weights weights(int stage) const {
    if (stage == 0) return {0, 1, scheme == Scheme::rk3 ? 1.0 / 6 : 1, 1};
    return stage == 1 ? Weights{0.75, 0.25, 1.0 / 6, 4} : Weights{1.0 / 3, 2.0 / 3, 2.0 / 3, 0.5};
  }
};

FlowModel make_model(const FlowOptions& options, Index lanes);

}  // namespace costate::fluid
